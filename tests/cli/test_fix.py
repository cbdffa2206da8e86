"""``ctpwa fit --fix``: as if the file said so, in the result, when it is opened again and when it is resumed."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.fitting.checkpoint import hash_of_model

MASS, WIDTH = "phi(1680).mass", "phi(1680).width"
PHI3 = "phi(3)(1850)[K+ K-] (3,3)(3,0)"


def run(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def floating(small):
    text = (small / "model.yml").read_text()
    (small / "model.yml").write_text(text.replace("width: 0.15}", "width: 0.15, float: [mass, width]}"))
    return small


@pytest.mark.usefixtures("floating")
def test_parameters_are_fixed():
    ended = run("fit", "model.yml", "--fix", f"{MASS}=1.7", "--fix", WIDTH, "--fix", f"{PHI3}.im = 150")
    assert ended.exit_code in (0, 3), ended.output
    result = ctpwa.FitResult.load("model.result.json")
    assert {name: result.fixed[name] for name in (MASS, WIDTH, f"{PHI3}.im")} == {MASS: 1.7, WIDTH: 0.15, f"{PHI3}.im": 150.0}
    assert result.settings["fix"] == {MASS: 1.7, WIDTH: 0.15, f"{PHI3}.im": 150.0}
    opened = ctpwa.open_fit("model.result.json")
    like = opened.analysis.likelihood()
    assert like.names == result.names
    assert like.value(result.x) == pytest.approx(result.nll, rel=1e-13)
    assert opened.values.parameters[MASS] == 1.7
    assert run("show", "model.result.json").exit_code == 0


def test_it_is_the_same_as_in_the_file(floating):
    assert run("fit", "model.yml", "--fix", f"{MASS}=1.7", "-o", "a.json").exit_code in (0, 3)
    text = (floating / "model.yml").read_text()
    (floating / "model.yml").write_text(text.replace("fit: {", f"fit: {{fix: {{{MASS}: 1.7}}, "))
    assert run("fit", "model.yml", "-o", "b.json").exit_code in (0, 3)
    a, b = (ctpwa.FitResult.load(name) for name in ("a.json", "b.json"))
    assert a.names == b.names
    np.testing.assert_array_equal(a.x, b.x)
    assert a.fixed == b.fixed
    assert hash_of_model(a.model) == hash_of_model(b.model)


@pytest.mark.usefixtures("floating")
def test_a_fit_is_resumed_only_with_the_same_parameters():
    assert run("fit", "model.yml", "--fix", f"{MASS}=1.7").exit_code in (0, 3)
    assert run("fit", "model.yml", "--fix", f"{MASS}=1.7", "--resume").exit_code in (0, 3)
    for words in ([], ["--fix", f"{MASS}=1.69"]):
        ended = run("fit", "model.yml", *words, "--resume")
        assert ended.exit_code == 1
        assert "was fitted to another model" in ended.stderr
    assert run("fit", "model.yml", "--fix", f"{MASS}=1.69", "--from", "model.result.json", "-o", "other.json").exit_code in (0, 3)
    assert ctpwa.FitResult.load("other.json").fixed[MASS] == 1.69


@pytest.mark.usefixtures("floating")
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("phi(1680).mas=1.7", "did you mean 'phi(1680).mass'"),
        (f"{MASS}=heavy", "'heavy' is not a number; write NAME=VALUE"),
        (f"{MASS}=", "'' is not a number"),
        (f"{MASS}=inf", "is not finite"),
        ("=1", "has no name"),
        (f"{WIDTH}=-1", "give a number from 0 to inf"),
        (f"{PHI3}.abs=1", "write representation: polar"),
        ("phi(1680)[K+ K-] (1,1)(1,0).re=1", "is fixed to 1"),
    ],
)
def test_mistakes(option, message):
    ended = run("fit", "model.yml", "--fix", option)
    assert ended.exit_code == 2
    assert message in " ".join(ended.stderr.replace("│", " ").split())


def test_twice(floating):
    ended = run("fit", "model.yml", "--fix", MASS, "--fix", f"{MASS}=1.7")
    assert ended.exit_code == 2
    assert "twice" in ended.stderr
    assert not list(floating.glob("*.json"))


def test_other_mistakes_of_the_file_are_those_of_the_file(floating):
    (floating / "model.yml").write_text("decay: J/psi(1S) -> K+ K- eta\nfoo: 1\n")
    ended = run("fit", "model.yml", "--fix", MASS)
    assert ended.exit_code == 1
    assert "model.yml:2:1: unknown key 'foo'" in ended.stderr


def test_check_shows_formulas(floating):
    text = (floating / "model.yml").read_text()
    text = text.replace("phi(3)(1850): {in: K+ K-}", f"phi(3)(1850): {{in: K+ K-, mass: {MASS} + shift}}")
    (floating / "model.yml").write_text(text.replace("fit: {", f"parameters: {{shift: 0.17}}\nfit: {{fix: '{PHI3}.im', "))
    printed = run("check", "model.yml").stdout
    assert "phi(3)(1850).mass                1.85         = phi(1680).mass + shift" in printed
    assert "5 free parameters: 3 of couplings, 2 of lineshapes" in printed
    parameters = {p["name"]: p for p in json.loads(run("check", "model.yml", "--json").stdout)["parameters"]}
    assert parameters["phi(3)(1850).mass"]["formula"] == "phi(1680).mass + shift"
    assert "formula" not in parameters["shift"]


def test_start_values_count_where_parameters_are_fixed_at_them():
    """They are part of the likelihood then, and a fit with others is not resumed."""
    hashes = {
        (fixed, value): hash_of_model({"fit": {"start": {MASS: value, WIDTH: 0.1 * value}} | ({"fix": [MASS]} if fixed else {})})
        for fixed in (True, False)
        for value in (1.6, 1.7)
    }
    assert hashes[True, 1.6] != hashes[True, 1.7]
    assert hashes[False, 1.6] == hashes[False, 1.7]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("words", "expected"), [("phi(3)(1850)[K+ K-] (3,3) (3,0) = -150", (-150.0, 0.0)), ("phi(3)=120", (120.0, 0.0))])
def test_a_coupling_is_fixed_as_a_whole(words, expected):
    ended = run("fit", "model.yml", "--fix", words)
    assert ended.exit_code in (0, 3), ended.output
    result = ctpwa.FitResult.load("model.result.json")
    assert (result.fixed[f"{PHI3}.re"], result.fixed[f"{PHI3}.im"]) == expected
    assert not [name for name in result.names if name.startswith(PHI3)]


def test_a_coupling_is_fixed_in_polar_form_and_where_the_fit_would_start(small):
    text = (small / "model.yml").read_text().replace("fit: {", "fit: {representation: polar, fix: [phi(3)(1850)], ")
    (small / "model.yml").write_text(text + f"couplings: {{'{PHI3}': {{abs: 130, phase: 0.4}}}}\n")
    settings = ctpwa.load_analysis(small / "model.yml").likelihood()
    assert not [name for name in settings.names if name.startswith(PHI3)]
    full = dict(zip((p.name for p in settings.parameters.all), settings.parameters.full(settings.start), strict=True))
    assert (full[f"{PHI3}.abs"], full[f"{PHI3}.phase"]) == pytest.approx((130, 0.4))
    (small / "model.yml").write_text(text.replace("fix: [phi(3)(1850)]", "fix: [phi]"))
    with pytest.raises(ctpwa.CtpwaError, match="'phi' could be any of"):
        ctpwa.load_model(small / "model.yml")
    (small / "model.yml").write_text(text.replace("fix: [phi(3)(1850)]", f"fix: {{phi(3)(1850): 1, '{PHI3}.abs': 2}}"))
    with pytest.raises(ctpwa.CtpwaError, match="is fixed twice"):
        ctpwa.load_model(small / "model.yml")
