"""``ctpwa significance`` and ``ctpwa hypotheses``."""

import json

from typer.testing import CliRunner

from ctpwa.cli.main import app
from ctpwa.studies import load_study

FIT, PHI3 = "model.result.json", "phi(3)(1850)"


def run(*options):
    return CliRunner().invoke(app, [*options], env={"COLUMNS": "250"})


def test_significance(fitted, small):
    result = run("significance", FIT, PHI3, "--starts", "1", "--figures", "figures")
    assert (result.exit_code, result.stderr) == (0, "")
    study = load_study(small / "model.significance.parquet")
    assert result.stdout.startswith(f"{study}\n")
    assert study.removed[0].ndf == 2
    assert study.removed[0].sigmas > 5
    assert (small / "figures" / "significance.pdf").exists()


def test_significance_of_a_set(fitted, small):
    result = run("significance", FIT, "--together", PHI3, "K(2)*(1430)", "--starts", "1", "--json")
    assert result.exit_code == 0, result.stderr
    (fit,) = json.loads(result.stdout)["fits"]
    assert fit["key"] == f"without {PHI3} and K(2)*(1430)"
    assert fit["numbers"]["ndf"] == 4
    assert run("significance", FIT, "--together", PHI3).exit_code == 2


def test_hypotheses(fitted, small):
    result = run("hypotheses", FIT, PHI3, "--jp", "1-", "--change", "{radius: 4}", "--starts", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    study = load_study(small / "model.hypotheses.parquet")
    assert result.stdout.startswith(f"{study}\n")
    assert {own.name for own in study.ranked} == {"as fitted", "JP 1-", "{radius: 4}"}
    assert study.ranked[-1].name == "JP 1-"


def test_wrong_input(fitted):
    for options in (["significance", FIT, "X"], ["hypotheses", FIT, PHI3], ["hypotheses", FIT, PHI3, "--change", "5"]):
        result = run(*options)
        assert result.exit_code == 1
        assert " fix: " in result.stderr
