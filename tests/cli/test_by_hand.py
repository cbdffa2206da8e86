"""``ctpwa show`` and ``ctpwa report`` with ``--set``, ``--without`` and ``--data``: what follows from changes, without a fit."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings

MASS = "phi(1680).mass"
PHI, PHI3, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


def run(*words):
    return CliRunner().invoke(app, list(words), obj=CommandSettings())


def shown(*words):
    """What ``show`` prints for programs."""
    ended = run("show", "model.result.json", "--json", *words)
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def fractions(description):
    group = description["fractions"][0]["groups"]["resonances"]
    return dict(zip(group["names"], group["values"], strict=True))


def by_hand(result, at, gone=()):
    """−ln L and fractions of resonances from intensities alone."""
    analysis = ctpwa.load_analysis("model.yml")
    samples, model = analysis.read(), analysis.model
    couplings = {c.name: 0.0 if c.name in gone else complex(c.re, c.im) for c in result.couplings} | at.get("couplings", {})
    parameters = {name: value for name, value in result.values.items() if name.rpartition(".")[2] in ("mass", "width", "radius")}
    intensity = ctpwa.ModelIntensity(model, couplings=couplings, parameters=parameters | at.get("parameters", {}), engine="reference")
    weights = np.ones(samples.phase_space.n_events) if samples.phase_space.weights is None else samples.phase_space.weights.numpy()
    over = np.asarray(intensity(samples.phase_space))
    nll = -np.log(np.asarray(intensity(samples.data))).sum() + samples.data.n_events * np.log(np.average(over, weights=weights))
    found = {}
    for name in model.resonances:
        waves = [wave.name for wave in model.waves if name in {own.name for own in wave.resonances}]
        found[name] = (weights @ np.asarray(intensity(samples.phase_space, waves))) / (weights @ over)
    return nll, found


def test_a_value_is_set(fitted):
    said = shown("--set", f"{MASS}=1.7", "--set", f"{PHI3}=30-20j")
    nll, expected = by_hand(fitted, {"parameters": {MASS: 1.7}, "couplings": {PHI3: 30 - 20j}})
    before, _ = by_hand(fitted, {})
    assert said["nll"] - fitted.nll == pytest.approx(nll - before, rel=1e-9)
    assert fractions(said) == pytest.approx(expected, rel=1e-9)
    values = {p["name"]: p["value"] for p in said["parameters"]}
    assert values == pytest.approx(
        {p.name: p.value for p in fitted.parameters} | {MASS: 1.7, f"{PHI3}.re": 30, f"{PHI3}.im": -20}, rel=1e-12
    )
    assert all(p["error"] is None for p in said["parameters"])
    assert {c["magnitude_error"] for c in said["couplings"]} == {None}
    assert set(np.ravel(said["fractions"][0]["groups"]["resonances"]["covariance"])) == {"nan"}
    assert next(iter(said)) == "changed_by_hand"
    assert said["changed_by_hand"] == f"changed by hand: --set {MASS}=1.7 --set {PHI3}=30-20j; nothing was refitted"


def test_the_point_of_the_fit_is_found_again(fitted):
    said = shown("--set", f"{MASS}={fitted.value(MASS)!r}")
    assert said["nll"] == pytest.approx(fitted.nll, rel=1e-13)
    expected = fitted.fractions[0].groups["resonances"]
    assert fractions(said) == pytest.approx(dict(zip(expected.names, expected.values, strict=True)), rel=1e-10)


@pytest.mark.parametrize(("name", "gone"), [("phi(3)(1850)", PHI3), ("K(2)*(1430)", K2)])
def test_a_resonance_is_left_out(fitted, name, gone):
    said = shown("--without", name)
    nll, expected = by_hand(fitted, {}, [gone])
    before, _ = by_hand(fitted, {})
    assert said["nll"] - fitted.nll == pytest.approx(nll - before, rel=1e-9)
    assert fractions(said) == pytest.approx({own: value for own, value in expected.items() if own != name}, rel=1e-9)


def test_what_was_changed_stands_at_the_top(fitted):
    text = run("show", "model.result.json", "--set", f"{MASS}=1.7", "--waves", "--poles").stdout
    first, second, third, *_ = text.splitlines()
    assert first == f"changed by hand: --set {MASS}=1.7; nothing was refitted"
    assert second.startswith("-ln L is ")
    assert second.endswith(" above that of the fit; values have no errors")
    assert third.endswith(f"with {fitted.n_events} events")
    assert "verdict" not in text
    assert "AIC" not in text
    assert "±" not in text
    assert "no error)" not in text


def test_a_moved_file_is_the_same_data(fitted, small):
    fitted.with_origin(model_file="model.yml").save("model.result.json")
    (small / "data.npz").rename(small / "moved.npz")
    ended = run("show", "model.result.json", "--set", f"{MASS}=1.7")
    assert ended.exit_code == 1
    assert "computed from events: 'data.npz', which was fitted, was not found" in ended.stderr
    assert " fix: name the data with --data" in ended.stderr
    text = run("show", "model.result.json", "--data", "moved.npz").stdout
    first, second, *rest = text.splitlines()
    assert first == "changed by hand: --data moved.npz; nothing was refitted"
    assert second == "these are the events that were fitted"
    assert "\n".join(line for line in str(fitted).splitlines() if not line.startswith("AIC")) == "\n".join(rest)


def test_other_data(fitted, small):
    model = ctpwa.load_model("model.yml")
    ctpwa.write_events(small / "few.npz", ctpwa.read_events(model, "data.npz").picked(slice(0, 80)), model=model)
    said = shown("--data", "few.npz")
    (small / "few.yml").write_text((small / "model.yml").read_text().replace("data.npz", "few.npz"))
    likelihood = ctpwa.load_analysis("few.yml").likelihood()
    assert said["n_events"] == 80
    assert said["nll"] == pytest.approx(likelihood.value(fitted.x), rel=1e-12)
    assert [p["error"] for p in said["parameters"]] == [p.error for p in fitted.parameters]
    yields = said["fractions"][0]["yields"]
    assert {name: pair[0] for name, pair in yields.items()} == pytest.approx({k: 80 * f for k, f in fractions(said).items()})
    text = run("show", "model.result.json", "--data", "few.npz").stdout
    assert text.splitlines()[1] == "values, errors and verdict are those of the fit; -ln L and yields are of these events"
    assert "verdict: good" in text
    assert "AIC" not in text


def test_the_report_says_it_at_the_top(fitted, small):
    ended = run("report", "model.result.json", "--without", "phi(3)(1850)", "--engine", "reference")
    assert ended.exit_code == 0, ended.output
    page = (small / "model.result.changed.html").read_text()
    head = page[: page.index('id="model"')]
    assert "changed by hand: --without phi(3)(1850); nothing was refitted" in head
    assert "not a fit" in head
    assert "AIC" not in head
    assert "minimum" not in head
    assert 'id="convergence"' not in page
    assert 'id="correlations"' not in page
    assert 'id="projections"' in page
    assert "φ" not in head
    assert "Bands and ellipses" not in page


def test_a_report_over_other_data(fitted, small):
    model = ctpwa.load_model("model.yml")
    ctpwa.write_events(small / "few.npz", ctpwa.read_events(model, "data.npz").picked(slice(0, 80)), model=model)
    ended = run("report", "model.result.json", "--data", "few.npz", "--engine", "reference", "-o", "few.html")
    assert ended.exit_code == 0, ended.output
    head = (small / "few.html").read_text().partition('id="model"')[0]
    assert "changed by hand: --data few.npz; nothing was refitted" in head
    assert ">80<" in head


@pytest.mark.usefixtures("fitted")
def test_what_cannot_be_done_is_said():
    for words, expected in (
        (["show", "model.result.json", "--set", "phi(1680).mas=1"], "phi(1680).mass"),
        (["show", "model.result.json", "--without", "phi(1860)"], "the model has no such resonance"),
        (["report", "model.result.json", "--set", f"{MASS}=1.7", "--paper", "tables"], "--paper writes tables of a fit"),
    ):
        ended = run(*words)
        assert ended.exit_code == 2, ended.output
        assert expected in " ".join(ended.stderr.replace("│", " ").split())
    ended = run("show", "model.result.json", "--data", "nowhere.npz")
    assert ended.exit_code == 1
    assert "--data 'nowhere.npz': there is no such file" in ended.stderr
    assert run("show", "model.result.json", "--fix", MASS).exit_code == 2
