"""Fractions and interferences against integrals by brute force, and their errors against numerical derivatives."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.events import Events
from ctpwa.fitting.fractions import FractionCalculator, Fractions, wave_groups
from engine import cases as engine_cases
from fitting.cases import FLOATING, K2, PHI3, TRUTH, along, make, model, phase_space

SMALL = 1e-5  # errors so small that they are of first order

FOUR_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "resonances": {"a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"], "mass": 1.23, "width": 0.42}, "rho(770)": {"in": "pi+ pi-"}},
}


def small_phase_space(name, weighted=False):
    """Few events: an integral over a sample is what it is, whatever its size."""
    flat = ctpwa.generate_phase_space(model(name), 150, seed=5)
    if not weighted:
        return flat
    w = np.random.default_rng(5).uniform(0.2, 3, 150)
    w[::7] *= -0.3
    return Events(flat.momenta, torch.from_numpy(w))


def kk_eta(name="floating", **options):
    return make(name, 20, phase_space=small_phase_space(name), **options), small_phase_space(name)


def weighted():
    return make("floating", 20, phase_space=small_phase_space("floating", True)), small_phase_space("floating", True)


def vertex(representation):
    """Four waves whose couplings are products of numbers of two vertices."""
    own = ctpwa.load_model(FOUR_PIONS)
    data, flat = (ctpwa.generate_phase_space(own, n, seed=n) for n in (5, 60))
    return ctpwa.build_likelihood(own, data, flat, engine="reference", couplings="vertex", representation=representation), flat


def basis():
    """A spline beside a resonance that floats: a wave with several couplings."""
    spline = {"in": "K+ K-", "JP": "1-", "lineshape": "spline", "options": {"knots": [0.9, 1.4, 1.9, 2.6]}}
    chosen = {"phi(1680)": FLOATING["resonances"]["phi(1680)"], "smooth": spline}
    own = ctpwa.load_model(FLOATING | {"resonances": chosen, "couplings": {}})
    data, flat = (ctpwa.generate_phase_space(own, n, seed=n) for n in (20, 100))
    return ctpwa.build_likelihood(own, data, flat, engine="reference"), flat


def rho_rho():
    """One resonance twice in a chain."""
    return engine_cases.likelihood("rho_rho", "reference"), engine_cases.samples("rho_rho")["phase_space"]


CASES = {
    "floating": kk_eta,
    "polar": lambda: kk_eta(representation="polar"),
    "fixed": lambda: kk_eta("fixed"),
    "tied": lambda: kk_eta(ties={PHI3: (K2, TRUTH[PHI3] / TRUTH[K2])}),
    "another reference": lambda: kk_eta(reference_wave=K2),
    "weighted phase space": weighted,
    "vertex": lambda: vertex("cartesian"),
    "vertex polar": lambda: vertex("polar"),
    "basis": basis,
    "rho_rho": rho_rho,
}


@cache
def case(name):
    return CASES[name]()


def point(like):
    """Free parameters at which all waves have about the same size, and their typical steps."""
    rng = np.random.default_rng(7)
    x = like.random_couplings(like.start, 1, seed=3)[0]
    step = np.where(np.isin(np.arange(len(x)), like.coupling_index), np.abs(x) + 0.1, 0.02 * np.abs(x))
    lineshape = np.setdiff1d(np.arange(len(x)), like.coupling_index)
    x[lineshape] *= 1 + 0.02 * rng.normal(size=len(lineshape))
    return x, step


def brute_force(like, x, sample, groups):
    """[group, group]: means of intensities; interference from pairs minus singles."""
    values = ctpwa.engine.model_values(like, x)
    intensity = ctpwa.ModelIntensity(like.model, couplings=values.couplings, parameters=values.parameters, engine="reference")
    names = {group: {like.model.waves[i].name for i in members} for group, members in groups.items()}
    pairs = {f"{a}&{b}": names[a] | names[b] for a, b in combinations(names, 2) if not names[a] & names[b]}
    I = intensity.components(sample, {"": None} | {group: sorted(own) for group, own in (names | pairs).items()})
    weights = torch.ones(len(I[""]), dtype=torch.float64) if sample.weights is None else sample.weights
    mean = {group: float((weights * own).sum() / (weights * I[""]).sum()) for group, own in I.items()}
    F = np.full((len(names), len(names)), np.nan)
    for i, a in enumerate(names):
        F[i, i] = mean[a]
        for j, b in enumerate(names):
            if f"{a}&{b}" in mean:
                F[i, j] = F[j, i] = mean[f"{a}&{b}"] - mean[a] - mean[b]
    return F


def calculate(like, x, kind, covariance=None, truth=None):
    groups = wave_groups(like.model)[kind]
    covariance = np.zeros((len(x), len(x))) if covariance is None else covariance
    own = calculator(like, tuple(x)) if truth is None else FractionCalculator(like, x, truth)
    found = own.fractions(groups, SMALL**2 * covariance)
    return replace(found, covariance=found.covariance / SMALL**2, interference_errors=found.interference_errors / SMALL)


@cache
def calculator(like, x):
    return FractionCalculator(like, np.array(x))


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "waves") for name in CASES if name != "vertex"), ("floating", "resonances"), ("rho_rho", "resonances"), ("floating", "jp")],
)
def test_fractions_and_interferences_are_ratios_of_integrals(name, kind):
    like, sample = case(name)
    x, _ = point(like)
    found = calculate(like, x, kind)
    expected = brute_force(like, x, sample, wave_groups(like.model)[kind])
    assert found.names == tuple(wave_groups(like.model)[kind])
    np.testing.assert_allclose(found.values, np.diag(expected), rtol=1e-11)
    np.testing.assert_array_equal(np.diag(found.interference), found.values)
    np.testing.assert_allclose(found.interference, found.interference.T, rtol=1e-13, atol=1e-16)
    known = np.isfinite(expected)  # groups without a common wave
    np.testing.assert_allclose(found.interference[known], expected[known], rtol=1e-10, atol=1e-11 * np.abs(expected[known]).max())


@pytest.mark.parametrize("kind", ["waves", "jp"])
@pytest.mark.parametrize("name", CASES)
def test_fractions_and_interferences_add_up_to_one(name, kind):
    like, _ = case(name)
    found = calculate(like, point(like)[0], kind)
    assert np.triu(found.interference).sum() == pytest.approx(1.0, abs=1e-12)
    assert found.sum == pytest.approx(found.values.sum())


@pytest.mark.parametrize("name", CASES)
def test_errors_are_those_of_numerical_derivatives(name):
    """With covariance Σ v vᵀ the variance of f is Σ (∂f/∂v)²; the directions v are random in all parameters."""
    like, _ = case(name)
    x, step = point(like)
    rng = np.random.default_rng(11)
    directions = [0.1 * step * rng.normal(size=len(x)) for _ in range(2)]

    def all_fractions(x):
        return calculate(like, x, "waves").interference

    slopes = np.array([along(all_fractions, x, v, 0.05) for v in directions])
    found = calculate(like, x, "waves", sum(np.outer(v, v) for v in directions))
    expected = np.sqrt((slopes**2).sum(axis=0))
    scale = expected.max()
    np.testing.assert_allclose(found.interference_errors, expected, rtol=1e-6, atol=1e-7 * scale)
    np.testing.assert_allclose(found.errors, np.diag(expected), rtol=1e-6, atol=1e-7 * scale)
    own = slopes[:, np.arange(len(expected)), np.arange(len(expected))]
    np.testing.assert_allclose(found.covariance, own.T @ own, rtol=1e-6, atol=1e-7 * scale**2)


def test_errors_of_groups_by_brute_force():
    """The same for resonances with both charge states, with integrals and derivatives that share no code with the calculator."""
    like, sample = case("floating")
    x, step = point(like)
    v = 0.1 * step * np.random.default_rng(12).normal(size=len(x))
    slopes = along(lambda x: brute_force(like, x, sample, wave_groups(like.model)["resonances"]), x, v, 0.05)
    found = calculate(like, x, "resonances", np.outer(v, v))
    np.testing.assert_allclose(found.interference_errors, np.abs(slopes), rtol=1e-6, atol=1e-7 * np.abs(slopes).max())


@pytest.mark.parametrize("name", ["polar", "vertex polar"])
def test_every_single_parameter_moves_fractions_as_it_should(name):
    """Signs: the covariance of fractions with the covariance of one parameter has the signs of its slopes."""
    like, _ = case(name)
    x, step = point(like)
    values = calculate(like, x, "waves").values
    for i in range(len(x)):
        v = np.zeros(len(x))
        v[i] = 1e-4 * step[i]
        moved = calculate(like, x + v, "waves").values - calculate(like, x - v, "waves").values
        found = calculate(like, x, "waves", np.outer(v, v)).covariance
        np.testing.assert_allclose(found, np.outer(moved, moved) / 4, rtol=1e-3, atol=1e-6 * (np.abs(moved).max() ** 2 + 1e-16))
    assert len(values) == len(like.model.waves)


def test_a_parameter_that_is_known_gives_no_error():
    like, _ = case("floating")
    x, _ = point(like)
    found = calculate(like, x, "waves")
    np.testing.assert_array_equal(found.errors, 0)
    np.testing.assert_array_equal(found.interference_errors, 0)


def test_a_common_factor_of_all_couplings_changes_nothing():
    """Fractions of a reference wave that is 1 and of one that is not: the same point in other words."""
    like, other = case("floating")[0], case("another reference")[0]
    x, _ = point(like)
    values = ctpwa.engine.model_values(like, x)
    y = ctpwa.engine.free_parameters(
        other, values.couplings, {name: values.parameters[name] for name in ("phi(1680).mass", "phi(1680).width")}
    )
    np.testing.assert_allclose(calculate(other, y, "waves").interference, calculate(like, x, "waves").interference, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "with_weights"), [("floating", True), ("fixed", False)])
def test_truth_sample(name, with_weights):
    """Integrals over another sample, here without the fast K+ of the likelihood's phase space."""
    like, _ = case(name)
    truth = phase_space(name, 300, 9)
    if with_weights:
        truth = Events(truth.momenta, torch.linspace(0.1, 2, 300, dtype=torch.float64))
    x, step = point(like)
    found = calculate(like, x, "resonances", truth=truth)
    np.testing.assert_allclose(found.interference, brute_force(like, x, truth, wave_groups(like.model)["resonances"]), rtol=1e-10)
    assert np.abs(found.values - calculate(like, x, "resonances").values).max() > 1e-3
    v = 0.1 * step
    slopes = along(lambda x: calculate(like, x, "resonances", truth=truth).interference, x, v, 0.05)
    errors = calculate(like, x, "resonances", np.outer(v, v), truth).interference_errors
    np.testing.assert_allclose(errors, np.abs(slopes), rtol=1e-6, atol=1e-7 * np.abs(slopes).max())


