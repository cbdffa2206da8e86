"""``ctpwa show``: what a result says, and toys from it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.take_over import fitted_values
from ctpwa.fitting.text import with_error
from ctpwa.generate.toys import ToySettings

PHI3, KSTAR = "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


def show(*options, **settings):
    return CliRunner().invoke(app, ["show", "model.result.json", *options], obj=CommandSettings(**settings))


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_plain_text_is_that_of_python(fitted):
    result = show()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{fitted}\n"


def test_everything_that_was_found_is_shown(fitted):
    text = show().stdout
    assert text.startswith(f"J/psi(1S) -> K+ K- eta: -ln L = {fitted.nll:.6f} with 5 free parameters and {fitted.n_events} events\n")
    assert "verdict: good" in text
    assert f"3 starts, {len(fitted.minima)} minim" in text
    assert f"AIC {fitted.aic:.2f}, BIC {fitted.bic:.2f}" in text
    mass = fitted["phi(1680).mass"]
    line = next(line for line in text.splitlines() if line.startswith("  phi(1680).mass"))
    assert line.split() == [
        "phi(1680).mass",
        *with_error(mass.value, mass.error).split(),
        "simulation",
        f"{mass.simulation:.2g}",
        "MINOS",
        f"{mass.minos.lower:+.3g}",
        f"{mass.minos.upper:+.3g}",
        ">",
        "0",
    ]
    fractions = fitted.fractions[0].groups["resonances"]
    expected = with_error(100 * fractions.values[2], 100 * fractions.errors[2])
    assert next(line for line in text.splitlines() if line.startswith("  K(2)*(1430)  ")).split()[1:5] == [*expected.split(), "%"]
    assert "interference" not in text
    assert "correlations" not in text


def test_waves_and_interferences(fitted):
    text = show("--waves").stdout
    waves = text.split("fractions over phase space: waves\n")[1].split("\n\n")[0].splitlines()
    group = fitted.fractions[0].groups["waves"]
    assert [line[2:].split("  ")[0] for line in waves] == [*group.names, "sum"]
    block = text.split("interferences over phase space: resonances\n")[1].split("\n\n")[0]
    found = fitted.fractions[0].groups["resonances"]
    largest = max(((i, j) for i in range(3) for j in range(i + 1, 3)), key=lambda pair: abs(found.interference[pair]))
    first = block.splitlines()[0].split()
    assert first[:2] == [found.names[i] for i in largest]
    assert first[2:] == [*with_error(100 * found.interference[largest], 100 * found.interference_errors[largest]).split(), "%"]


def test_correlations(fitted):
    block = show("--correlations").stdout.split("\ncorrelations\n")[1]
    rho = fitted.correlation
    n = len(rho)
    large = sorted((abs(rho[i, j]) for i in range(n) for j in range(i + 1, n) if abs(rho[i, j]) >= 0.1), reverse=True)
    lines = [line for line in block.splitlines() if "more below" not in line]
    assert [abs(float(line.split()[-1])) for line in lines] == pytest.approx(large, abs=6e-4)
    left = n * (n - 1) // 2 - len(large)
    assert (f"{left} more below 0.1" in block) == (left > 0)


def test_tables_on_a_terminal(fitted):
    result = show("--waves", "--correlations", terminal=True)
    assert result.exit_code == 0
    table = rows(result.stdout)
    assert ["parameter", "value", "of", "which", "MINOS", "limits"] in table
    assert ["coupling", "magnitude", "phase"] in table
    assert ["wave", "fraction"] in table
    coupling = next(c for c in fitted.couplings if c.name == KSTAR)
    expected = with_error(coupling.magnitude, coupling.magnitude_error)
    assert any(row[: 4 + 3] == [*KSTAR.split(), *expected.split(), row[6]] for row in table if len(row) > 6)


def test_a_verdict_that_is_not_good_is_shown_all_the_same(fitted, small):
    assert fitted.verdict.good
    replace(fitted, verdict=replace(fitted.verdict, good=False, reasons=("interrupted",))).save("model.result.json")
    result = show()
    assert (result.exit_code, result.stderr) == (0, "")
    assert "verdict: NOT good" in result.stdout
    assert "\n  interrupted\n" in result.stdout


def test_json_has_the_file_and_correlations(fitted, small):
    printed = json.loads(show("--json").stdout)
    np.testing.assert_allclose(printed.pop("correlation"), fitted.correlation, atol=1e-15)
    assert printed == json.loads((small / "model.result.json").read_text())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read 'model.result.json'"),
        ("decay: x", "is not a result of a fit"),
        ('{"schema": 99}', "has schema 99, and this ctpwa reads schema 2"),
        ('{"checkpoint": 1}', "is the checkpoint of an unfinished fit\n fix: continue with"),
    ],
)
def test_what_is_no_result(small, text, message):
    if text is not None:
        (small / "model.result.json").write_text(text)
    result = show()
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


@pytest.mark.parametrize(("name", "kind"), [("other.yml", "a model file: fit it with"), ("a.bins.parquet", "a study or a sample")])
def test_another_file_in_place_of_a_result(small, name, kind):
    (small / name).write_bytes(b"decay: x \xff")
    result = CliRunner().invoke(app, ["show", name])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"fix: this looks like {kind}" in result.stderr


# toys with fitted values


def generate(*options, **toys):
    settings = CommandSettings(toys=ToySettings(**toys), toy_engine="reference")
    return CliRunner().invoke(app, ["generate", *options, "--from", "model.result.json", "-n", "10", "-o", "toy.npz"], obj=settings)


@pytest.mark.parametrize("model", [[], ["model.yml"]])
def test_toys_of_a_result(fitted, model):
    truth = json.loads(generate(*model, "--json", pilot_rounds=1, pilot_events=64, maximum_events=64).stdout)
    assert truth["couplings"] == {c.name: [c.re, c.im] for c in fitted.couplings}
    assert truth["parameters"] == {
        "phi(1680).mass": fitted.value("phi(1680).mass"),
        **{k: v for k, v in fitted.fixed.items() if "[" not in k},
    }
    assert set(truth["parameters"]) == {p.name for p in model_channels(ctpwa.load_model("model.yml")).theta}


def test_fitted_values_are_the_fit(fitted):
    """The intensity of a result is, up to a constant, that of the likelihood where it ended."""
    analysis = ctpwa.load_analysis("model.yml")
    likelihood, values = analysis.likelihood(), fitted_values(fitted, analysis.model)
    I = ctpwa.ModelIntensity(analysis.model, couplings=values.couplings, parameters=values.parameters, engine="reference")(
        analysis.read().data
    )
    ratio = np.asarray(I) / likelihood.intensity(fitted.x).numpy()
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


def test_a_toy_of_another_model(fitted, small):
    text = (small / "model.yml").read_text()
    (small / "model.yml").write_text(text.replace("phi(3)(1850): {in: K+ K-}", "rho(3)(1690): {in: K+ K-, off_shell: true}"))
    result = generate("model.yml", pilot_rounds=0, maximum_events=0)  # which cannot make any
    assert result.exit_code == 1
    assert "the result has no 'rho(3)(1690)0[K+ K-] (3,3)(3,0)': it is the result of another model" in result.stderr
    (small / "model.yml").write_text(text.replace("  phi(3)(1850): {in: K+ K-}\n", ""))
    result = generate("model.yml", pilot_rounds=0, maximum_events=0)  # which cannot make any
    assert f"the model has no '{PHI3}'" in result.stderr


def test_a_toy_of_a_result_without_a_model(fitted):
    fitted.with_origin(model=None).save("model.result.json")
    result = CliRunner().invoke(app, ["generate", "--from", "model.result.json", "-n", "10", "-o", "toy.npz"])
    assert result.exit_code == 1
    assert "does not contain the fitted model\n fix: give the model file as well" in result.stderr


def test_a_toy_of_nothing(small):
    result = CliRunner().invoke(app, ["generate", "-n", "10", "-o", "toy.npz"])
    assert result.exit_code == 2
    assert "--from" in result.stderr


def test_poles(fitted):
    text = show("--poles").stdout
    table = text.split("poles √s = mass − i width/2 in GeV")[1].splitlines()[1:]
    assert [line.split()[0] for line in table] == ["resonance", "phi(1680)", "phi(3)(1850)", "K(2)*(1430)"]
    mine = ctpwa.poles(fitted, ctpwa.load_model("model.yml"))
    numbers = [with_error(mine[0].mass, mine[0].mass_error), with_error(mine[0].width, mine[0].width_error)]
    assert table[1].split()[:13] == ["phi(1680)", "K+", "K-", "(−)", "of", "K+", "K-", *" ".join(numbers).split()]
    assert 0 < mine[0].mass_error < 1
    assert "(fixed)" in table[2]
    assert show("--poles").stdout.startswith(show().stdout.rstrip())


def test_poles_for_programs(fitted):
    found = json.loads(show("--poles", "--json").stdout)["poles"]
    mine = ctpwa.poles(fitted, ctpwa.load_model("model.yml"))
    assert [entry["mass"] for entry in found] == [pole.mass for pole in mine]
    assert found[0]["sheet"] == [-1]
    assert complex(*found[0]["residue"]) == mine[0].residue
    assert found[0]["covariance"] == mine[0].covariance.tolist()
    assert "poles" not in json.loads(show("--json").stdout)


def test_poles_on_all_sheets(fitted):
    everywhere = json.loads(show("--all-sheets", "--json").stdout)["poles"]
    mine = ctpwa.poles(fitted, ctpwa.load_model("model.yml"), sheets="all")
    assert [(entry["resonance"], entry["sheet"]) for entry in everywhere] == [(pole.resonance, list(pole.sheet)) for pole in mine]


def test_poles_need_the_model(fitted):
    fitted.with_origin(model=None).save("model.result.json")
    result = show("--poles")
    assert result.exit_code == 1
    assert "does not contain its model" in result.stderr


def test_all_reasons_on_request(fitted, small):
    reasons = tuple(f"reason {k}" for k in range(1, 6))
    fitted.with_origin(verdict=replace(fitted.verdict, good=False, reasons=reasons)).save("model.result.json")
    short = CliRunner().invoke(app, ["show", "model.result.json"]).stdout
    assert "  reason 3\n  and 2 more reasons, see ctpwa show --reasons\n" in short
    assert "reason 4" not in short
    everything = CliRunner().invoke(app, ["show", "model.result.json", "--reasons"]).stdout
    assert all(f"  {reason}\n" in everything for reason in reasons)
    assert "--reasons" not in everything
    assert json.loads(CliRunner().invoke(app, ["show", "model.result.json", "--json"]).stdout)["verdict"]["reasons"] == list(reasons)
