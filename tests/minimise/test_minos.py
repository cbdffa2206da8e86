"""Asymmetric errors: where −ln L, minimised over all other parameters, has risen by ½."""

import numpy as np
import pytest
from scipy.optimize import brentq

from ctpwa.minimise.minos import minos
from minimise.functions import Function, poisson, positive_definite, quadratic

PRECISION = 1e-6


def crossings(rise, centre, low, high):
    """Where a function of one parameter is ½, below and above its minimum."""
    return brentq(lambda x: rise(x) - 0.5, low, centre) - centre, brentq(lambda x: rise(x) - 0.5, centre, high) - centre


def test_a_quadratic_has_symmetric_errors(rng):
    """Those of the inverse of the Hessian: the other parameters follow."""
    H, centre = positive_definite(rng, 4, 30.0), rng.normal(size=4)
    function = quadratic(H, centre)
    found = minos(function, centre, function.names)
    errors = np.sqrt(np.diag(np.linalg.inv(H)))
    assert list(found) == ["x0", "x1", "x2", "x3"]
    for name, error in zip(function.names, errors, strict=True):
        assert found[name].valid
        assert found[name].message == ""
        assert found[name].upper == pytest.approx(error, rel=PRECISION)
        assert found[name].lower == pytest.approx(-error, rel=PRECISION)


def test_only_what_is_asked_for():
    function = quadratic(np.eye(3), np.zeros(3))
    assert list(minos(function, np.zeros(3), ["x2"])) == ["x2"]
    assert minos(function, np.zeros(3), []) == {}


@pytest.mark.parametrize("count", [2.0, 4.0, 100.0])
@pytest.mark.parametrize("limits", [None, [[1e-9, 1e4]]], ids=["no limits", "limits"])
def test_poisson(count, limits):
    function = poisson(count, limits)
    found = minos(function, np.array([count]), ["x0"])["x0"]
    lower, upper = crossings(lambda mu: mu - count - count * np.log(mu / count), count, 1e-9, 10 * count + 10)
    assert found.valid
    assert found.lower == pytest.approx(lower, rel=PRECISION)
    assert found.upper == pytest.approx(upper, rel=PRECISION)
    assert abs(found.lower) < found.upper


def test_a_lifetime():
    """n ln τ + Σt/τ of ten decays."""
    n, tau = 10, 2.2
    function = Function(
        lambda x: n * (np.log(x[0]) + tau / x[0]) if x[0] > 0 else np.nan,
        lambda x: [n * (1 / x[0] - tau / x[0] ** 2)],
        lambda x: [[n * (-1 / x[0] ** 2 + 2 * tau / x[0] ** 3)]],
        1,
    )
    found = minos(function, np.array([tau]), ["x0"])["x0"]
    lower, upper = crossings(lambda t: n * (np.log(t / tau) + tau / t - 1), tau, 0.1, 100)
    assert (found.lower, found.upper) == (pytest.approx(lower, rel=PRECISION), pytest.approx(upper, rel=PRECISION))


def test_other_parameters_are_minimised():
    """Two Poisson counts with a common background: the profile of the signal is known."""
    on, off = 12.0, 5.0

    def rates(x):
        return np.array([x[0] + x[1], x[1]])

    n = np.array([on, off])

    def gradient(x):
        d = 1 - n / rates(x)
        return [d[0], d.sum()]

    def hessian(x):
        h = n / rates(x) ** 2
        return [[h[0], h[0]], [h[0], h.sum()]]

    function = Function(lambda x: float(np.sum(rates(x) - n * np.log(rates(x)))) if (rates(x) > 0).all() else np.nan, gradient, hessian, 2)

    def profile(s):
        # ∂/∂b = 2 − on/(s + b) − off/b = 0
        a, b, c = 2.0, 2 * s - on - off, -off * s
        best = (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)
        return function.value([s, best]) - function.value([on - off, off])

    found = minos(function, np.array([on - off, off]), ["x0"])["x0"]
    lower, upper = crossings(profile, on - off, 0.1, 40)
    assert (found.lower, found.upper) == (pytest.approx(lower, rel=PRECISION), pytest.approx(upper, rel=PRECISION))


def test_distances_are_from_the_point_that_is_given():
    """A fit ends at a finite distance from the minimum; MINOS begins with its own."""
    function = quadratic(np.array([[4.0]]), [1.0])
    found = minos(function, np.array([1.01]), ["x0"])["x0"]
    assert 1.01 + found.upper == pytest.approx(1.5, rel=PRECISION)
    assert 1.01 + found.lower == pytest.approx(0.5, rel=PRECISION)


def test_a_limit_in_the_way():
    """−ln L does not rise by ½ before the limit: that side is not valid, and it is said why."""
    function = quadratic(np.array([[1.0]]), [0.3], bounds=[[0, 10]])
    found = minos(function, np.array([0.3]), ["x0"])["x0"]
    assert not found.valid
    assert found.upper == pytest.approx(1.0, rel=PRECISION)
    assert found.message == "lower: a limit comes first"