def test_groups():
    groups = wave_groups(model("floating"))
    names = [wave.name for wave in model("floating").waves]
    assert groups["waves"] == {name: [i] for i, name in enumerate(names)}
    assert groups["resonances"] == {"phi(1680)": [0], "phi(3)(1850)": [1], "K(2)*(1430)": [2, 3]}  # both charges
    assert groups["jp"] == {"1⁻": [0], "3⁻": [1], "2⁺": [2, 3]}


def test_groups_of_cascades():
    groups = wave_groups(ctpwa.load_model(FOUR_PIONS))
    assert set(groups["resonances"]) == {"a(1)(1260)", "rho(770)"}
    assert groups["resonances"]["a(1)(1260)"] == groups["resonances"]["rho(770)"]  # every wave has both
    assert list(groups["jp"]) == ["1⁺"]


def test_a_wave_alone():
    """A fraction of 1, without error whatever the covariance."""
    own = ctpwa.load_model(FLOATING | {"resonances": {"phi(1680)": FLOATING["resonances"]["phi(1680)"]}, "couplings": {}})
    flat = ctpwa.generate_phase_space(own, 50, seed=1)
    like = ctpwa.build_likelihood(own, flat, flat, engine="reference")
    found = calculate(like, like.start, "waves", np.eye(2))
    assert found.values == pytest.approx([1.0])
    assert found.errors == pytest.approx([0.0], abs=1e-12)


