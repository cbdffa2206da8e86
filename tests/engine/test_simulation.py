"""What a finite phase-space sample does to the gradient, and how many of its events count."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.event_files import open_events
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.simulation import simulation_scatter
from ctpwa.engine.likelihood.values import model_values
from ctpwa.engine.samples.stored_sample import StoredSample
from ctpwa.observe.mass_resolution import MassResolution
from engine import cases
from engine.cases import (
    CASES,
    CUDA,
    ENGINES,
    FAST_ENGINES,
    assert_close,
    events,
    example,
    model,
    point,
    samples,
)
from engine.oracle import Oracle
from engine.test_mixture import OPTIONS

FLOATING, FIXED = "small not streamed", "small fixed"  # weights of both signs, also of phase space
CHOSEN = ("phi(1020)", "phi(1680)", "K*(1410)", "NR1")  # resonances of "small"


@cache
def small_fixed(engine="reference", precision="double"):
    """The same without parameters that float."""
    every = example("jpsi_kk_eta")
    chosen = {name: {k: v for k, v in every["resonances"][name].items() if k != "float"} for name in CHOSEN}
    fixed = ctpwa.load_model(every | {"resonances": chosen})
    return build_likelihood(fixed, **samples(FLOATING), engine=engine, precision=precision, subtraction="plain")


def given(name):
    return samples(FLOATING if name == FIXED else name)


def make(name, engine, **options):
    """A likelihood of a case with the plain formula, without anything that bounds it."""
    return cases.make(name, engine, **({"subtraction": "plain"} | options))


@cache
def likelihood(name, engine):
    return make(name, engine)


def built(name, engine, **options):
    return small_fixed(engine, **options) if name == FIXED else make(name, engine, **options) if options else likelihood(name, engine)


@cache
def by_hand(name):
    """S and N_eff from the intensities of single events and their derivatives, both by torch, added up by numpy."""
    like = built(name, "reference")
    x = torch.tensor(point(like))
    options = {} if name == FIXED else CASES[name].options
    oracle = Oracle(like.model, like.names, given(name), **options)

    def intensities(x):
        return oracle.intensity(x, "phase_space")

    I, dI = intensities(x).numpy(), torch.autograd.functional.jacobian(intensities, x).numpy()
    v = oracle.weights("phase_space").numpy()
    total = (v * I).sum()
    d = dI / I[:, None] - (v @ dI) / total
    S = (like.weight / total) ** 2 * np.einsum("e,ei,ej->ij", (v * I) ** 2, d, d)
    return S, total**2 / ((v * I) ** 2).sum()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [FLOATING, FIXED, "small polar"])
def test_it_is_the_sum_over_single_events(name, engine):
    like = built(name, engine)
    assert isinstance(like.phase_space, Collapsed) == (name == FIXED)
    found = like.simulation_scatter(point(like))
    S, size = by_hand(name)
    assert_close(found.products, S, 1e-10)
    np.testing.assert_array_equal(found.products, found.products.T)
    assert found.sizes[0].total == pytest.approx(size, rel=1e-10)
    assert found.sizes[0].n_events == len(given(name)["phase_space"].weights)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [FLOATING, "flatte"])
def test_pieces_of_large_samples_add_up(name, engine):
    """Callbacks fill their rows before a sample is cut; weights have both signs."""
    like = likelihood(name, engine)
    x = point(like)
    expected, found = like.simulation_scatter(x), simulation_scatter(like, x, most_events=37)
    assert_close(found.products, expected.products, 1e-12)
    assert found.sizes[0].n_events == expected.sizes[0].n_events
    assert_close(np.array(list(found.sizes[0].waves.values())), np.array(list(expected.sizes[0].waves.values())), 1e-12)


@pytest.mark.parametrize(("name", "engine"), [("flatte", "reference"), (FLOATING, "cpu"), pytest.param("flatte", "cuda", marks=CUDA.marks)])
def test_effective_sizes_of_waves(name, engine):
    """Of one coupling after the other: all others are 0. The first model has two rows."""
    like = likelihood(name, engine)
    x = point(like)
    found = like.simulation_scatter(x).sizes[0].waves
    assert tuple(found) == like.coupling_names
    at = model_values(like, x)
    v = samples(name)["phase_space"].weights
    for coupling in like.coupling_names:
        alone = {other: 1.0 if other == coupling else 0.0 for other in like.coupling_names}
        intensity = ctpwa.ModelIntensity(model(name), couplings=alone, parameters=at.parameters, engine="reference")
        w = v * intensity(samples(name)["phase_space"])
        assert found[coupling] == pytest.approx(float(w.sum() ** 2 / w.square().sum()), rel=1e-9)
        assert 0 < found[coupling] < len(v)


def test_all_events_count_where_the_intensity_is_flat():
    constant = {"in": "pi+ pi-", "JP": "0+", "lineshape": "constant"}
    decay = ctpwa.load_model({"decay": "D0 -> pi+ pi- pi0", "resonances": {"NR": constant}})
    events = ctpwa.generate_phase_space(decay, 50, seed=1)
    like = build_likelihood(decay, events, events, engine="reference")
    size = like.simulation_scatter(like.start).sizes[0]
    assert (size.n_events, size.total, list(size.waves.values())) == (50, pytest.approx(50), [pytest.approx(50)])


def test_a_matrix_finds_its_events_again():
    """Lineshapes that float and are fixed afterwards keep their events; those that never float do not."""
    whole, matrix = likelihood(FLOATING, "reference"), small_fixed()
    floating = [name for name in whole.names if name not in matrix.names]
    kept = whole.fixed({name: whole.start[whole.names.index(name)] for name in floating})
    assert isinstance(kept.phase_space, StoredSample)
    assert isinstance(matrix.phase_space, Collapsed)
    x = point(matrix)
    own, other = matrix.simulation_scatter(x), kept.simulation_scatter(x)
    assert_close(own.products, other.products, 1e-12)
    assert own.sizes[0].total == pytest.approx(other.sizes[0].total, rel=1e-12)


def test_a_matrix_of_a_stream_reads_it_again(tmp_path):
    whole = small_fixed()
    ctpwa.write_events(tmp_path / "phase_space.parquet", samples(FLOATING)["phase_space"], model=whole.model)
    stream = open_events(whole.model, tmp_path / "phase_space.parquet", chunk=50)
    streamed = build_likelihood(whole.model, **(samples(FLOATING) | {"phase_space": stream}), engine="reference", subtraction="plain")
    x = point(whole)
    assert_close(streamed.simulation_scatter(x).products, whole.simulation_scatter(x).products, 1e-10)


@pytest.mark.parametrize(("engine", "spill"), [("reference", True), ("cpu", False), ("cpu", True)])
def test_streamed(engine, spill):
    streamed, whole = make(FLOATING, engine, chunk=32, spill=spill), likelihood(FLOATING, engine)
    x = point(whole)
    own, other = streamed.simulation_scatter(x), whole.simulation_scatter(x)
    assert_close(own.products, other.products, 1e-12)
    assert own.sizes[0].total == pytest.approx(other.sizes[0].total, rel=1e-13)
    np.testing.assert_allclose(list(own.sizes[0].waves.values()), list(other.sizes[0].waves.values()), rtol=1e-13)


@pytest.mark.parametrize(("name", "tolerance"), [(FLOATING, 1e-5), (FIXED, 1e-10)])
def test_mixed_precision(name, tolerance):
    """A matrix is that of double precision, and so are the events that it finds again."""
    like = built(name, "reference", precision="mixed")
    S, size = by_hand(name)
    found = like.simulation_scatter(point(like))
    assert_close(found.products, S, tolerance)
    assert found.sizes[0].total == pytest.approx(size, rel=tolerance)


def test_an_event_without_intensity_adds_nothing():
    """Its ln I does not exist, and is not needed."""
    like = likelihood(FLOATING, "reference")
    sample = like.phase_space.resident[0]
    K, w = sample.K.clone(), sample.w.clone()
    K[..., 5] = 0
    w[5] = 0.0
    gone, empty = (
        replace(like, norm=replace(like.norm, source=StoredSample.on_device([changed], like.streamer)))
        for changed in (replace(sample, w=w), replace(sample, K=K))
    )
    x = point(like)
    assert float(empty.intensity(x, "phase space").min()) == 0
    assert_close(empty.simulation_scatter(x).products, gone.simulation_scatter(x).products, 1e-12)


def test_a_sum_adds_up_independent_samples():
    one, other = likelihood("small", "reference"), make("small", "reference", phase_space=samples(FLOATING)["phase_space"])
    x = point(one)
    found = (one + other).simulation_scatter(x)
    assert_close(found.products, one.simulation_scatter(x).products + other.simulation_scatter(x).products, 1e-14)
    assert [size.n_events for size in found.sizes] == [300, 120]


# relatives


def test_relatives_of_a_matrix():
    like = small_fixed()
    x = point(like)
    S = like.simulation_scatter(x).products
    name = like.names[0]
    assert_close(like.fixed({name: x[0]}).simulation_scatter(x[1:]).products, S[1:, 1:], 1e-13)
    data = samples(FLOATING)["data"]
    other = like.with_data(data.momenta)  # other weights, and no background: only W is another
    assert_close(other.simulation_scatter(x).products, (other.weight / like.weight) ** 2 * S, 1e-12)
    part = like.subsample(40)
    assert_close(part.simulation_scatter(x).products, (part.weight / like.weight) ** 2 * S, 1e-12)
    fewer = like.without(["NR1"])
    again = build_likelihood(fewer.model, **samples(FLOATING), engine="reference", subtraction="plain")
    y = point(fewer)
    own, expected = fewer.simulation_scatter(y), again.simulation_scatter(y)
    assert_close(own.products, expected.products, 1e-11)
    assert own.sizes[0].waves == pytest.approx(expected.sizes[0].waves)


def test_lineshapes_that_stand_still_are_refused():
    like = likelihood(FLOATING, "reference")
    x = point(like)
    with pytest.raises(DataError, match="does not know its phase-space sample\n fix: ask the one it was made from"):
        like.with_still_lineshapes(x).simulation_scatter(x)


def test_wrong_input():
    like = likelihood(FLOATING, "reference")
    with pytest.raises(DataError, match="parameters have shape"):
        like.simulation_scatter(point(like)[1:])
    weights = -samples(FLOATING)["phase_space"].weights.abs()
    weights[0] = 1000.0
    negative = make(FLOATING, "reference", phase_space=Events(samples(FLOATING)["phase_space"].momenta, weights))
    sample = negative.phase_space.resident[0]
    source = StoredSample.on_device([replace(sample, w=-sample.w.abs(), n_positive=0)], negative.streamer)
    with pytest.raises(DataError, match=r"the normalisation is -.* at these parameters"):
        replace(negative, norm=replace(negative.norm, source=source)).simulation_scatter(point(like))


def test_a_pickled_matrix_finds_its_events_too():
    like = small_fixed()
    x = point(like)
    again = pickle.loads(pickle.dumps(like))
    assert_close(again.simulation_scatter(x).products, like.simulation_scatter(x).products, 1e-13)


# added densities: β holds σ and the means of the densities, which scatter as well


def mixed(phase_space, engine="reference", weights="positive", **options):
    data = events("small", 40, 1, weights)
    return build_likelihood(model("small"), data, phase_space, engine=engine, progress=False, **options)


FLOORED = {"weights": "mixed"}  # negative weights: the floor is made of the phase-space events as well


RESOLVED = FLOORED | {"resolution": MassResolution((0, 1), 0.05, 5)}  # points of the floor are other ones than those of the normalisation


@pytest.mark.parametrize(
    "options",
    [OPTIONS["two"], OPTIONS["extended"], FLOORED, FLOORED | OPTIONS["extended"], RESOLVED, RESOLVED | OPTIONS["extended"]],
)
def test_added_densities(options):
    """S = Σ (v ∂g/∂v)(v ∂g/∂v)ᵀ over the weights v of the sample, with differences of the gradient g of likelihoods that are built anew."""
    flat, step = events("small", 8, 2, "positive"), 1e-4
    like = mixed(flat, **options)
    assert (like.samples.floor is not None) == ("weights" in options)
    x = point(like) + np.array([0.1 if "." in name and name.endswith("fraction") else 0.0 for name in like.names])
    expected = 0.0
    for j, v in enumerate(flat.weights.tolist()):
        sides = []
        for sign in (1, -1):
            weights = flat.weights.clone()
            weights[j] = v * (1 + sign * step)
            sides.append(mixed(Events(flat.momenta, weights), **options).value_and_grad(x)[1])
        moved = (sides[0] - sides[1]) / (2 * step)
        expected = expected + np.outer(moved, moved)
    assert_close(like.simulation_scatter(x).products, expected, 1e-6)


@pytest.mark.parametrize("options", [FLOORED, RESOLVED])
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_added_densities_in_all_engines(engine, options):
    flat = events("small", 30, 2, "positive")
    expected, found = (mixed(flat, own, **options, **OPTIONS["two"]) for own in ("reference", engine))
    x = point(expected)
    assert_close(found.simulation_scatter(x).products, expected.simulation_scatter(x).products, 1e-10)


def test_points_of_the_floor_in_mixed_precision():
    flat = events("small", 30, 2, "positive")
    expected, found = (mixed(flat, "cpu", **RESOLVED, precision=precision) for precision in ("double", "mixed"))
    x = point(expected)
    assert_close(found.simulation_scatter(x).products, expected.simulation_scatter(x).products, 1e-5)
