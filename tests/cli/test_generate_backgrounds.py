"""``ctpwa generate`` with the backgrounds of a model file: how many there are, what they look like, and that they can be fitted."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ctpwa
from ctpwa.analysis.toys import generate_data
from ctpwa.base.errors import GenerationError
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.generate.picked_toys import pick_toy
from ctpwa.generate.toys import ToySettings
from ctpwa.observe.variable import parse_variable
from kk_eta import TWO_FIXED

MODEL = (
    TWO_FIXED
    + """couplings:
  K(2)*(1430)+[K+ eta] (2,2)(2,0): 8
"""
)
SHORT = ToySettings(pilot_rounds=1, pilot_events=256, maximum_events=2048)  # any proposal gives the same distribution
STEEP = '{density: "(mass(K+, K-) - 0.9)**4", fraction: {value: 0.3, float: true}}'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, backgrounds, *, phase_space="{generate: 1000, seed: 1}", fit="", model=MODEL):
    entries = "".join(f"    {name}: {own}\n" for name, own in backgrounds.items())
    samples = f"samples:\n  data: toy.npz\n  phase_space: {phase_space}\n" + (f"  backgrounds:\n{entries}" if entries else "")
    (folder / "model.yml").write_text(model + samples + f"fit: {{engine: reference, starts: 1{fit}}}\n")


def generate(*options, n=300):
    arguments = ["generate", "model.yml", "-n", str(n), "-o", "toy.npz", *options]
    return CliRunner().invoke(app, arguments, obj=CommandSettings(toys=SHORT, toy_engine="reference"), catch_exceptions=False)


def test_components_are_counted_marked_and_distributed(folder):
    """Every component is where it should be: signal that of the same toy without background."""
    write(folder, {"steep": STEEP, "flat": "{density: flat, fraction: 0.1}"})
    result = generate("--seed", "3", n=2000)
    assert (result.exit_code, result.stderr) == (0, "")
    with np.load("toy.npz") as file:
        which = file["component"]
        momenta = {name: torch.from_numpy(file[name]) for name in ("K+", "K-", "eta")}
    counts = [int((which == k).sum()) for k in range(3)]
    assert f"\n  {counts[0]} signal, {counts[1]} steep, {counts[2]} flat; column 'component': 0 signal, 1 steep, 2 flat\n" in result.stdout
    assert abs(counts[1] - 600) < 5 * np.sqrt(600 * 0.7)
    mass = parse_variable("mass(K+, K-)", ctpwa.load_model("model.yml").decay)
    steep, flat = (mass({name: p[which == k] for name, p in momenta.items()}) for k in (1, 2))
    assert steep.mean() > flat.mean() + 0.2
    generate("--signal-only", "--force", "--seed", "3", n=counts[0])
    with np.load("toy.npz") as file:
        assert "component" not in file.files
        assert {tuple(row) for row in file["eta"]} == {tuple(row) for row in momenta["eta"][which == 0].tolist()}


def test_what_was_written_can_be_fitted(folder):
    """The fraction that the fit finds is that of the toy."""
    write(folder, {"steep": STEEP}, phase_space="{generate: 3000, seed: 1}")
    shown = json.loads(generate("--json", "--seed", "5", n=600).stdout)
    assert sum(shown["components"].values()) == 600
    found = ctpwa.load_analysis("model.yml").fit(progress=False)
    (own,) = [p for p in found.parameters if p.name == "steep.fraction"]
    assert abs(own.value - shown["components"]["steep"] / 600) < 3 * own.error


def test_densities_that_need_files(folder):
    """A histogram, sideband events, a model of them, and generated phase space; the data need not be there."""
    write(folder, {})
    model = ctpwa.load_model("model.yml")
    flat = ctpwa.generate_phase_space(model, 2000, seed=1)
    low = parse_variable("mass(K+, K-)", model.decay)(flat) < 1.5
    ctpwa.write_events("side.npz", {name: p[torch.from_numpy(low)] for name, p in flat.items()})
    histogram = {"axes": [{"variable": "mass(K+, K-)", "edges": [0.9, 1.5, 2.6]}], "values": [0, 1]}
    (folder / "b.json").write_text(json.dumps(histogram))
    side = (
        '{density: {sideband: side.npz, variables: [{variable: "mass(K+, K-)", range: [0.9, 2.1], bins: 2}], smoothing: 0}, fraction: 0.4}'
    )
    peak = "{density: {sideband: side.npz, resonances: {X: {in: K+ K-, mass: 1.2, width: 0.1}}}, fraction: 0.05}"
    write(folder, {"high": "{density: {histogram: b.json}, fraction: 0.5}", "low": side, "peak": peak})
    data = generate_data(ctpwa.load_analysis("model.yml"), 200, 2, engine="reference", settings=SHORT)
    mass = parse_variable("mass(K+, K-)", model.decay)(data.toy.events)
    assert data.names == ("signal", "high", "low", "peak")
    assert data.counts["peak"] > 0
    assert (mass[data.toy.components == 1] >= 1.5).all()
    assert (mass[data.toy.components == 2] < 1.5).all()


def test_a_density_in_a_column_picks_events_of_phase_space(folder):
    """Events and columns are those of the sample, and the background is where the column is 1."""
    model = "columns: [b]\n" + MODEL
    write(folder, {"spot": "{density: {column: b}, fraction: 0.5}"}, phase_space="mc.npz", model=model)
    flat = ctpwa.generate_phase_space(ctpwa.load_model("model.yml"), 4000, seed=1)
    b = (torch.arange(4000) % 4 == 0).to(torch.float64)
    ctpwa.write_events("mc.npz", ctpwa.Events(flat.momenta, None, {"b": b + 0.001}))
    result = generate("--seed", "1", n=100)
    assert "100 events of J/psi(1S) -> K+ K- eta, picked from 4000 phase-space events" in result.stdout
    with np.load("toy.npz") as file:
        assert {tuple(row) for row in file["eta"]} <= {tuple(row) for row in flat["eta"].tolist()}
        share = [(file["b"][file["component"] == k] > 1).mean() for k in (0, 1)]
    assert share[0] < 0.5
    assert share[1] > 0.95
    assert "steep" not in result.stdout
    too_many = generate("--force", n=3000)
    assert "of 4000 phase-space events can be picked for a toy\n fix: use a larger phase-space sample" in too_many.stderr
    assert (
        "picked from the phase-space sample, with all of its columns\n fix: leave out --column b"
        in generate("--force", "--column", "b=1").stderr
    )


def test_picked_events_follow_weights_and_densities():
    """χ² of four groups of events that differ in weight and density, against v p."""
    group = torch.arange(40_000) % 4
    v, y = torch.tensor([1.0, 2.0, 1.0, 0.5], dtype=torch.float64), torch.tensor([[1.0, 1, 3, 0], [0, 1, 1, 2]], dtype=torch.float64)
    sample = ctpwa.Events({"x": group[:, None].to(torch.float64).repeat(1, 4)}, v[group])
    events, components = pick_toy(sample, [y[0][group], y[1][group]], [0.4, 0.6], 5000, seed=2)
    assert events.weights is None
    shares = torch.stack([f * v * own / (v @ own) for f, own in zip((0.4, 0.6), y, strict=True)]).numpy()
    n = np.array([[int(((components == k) & (events["x"][:, 0] == g)).sum()) for g in range(4)] for k in range(2)])
    assert (n[shares == 0] == 0).all()
    expected = 5000 * shares[shares > 0]
    assert ((n[shares > 0] - expected) ** 2 / expected).sum() < 25
    with pytest.raises(GenerationError, match="in proportion to negative weights"):
        pick_toy(ctpwa.Events(sample.momenta, -sample.weights), [y[0][group]], [1.0], 10)


def test_fractions_of_a_fit_of_fix_and_of_relations(folder):
    """The result of a fit says how much background there is, in fractions or yields; so do fix and relations of the model file."""

    def parts(of_fit=None):
        data = generate_data(ctpwa.load_analysis("model.yml"), 1000, of_fit=of_fit, engine="reference", settings=SHORT)
        return [data.counts[name] / 1000 for name in ("a", "b")]

    two = {"a": "{density: flat, fraction: 0.01}", "b": "{density: flat, fraction: 0.01}"}
    write(folder, two)
    assert parts({"a.fraction": 0.5, "b.fraction": 0.25}) == pytest.approx([0.5, 0.25], abs=0.08)
    assert parts({"signal.yield": 10, "a.yield": 20, "b.yield": 10}) == pytest.approx([0.5, 0.25], abs=0.08)
    write(folder, two, fit=", fix: {a.fraction: 0.5}, relations: {b.fraction: a.fraction/2}")
    assert parts() == pytest.approx([0.5, 0.25], abs=0.08)
    write(folder, two, fit=", extended: true, start: {signal.yield: 25, a.yield: 50, b.yield: 25}")
    assert parts() == pytest.approx([0.5, 0.25], abs=0.08)


def test_a_result_without_its_model_file(folder):
    write(folder, {"steep": STEEP})
    generate(n=200)
    ctpwa.load_analysis("model.yml").fit(progress=False).save("result.json")
    settings = CommandSettings(toys=SHORT, toy_engine="reference")
    result = CliRunner().invoke(app, ["generate", "--from", "result.json", "-n", "50", "-o", "again.npz"], obj=settings)
    assert " signal, " in result.stdout
    assert " steep; column" in result.stdout


def test_the_efficiency_of_the_model_file(folder):
    """Background that is flat before acceptance is found where events are measured."""
    write(folder, {"flat": "{density: flat, fraction: 0.5}"}, phase_space='{generate: 1000, efficiency: "(mass(K+, K-) - 0.9)**4/10"}')
    shown = generate(n=100).stdout
    assert "% of those tried were accepted with the efficiency " in shown
    mass = parse_variable("mass(K+, K-)", ctpwa.load_model("model.yml").decay)
    with np.load("toy.npz") as file:
        measured = mass({name: torch.from_numpy(file[name]) for name in ("K+", "K-", "eta")})
        flat = file["component"] == 1
    assert measured[flat].mean() > mass(ctpwa.generate_phase_space(ctpwa.load_model("model.yml"), 1000, seed=1)).mean() + 0.2


def test_several_data_sets(folder):
    entry = "{data: toy.npz, phase_space: {generate: 500}, backgrounds: {flat: {density: flat, fraction: 0.5}}}"
    (folder / "model.yml").write_text(MODEL + f"data_sets:\n  one: {entry}\n  two: {{data: two.npz, phase_space: {{generate: 500}}}}\n")
    failed = generate(n=20)
    assert (
        "2 data sets with backgrounds, efficiencies or resolutions of their own: one, two\n fix: say which with --data-set" in failed.stderr
    )
    assert " flat; column" in generate("--data-set", "one", n=20).stdout
    assert "signal" not in generate("--data-set", "two", "--force", n=20).stdout
    assert "signal" not in generate("--signal-only", "--force", n=20).stdout
    assert (
        "no data set 'three': it has one, two\n fix: correct or leave out --data-set" in generate("--data-set", "three", "--force").stderr
    )


def test_text_files_and_subtracted_samples(folder):
    """A text file has no room for the column; a sample that is subtracted is not in the toy, which is said."""
    write(folder, {"flat": "{density: flat, fraction: 0.5}"})
    text = (folder / "model.yml").read_text().replace("  backgrounds:", "  background: side.npz\n  backgrounds:")
    (folder / "model.yml").write_text(text)
    settings = CommandSettings(toys=SHORT, toy_engine="reference")
    result = CliRunner().invoke(app, ["generate", "model.yml", "-n", "20", "-o", "toy.txt"], obj=settings)
    assert "model.yml subtracts a background sample, and these events do not hold any of it" in result.stderr
    assert "column" not in result.stdout
    assert ctpwa.read_events(ctpwa.load_model("model.yml"), "toy.txt").n_events == 20


def test_an_efficiency_that_is_a_column_is_not_in_the_toy(folder):
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
    events = ctpwa.generate_phase_space(model, 100, seed=1)
    ctpwa.write_events(folder / "mc.npz", replace(events, columns={"eff": torch.full((100,), 0.5, dtype=torch.float64)}))
    samples = "samples: {data: data.npz, phase_space: {file: mc.npz, efficiency: {column: eff}}}\n"
    (folder / "model.yml").write_text(MODEL + samples)
    assert "do not have the efficiency of model.yml: it is a column of the phase-space sample" in generate(n=20).stderr


def test_the_only_data_set_is_conjugate(folder):
    """Its files hold the conjugate decay, and so does a toy of it."""
    samples = "samples: {data: d.npz, phase_space: {generate: 50}, conjugate: true}\n"
    (folder / "model.yml").write_text("decay: D0 -> K_S0 pi+ pi-\nresonances:\n  rho(770): {in: pi+ pi-}\n" + samples)
    assert "of D~0 -> " in generate(n=20).stdout
