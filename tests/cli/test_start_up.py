"""What a command loads before it does anything: the list of commands needs nothing heavy, and looking at a model or result little of it."""

import gc
import json
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.timing import OTHER, Timing
from ctpwa.cli import command as commands
from ctpwa.cli.command import all_commands, listed_commands
from ctpwa.cli.main import app

NOT_FOR_LOOKING = {"awkward", "iminuit", "llvmlite", "matplotlib", "pandas", "pyarrow", "scipy.stats", "triton", "uproot"}
NOT_FOR_HELP = {*NOT_FOR_LOOKING, "numpy", "particle", "pydantic", "scipy", "sympy", "torch", "yaml"}
LOADED = """
import json, sys
from ctpwa.cli.main import app

found = []
for arguments in json.loads(sys.argv[1]):
    try:
        app(arguments)
    except SystemExit as end:
        assert end.code in (None, 0, 3), arguments  # 3: a fit that is not good is one
    found.append(sorted(sys.modules))
print("\\n" + json.dumps(found))
"""
MODEL = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1020): {in: K+ K-}
  phi(1680): {in: K+ K-}
samples: {data: data.npz, phase_space: {generate: 100, seed: 2}}
"""


def loaded(*runs):
    """The modules that are there after each of some runs in one process."""
    command = [sys.executable, "-c", LOADED, json.dumps(runs)]
    return [set(found) for found in json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file and its result."""
    folder = tmp_path_factory.mktemp("start_up")
    (folder / "model.yml").write_text(MODEL)
    analysis = ctpwa.load_analysis(folder / "model.yml")
    ctpwa.write_events(folder / "data.npz", ctpwa.generate_phase_space(analysis.model, 80, seed=1), model=analysis.model)
    analysis.fit(engine="reference").save(folder / "model.result.json")
    return folder


@pytest.fixture(scope="module")
def floating(folder, tmp_path_factory):
    """The same with a mass that floats, and a result of the CPU engine."""
    own = tmp_path_factory.mktemp("floating")
    text = MODEL.replace("{in: K+ K-}", "{in: K+ K-, float: mass}", 1)
    (own / "model.yml").write_text(text + "fit: {engine: cpu, device: cpu, starts: 1}\n")
    shutil.copy(folder / "data.npz", own / "data.npz")
    ctpwa.load_analysis(own / "model.yml").fit().save(own / "model.result.json")
    return own


def test_help_and_version_load_nothing_heavy():
    for modules in loaded(["--version"], ["--help"]):
        assert modules & NOT_FOR_HELP == set()
        assert [name for name in modules if name.startswith("ctpwa.cli.commands.")] == [], "write COMMAND as cli/command.py says"


def test_looking_at_a_model_and_a_result_loads_little(folder):
    check, show = loaded(["check", "--no-samples", str(folder / "model.yml")], ["show", str(folder / "model.result.json")])
    assert check & {*NOT_FOR_LOOKING, "scipy", "ctpwa.fitting.fit"} == set()
    assert show & NOT_FOR_LOOKING == set()


def test_samples_results_and_reports_load_no_more_than_they_need(floating):
    """Derivatives of the reference engine would import the compiler of torch, and statistics half of scipy."""
    model, result = str(floating / "model.yml"), str(floating / "model.result.json")
    (check,), (fit,), (report,) = (loaded(run) for run in (["check", model], ["fit", model, "--force"], ["report", result, "--force"]))
    never = {"awkward", "pandas", "scipy.stats", "torch._dynamo", "uproot"}
    assert check & {*never, "iminuit", "llvmlite", "matplotlib", "scipy.optimize", "triton"} == set()
    assert fit & {*never, "iminuit", "latex2mathml", "matplotlib"} == set()
    assert report & {*never, "iminuit"} == set()


def test_what_a_program_imports_is_not_looked_through_for_garbage(folder):
    code = """
import gc, sys
from ctpwa.cli.main import app

try:
    app(["check", "--no-samples", sys.argv[1]])
except SystemExit:
    print(gc.isenabled(), gc.get_freeze_count() > 100_000)
"""
    run = subprocess.run([sys.executable, "-c", code, str(folder / "model.yml")], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "True True"
    CliRunner().invoke(app, ["check", "--no-samples", str(folder / "model.yml")])
    assert gc.get_freeze_count() == 0, "this program is more than a command"


@pytest.mark.skipif(find_spec("triton") is None, reason="no Triton")
def test_triton_has_nothing_to_complain_about_at_the_end():
    """It lists objects that nobody has released, in thirty lines; torch imports it for forward derivatives."""
    code = """
from ctpwa.base.garbage import imported_for_good

with imported_for_good():
    import torch
import triton.language
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == ""


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, ctpwa; print(*sys.modules); ctpwa.CtpwaError; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [set(line.split()) & NOT_FOR_HELP for line in run.stdout.splitlines()] == [set(), set()]


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="module 'ctpwa' has no attribute 'fits'"):
        ctpwa.fits  # noqa: B018
    assert set(ctpwa.__all__) <= set(dir(ctpwa))
    assert "ToyGenerator" in dir(ctpwa.generate)


def test_the_list_says_what_the_commands_say():
    """It is read from the files; they are run here."""
    for name, command in all_commands().items():
        listed = listed_commands()[name]
        assert (listed.place, listed.load()) == (command.place, command)
        assert listed.help.split() == command.run.__doc__.split()


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    """F."""\nCOMMAND = Command(f, "ctpwa f")',
        'def f():\n    """F."""\nCOMMAND = Command(f, "ctpwa f", place=FIRST)',
        'COMMAND = Command(f, "ctpwa f", place=1)',
        "from elsewhere import COMMAND",
    ],
)
def test_files_that_are_written_in_another_way_are_imported(source):
    assert commands._look_at(source) is None


def test_a_command_is_still_told_what_is_wrong():
    result = CliRunner().invoke(app, ["chekc", "model.yml"])
    assert result.exit_code == 2
    assert "No such command 'chekc'. Did you mean 'check'?" in result.stderr


# --timing


def test_phases_are_printed_after_the_result(folder):
    arguments = ["check", "--no-samples", str(folder / "model.yml")]
    plain, timed = CliRunner().invoke(app, arguments), CliRunner().invoke(app, ["--timing", *arguments])
    assert timed.stdout == plain.stdout
    lines = timed.stderr.splitlines()
    assert {line.split("  ")[0] for line in lines} >= {"import", "model file", "other", "all"}
    assert lines[-1].startswith("all ")
    assert lines[-1].endswith("100.0 %")


def test_a_command_that_fails_has_its_phases_too(tmp_path):
    result = CliRunner().invoke(app, ["--timing", "check", str(tmp_path / "missing.yml")])
    assert result.exit_code == 1
    assert " fix: " in result.stderr
    assert "\nall " in result.stderr


def test_time_belongs_to_the_innermost_phase(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("ctpwa.base.timing.perf_counter", lambda: clock[0])
    timing = Timing()

    def passes(seconds):
        clock[0] += seconds

    passes(1)
    with timing.phase("outer"):
        passes(2)
        with suppress(ValueError), timing.phase("inner"):
            passes(4)
            raise ValueError("ends it")
        passes(8)
        with timing.phase("inner"):
            passes(16)
    passes(32)
    assert timing.seconds == {"outer": 10.0, "inner": 20.0, OTHER: 33.0}
    assert timing.table().splitlines()[-1].split() == ["all", "63.000", "s", "100.0", "%"]
