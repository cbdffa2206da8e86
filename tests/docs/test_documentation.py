"""What the documentation shows is what the program does."""

import re
from pathlib import Path

import pytest

from ctpwa import load_model
from ctpwa.base import ConfigError
from ctpwa.config.fit_spec import FitSpec
from ctpwa.config.schema import BackgroundSpec, ChainSpec, DataSetSpec, ModelSpec, ParticleSpec, ProjectionEntry, ResonanceSpec, SampleSpec

ROOT = Path(__file__).parents[2]
FORMAT = (ROOT / "docs" / "model-format.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\S+)( wrong)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(kind, bool(wrong), text) for kind, wrong, text in BLOCK.findall(FORMAT)]
PARTS = re.findall(r'^```yaml title="(.+?)"\n(.*?)^```$', FORMAT, re.MULTILINE | re.DOTALL)  # files that examples include
RIGHT = [text for kind, wrong, text in BLOCKS if kind == "yaml" and not wrong]
WRONG = [(text, BLOCKS[i + 1][2]) for i, (kind, wrong, text) in enumerate(BLOCKS) if kind == "yaml" and wrong]


def write(folder, text):
    for name, part in PARTS:
        (folder / name).write_text(part, encoding="utf-8")
    (folder / "model.yml").write_text(text, encoding="utf-8")


def test_there_are_examples():
    assert len(RIGHT) > 10
    assert len(WRONG) == 2


@pytest.mark.parametrize("text", RIGHT, ids=range(len(RIGHT)))
def test_every_example_of_the_model_format_loads(tmp_path, text):
    write(tmp_path, text)
    assert load_model(tmp_path / "model.yml").waves


def test_the_first_example_prints_what_the_page_shows(tmp_path):
    write(tmp_path, RIGHT[0])
    shown = next(text for kind, _, text in BLOCKS if kind == "text")
    assert str(load_model(tmp_path / "model.yml")) == shown.rstrip("\n")


@pytest.mark.parametrize(("text", "message"), WRONG, ids=range(len(WRONG)))
def test_error_messages_are_as_shown(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_model("model.yml")
    assert str(caught.value) == message.rstrip("\n")


TITLES = {
    ModelSpec: "At the top",
    ParticleSpec: "Under `particles`",
    ResonanceSpec: "Under `resonances`",
    ChainSpec: "Under `chains`",
    DataSetSpec: "Under `samples`",
    SampleSpec: "Under a sample",
    BackgroundSpec: "Under `backgrounds`",
    ProjectionEntry: "Under `projections`",
    FitSpec: "Under `fit`",
}


@pytest.mark.parametrize("spec", TITLES)
def test_every_key_is_in_the_tables(spec):
    section = FORMAT.split(f"### {TITLES[spec]}")[1].split("\n## ")[0].split("\n### ")[0]
    rows = {name for line in section.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert rows == {field.alias or name for name, field in spec.model_fields.items()}


@pytest.mark.parametrize("path", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        goal = (path.parent / file) if file else path
        assert goal.exists(), f"{path.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", goal.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{path.name}: {target}"


def slug(heading):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_every_equation_that_the_code_cites_exists():
    formalism = (ROOT / "docs" / "formalism.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^#+ (F[\d.]*\d)\b", formalism, re.MULTILINE))
    for path in sorted((ROOT / "src").rglob("*.py")):
        for tag in re.findall(r"\((F\d[\d.]*)\)", path.read_text(encoding="utf-8")):
            assert tag in sections, f"{path.name} cites {tag}"
