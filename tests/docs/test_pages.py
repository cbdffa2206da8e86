"""Every code block of the documentation runs, and what a page says is printed is what is printed.

Languages: ``python`` and ``sh`` run, in the order of the page and in one folder; ``yaml`` is loaded as a model, or as a part of the model
before it, and written to a file if it has a title; ``text`` that follows at once is what they print. A block after
``<!-- not run: reason -->`` does not run, and commands after ``<!-- fails -->`` end with an error.
"""

import re
import sys

import pytest
import torch

import ctpwa
from ctpwa.cli.settings import CommandSettings
from ctpwa.engine.backends import registry
from ctpwa.generate.toys import ToySettings
from ctpwa.model.lineshapes.registry import KINDS
from docs.blocks import DOCS, PAGES, Session, blocks, page_text, same
from threads import one_thread

LANGUAGES = {"python", "sh", "yaml", "text"}
# blocks that do not run, by page
NOT_RUN = {
    "start.md": ["the tests run where it is installed"],
    "how-to/gpu.md": ["needs an NVIDIA GPU"],
    "performance.md": ["takes minutes"] * 5,
    "several-machines.md": ["starts processes of its own", "is a script for a batch system"],
}
# pages that begin with nothing and show all that is done; others run with few events, in a folder with model.yml, data.root and a result
FROM_NOTHING = {"index.md", "start.md", "tutorial.md", "coming-from-tf-pwa.md"} | {page for page in PAGES if page.startswith("how-to/")}
# yaml that other tests load: tests/docs/test_documentation.py, test_command_line.py, tests/lineshapes/test_documentation.py
YAML_ELSEWHERE = {"model-format.md", "command-line.md", "lineshapes.md"}
SHORT = ToySettings(pilot_events=1 << 10, maximum_events=1 << 12)
SMALL_MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1020): {in: K+ K-}
  phi(1680): {in: K+ K-, mass: 1.659, width: 0.164, float: [mass]}
  K(2)*(1430): {in: [K+ eta, K- eta]}
samples: {data: data.root, phase_space: {generate: 1000, seed: 2}}
fit: {starts: 2}
"""


@pytest.fixture(autouse=True)
def _as_before():
    """An example may register a lineshape."""
    before = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(before)


@pytest.fixture(scope="module", autouse=True)
def _nothing_to_compile(request):
    """The reference engine gives the same numbers, and small samples need no compiled code; what pages show is from the usual one."""
    if request.config.getoption("--update-golden"):
        yield
        return

    def make_engine(name, plan, device):
        return real("reference" if name in ("auto", "cpu") else name, plan, device)

    real = registry.make_engine
    with one_thread(torch), pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("ctpwa.") and getattr(module, "make_engine", None) is real:
                patch.setattr(module, "make_engine", make_engine)
        yield


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The files that pages speak of without making them."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "model.yml").write_text(SMALL_MODEL, encoding="utf-8")
    (folder / "larger.yml").write_text(SMALL_MODEL.replace("float: [mass]", "float: [mass, width]"), encoding="utf-8")
    model = ctpwa.load_model(folder / "model.yml")
    ctpwa.write_events(folder / "data.root", ctpwa.generate_toy(model, 220, seed=1), model=model)
    result = ctpwa.load_analysis(folder / "model.yml").fit()
    for name in ("model", "other"):
        result.save(folder / f"{name}.result.json")
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_tested(page):
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", PAGES)
def test_code_is_in_fenced_blocks(page):
    text = re.sub(r"^( *)```.*?^\1```$", "", page_text(page), flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^ {4,}(?:ctpwa|python|pip|make|import|from) .*$", text, re.MULTILINE)


def test_blocks_that_do_not_run_are_few():
    found = {page: [block.reason for block in blocks(page) if block.reason] for page in PAGES}
    assert {page: reasons for page, reasons in found.items() if reasons} == NOT_RUN


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.language != "text" for block in blocks(page))])
def test_page_runs(page, tmp_path, monkeypatch, request):
    small = page not in FROM_NOTHING
    files = request.getfixturevalue("prepared") if small else None
    if small:  # quick, and the events are not looked at
        monkeypatch.setitem(ctpwa.generate.ToyGenerator.__init__.__kwdefaults__, "settings", SHORT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    session, printed, before, outputs = Session(tmp_path, files, CommandSettings(toys=SHORT) if small else None), None, None, []
    for block in blocks(page):
        if block.language == "text":
            if block.follows and printed is not None and not (small and before.language == "sh"):
                outputs.append((block, printed))
            continue
        skipped = block.reason or block.wrong or (block.language == "yaml" and page in YAML_ELSEWHERE)
        printed, before = (None if skipped else session.run(block)), block
    if request.config.getoption("--update-golden"):
        update(page, outputs)
        return
    for block, printed in outputs:
        assert same(block.text, printed), f"{block} shows\n{block.text}\nbut what is printed is\n{printed}"


def update(page, outputs):
    """Write what was printed into the page, where it is not shortened by hand."""
    text = page_text(page)
    for block, printed in reversed(outputs):
        if "…" not in block.text.split() and not same(block.text, printed):
            first, last = block.span
            text = text[:first] + printed.rstrip("\n") + "\n" + text[last:]
    (DOCS / page).write_text(text, encoding="utf-8")