def test_a_second_minimum_on_the_way():
    """A deeper minimum nearby: the errors of the first one mean nothing, and MINOS says that it found something better."""
    function = Function(
        lambda x: 0.3 * (x[0] ** 2 - 1) ** 2 + 0.25 * x[0],
        lambda x: [1.2 * x[0] * (x[0] ** 2 - 1) + 0.25],
        lambda x: [[3.6 * x[0] ** 2 - 1.2]],
        1,
    )
    x = brentq(lambda t: 1.2 * t * (t**2 - 1) + 0.25, 0.7, 1.2)
    found = minos(function, np.array([x]), ["x0"])["x0"]
    assert not found.valid
    assert "better minimum" in found.message


def test_a_parameter_without_room():
    function = quadratic(np.eye(2), [0.0, 0.0], bounds=[[1, 1], [-9, 9]])
    found = minos(function, np.array([1.0, 0.0]), function.names)
    assert not found["x0"].valid
    assert "limits" in found["x0"].message
    assert found["x1"].valid


def test_a_saddle_point_has_no_errors():
    function = Function(lambda x: -x[0], lambda x: [-1.0], lambda x: [[0.0]], 1)
    found = minos(function, np.array([0.0]), ["x0"])["x0"]
    assert not found.valid
    assert found.message


def curved(rng, n=6):
    """Σ (cosh − 1) of mixed parameters: far from a parabola, with correlations."""
    A, centre = rng.normal(size=(n, n)) + 2 * np.eye(n), rng.normal(size=n)

    def mixed(x):
        return A @ (np.asarray(x) - centre)

    skew = np.linspace(0.2, 1.5, n)
    function = Function(
        lambda x: float(np.sum(np.exp(skew * mixed(x)) / skew - mixed(x))),
        lambda x: A.T @ (np.exp(skew * mixed(x)) - 1),
        lambda x: A.T @ np.diag(skew * np.exp(skew * mixed(x))) @ A,
        n,
    )
    return function, centre


def test_as_minuit_finds_it(rng):
    """The same crossings as MINOS of iminuit, which is content with 1 % of ½."""
    iminuit = pytest.importorskip("iminuit")
    function, centre = curved(rng)
    found = minos(function, centre, function.names)
    minuit = iminuit.Minuit(function.value, centre, grad=lambda x: function.value_and_grad(x)[1], name=function.names)
    minuit.errordef = 0.5
    minuit.migrad()
    minuit.minos()
    for name in function.names:
        assert found[name].valid
        assert found[name].lower == pytest.approx(minuit.merrors[name].lower, rel=1e-2)
        assert found[name].upper == pytest.approx(minuit.merrors[name].upper, rel=1e-2)
        assert abs(found[name].upper / found[name].lower + 1) > 0.01  # not a parabola


def test_the_definition(rng):
    """f is ½ above the minimum there, and not less for other values of the other parameters."""
    from scipy.optimize import minimize

    function, centre = curved(rng)

    def profile(i, x_i):
        others = np.arange(len(centre)) != i

        def fixed(y):
            x = np.full(len(centre), x_i)
            x[others] = y
            return x

        def gradient(y):
            return function.value_and_grad(fixed(y))[1][others]

        return minimize(lambda y: function.value(fixed(y)), centre[others], jac=gradient, tol=1e-12).fun

    for name, error in minos(function, centre, function.names[:2]).items():
        i = function.names.index(name)
        for distance in (error.lower, error.upper):
            assert profile(i, centre[i] + distance) - function.value(centre) == pytest.approx(0.5, abs=1e-6)


def test_few_hessians(rng):
    function, centre = curved(rng)
    calls = []
    old = function.value_grad_hessian
    function.value_grad_hessian = lambda p: calls.append(1) or old(p)
    minos(function, centre, ["x3"])
    assert len(calls) < 16


def test_others_that_run_into_a_limit(rng):
    """The best value of another parameter is beyond its limit on the way: it stays there, and the error is smaller."""
    H = np.array([[1.0, 0.8], [0.8, 1.0]])
    function = quadratic(H, [0.0, 0.0], bounds=[[-np.inf, np.inf], [-0.1, 5.0]])
    found = minos(function, np.zeros(2), ["x0"])["x0"]
    # upwards x1 = −0.8 x0 is beyond −0.1: f = x0²/2 − 0.08 x0 + 0.005 = ½
    upper = 0.08 + np.sqrt(0.08**2 + 2 * (0.5 - 0.005))
    assert found.upper == pytest.approx(upper, rel=PRECISION)
    assert found.lower == pytest.approx(-1 / 0.6, rel=PRECISION)
    assert found.valid
