"""``ctpwa compare``: fits of the same events with and without a resonance."""

import json

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings


@pytest.fixture(scope="module")
def _without(_small_data):
    text = (_small_data / "floating.yml").read_text()
    lines = [line for line in text.splitlines(keepends=True) if "phi(3)(1850)" not in line]
    (_small_data / "without.yml").write_text("".join(lines))
    return ctpwa.load_analysis(_small_data / "without.yml").fit(starts=3)


@pytest.fixture
def pair(fitted, _without, small):
    _without.save(small / "without.result.json")
    return fitted, _without


def run(*options, **settings):
    return CliRunner().invoke(app, ["compare", *options], env={"COLUMNS": "250"}, obj=CommandSettings(**settings))


FILES = ("model.result.json", "without.result.json")


def test_plain_text_is_that_of_python(pair):
    result = run(*FILES)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{ctpwa.compare(FILES)}\n"
    assert "model against without" in result.stdout


def test_numbers(pair):
    larger, smaller = pair
    content = json.loads(run(*FILES, "--json").stdout)
    (test,) = content["nested"]
    assert test["delta"] == pytest.approx(2 * (smaller.nll - larger.nll))
    assert test["ndf"] == [2, 2]  # one complex coupling; its propagator is fixed
    assert test["sigmas"][0] > 5
    assert [fit["free_parameters"] for fit in content["fits"]] == [5, 3]


def test_tables_on_a_terminal(pair):
    result = run(*FILES, terminal=True)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["nested", "models", "2", "Δ", "ln", "L", "more", "parameters", "p-value", "significance"] in rows
    assert any(row[:1] == ["phi(1680).mass"] for row in rows)


def test_other_samples(pair):
    text = run(*FILES, "--other-samples").stdout
    assert "note: -ln L cannot be compared: the samples are said to be different" in text
    assert "likelihood ratio" not in text


def test_one_result_is_not_enough(fitted):
    result = run(FILES[0])
    assert result.exit_code == 2
    assert "give at least two results" in result.stderr
