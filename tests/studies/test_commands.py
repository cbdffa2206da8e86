"""Studies on the command line: what they print and write, what they refuse, and that they go on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.cli.main import app
from ctpwa.fitting.result import FitResult
from ctpwa.studies import Study, bootstrap, load_study
from ctpwa.studies.files import ORDER, find_studies
from ctpwa.studies.store import read_study


@pytest.fixture
def folder(plain, tmp_path, monkeypatch):
    """The working directory, with model.yml, data.npz and model.result.json."""
    for name in ("model.yml", "data.npz", "model.result.json"):
        shutil.copy(plain.parent / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def test_a_result(folder):
    output = run("toys", "model.result.json", "-n", 2, "--figures", "figures")
    assert output.startswith("Toys of J/psi(1S) -> K+ K- eta\n2 toys, all good.")
    assert "written: model.toys.parquet" in output
    assert sorted(file.name for file in (folder / "figures").iterdir()) == [
        "toys-pulls.pdf",
        "toys-pulls.png",
        "toys-summary.pdf",
        "toys-summary.png",
    ]
    times = [record.seconds for record in load_study("model.toys.parquet").records]
    assert run("toys", "model.result.json", "-n", 2) == output.partition("written: figures")[0]
    assert [record.seconds for record in load_study("model.toys.parquet").records] == times


def test_a_scan(folder):
    output = run("scan", "model.result.json", "phi(1680).mass", "--points", 3, "--sigmas", 1, "--figures", "figures")
    assert output.startswith("Likelihood profile of J/psi(1S) -> K+ K- eta\n3 points, all good. phi(1680).mass = ")
    assert "written: model.scan-phi-1680-mass.parquet" in output
    assert sorted(file.name for file in (folder / "figures").iterdir()) == ["scan.pdf", "scan.png"]
    content = json.loads(run("scan", "model.result.json", "phi(1680).mass", "--points", 3, "--sigmas", 1, "--json"))
    assert [own["key"] for own in content["fits"]] == ["fit", "1", "2", "0", "lower 1", "upper 1"]
    assert "is not a free parameter" in run("scan", "model.result.json", "phi(1680).x", code=1)
    run("scan", "model.result.json", "phi(1680).mass", "--points", 2, code=2)


def test_a_model_file_is_fitted_first(folder):
    before = (folder / "model.result.json").read_bytes()
    run("bootstrap", "model.yml", "-n", 2)
    assert (folder / "model.result.json").read_bytes() == before  # it was the result of this model
    (folder / "model.result.json").unlink()
    run("bootstrap", "model.yml", "-n", 2, "--force")
    assert (folder / "model.result.json").exists()
    text = (folder / "model.yml").read_text()
    (folder / "model.yml").write_text(text.replace("0.15", "0.16"))
    assert "is the result of another model" in run("bootstrap", "model.yml", code=1)


def test_a_model_file_in_python(folder):
    before = json.loads((folder / "model.result.json").read_text())["sha256"]
    assert bootstrap("model.yml", 2, progress=False).about.result == before  # it was the result of this model
    (folder / "model.result.json").unlink()
    study = bootstrap(folder / "model.yml", 2, progress=False)
    assert study.about.result == json.loads((folder / "model.result.json").read_text())["sha256"]
    text = (folder / "model.yml").read_text()
    (folder / "model.yml").write_text(text.replace("0.15", "0.16"))
    with pytest.raises(CtpwaError, match="is the result of another model"):
        bootstrap("model.yml", 2, progress=False)


def test_chapters_of_a_report(folder):
    """Errors before questions about the model; two of a kind are told apart."""
    run("scan", "model.result.json", "phi(1680).mass", "--points", 3, "--sigmas", 1)
    run("scan", "model.result.json", "fraction(phi(1680))", "--points", 3, "--sigmas", 1)
    run("toys", "model.result.json", "-n", 2)
    found = find_studies("model.result.json", FitResult.load("model.result.json")).studies
    titles = ["Toys", "Likelihood profile of fraction(phi(1680))", "Likelihood profile of phi(1680).mass"]
    assert [study.view().title for study in found.values()] == titles


def test_every_study_has_its_place_in_a_report():
    kinds = {getattr(ctpwa.studies, name) for name in ctpwa.studies.__all__}
    assert {kind.name for kind in kinds if isinstance(kind, type) and issubclass(kind, Study) and kind.name} == set(ORDER)


def test_a_report_of_a_study_uses_no_option_of_a_fit(folder):
    """All its numbers are in the file: nothing is computed with an engine."""
    run("toys", "model.result.json", "-n", 2)
    for option in (["--engine", "reference"], ["--device", "cuda"], ["--phase-space", 10], ["--set", "phi(1680).mass=1.7"]):
        output = run("report", "model.toys.parquet", *option, code=2)
        assert f"leave out {option[0]}" in " ".join(output.replace("│", " ").split())
    assert not (folder / "model.toys.html").exists()
    run("report", "model.toys.parquet")
    assert (folder / "model.toys.html").exists()


def test_another_study_is_refused_and_replaced_only_by_force(folder):
    run("toys", "model.result.json", "-n", 2)
    assert "seed was 0 and is 1" in run("toys", "model.result.json", "-n", 2, "--seed", 1, code=1)
    run("toys", "model.result.json", "-n", 2, "--seed", 1, "--force")
    assert load_study("model.toys.parquet").about.options == {"seed": 1}
    before = (folder / "model.toys.parquet").read_bytes()
    run("significance", "model.result.json", "f(0)(980)", "-o", "model.toys.parquet", "--force", code=1)  # nothing is removed for a typo
    assert (folder / "model.toys.parquet").read_bytes() == before


@pytest.mark.parametrize("name", ["data.npz", "model.yml"])
def test_no_other_file_is_overwritten(folder, name):
    before = (folder / name).read_bytes()
    run("toys", "model.result.json", "-n", 2, "-o", name, "--force", code=2)
    (folder / "other.parquet").write_bytes(before)
    assert "is not a study of ctpwa, or is damaged" in run("toys", "model.result.json", "-n", 2, "-o", "other.parquet", "--force", code=1)
    assert (folder / "other.parquet").read_bytes() == before


def test_killed_and_started_again(folder):
    command = [sys.executable, "-m", "ctpwa", "toys", "model.result.json", "-n"]
    process = subprocess.Popen([*command, "1000"], stdout=subprocess.DEVNULL, start_new_session=True)
    journal = folder / ".model.toys.parquet.0.journal"
    while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        time.sleep(0.02)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = journal.read_bytes().count(b"\n")
    kept = journal.read_text().splitlines()[:finished]
    before = read_study(folder / "model.toys.parquet")[1]  # what had ended first
    run("toys", "model.result.json", "-n", finished + 2)
    records = read_study(folder / "model.toys.parquet")[1]
    assert [record.key for record in records] == [str(number) for number in range(finished + 2)]
    assert records[0] == before[0]
    assert [f'"seconds": {record.seconds!r}' in line for record, line in zip(records[1:], kept, strict=False)] == [True] * finished
    assert not journal.exists()