def test_fractions_object():
    found = Fractions(("a", "b"), np.array([0.6, 0.5]), np.diag([0.01, -1e-20]), np.eye(2), np.eye(2))
    assert found.sum == pytest.approx(1.1)
    np.testing.assert_allclose(found.errors, [0.1, 0.0])


def test_truth_of_the_model():
    """At the couplings of the model file the fractions are near those that the toys have."""
    like = make("fixed", 20)
    found = calculate(like, like.start, "resonances")
    assert set(TRUTH) == set(like.coupling_names)
    assert found.values.sum() == pytest.approx(0.9, abs=0.1)


# errors of second order


def draws(like, x, covariance, n=40_000):
    """Fractions of all waves at points that are distributed like the free parameters, which are parts of couplings."""
    integrals, random = like.integrals(x), np.random.default_rng(3)
    found = []
    for y in random.multivariate_normal(x, covariance, n):
        c = like.parameters.native(y)[0][integrals.coupling]
        own = np.abs(c) ** 2 * np.diag(integrals.matrix).real
        found.append(own / (c.conj() @ integrals.matrix @ c).real)
    return np.array(found)


def weak(distance, phase_error=1.0):
    """A point and a covariance at which one wave is so many standard deviations from 0, and small beside the others."""
    like = make("fixed", 20, phase_space=small_phase_space("fixed"))
    x = like.random_couplings(like.start, 1, seed=3)[0]
    re, im = (like.names.index(f"{PHI3}.{part}") for part in ("re", "im"))
    sizes = np.sqrt(np.diag(like.integrals(x).matrix).real)
    wave = [wave.name for wave in like.model.waves].index(PHI3)
    x[re], x[im] = 0.0, 0.0
    c = like.parameters.native(x)[0][like.integrals(x).coupling]
    error = 0.005 * np.sqrt((c.conj() @ like.integrals(x).matrix @ c).real) / sizes[wave]
    x[re] = distance * error
    covariance = np.diag(1e-8 * x**2)
    covariance[re, re], covariance[im, im] = error**2, (phase_error * error) ** 2
    return like, x, covariance, wave


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.0, 2.0, 5.0])
def test_errors_of_a_weak_wave_are_those_of_gaussian_couplings(distance):
    like, x, covariance, wave = weak(distance)
    found = FractionCalculator(like, x).fractions(wave_groups(like.model)["waves"], covariance)
    assert found.errors[wave] == pytest.approx(draws(like, x, covariance)[:, wave].std(), rel=0.02 if distance == 0 else 0.11)
    np.testing.assert_allclose(np.diag(found.interference_errors), found.errors, rtol=1e-12)


