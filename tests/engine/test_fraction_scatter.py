"""Errors of fractions over a finite phase-space sample: against fits with other weights of single events, and toys."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.fraction_scatter import fraction_scatter
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.direct_effect import AskedFractions, DirectEffect, SampleInfluence
from ctpwa.fitting.fractions import FractionCalculator, SignalEvents, wave_groups
from engine import cases
from engine.cases import FAST_ENGINES, assert_close, events, point
from engine.test_mixture import OPTIONS
from engine.test_simulation import FLOORED, RESOLVED, mixed
from fitting.cases import make, phase_space

STEP = 1e-5
SMALL = 1e-12  # as if there were so many more events: errors are of first order then
NOTHING = 1e-6  # of a fraction that is always 1


def terms_of(like):
    return (like,) if isinstance(like, Likelihood) else like.terms


def effects(like, x, number=0):
    """Fractions of every kind, their slopes, and what the simulation adds to their variances: through parameters, and in all."""
    term, whole = terms_of(like)[number], like.simulation_scatter(x)
    inverse = np.linalg.inv(like.hessian(x))
    index = [like.names.index(name) for name in term.names]
    calculator, kinds = FractionCalculator(term, x[index]), wave_groups(term.model)
    direct = calculator.direct_effects(kinds, SampleInfluence(whole.influences[number], inverse[np.ix_(index, index)]))
    own = inverse[np.ix_(index, index)]
    V = SMALL * own @ term.simulation_scatter(x[index]).products @ own  # of this sample alone
    direct = {kind: DirectEffect(SMALL * one.products, SMALL * one.squares, SMALL * one.moved) for kind, one in direct.items()}
    return calculator, kinds, direct, V


def moved_by_weights(build, flat, x, quantities):
    """∂(quantities)/∂ ln v of every event, at points where the gradient stays what it is: as fits of other phase-space samples move."""
    like = build(flat)
    gradient, inverse = like.value_and_grad(x)[1], np.linalg.inv(like.hessian(x))
    weights = torch.ones(flat.n_events, dtype=torch.float64) if flat.weights is None else flat.weights
    rows = []
    for j, v in enumerate(weights.tolist()):
        sides = []
        for sign in (1, -1):
            other = weights.clone()
            other[j] = v * (1 + sign * STEP)
            own, at = build(replace(flat, weights=other)), x.copy()
            for _ in range(4):
                at = at - inverse @ (own.value_and_grad(at)[1] - gradient)
            sides.append(quantities(own, at))
        rows.append((sides[0] - sides[1]) / (2 * STEP))
    return np.array(rows)


def all_numbers(like, x, number=0):
    """Fractions and interferences of all kinds, then yields of resonances."""
    term = terms_of(like)[number]
    x = x[[like.names.index(name) for name in term.names]]
    calculator, kinds = FractionCalculator(term, x), wave_groups(term.model)
    nothing = np.zeros((len(x), len(x)))
    found = [calculator.fractions(groups, nothing) for groups in kinds.values()]
    signal = SignalEvents.of(term, x)
    of_resonances = found[list(kinds).index("resonances")].values
    return np.concatenate([*(own.interference.ravel() for own in found), signal.value * of_resonances])


def check(build, flat, number=0, of=None, tolerance=2e-6, differs=True):
    like = build(flat)
    x = point(like) if of is None else of(like)
    moved = moved_by_weights(build, flat, x, lambda own, at: all_numbers(own, at, number))
    calculator, kinds, direct, V = effects(like, x, number)
    begin = 0
    for kind, groups in kinds.items():
        own, n = calculator.fractions(groups, V, direct[kind]), len(groups)
        block = moved[:, begin : begin + n * n].reshape(-1, n, n)
        begin += n * n
        assert_close(own.interference_errors**2 / SMALL, (block**2).sum(axis=0), tolerance, NOTHING)
        diagonal = block[:, np.arange(n), np.arange(n)]
        assert_close(own.covariance / SMALL, diagonal.T @ diagonal, tolerance, NOTHING)
        if kind == "waves" and differs:
            without = calculator.fractions(groups, V)
            assert not np.allclose(without.covariance, own.covariance, rtol=0.01, atol=0)
    signal = SignalEvents.of(calculator._likelihood, calculator._x)
    signal = SignalEvents(signal.value, signal.slope, 0.0)  # that of the data
    resonances = kinds["resonances"]
    fractions = calculator.fractions(resonances, V, direct["resonances"])
    yields = calculator.yields(resonances, fractions, V, signal, direct["resonances"])
    assert_close(np.array([error for _, error in yields.values()]) ** 2 / SMALL, (moved[:, begin:] ** 2).sum(axis=0), tolerance, NOTHING)


@pytest.mark.parametrize(
    "options",
    [{}, OPTIONS["two"], OPTIONS["extended"], FLOORED, FLOORED | OPTIONS["extended"], RESOLVED, RESOLVED | OPTIONS["two"]],
    ids=["plain", "two densities", "extended", "floor", "floor, extended", "points of the floor", "points of the floor, two densities"],
)
def test_it_is_what_weights_of_single_events_do(options):
    flat = events("small", 8, 2, "positive")

    def start(like):
        return point(like) + np.array([0.1 if "." in name and name.endswith("fraction") else 0.0 for name in like.names])

    check(lambda own: mixed(own, **options), flat, of=start)


def test_a_floor_of_some_of_the_events():
    """It has ten events for each measured one at most."""
    data, flat = events("small", 2, 1, "positive"), events("small", 40, 2, "positive")
    data.weights[1] *= -0.2

    def build(own):
        return ctpwa.build_likelihood(cases.model("small"), data, own, engine="reference", progress=False)

    assert build(flat).samples.floor.source.n_events == 20
    check(build, flat)


def in_all(like, x):
    """Σ t tᵀ, Σ t² and Σ t δxᵀ of all kinds."""
    found = effects(like, x)[2]
    return [number for own in found.values() for number in (own.products, own.squares, own.moved)]


def compare(found, expected, x, tolerance):
    for one, other in zip(in_all(found, x), in_all(expected, x), strict=True):
        assert_close(one, other, tolerance, NOTHING)


@pytest.mark.parametrize("options", [OPTIONS["two"], FLOORED, RESOLVED], ids=["two densities", "floor", "points of the floor"])
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_all_engines(engine, options):
    flat = events("small", 30, 2, "positive")
    expected, found = (mixed(flat, own, **options) for own in ("reference", engine))
    compare(found, expected, point(expected), 1e-9)


MODELS = ["flatte", "rho_rho", "own_lineshapes", "columns", "small polar"]  # rows, feeds, functions of Python, chains, coordinates


@pytest.mark.parametrize("name", MODELS)
def test_all_kinds_of_models(name):
    data, flat = events_of(name, 30, 1), events_of(name, 6, 2)
    check(lambda own: cases.make(name, "reference", data=data, phase_space=own, background=None), flat, differs=False)


def events_of(name, n, seed):
    return events(name, n, seed, "positive")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_all_kinds_of_models_in_all_engines(engine, name):
    expected, found = (cases.likelihood(name, own) for own in ("reference", engine))
    compare(found, expected, point(expected), 1e-8)


def fixed(flat, **options):
    """A model without floating lineshapes: its normalisation is one matrix."""
    return make("fixed", 30, phase_space=flat, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_matrix(weighted):
    flat = phase_space("fixed", 12, 4)
    if weighted:
        flat = replace(flat, weights=torch.linspace(0.3, 1.7, 12, dtype=torch.float64))
    assert isinstance(fixed(flat).phase_space, Collapsed)
    check(fixed, flat)


def test_a_fit():
    """At a minimum, with the parts that a result consists of."""
    flat = phase_space("fixed", 60, 4)
    like = fixed(flat)
    found, without = ctpwa.fit(like), ctpwa.fit(like, simulation=False)
    moved = moved_by_weights(fixed, flat, found.x, all_numbers)
    calculator, kinds, direct, _ = effects(like, found.x)
    own, n = found.fractions[0].groups["waves"], len(kinds["waves"])
    block = moved[:, : n * n].reshape(-1, n, n)[:, np.arange(n), np.arange(n)]
    first, statistical = (
        calculator.fractions(kinds["waves"], SMALL * result.covariance, effect).covariance / SMALL
        for result, effect in ((found, direct["waves"]), (without, None))
    )
    assert_close(first - statistical, block.T @ block, 1e-5)
    whole = DirectEffect(*(part / SMALL for part in (direct["waves"].products, direct["waves"].squares, direct["waves"].moved)))
    assert_close(own.covariance, calculator.fractions(kinds["waves"], found.covariance, whole).covariance, 1e-9)


def test_two_data_sets_have_samples_of_their_own():
    """Events of one move fractions over the other through the parameters alone."""
    first, second = phase_space("fixed", 12, 4), phase_space("fixed", 10, 5)
    other = fixed(second)
    check(lambda own: fixed(own) + other, first, of=lambda like: point(like.terms[0]))
    x = point(other)
    like = fixed(first) + other
    moved = moved_by_weights(lambda own: fixed(own) + other, first, x, lambda own, at: all_numbers(own, at, 1))
    inverse = np.linalg.inv(like.hessian(x))
    V = inverse @ fixed(first).simulation_scatter(x).products @ inverse
    groups = wave_groups(other.model)["waves"]
    found = FractionCalculator(other, x).fractions(groups, SMALL * V)
    assert_close(found.interference_errors.ravel() ** 2 / SMALL, (moved[:, : len(groups) ** 2] ** 2).sum(axis=0), 2e-6)


def test_a_truth_sample_has_none():
    like = fixed(phase_space("fixed", 12, 4))
    x = point(like)
    calculator = FractionCalculator(like, x, phase_space("fixed", 20, 6))
    influence = like.simulation_scatter(x).influences[0]
    assert calculator.direct_effects(wave_groups(like.model), SampleInfluence(influence, np.eye(len(x)))) == {}


@pytest.mark.parametrize(("engine", "spill"), [("reference", True), ("cpu", False), ("cpu", True)])
def test_streamed(engine, spill):
    streamed, whole = (cases.make("small not streamed", engine, **own) for own in ({"chunk": 32, "spill": spill}, {}))
    compare(streamed, whole, point(whole), 1e-11)


def test_a_streamed_floor():
    flat = events("small", 30, 2, "positive")
    with cases.streamed_in(7, False):
        streamed = mixed(flat, **FLOORED)
    compare(streamed, mixed(flat, **FLOORED), point(streamed), 1e-11)


def test_weights_that_repeat_a_pattern():
    """An event and its twin with another weight in turn: every second one would see one kind only."""
    flat = phase_space("floating", 4000, 2)
    flat = replace(flat, weights=torch.tensor([0.2, 1.8], dtype=torch.float64).repeat(2000))
    like = make("floating", phase_space=flat)
    x, kinds = like.start, wave_groups(like.model)
    calculator = FractionCalculator(like, x)
    values = {kind: calculator.fractions(groups, np.eye(len(x))).interference for kind, groups in kinds.items()}
    sums = AskedFractions.of(kinds).sums(calculator.integrals.wave, values)
    influence = like.simulation_scatter(x).influences[0]
    whole, half = (fraction_scatter(like, x, sums, influence, most).squares for most in (4000, 2000))
    large = whole > 1e-3 * whole.max()
    np.testing.assert_allclose(np.sqrt(half / whole)[large], 1, atol=0.15)


@pytest.mark.parametrize("name", ["fixed", "floating"])  # computed again, and kept
def test_some_events_of_a_large_sample_stand_for_all(name):
    """Three copies of every event, side by side: a third of them say the same as all."""
    flat = phase_space(name, 40, 2)
    thrice = replace(flat, momenta={name: p.repeat_interleave(3, dim=0) for name, p in flat.momenta.items()})
    like = make(name, phase_space=thrice)
    x, kinds = like.start, wave_groups(like.model)
    calculator = FractionCalculator(like, x)
    values = {kind: calculator.fractions(groups, np.eye(len(x))).interference for kind, groups in kinds.items()}
    sums = AskedFractions.of(kinds).sums(calculator.integrals.wave, values)
    influence = like.simulation_scatter(x).influences[0]
    whole, part, few = (fraction_scatter(like, x, sums, influence, most) for most in (120, 40, 13))
    for name in ("products", "squares", "crossed"):
        assert_close(getattr(part, name), getattr(whole, name), 1e-12)
    assert not np.allclose(few.squares, whole.squares, rtol=1e-3)  # every tenth: not all of them as often


@pytest.mark.parametrize("options", [OPTIONS["two"], RESOLVED])
def test_mixed_precision(options):
    flat = events("small", 30, 2, "positive")
    expected, found = (mixed(flat, "cpu", **options, precision=precision) for precision in ("double", "mixed"))
    compare(found, expected, point(expected), 1e-4)
