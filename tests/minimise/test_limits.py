"""Limits: minima at them, in corners and next to them; starts outside, at and between them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from minimise.functions import METHODS, Function, positive_definite, quadratic, rosenbrock, run, saddle


def is_minimum(function, x, tolerance=1e-4):
    """First-order conditions at limits and inside, relative to the curvature."""
    _, g, H = function.value_grad_hessian(x)
    lower, upper = function.bounds.T
    outwards = ((x <= lower) & (g > 0)) | ((x >= upper) & (g < 0))
    free = ~outwards
    own = H[np.ix_(free, free)]
    return g[free] @ np.linalg.lstsq(own, g[free])[0] / 2 < tolerance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [(0.5, 0.5), (0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (-7.0, 9.0)])
def test_minimum_at_one_limit(method, start):
    """The free minimum (3, 0.4) is outside in x; starts inside, at limits, in corners and outside."""
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    function = quadratic(H, [3.0, 0.4], bounds=[[0, 1], [-5, 5]])
    stop, _ = run(method, function, start)
    assert stop.converged, stop.reason
    assert stop.x[0] == 1.0
    assert stop.x[1] == pytest.approx(0.4 + 0.5 * 2, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [(0.5, 0.5), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_minimum_in_a_corner(method, start):
    function = quadratic(np.diag([2.0, 1.0]), [3.0, -2.0], bounds=[[0, 1], [0, 1]])
    stop, _ = run(method, function, start)
    assert stop.converged, stop.reason
    np.testing.assert_array_equal(stop.x, [1.0, 0.0])


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_that_is_not_reached_changes_nothing(method):
    function = quadratic(np.diag([2.0, 1.0]), [3.0, -2.0], bounds=[[2.99, 1000], [-np.inf, -1.99]])
    stop, _ = run(method, function, [500.0, -300.0])
    assert stop.converged, stop.reason
    np.testing.assert_allclose(stop.x, [3.0, -2.0], atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_one_sided_limits(method):
    function = quadratic(np.diag([2.0, 1.0, 5.0]), [3.0, -2.0, 1.0], bounds=[[-np.inf, 1], [0, np.inf], [-np.inf, np.inf]])
    stop, _ = run(method, function, [0.0, 4.0, 3.0])
    assert stop.converged, stop.reason
    np.testing.assert_array_equal(stop.x[:2], [1.0, 0.0])
    assert stop.x[2] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("centre", [-1.0, 2.0, 5.0])
def test_a_box_without_width(method, centre):
    function = quadratic(np.array([[2.0, 1.0], [1.0, 3.0]]), [centre, 1.0], bounds=[[2, 2], [-10, 10]])
    stop, _ = run(method, function, [0.0, 0.0])
    assert stop.converged, stop.reason
    assert stop.x[0] == 2.0
    assert stop.x[1] == pytest.approx(1 - (2 - centre) / 3, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_all_boxes_without_width(method):
    function = quadratic(np.eye(2), [0.0, 0.0], bounds=[[2, 2], [3, 3]])
    stop, _ = run(method, function, [0.0, 0.0])
    assert stop.converged, stop.reason
    np.testing.assert_array_equal(stop.x, [2.0, 3.0])
    assert stop.value == 6.5


@pytest.mark.parametrize("method", METHODS)
def test_strong_correlation_of_two_limits(method):
    """The free step crosses both limits, and cutting it off at both goes uphill."""
    H = np.array([[1.0, 0.99], [0.99, 1.0]])
    function = quadratic(H, [1.0, -1.0], bounds=[[-1.0, 1e-3], [-0.5, 1.0]])
    stop, _ = run(method, function, [0.0, 0.0], tolerance=1e-10)
    assert stop.converged, stop.reason
    assert stop.x[0] == 1e-3
    assert stop.x[1] == pytest.approx(-1 + 0.99 * 0.999, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_curved_valley_that_ends_at_a_limit(method):
    function = rosenbrock(3, bounds=[[-2, 0.6], [-2, 2], [-2, 2]])
    stop, _ = run(method, function, [-1.2, 1.0, 1.0])
    assert stop.converged, stop.reason
    assert is_minimum(function, stop.x)


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000), log_condition=st.integers(0, 6), n=st.integers(1, 6))
@example(seed=0, log_condition=6, n=6)
@example(seed=3, log_condition=6, n=6)
def test_newton_in_random_boxes(seed, log_condition, n):
    """Against the exact solution of bounded least squares; some limits are active, and starts are anywhere."""
    rng = np.random.default_rng(seed)
    H, centre = positive_definite(rng, n, 10.0**log_condition), rng.normal(size=n)
    bounds = np.sort(centre[:, None] + rng.normal(scale=1.0, size=(n, 2)), axis=1)
    bounds[rng.random((n, 2)) < 0.3] = np.inf
    bounds[:, 0] = np.where(np.isinf(bounds[:, 0]), -np.inf, bounds[:, 0])
    function = quadratic(H, centre, bounds=bounds)
    A = np.linalg.cholesky(H).T
    best = lsq_linear(A, A @ centre, bounds=(bounds[:, 0] - 1e-14, bounds[:, 1] + 1e-14), method="bvls", tol=1e-14)
    stop, record = run("newton", function, rng.normal(scale=3.0, size=n))
    assert stop.converged, stop.reason
    assert stop.value <= best.cost + 1e-7
    assert is_minimum(function, stop.x, 1e-6)  # parameters are at limits exactly, or their slope is zero
    assert record.hessians < 60


@settings(max_examples=40)
@given(seed=st.integers(0, 100_000), n=st.integers(1, 5))
def test_lbfgs_in_random_boxes(seed, n):
    rng = np.random.default_rng(seed)
    H, centre = positive_definite(rng, n, 1e3), rng.normal(size=n)
    bounds = np.sort(centre[:, None] + rng.normal(scale=1.0, size=(n, 2)), axis=1)
    function = quadratic(H, centre, bounds=bounds)
    A = np.linalg.cholesky(H).T
    best = lsq_linear(A, A @ centre, bounds=(bounds[:, 0] - 1e-14, bounds[:, 1] + 1e-14), method="bvls", tol=1e-14)
    stop, record = run("lbfgs", function, rng.normal(scale=3.0, size=n), inverse_metric=np.diag(1 / np.diag(H)))
    assert stop.converged, stop.reason
    assert stop.value <= best.cost + 1e-6
    assert record.gradients < 500


def test_few_evaluations_in_a_box(rng):
    """A quadratic function is minimised within its limits in one step of Newton; L-BFGS needs one for every limit on the way."""
    n, hessians, gradients = 6, [], []
    for _ in range(40):
        H, centre = positive_definite(rng, n, 1e6), rng.normal(size=n)
        function = quadratic(H, centre, bounds=np.sort(centre[:, None] + rng.normal(size=(n, 2)), axis=1))
        start = 3 * rng.normal(size=n)
        one, record = run("newton", function, start)
        hessians.append(record.hessians)
        other, record = run("lbfgs", function, start, inverse_metric=np.linalg.inv(H))
        gradients.append(record.gradients)
        assert one.converged
        assert other.converged
        assert other.value == pytest.approx(one.value, abs=1e-6)
    assert np.mean(hessians) < 2.8
    assert np.mean(gradients) < 60


@pytest.mark.parametrize("bounds", [[[-2, 2], [0, 2]], [[-2, 2], [-2, 0]]])
def test_newton_leaves_a_saddle_point_at_a_limit(bounds):
    """At y = 0 there is no slope, and only one side is allowed; which one the eigenvector points to must not matter."""
    stop, _ = run("newton", saddle(bounds), [0.3, 0.0])
    assert stop.converged
    assert stop.value == pytest.approx(-0.25, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_next_to_a_wall(method):
    """The likelihood does not exist beyond the limit: no evaluation may be there."""
    function = Function(
        lambda x: x[0] - 4 * np.log(x[0]) if x[0] >= 5 else np.nan,
        lambda x: [1 - 4 / x[0]],
        lambda x: [[4 / x[0] ** 2]],
        1,
        bounds=[[5, 100]],
    )
    stop, _ = run(method, function, [60.0])
    assert stop.converged, stop.reason
    assert stop.x[0] == 5.0


@pytest.mark.parametrize("method", METHODS)
def test_it_comes_back_from_a_limit(method):
    """A first step runs into a limit at which the minimum is not."""
    function = Function(
        lambda x: (x[0] - 1) ** 4 + (x[0] - 1) ** 2 + x[1] ** 2 + x[0] * x[1],
        lambda x: [4 * (x[0] - 1) ** 3 + 2 * (x[0] - 1) + x[1], 2 * x[1] + x[0]],
        lambda x: [[12 * (x[0] - 1) ** 2 + 2, 1.0], [1.0, 2.0]],
        2,
        bounds=[[-3, 3], [-0.6, 40]],
    )
    stop, _ = run(method, function, [3.0, 39.0])
    assert stop.converged, stop.reason
    assert is_minimum(function, stop.x, 1e-6)
