"""Densities of background: formulas, histograms, and sideband events divided by phase space."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.stream import JoinedStream, Piece
from ctpwa.observe.densities import formula_density, read_density, sideband_density
from ctpwa.observe.variable import ProjectionSpec, parse_variable

MODEL = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
SAME = ctpwa.load_model(
    {"decay": "J/psi(1S) -> gamma pi0 pi0", "polarisation": "transverse", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}}}
)
MASS, COSINE = "mass(K+, K-)", "cos_theta(K+; K+ K-)"


def events(n, seed, model=MODEL, weighted=True):
    flat = ctpwa.generate_phase_space(model, n, seed=seed)
    rng = np.random.default_rng(seed)
    return replace(flat, weights=torch.from_numpy(rng.uniform(0.5, 2, n))) if weighted else flat


def piece(sample, model=MODEL):
    return Piece([sample[label] for label in model.decay.labels])


def axis(text, bins, range_=None, model=MODEL):
    return ProjectionSpec(parse_variable(text, model.decay), bins, range_)


def test_a_formula():
    sample = events(50, 1)
    found = formula_density(f"1 + {MASS}", MODEL.decay)(piece(sample))
    np.testing.assert_array_equal(found, 1 + axis(MASS, 1).variable(sample))


def test_a_histogram(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps({"axes": [{"variable": MASS, "edges": [0.9, 1.5, 2.6]}], "values": [1, 30]}))
    sample = events(50, 1)
    found = read_density(tmp_path / "b.json", MODEL.decay, "background 'side'")(piece(sample))
    np.testing.assert_array_equal(found, np.where(axis(MASS, 1).variable(sample) < 1.5, 1, 30))


def test_what_is_wrong_with_a_histogram(tmp_path):
    path = tmp_path / "b.json"
    with pytest.raises(DataError, match=r"there is no file .*b.json"):
        read_density(path, MODEL.decay, "background 'side'")
    path.write_text(json.dumps({"axes": [{"variable": MASS, "edges": [0.9, 1.5, 2.6]}], "values": [1, -2]}))
    with pytest.raises(DataError, match=r"^background 'side': .*b.json' is not a histogram: the density of a bin is -2\n fix: "):
        read_density(path, MODEL.decay, "background 'side'")
    path.write_text(json.dumps({"axes": [{"variable": MASS, "edges": [0.9, 1.5]}], "values": [1]}))
    with pytest.raises(DataError, match=r"^background 'side': mass\(K\+, K-\) is .*and 'b.json' covers 0.9 to 1.5\n fix: "):
        read_density(path, MODEL.decay, "background 'side'")(piece(events(50, 1)))


@pytest.mark.parametrize("smoothing", [0, 0.7])
def test_sideband_events_over_phase_space(smoothing):
    """(n + k v/V) / (v/V) / N in every bin, from the counts of numpy."""
    side, phase_space = events(400, 1), events(3000, 2)
    axes = [axis(MASS, 4), axis(COSINE, 3, (-1, 1))]
    density = sideband_density(side, phase_space, axes, smoothing, "side")
    edges = [np.linspace(*axes[0].variable.limits, 5), np.linspace(-1, 1, 4)]
    n, v = (
        np.histogram2d(*(own.variable(sample) for own in axes), bins=edges, weights=sample.weights.numpy())[0]
        for sample in (side, phase_space)
    )
    assert (v > 0).all()
    expected = (n + smoothing * 12 * v / v.sum()) / (v / v.sum()) / n.sum()
    np.testing.assert_allclose(density.values, expected, rtol=1e-13)
    sample = events(20, 3)
    i, j = (np.digitize(own.variable(sample), own_edges) - 1 for own, own_edges in zip(axes, edges, strict=True))
    np.testing.assert_allclose(density(piece(sample)), expected[i, j], rtol=1e-13)


def test_smoothing_adds_phase_space():
    """As if the sideband had events of phase space beside its own."""
    side, phase_space, axes = events(100, 1), events(3000, 2), [axis(MASS, 5)]
    more = replace(phase_space, weights=phase_space.weights * (2 * 5 / phase_space.weights.sum()))
    smooth = sideband_density(side, phase_space, axes, 2, "side").values
    both = ctpwa.data.events.concatenate([side, more])
    np.testing.assert_allclose(smooth / smooth[0], (by_hand := sideband_density(both, phase_space, axes, 0, "side").values) / by_hand[0])


def test_beyond_the_edges_and_in_pieces():
    """The first and last bins hold what is beyond; a stream of phase space is the same as its events."""
    side, phase_space, axes = events(100, 1), events(2000, 2), [axis(MASS, 3, (1.2, 1.8))]
    density = sideband_density(side, phase_space, axes, 0, "side")
    x, w = axes[0].variable(side), side.weights.numpy()
    y, v = axes[0].variable(phase_space), phase_space.weights.numpy()
    assert density.values[0] == pytest.approx(w[x < 1.4].sum() / w.sum() * v.sum() / v[y < 1.4].sum(), rel=1e-12)
    parts = JoinedStream([phase_space.picked(slice(0, 700)), phase_space.picked(slice(700, 2000))])
    np.testing.assert_allclose(sideband_density(side, parts, axes, 0, "side").values, density.values, rtol=1e-13)


def test_identical_particles_have_no_order():
    side, phase_space = events(200, 1, SAME), events(2000, 2, SAME)
    density = sideband_density(side, phase_space, [axis("mass(gamma, pi0)", 5, model=SAME)], 1, "side")
    sample = events(31, 3, SAME)
    own = piece(sample, SAME)
    exchanged = Piece([own.p4[0], own.p4[2], own.p4[1]])
    for function in (density, formula_density("mass(gamma, pi0)", SAME.decay)):
        np.testing.assert_array_equal(function(own), function(exchanged))
    one, two = (axis(f"mass(gamma, pi0_{k})", 1, model=SAME).variable(sample) for k in (1, 2))
    np.testing.assert_allclose(formula_density("mass(gamma, pi0)", SAME.decay)(own), (one + two) / 2, rtol=1e-13)


def test_what_is_wrong_with_a_sideband():
    side, phase_space = events(200, 1), events(50, 2)
    with pytest.raises(
        DataError, match=r"^side: [0-9.]+ of [0-9.]+ sideband events are in bins without phase-space events\n fix: use fewer bins"
    ):
        sideband_density(side, phase_space, [axis(MASS, 200)], 1, "side")
    none = replace(side, weights=0 * side.weights)
    with pytest.raises(DataError, match=r"^side: the weights of the sideband events add up to 0\n fix: "):
        sideband_density(none, phase_space, [axis(MASS, 2)], 1, "side")
    with pytest.raises(DataError, match=r"^side: the variables have 1002001 bins\n fix: use at most 1000000"):
        sideband_density(side, phase_space, [axis(MASS, 1001), axis(COSINE, 1001)], 1, "side")