def test_a_phase_that_is_hardly_known_is_no_error_of_the_size():
    """The straight line along it leads away from 0: 5 standard deviations of |c| from 0, it would add 1.3 times the error."""
    like, x, covariance, wave = weak(5.0, phase_error=4.0)
    groups = wave_groups(like.model)["waves"]
    found, known = (FractionCalculator(like, x).fractions(groups, own) for own in (covariance, weak(5.0)[2]))
    assert found.errors[wave] == pytest.approx(known.errors[wave], rel=0.1)


def test_far_from_0_errors_are_of_first_order():
    """Couplings that move along a curved valley are not Gaussian, and straight lines out of it would be errors many times too large."""
    like = make("fixed", 20, phase_space=small_phase_space("fixed"))
    x = like.random_couplings(like.start, 1, seed=3)[0]
    groups, calculator = wave_groups(like.model)["waves"], FractionCalculator(like, x)
    values, slopes = calculator.values_and_slopes(groups)
    along = np.linalg.svd(slopes)[2][-1]  # no fraction changes along it to first order
    V = np.diag((0.02 * x) ** 2) + 4 * np.abs(x).max() ** 2 * np.outer(along, along)
    first = np.sqrt(np.einsum("gi,ij,gj->g", slopes, V, slopes))
    far = values > 3 * first
    assert far.sum() > 1
    found = calculator.fractions(groups, V)
    np.testing.assert_allclose(found.errors[far], first[far], rtol=1e-2)
    aside = np.array([calculate(like, x + side * np.sqrt(V[0, 0]) * along / np.abs(along[0]), "waves").values for side in (-1, 1)])
    assert (np.abs(aside.mean(axis=0) - values)[far] > first[far]).sum() > 1  # it would matter


def test_references_do_not_matter_to_second_order():
    one, other = (make("fixed", 20, phase_space=small_phase_space("fixed"), **own) for own in ({}, {"reference_wave": K2}))
    x = one.random_couplings(one.start, 1, seed=3)[0]
    y = ctpwa.engine.free_parameters(other, ctpwa.engine.model_values(one, x).couplings, {})
    step = 1e-6
    J = np.array(
        [
            (
                ctpwa.engine.free_parameters(other, ctpwa.engine.model_values(one, x + e).couplings, {})
                - ctpwa.engine.free_parameters(other, ctpwa.engine.model_values(one, x - e).couplings, {})
            )
            / (2 * step)
            for e in step * np.eye(len(x))
        ]
    ).T
    V = np.diag((0.5 * np.abs(x) + 0.1) ** 2)
    found, expected = calculate_as_it_is(other, y, J @ V @ J.T), calculate_as_it_is(one, x, V)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-5, atol=1e-8)
    first = calculate(one, x, "waves", V)
    assert (expected.errors > 1.02 * first.errors).any()


def calculate_as_it_is(like, x, covariance):
    return FractionCalculator(like, x).fractions(wave_groups(like.model)["waves"], covariance)
