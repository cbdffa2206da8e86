"""``ctpwa export``: which files are written, and when not."""

import json
import os

import pytest
from typer.testing import CliRunner

from ctpwa.cli.main import app


def run(*options):
    return CliRunner().invoke(app, ["export", "model.result.json", "--engine", "reference", *options], env={"COLUMNS": "200"})


def test_all_kinds(fitted, small):
    result = run("--root", "x.root", "--csv", "csv", "--latex", "tex")
    assert (result.exit_code, result.stderr) == (0, "")
    files = result.stdout.split()
    assert "x.root" in files
    assert "csv/parameters.csv" in files
    assert "csv/dalitz.csv" in files
    assert "tex/tables.tex" in files
    assert all((small / file).is_file() for file in files)
    assert not [file for file in small.rglob(".*")]  # no temporary files


def test_json(fitted):
    assert "tex/fractions.tex" in json.loads(run("--latex", "tex", "--json").stdout)["files"]


def test_nothing_is_overwritten_without_force(fitted, small):
    assert run("--root", "x.root", "--csv", "csv", "--latex", "tex").exit_code == 0
    (small / "csv" / "mine.txt").write_text("mine")
    result = run("--root", "x.root", "--latex", "new")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'x.root' already exists\n fix: add --force" in result.stderr
    assert not (small / "new").exists()
    assert "'csv' already exists and is not empty\n fix: add --force" in run("--csv", "csv").stderr
    written = {path: path.stat().st_ino for folder in ("csv", "tex") for path in (small / folder).iterdir()} | {
        small / "x.root": (small / "x.root").stat().st_ino
    }
    assert run("--root", "x.root", "--csv", "csv", "--latex", "tex", "--force").exit_code == 0
    assert {path for path, number in written.items() if path.stat().st_ino == number} == {small / "csv" / "mine.txt"}


@pytest.mark.parametrize(
    ("options", "file", "text"),
    [
        (("--csv", "csv"), "csv/mine.csv", "name,age\nA,1\n"),
        (("--csv", "csv"), "csv/parameters.csv", "name,value,error\nA,1,2\n"),
        (("--latex", "tex"), "tex/tables.tex", "% my tables\n"),
        (("--root", "mine.root"), "mine.root", "not even a ROOT file"),
    ],
)
def test_files_of_others_are_not_replaced(fitted, small, options, file, text):
    (small / file).parent.mkdir(exist_ok=True)
    (small / file).write_text(text)
    result = run(*options, "--force")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"'{file}' " in result.stderr
    assert "ctpwa export" in result.stderr
    assert (small / file).read_text() == text


def test_samples_are_not_overwritten(fitted, small):
    """By whatever name."""
    (small / "x.root").hardlink_to(small / "data.npz")
    before = (small / "data.npz").read_bytes()
    result = run("--root", "x.root", "--force")
    assert result.exit_code == 1
    assert (small / "data.npz").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 2, "say what to write: --root FILE, --csv FOLDER, --latex FOLDER or --format amplitude-serialization"),
        (("--root", "x.txt"), 1, "cannot write 'x.txt' as a ROOT file\n fix: give a name that ends with .root"),
        (("--root", "no/x.root"), 1, "there is no folder 'no'\n fix: make the folder"),
        (("--csv", "no/csv"), 1, "there is no folder 'no'\n fix: make the folder"),
        (("--latex", "model.yml"), 1, "cannot write into 'model.yml': it is a file\n fix: name another folder"),
    ],
)
def test_wrong_use(fitted, options, code, message):
    result = run(*options)
    assert result.exit_code == code
    assert message in result.stderr


def test_samples_that_are_gone(fitted, small):
    (small / "data.npz").unlink()
    fitted.with_origin(model_file="model.yml").save("model.result.json")
    result = run("--csv", "csv")
    assert result.exit_code == 1
    assert "'data.npz', which was fitted, was not found" in result.stderr
    assert not (small / "csv").exists()


@pytest.mark.parametrize("options", [("--root", "x.root"), ("--csv", "csv"), ("--latex", "tex")])
def test_a_folder_that_cannot_be_written(fitted, monkeypatch, options):
    """Nothing is computed for it."""
    monkeypatch.setattr("os.access", lambda path, mode: mode == os.R_OK)
    monkeypatch.setattr("ctpwa.cli.commands.export.export_result", lambda *_, **__: pytest.fail("too late"))
    result = run(*options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"cannot write {options[1]!r}: the folder cannot be written\n fix: check permissions, or name another one\n"


@pytest.mark.parametrize("option", ["--root", "--csv", "--latex"])
def test_names_that_no_file_can_have(fitted, option):
    result = run(option, "x" * 5000 + ".root")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "File name too long" in result.stderr


def test_models_for_other_programs(tmp_path):
    """A model file as JSON, which its importer reads; nothing is overwritten without --force."""
    (tmp_path / "model.yml").write_text("decay: J/psi(1S) -> K+ K- eta\nresonances: {phi(1680): {in: K+ K-}}\n")
    out = tmp_path / "model.json"
    command = ["export", str(tmp_path / "model.yml"), "--format", "amplitude-serialization", "--out", str(out)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert CliRunner().invoke(app, command).exit_code == 1
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    imported = CliRunner().invoke(app, ["import", str(out), "--out", str(tmp_path / "again.yml")])
    assert imported.exit_code == 0
    assert "largest deviation of 3 checksums" in imported.stdout
    assert CliRunner().invoke(app, [*command[:3], "helas", *command[4:]]).exit_code == 2
    assert CliRunner().invoke(app, command[:4]).exit_code == 2
