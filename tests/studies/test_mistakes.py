"""What users get wrong with studies: one message that says what, where and what to do; no traceback, and nothing ignored without a word."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from ctpwa.cli.main import app

RESULT, MODEL, MASS = "model.result.json", "model.yml", "phi(1680).mass"
BINS = "mass(K+, K-): 1..2/2"


@pytest.fixture
def folder(plain, tmp_path, monkeypatch):
    """The working directory, with model.yml, data.npz and model.result.json."""
    for name in (MODEL, "data.npz", RESULT):
        shutil.copy(plain.parent / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    """Exit code and output on one line, without frames."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scan", ".", MASS], "cannot read '.': it is a folder fix: give a file that ctpwa fit wrote, or a model file"),
        (["toys", ".."], "cannot read '..': it is a folder"),
        (["report", "."], "cannot read '.': it is a folder fix: give a file that ctpwa fit wrote, or a study"),
        (["fit", "."], "cannot read '.': it is a folder fix: give a model file"),
        (["scan", RESULT, "phi(3)(1850).mass"], "is not a free parameter of the fit fix: it is fixed"),
        (["scan", RESULT, f"{MASS}=1.7..1.6"], "has no lower and upper end fix: write it as NAME=1.60..1.75"),
        (["scan", RESULT, "fraction(phi(1680))=-0.5..0.2"], "goes beyond"),
        (["scan", RESULT, "fraction(phi(1681))"], "no fraction is called 'phi(1681)' fix: did you mean"),
        (["scan", RESULT, MASS, MASS], "is named twice"),
        (["scan", "missing.json", MASS], "cannot read 'missing.json': No such file"),
        (["scan", "data.npz", MASS], "'data.npz' is not a result of a fit"),
        (["toys", RESULT, "-n", "2", "--engine", "abacus"], "unknown engine 'abacus' fix: known: auto"),
        (["toys", RESULT, "-n", "2", "--device", "nowhere"], "unknown device 'nowhere'"),
        (["significance", RESULT, "phi(1860)"], "the fit has no resonance 'phi(1860)' fix: did you mean"),
        (["significance", RESULT, "--together"], "--together needs at least two resonances"),
        (["hypotheses", RESULT, "phi(1680)"], "no other hypothesis about phi(1680) fix: give another"),
        (["hypotheses", RESULT, "phi(1680)", "--jp", "2"], "'2' has no parity fix: write it like"),
        (["hypotheses", RESULT, "phi(1680)", "--change", "{mas: 1.7}"], "unknown key 'mas' fix: did you mean 'mass'?"),
        (["search", RESULT, "--add", "phi(1680)"], "'phi(1680)' is in the fit already fix: add another state"),
        (["search", RESULT, "--add", "foo(999)"], "'foo(999)' is no state"),
        (["search", RESULT, "--toys", "5"], "--toys belongs to --scan"),
        (["search", RESULT, "--scan", "X: 1- in K+ K-, mass 2..1"], "is not a scan of a mass fix: write"),
        (["systematics", RESULT, "missing.yml"], "cannot read file of variations 'missing.yml'"),
        (["systematics", RESULT, MODEL], "variations are a list with one entry each"),
        (["sample", RESULT, "--show", "phi(1680).mss"], "no free parameter is called 'phi(1680).mss' fix: did you mean"),
        (["bins", MODEL, "--in", "mas(K+, K-): 1..2/3"], "unknown quantity or function 'mas'"),
        (["bins", MODEL, "--in", "mass(K+, K-): 2..1/3"], "do not rise"),
        (["bins", MODEL, "--in", "mass(K+, K-): 8..9/3"], "none of the 500 measured events is in any bin fix: they have mass(K+, K-)"),
        (["bins", MODEL, "--in", BINS, "--and", BINS], "bins in mass(K+, K-) and in mass(K+, K-) fix: give two different variables"),
        (["bootstrap", RESULT, "-n", "2", "-o", "data.npz"], "'data.npz' does not end with .parquet"),
        (["bootstrap", RESULT, "-n", "2", "--figures", MODEL], "it is a file fix: name another folder with --figures"),
        (["compare", RESULT, RESULT], "is to be compared with itself"),
        (["report", RESULT, "--paper", "."], "'.' already exists and is not empty"),
        (["report", RESULT, "-o", MODEL, "--force"], "is not a report of ctpwa report"),
    ],
)  # fmt: skip
def test_one_message(folder, words, said):
    code, output = run(*words)
    assert code in (1, 2)
    assert said in output
    assert not [path.name for path in folder.iterdir() if path.suffix == ".parquet"], "nothing was begun"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(folder, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    code, output = run("fit", MODEL, "--engine", "reference", "--device", "cuda:9", "-o", "other.json")
    assert (code, "there is no device 'cuda:9': torch sees no GPU fix: choose cpu" in output) == (1, True)


def test_what_is_left_without_all_resonances(folder):
    everything = [name for name in ("phi(1680)", "f(0)(980)", "K(2)*(1430)", "phi(3)(1850)") if name in (folder / MODEL).read_text()]
    code, output = run("significance", RESULT, *everything, "--together")
    assert code == 1
    assert "no wave is left without" in output


@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: raw[: len(raw) // 2], lambda raw: b"hello"])
def test_a_damaged_study(folder, damage):
    """It is not overwritten, has no report, and is not left out of one without a word."""
    run("toys", RESULT, "-n", 2)
    study = folder / "model.toys.parquet"
    study.write_bytes(damage(study.read_bytes()))
    before = study.read_bytes()
    again, report = run("toys", RESULT, "-n", 2, "--force")[1], run("report", RESULT, "--phase-space", 100)[1]
    assert "is not a study of ctpwa, or is damaged fix: name another file with --out, or remove it" in again
    assert "'model.toys.parquet' is no study of ctpwa, or is damaged fix: " in run("report", study.name)[1]
    assert "left out of the report: model.toys.parquet: it is no study of ctpwa, or is damaged" in report
    assert study.read_bytes() == before


def test_a_table_of_the_user_is_no_damaged_study(folder):
    (folder / "model.data.parquet").write_bytes(b"")
    assert "left out" not in run("report", RESULT, "--phase-space", 100)[1]


def test_samples_that_are_gone_empty_or_others(folder):
    run("fit", MODEL, "--force", "--starts", 1)  # the result knows where its samples are
    with np.load("data.npz") as file:
        arrays = dict(file)
    Path("data.npz").rename("kept.npz")
    assert "'data.npz', which was fitted, was not found" in run("toys", RESULT, "-n", 2)[1]
    np.savez("data.npz", **{name: values[:0] for name, values in arrays.items()})
    assert "data: data.npz: no events" in run("bootstrap", RESULT, "-n", 2)[1]
    np.savez("data.npz", **{name: values[:300] for name, values in arrays.items()})
    assert "'data.npz' is not the file that was fitted" in run("report", RESULT)[1]


def test_one_toy_has_no_scatter(folder):
    code, output = run("toys", RESULT, "-n", 1)
    assert (code, "nan" in output) == (0, False)


def test_edges_of_many_bins_are_not_all_shown(folder):
    run("bins", MODEL, "--in", BINS, "--starts", 1)
    output = run("bins", MODEL, "--in", "mass(K+, K-): 1..2/1000", "--starts", 1)[1]
    assert "holds another study: bins was " in output
    assert "[…]" in output
    assert len(output) < 500
