"""Errors of fractions that are forms of couplings, against draws and against likelihoods with curved valleys."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.coupling_forms import CouplingSpread, FormOfGroup
from ctpwa.fitting.event_couplings import event_couplings
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.minimise.constrained import Condition, constrained_minimum
from ctpwa.studies.quantities import Fraction


@dataclass
class Case:
    """Couplings with a form that mixes them, as waves that interfere do, and how they depend on two free parameters for each."""

    A: np.ndarray
    c: np.ndarray
    dc: np.ndarray

    def group(self, *own):
        return FormOfGroup(np.array(own), self.A[np.ix_(own, own)])

    def second(self, V, *groups):
        return CouplingSpread.of(self.A, self.c, self.dc, V, [0] * len(self.c)).second_order([self.group(*own) for own in groups])

    def fractions(self, c, *groups):
        total = np.einsum("ea,ab,eb->e", c.conj(), self.A, c).real
        parts = [np.einsum("ea,ab,eb->e", c[:, own].conj(), self.A[np.ix_(own, own)], c[:, own]).real for own in groups]
        return np.array(parts) / total


def case(c, seed=4):
    rng, n = np.random.default_rng(seed), len(c)
    mixed = np.eye(n) + 0.3 * (rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
    return Case(mixed.conj().T @ mixed, np.array(c, dtype=complex), np.concatenate([np.eye(n), 1j * np.eye(n)], axis=1))


def gaussian(case, V, n=200_000):
    z = np.random.default_rng(5).multivariate_normal([*case.c.real, *case.c.imag], V, n)
    return z[:, : len(case.c)] + 1j * z[:, len(case.c) :]


def test_covariances_of_gaussian_couplings_at_0():
    """Two groups that are 0, one of them of two waves, with any correlations."""
    own = case([1, 0, 0, 0])
    root = 0.01 * np.random.default_rng(6).normal(size=(8, 8))
    groups = [1, 2], [3]
    expected = np.cov(own.fractions(gaussian(own, root @ root.T), *groups))
    np.testing.assert_allclose(own.second(root @ root.T, *groups), expected, rtol=0.03)


@pytest.mark.parametrize("variance", [1e-3, 0.1, 1.0, 30.0])
def test_angles_of_great_circles(variance):
    """A wave that another one turns into, by an angle that may not be known at all: c = (cos θ, sin θ)."""
    own = Case(np.eye(2), np.array([1, 0j]), np.array([[0j], [1]]))
    expected = np.var(np.sin(np.random.default_rng(7).normal(0, np.sqrt(variance), 400_000)) ** 2)
    assert own.second(np.array([[variance]]), [1])[0, 0] == pytest.approx(expected, rel=0.02)


def test_waves_that_turn_into_each_other_have_a_total():
    """Straight lines would make 0.1 ± 0.5 of it."""
    c = np.array([np.sqrt(0.9), np.sqrt(0.05), np.sqrt(0.05) * 1j])
    turned, grown = np.array([0, -c[2], c[1]]), np.array([0, c[1], c[2]])
    own = Case(np.eye(3), c, np.array([turned, grown]).T)
    V = np.diag([5.0, 0.01**2])
    assert np.sqrt(own.second(V, [1, 2])[0, 0]) < 0.002  # to first order it is 0.1 ± 0.0018


def test_other_couplings_for_the_same_amplitudes():
    """c = M b: neither the sizes of waves nor which of them are references matter."""
    own = case([1, 0.2, 0.02, 0.1j])
    M = np.diag([2, 0.1, 30, 1j])
    V = 1e-3 * np.eye(8)
    other = Case(M.conj().T @ own.A @ M, np.linalg.solve(M, own.c), np.linalg.solve(M, own.dc))
    groups = [0], [1, 2], [2], [3]
    np.testing.assert_allclose(other.second(V, *groups), own.second(V, *groups), rtol=1e-9)


def test_units_of_parameters_do_not_matter():
    """Couplings of L = 7 are larger than others by as many powers of ten as these."""
    own = case([1, 0.2, 0.02, 0.1j])
    root = 0.01 * np.random.default_rng(6).normal(size=(8, 8))
    units = np.logspace(-2, 10, 8)
    other = Case(own.A, own.c, own.dc / units)
    groups = [0], [1, 2], [2], [3]
    expected = own.second(root @ root.T, *groups)
    np.testing.assert_allclose(other.second(root @ root.T * np.outer(units, units), *groups), expected, rtol=1e-6)


def test_nothing_is_negative_or_infinite():
    """A wave of size 0, one without error, and a form that events of negative weight have made negative."""
    own = case([1, 0, 0.1])
    own.A[1] = own.A[:, 1] = 0
    own.A[1, 1] = -1e-3
    found = own.second(np.diag([0, 1e-2, 0, 0, 1e-2, 0]), [0], [1], [2])
    assert np.isfinite(found).all()
    assert (np.diag(found) >= 0).all()


# in likelihoods whose valleys are curved: nothing measures the helicity of the J/psi


def resonances(weak):
    return {
        "decay": "B0 -> J/psi(1S) K+ pi-",
        "resonances": {"K*(892)": {"in": "K+ pi-"}, "K(0)*(1430)": {"in": "K+ pi-"}, "K(2)*(1430)": {"in": "K+ pi-"}},
        "couplings": {
            "K*(892)0[K+ pi-] (1,1)(1,0)": [-1.3, 2.8],
            "K*(892)0[K+ pi-] (2,2)(1,0)": [-4.9, -8.3],
            "K(0)*(1430)0[K+ pi-] (1,1)(0,0)": [-1.1, 1.5],
            "K(2)*(1430)0[K+ pi-] (1,1)(2,0)": [weak * -14.0, weak * 12.0],
            "K(2)*(1430)0[K+ pi-] (2,2)(2,0)": [weak * -55.0, weak * -26.0],
            "K(2)*(1430)0[K+ pi-] (3,3)(2,0)": [weak * -212.0, weak * -9.0],
        },
    }


@cache
def fitted(weak):
    model = ctpwa.load_model(resonances(weak))
    data = ctpwa.generate_toy(model, 2000, seed=3, engine="reference", progress=False)
    likelihood = ctpwa.build_likelihood(model, data, ctpwa.generate_phase_space(model, 20_000, seed=4, progress=False), engine="reference")
    return likelihood, ctpwa.fit(likelihood, simulation=False, progress=False)


def rise(likelihood, result, waves, away):
    """2 Δ(−ln L) where the fraction is held elsewhere and all else is fitted."""
    x = np.asarray(result.x)
    quantity = Fraction(likelihood, likelihood, np.sqrt(np.diag(result.covariance).clip(min=0)), x, waves)
    held = Condition(quantity, quantity.at(x)[0] + away, abs(away))
    stop = constrained_minimum(likelihood, x, {}, [held], patient=True)
    assert stop.converged
    return 2 * (stop.value - result.nll)


@pytest.mark.parametrize("name", ["K*(892)", "K(2)*(1430)"])
def test_errors_far_from_0_are_those_of_profiles(name):
    """Straight lines out of the valley would be errors many times too large."""
    likelihood, result = fitted(1.0)
    waves = wave_groups(likelihood.model)["resonances"][name]
    found = FractionCalculator(likelihood, result.x).fractions({name: waves}, result.covariance)
    assert rise(likelihood, result, waves, found.errors[0]) == pytest.approx(1, abs=0.15)
    events = event_couplings(likelihood, result.x, result.covariance, {name: waves}).events[name]
    f, error = found.values[0], found.errors[0]
    assert events[1] == pytest.approx(np.sqrt((2000 * error) ** 2 + 2000 * f**2), rel=1e-3)


def test_errors_near_0_are_those_of_profiles():
    """Straight lines would make them more than twice as large."""
    likelihood, result = fitted(0.08)
    name = "K(2)*(1430)"
    waves = wave_groups(likelihood.model)["resonances"][name]
    found = FractionCalculator(likelihood, result.x).fractions({name: waves}, result.covariance)
    assert found.values[0] < 3 * found.errors[0]
    assert 0.5 < rise(likelihood, result, waves, found.errors[0]) < 4
