"""No command overwrites what it reads, nor what it does not know, --force or not."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.output import check_inputs
from ctpwa.cli import demonstration as demo
from ctpwa.cli.main import app
from ctpwa.cli.output_kinds import FIGURES, REPORT
from ctpwa.report.figures.style import save_figure


def run(*command):
    return CliRunner().invoke(app, [*command, "--force"])


@pytest.fixture
def linked(small):
    """Other names of the measured events and of the result."""
    (small / "soft.json").symlink_to(small / "data.npz")
    (small / "hard.html").hardlink_to(small / "model.result.json")
    (small / "soft.html").symlink_to(small / "data.npz")


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "model.yml", "-o", "model.yml"],
        ["fit", "model.yml", "--from", "model.result.json"],
        ["fit", "model.yml", "--from", "model.result.json", "-o", "hard.html"],
        ["report", "model.result.json", "--out", "model.result.json"],
        ["report", "model.result.json", "--out", "hard.html"],
        ["init", "J/psi -> K+ K- eta", "--data", "data.npz", "--out", "soft.json"],
        ["generate", "--from", "model.result.json", "-n", "5", "-o", "loop.npz"],
    ],
)
def test_inputs_are_not_overwritten(fitted, linked, small, command):
    (small / "loop.npz").symlink_to(small / "model.result.json")
    before = {path: path.read_bytes() for path in small.iterdir()}
    result = run(*command)
    assert result.exit_code == 1
    assert "is an input of this command, and would be overwritten\n fix: name another file with --out" in result.stderr
    assert {path: path.read_bytes() for path in small.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [["fit", "model.yml", "-o", "data.npz"], ["fit", "model.yml", "-o", "soft.json"], ["report", "model.result.json", "-o", "soft.html"]],
)
def test_samples_are_not_overwritten(fitted, linked, small, command):
    """They are no results, no reports, and inputs."""
    before = {path: path.read_bytes() for path in small.iterdir()}
    assert run(*command).exit_code == 1
    assert {path: path.read_bytes() for path in small.iterdir()} == before
    with pytest.raises(ctpwa.CtpwaError, match="is an input of this command"):
        check_inputs(small / command[-1], ctpwa.load_analysis("model.yml").files)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (["fit", "model.yml", "-o", "mine.json"], "mine.json"),
        (["fit", "model.yml", "-o", "x.json"], "x.partial.json"),
        (["report", "model.result.json", "-o", "mine.html"], "mine.html"),
        (["report", "model.result.json", "-o", "new.html", "--figures", "figures"], "figures/mine.pdf"),
    ],
)
def test_files_of_others_are_not_replaced(fitted, small, command, file):
    (small / file).parent.mkdir(exist_ok=True)
    (small / file).write_text('{"mine": 1}')
    result = run(*command)
    assert result.exit_code == 1
    assert f"'{file}' " in result.stderr
    assert "ctpwa replaces only its own files" in result.stderr
    assert (small / file).read_text() == '{"mine": 1}'


def test_figures_are_recognised(tmp_path):
    for path in save_figure(Figure(), tmp_path / "empty"):
        assert FIGURES[path.suffix].recognises(path)
    Figure().savefig(tmp_path / "other.png")
    Figure().savefig(tmp_path / "other.pdf")
    assert not any(FIGURES[suffix].recognises(tmp_path / f"other{suffix}") for suffix in FIGURES)


def test_reports_are_recognised(fitted, small):
    command = ["report", "model.result.json", "-o", "a.html", "--engine", "reference"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert REPORT.recognises(small / "a.html")
    assert run(*command).exit_code == 0


def test_the_demonstration_does_not_write_between_other_files(small):
    before = (small / "model.yml").read_text()
    result = CliRunner().invoke(app, ["demo", "--out", str(small)])
    assert result.exit_code == 1
    assert "is not the folder of an earlier demonstration\n fix: name another folder with --out" in result.stderr
    assert (small / "model.yml").read_text() == before
    (small / "model.yml").write_text(demo.MODEL)
    demo._check_folder(small, small / "model.yml")


def test_pipes_are_no_files_to_replace(small):
    import os

    os.mkfifo(small / "pipe.json")
    result = run("fit", "model.yml", "-o", "pipe.json")
    assert result.exit_code == 1
    assert "'pipe.json' already exists, and is not a result of ctpwa fit" in result.stderr


def test_marks_do_not_disturb_readers(small):
    """A file with a mark has the same events as one without."""
    model = ctpwa.load_model("model.yml")
    events = ctpwa.generate_phase_space(model, 20, seed=1)
    for suffix in ("root", "parquet", "npz"):
        ctpwa.write_events(f"a.{suffix}", events, model=model, made_by="somebody")
        np.testing.assert_array_equal(ctpwa.read_events(model, f"a.{suffix}")["eta"], events["eta"])
