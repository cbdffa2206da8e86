"""The efficiency of phase space: in the weights of the normalisation, and not in those of the truth."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.generate import sample_phase_space
from ctpwa.observe import parse_variable

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):   {in: K+ K-, mass: 1.659, width: 0.164}
  K(2)*(1430): {in: [K+ eta, K- eta]}
"""
SMALL = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}}
FORMULA = "0.5 + 0.2*cos_theta(K+; K+ K-)"
HISTOGRAM = {
    "axes": [
        {"variable": "mass(K+, K-)", "edges": [0.9, 1.5, 2.6]},
        {"variable": "cos_theta(K+; K+ K-)", "edges": [-1, -0.5, 0.5, 1]},
    ],
    "values": [[0.1, 0.2, 0.3], [0.4, 0.5, 1]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data; phase space with a column of efficiencies; a histogram."""
    folder = tmp_path_factory.mktemp("efficiency")
    model = ctpwa.load_model(SMALL)
    ctpwa.write_events(folder / "data.npz", ctpwa.generate_phase_space(model, 60, seed=1))
    flat = ctpwa.generate_phase_space(model, 300, seed=2)
    eff = torch.linspace(0, 1, 300, dtype=torch.float64)
    for name, column in (("phsp.parquet", eff), ("wrong.parquet", eff + 0.01), ("nan.parquet", eff / eff)):
        ctpwa.write_events(folder / name, replace(flat, weights=2 * eff + 1, columns={"eff": column}))
    (folder / "map.json").write_text(json.dumps(HISTOGRAM), encoding="utf-8")
    return folder


@pytest.fixture
def analysis(folder):
    def load(phase_space, more="", fit="{engine: reference, starts: 1}"):
        (folder / "model.yml").write_text(MODEL + f"samples: {{data: data.npz, phase_space: {phase_space}{more}}}\nfit: {fit}\n")
        return ctpwa.load_analysis(folder / "model.yml")

    return load


def value(events, text):
    return torch.from_numpy(parse_variable(text, ctpwa.load_model(SMALL).decay)(events))


def test_a_formula(analysis):
    loaded = analysis(f'{{generate: 200, seed: 3, efficiency: "{FORMULA}"}}')
    samples, plain = loaded.read(), sample_phase_space(loaded.model, 200, seed=3)
    assert torch.equal(samples.phase_space["eta"], plain["eta"])
    assert torch.equal(samples.phase_space.weights, plain.weights * value(plain, FORMULA))
    assert torch.equal(samples.truth.weights, plain.weights)
    assert loaded.summaries[1].notes[-1] == f"times the efficiency {FORMULA}"


def test_of_flat_events_it_is_the_weight(analysis):
    samples = analysis(f'{{generate: 20, proposal: flat, efficiency: {{formula: "{FORMULA}"}}}}').read()
    assert torch.equal(samples.phase_space.weights, value(samples.truth, FORMULA))
    assert samples.truth.weights is None


def test_a_column(analysis):
    loaded = analysis("{file: phsp.parquet, efficiency: {column: eff}}")
    samples = loaded.read()
    eff = torch.linspace(0, 1, 300, dtype=torch.float64)
    assert torch.equal(samples.phase_space.weights, (2 * eff + 1) * eff)
    assert torch.equal(samples.truth.weights, 2 * eff + 1)
    assert samples.phase_space.columns == samples.truth.columns == {}
    assert loaded.summaries[1].weights.largest == 3


def test_a_histogram(analysis, folder):
    loaded = analysis("{file: phsp.parquet, efficiency: {histogram: map.json}}")
    samples = loaded.read()
    m, c = value(samples.truth, "mass(K+, K-)"), value(samples.truth, "cos_theta(K+; K+ K-)")
    expected = [HISTOGRAM["values"][int(a >= 1.5)][int(b >= -0.5) + int(b >= 0.5)] for a, b in zip(m, c, strict=True)]
    assert torch.equal(samples.phase_space.weights, samples.truth.weights * torch.tensor(expected, dtype=torch.float64))
    assert [file.path for file in loaded.summaries[1].weight_files] == [str(folder / "map.json")]
    assert folder / "map.json" in loaded.files


def test_several_sources(analysis):
    """Those without an efficiency stay as they are; a column of one of them is no column of the sample."""
    samples = analysis(
        f'[{{file: phsp.parquet, efficiency: {{column: eff}}}}, {{generate: 5, efficiency: "{FORMULA}"}}, {{generate: 7}}]'
    ).read()
    n, eff = 300, torch.linspace(0, 1, 300, dtype=torch.float64)
    assert torch.equal(samples.phase_space.weights[n + 5 :], samples.truth.weights[n + 5 :])
    assert torch.equal(samples.phase_space.weights[:n], samples.truth.weights[:n] * eff)
    assert samples.phase_space.n_events == samples.truth.n_events == n + 12


@pytest.mark.parametrize("efficiency", ["{column: eff}", "{histogram: map.json}", f'"{FORMULA}"'])
def test_events_read_in_pieces(analysis, efficiency):
    text = f"{{file: phsp.parquet, efficiency: {efficiency}}}"
    loaded, streamed = (analysis(text, fit=f"{{engine: reference, starts: 1{more}}}") for more in ("", ", host_memory: 1 kB"))
    samples = streamed.read()
    assert not isinstance(samples.phase_space, ctpwa.Events)
    pieces = list(samples.phase_space.pieces())
    assert torch.equal(torch.cat([piece.weights for piece in pieces]), loaded.read().phase_space.weights)
    assert streamed.summaries == loaded.summaries


@pytest.mark.parametrize("efficiency", ["{histogram: with_a_gap.json}", '"0.2*(mass(K+, K-) - 1.5 + abs(mass(K+, K-) - 1.5))"'])
@pytest.mark.parametrize("fit", ["{}", "{host_memory: 10000}"])
def test_measured_where_nothing_can_be_measured(analysis, folder, efficiency, fit):
    """Data that the normalisation knows nothing of are refused, in memory and read in pieces; with a resolution they may be there."""
    (folder / "with_a_gap.json").write_text(json.dumps(HISTOGRAM | {"values": [[0, 0, 0], [0.4, 0.5, 1]]}), encoding="utf-8")
    phase_space = f"{{generate: 50, seed: 3, efficiency: {efficiency}}}"
    events = ctpwa.read_events(ctpwa.load_model(SMALL), folder / "data.npz")
    low = int((value(events, "mass(K+, K-)") < 1.5).sum())
    loaded = analysis(phase_space, fit=fit)
    with pytest.raises(DataError, match=rf"data: the efficiency .* is 0 at {low} events? of 60, and"):
        list(loaded.read().data.pieces())
    analysis(phase_space, ", resolution: {masses: {K+ K-: 0.002}, points: 5}", fit=fit).read()


def test_an_event_that_one_source_explains(analysis, folder):
    (folder / "with_a_gap.json").write_text(json.dumps(HISTOGRAM | {"values": [[0, 0, 0], [0.4, 0.5, 1]]}), encoding="utf-8")
    holes = "{generate: 50, seed: 3, efficiency: {histogram: with_a_gap.json}}"
    for other in ("{generate: 50, seed: 4}", "{generate: 50, seed: 4, efficiency: {histogram: map.json}}"):
        assert analysis(f"[{holes}, {other}]").read().data.n_events == 60


def test_a_fit_is_that_with_weights_and_truth(analysis, folder):
    """The same as with an accepted sample: events weighted by hand, and all of them as the truth."""
    loaded = analysis(f'{{generate: 500, seed: 3, efficiency: "{FORMULA}"}}')
    plain = sample_phase_space(loaded.model, 500, seed=3)
    accepted = replace(plain, weights=plain.weights * value(plain, FORMULA))
    data = ctpwa.read_events(loaded.model, folder / "data.npz")
    likelihood = ctpwa.build_likelihood(loaded.model, data, accepted, engine="reference")
    expected = ctpwa.fit(likelihood, starts=1, truth=plain)
    found = loaded.fit()
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-12)
    assert found.nll == pytest.approx(expected.nll, rel=1e-12)
    assert found.fractions[0].over == "truth"
    corrected, wanted, plain = (fit.fractions[0].groups["resonances"].values for fit in (found, expected, ctpwa.fit(likelihood, starts=1)))
    np.testing.assert_allclose(corrected, wanted, rtol=1e-12)
    assert np.abs(plain / wanted - 1).max() > 1e-3


def test_a_truth_that_is_given_is_taken(analysis):
    samples = analysis(f'{{generate: 20, efficiency: "{FORMULA}"}}', ", truth: {generate: 30}").read()
    assert samples.truth.n_events == 30


@pytest.mark.parametrize(
    ("phase_space", "message"),
    [
        ('{generate: 50, efficiency: "mass(K+, K-)"}', r"efficiency: mass\(K\+, K-\) is .* in one of \d+ such events\n fix: an efficiency"),
        ('{generate: 50, efficiency: "sqrt(mass(K+, K-) - 1.5)"}', "^efficiency: .* has no finite value in event"),
        ('{generate: 50, efficiency: "0*mass(K+, K-)"}', "phase space: its weights add up to 0\n fix: check its efficiency, which is 0"),
        ("{file: wrong.parquet, efficiency: {column: eff}}", r"'efficiency factor' of event 297 is 1\.00\d+\n fix: it must be"),
        ("{file: nan.parquet, efficiency: {column: eff}}", "'efficiency factor' of event 0 is nan\n fix: it must be between 0 and 1"),
        ("{file: phsp.parquet, efficiency: {column: effi}}", "no column 'effi' for the efficiency factor\n fix: did you mean 'eff'"),
        ("{file: phsp.parquet, efficiency: {histogram: none.json}}", r"^efficiency: there is no file .*none.json'\n fix: .*map.json"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_events(analysis, phase_space, message):
    with pytest.raises(DataError, match=message):
        analysis(phase_space).read()


def changed(**keys):
    return HISTOGRAM | keys


MASS = HISTOGRAM["axes"][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "it is not JSON"),
        ({"values": [1]}, "it does not have the keys axes and values"),
        (changed(axes=[]), "it has 0 axes\n fix: give one to 3"),
        (changed(axes=[MASS] * 4), "it has 4 axes"),
        (changed(axes=[{"variable": "mass(K+, K-)"}]), "an axis does not have the keys variable and edges"),
        (changed(axes=[MASS | {"variable": "mass(K+, pi-)"}]), "pi-"),
        (changed(axes=[MASS | {"edges": [1, 1, 2]}]), r"the edges of mass\(K\+, K-\) do not rise"),
        (changed(axes=[MASS | {"edges": [1, "2"]}]), "are not numbers in lists of equal length"),
        (changed(values=[[0.1, 0.2], [0.3]]), "its values are not numbers in lists of equal length"),
        (changed(values=[[0.1, 0.2], [0.3, 0.4]]), "its values are 2×2, and its edges make 2×3 bins"),
        (changed(values=[[0.1, 0.2, 0.3], [0.4, 1.5, 1]]), "the efficiency of a bin is 1.5\n fix: give numbers from 0 to 1"),
        (changed(values=[[0.1, 0.2, 0.3], [0.4, float("nan"), 1]]), "its values are not numbers"),
        ({"axes": [MASS | {"edges": [1.2, 1.4, 2.6]}], "values": [0.5, 0.5]}, "'bad.json' covers 1.2 to 2.6\n fix: make the"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_histogram(analysis, folder, content, message):
    (folder / "bad.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        analysis("{file: phsp.parquet, efficiency: {histogram: bad.json}}").read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("phase_space: {generate: 5, efficiency: {column: eff}}", "generated events have no column of efficiencies\n fix: give a formula"),
        ("phase_space: {generate: 5, efficiency: {}}", "'efficiency' with nothing"),
        ("phase_space: {file: a.root, efficiency: {column: a, histogram: b.json}}", "'efficiency' with column and histogram"),
        ("phase_space: {generate: 5, efficiency: 0.5}", "'efficiency' must be a mapping of keys, not 0.5\n fix: write a formula"),
        ("phase_space: {generate: 5, efficiency: mass(K+ pi-)}", "pi-"),
        ("phase_space: {generate: 5}\n  truth: {generate: 5, efficiency: mass(K+ K-)/4}", "'efficiency' of 'truth'\n fix: move it"),
    ],
)  # fmt: skip
def test_mistakes_in_the_model_file(tmp_path, text, message):
    (tmp_path / "model.yml").write_text(MODEL + f"samples:\n  data: data.npz\n  {text}\n", encoding="utf-8")
    with pytest.raises(ctpwa.CtpwaError, match=message.replace("\n", r"[\s\S]*")):
        ctpwa.load_analysis(tmp_path / "model.yml")


def test_a_reopened_result_notices_another_histogram(analysis, folder):
    result = analysis("{file: phsp.parquet, efficiency: {histogram: map.json}}").fit()
    opened = ctpwa.open_fit(result)
    opened.read()
    (folder / "map.json").write_text(json.dumps(changed(values=[[0.1, 0.2, 0.3], [0.4, 0.5, 0.9]])), encoding="utf-8")
    try:
        with pytest.raises(DataError, match=r"map\.json' is not the file that was fitted"):
            ctpwa.open_fit(result).read()
    finally:
        (folder / "map.json").write_text(json.dumps(HISTOGRAM), encoding="utf-8")
