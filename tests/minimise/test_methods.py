"""Every method finds known minima: steep and flat, curved valleys, saddle points, limits, walls of NaN, many units."""

import numpy as np
import pytest

from minimise.functions import METHODS, Function, monkey_saddle, poisson, positive_definite, quadratic, rosenbrock, run, saddle


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("n", [1, 2, 15])
def test_quadratic(method, n, condition, rng):
    H, centre = positive_definite(rng, n, condition), rng.normal(size=n)
    function = quadratic(H, centre, offset=-3.0, rounding=1e-15)
    stop, record = run(method, function, rng.normal(size=n))
    assert stop.converged, stop.reason
    assert stop.value == pytest.approx(-3.0, abs=1e-7)
    assert function.value(stop.x) == pytest.approx(stop.value, abs=1e-12)
    assert record.history[-1] == pytest.approx(stop.value, abs=1e-12)


@pytest.mark.parametrize("method", ["newton", "lbfgs"])
def test_the_worst_condition(method, rng):
    """Twelve orders of magnitude between the curvatures, in a turned frame; L-BFGS with a metric as a fit gives it one."""
    H, centre = positive_definite(rng, 12, 1e12), rng.normal(size=12)
    function = quadratic(H, centre)
    options = {"inverse_metric": np.linalg.inv(H)} if method == "lbfgs" else {}
    stop, _ = run(method, function, centre + rng.normal(size=12), **options)
    assert stop.converged, stop.reason
    assert stop.value < 1e-8


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 5, 10])
def test_rosenbrock(method, n):
    function = rosenbrock(n)
    x = np.tile([-1.2, 1.0], n)[:n]
    stop, _ = run(method, function, x)
    assert stop.converged, stop.reason
    if n == 2:  # in more dimensions there is a second minimum near x0 = -1
        np.testing.assert_allclose(stop.x, 1.0, atol=1e-3)
        assert stop.value < 1e-7
    gradient = function.value_and_grad(stop.x)[1]
    H = function.value_grad_hessian(stop.x)[2]
    assert np.linalg.eigvalsh(H)[0] > 0
    assert gradient @ np.linalg.solve(H, gradient) / 2 < 1e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [(0.3, 1e-3), (1.0, -1e-2), (0.0, 0.1)])
def test_next_to_a_saddle_point(method, start):
    stop, _ = run(method, saddle(), start)
    assert stop.converged, stop.reason
    assert stop.value == pytest.approx(-0.25, abs=1e-8)
    assert np.sign(stop.x[1]) == np.sign(start[1])


@pytest.mark.parametrize("method", METHODS)
def test_next_to_a_monkey_saddle(method):
    stop, _ = run(method, monkey_saddle(), (1e-3, 2e-3))
    assert stop.converged, stop.reason
    assert stop.value == pytest.approx(-27 / 256, abs=1e-8)


SCALES = np.array([1e-8, 1e-3, 1.0, 1e5, 1e11])


@pytest.mark.parametrize("method", METHODS)
def test_units_of_couplings(method, rng):
    """Parameters from 1e-8 to 1e11 in one problem, as couplings of high spins have them."""
    H, centre = positive_definite(rng, 5, 50.0), SCALES * rng.normal(size=5)
    inner = quadratic(H, centre / SCALES)
    function = Function(
        lambda x: inner.value(x / SCALES),
        lambda x: inner.value_and_grad(x / SCALES)[1] / SCALES,
        lambda x: H / np.outer(SCALES, SCALES),
        5,
    )
    start = SCALES * rng.normal(size=5)
    options = {"inverse_metric": np.diag(SCALES**2)} if method == "lbfgs" else {}
    stop, _ = run(method, function, start, **options)
    assert stop.converged, stop.reason
    np.testing.assert_allclose(stop.x / SCALES, centre / SCALES, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_units_change_nothing(method, rng):
    """Newton takes the same steps in any units; the others end at the same place."""
    ends = []
    for scale in (1.0, 1e7, 1e-9):
        inner = rosenbrock(2)
        function = Function(
            lambda x, inner=inner, scale=scale: inner.value(x / scale),
            lambda x, inner=inner, scale=scale: inner.value_and_grad(x / scale)[1] / scale,
            lambda x, inner=inner, scale=scale: inner.value_grad_hessian(x / scale)[2] / scale**2,
            2,
        )
        options = {"inverse_metric": scale**2 * np.diag([1e-3, 5e-3])} if method == "lbfgs" else {}
        stop, record = run(method, function, scale * np.array([-1.2, 1.0]), **options)
        assert stop.converged, stop.reason
        ends.append((stop.x / scale, record.hessians))
    for x, hessians in ends[1:]:
        np.testing.assert_allclose(x, ends[0][0], atol=1e-3)
        if method == "newton":
            assert hessians == ends[0][1]


@pytest.mark.parametrize("method", METHODS)
def test_where_the_function_does_not_exist(method):
    """A Poisson mean must be positive; the first steps would leave that region, where the value is NaN."""
    for start in (0.01, 0.5, 40.0, 1000.0):
        stop, _ = run(method, poisson(4.0), [start])
        assert stop.converged, (start, stop.reason)
        np.testing.assert_allclose(stop.x, 4.0, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outside", [np.inf, np.nan])
def test_a_wall_behind_the_minimum(method, outside):
    """The minimum at x = 1 is close to a wall at 1.001, and the way to it is steep."""

    def value(x):
        return (x[0] - 1) ** 4 + (x[0] - 1) ** 2 + x[1] ** 2 if x[0] < 1.001 else outside

    function = Function(
        value,
        lambda x: [4 * (x[0] - 1) ** 3 + 2 * (x[0] - 1), 2 * x[1]] if x[0] < 1.001 else [np.nan, np.nan],
        lambda x: np.diag([12 * (x[0] - 1) ** 2 + 2, 2.0]) if x[0] < 1.001 else np.full((2, 2), np.nan),
        2,
    )
    stop, _ = run(method, function, [-3.0, 2.0])
    assert stop.converged, stop.reason
    np.testing.assert_allclose(stop.x, [1.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_no_finite_start(method):
    stop, _ = run(method, poisson(4.0), [-1.0])
    assert not stop.converged
    assert stop.reason == "the start has no finite likelihood"
    np.testing.assert_array_equal(stop.x, [-1.0])


@pytest.mark.parametrize("method", METHODS)
def test_no_parameters(method):
    function = Function(lambda x: 7.0, lambda x: [], lambda x: [], 0)
    stop, _ = run(method, function, [])
    assert stop.converged
    assert stop.value == 7.0
    assert stop.x.shape == (0,)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_in_the_minimum(method):
    stop, _ = run(method, quadratic(np.diag([1.0, 100.0]), [2.0, 3.0]), [2.0, 3.0])
    assert stop.converged, stop.reason
    np.testing.assert_array_equal(stop.x, [2.0, 3.0])


@pytest.mark.parametrize("method", METHODS)
def test_a_function_that_has_no_minimum(method):
    """x falls for ever: whatever is returned is not called converged."""
    function = Function(lambda x: x[0], lambda x: [1.0], lambda x: [[0.0]], 1)
    limit = {"max_calls": 300} if method == "minuit" else {"max_iterations": 100}
    stop, _ = run(method, function, [0.0], **limit)
    assert not stop.converged
    assert stop.x[0] < -10


@pytest.mark.parametrize("method", METHODS)
def test_a_parameter_that_does_nothing(method):
    function = quadratic(np.diag([2.0, 0.0]), [1.0, 0.0])
    stop, _ = run(method, function, [5.0, 7.0])
    assert stop.converged, stop.reason
    np.testing.assert_allclose(stop.x, [1.0, 7.0], atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rounding", [1e-12, 1e-7])
def test_rounding_of_the_value(method, rounding, rng):
    """Values in steps, as a sum over a million events has them; gradients are good to the same relative size."""
    H, centre = positive_definite(rng, 6, 1e3), rng.normal(size=6)
    exact = quadratic(H, centre)
    function = Function(
        lambda x: np.round(exact.value(x) / rounding) * rounding,
        lambda x: exact.value_and_grad(x)[1],
        lambda x: H,
        6,
        rounding=2 * rounding,
    )
    options = {"inverse_metric": np.linalg.inv(H)} if method == "lbfgs" else {}
    stop, record = run(method, function, centre + rng.normal(size=6), tolerance=1e-8, **options)
    assert stop.converged, stop.reason
    assert exact.value(stop.x) < 1e-6
    assert record.values + record.gradients + record.hessians < 200


def test_newton_goes_on_where_the_value_sees_nothing():
    """Gains below the rounding of the value are trusted: the end is where the slope says, not where the value stops to fall."""
    rounding = 1e-4
    function = Function(
        lambda x: np.round(np.cosh(x - 1).sum() / rounding) * rounding,
        lambda x: np.sinh(x - 1),
        lambda x: np.diag(np.cosh(x - 1)),
        3,
        rounding=rounding,
    )
    stop, record = run("newton", function, [3.0, -1.0, 0.5], tolerance=1e-12)
    assert stop.converged, stop.reason
    np.testing.assert_allclose(stop.x, 1.0, atol=1e-6)
    assert record.hessians < 15


def test_newton_does_not_walk_along_a_flat_direction():
    """(x0 − 2 x1)² with slopes along x0 = 2 x1 that are rounding: the end is near the start, soon."""
    a, flat = np.array([1.0, -2.0]), np.array([2.0, 1.0])
    function = Function(
        lambda x: (a @ x) ** 2 / 2,
        lambda x: (a @ x) * a + 1e-11 * np.sin(1e7 * (flat @ x) + 1) * flat,
        lambda x: np.outer(a, a) + 1e-17 * np.cos(1e7 * (flat @ x)) * np.outer(flat, flat),
        2,
        rounding=1e-10,
    )
    stop, record = run("newton", function, [3.0, -1.0], tolerance=1e-8)
    assert stop.converged, stop.reason
    np.testing.assert_allclose(a @ stop.x, 0.0, atol=1e-4)
    assert abs(flat @ (stop.x - [3.0, -1.0])) < 10
    assert record.hessians + record.values < 12


@pytest.mark.parametrize("method", METHODS)
def test_it_says_when_it_gives_up(method):
    limit = {"max_calls": 5} if method == "minuit" else {"max_iterations": 3}
    stop, _ = run(method, rosenbrock(4), [-1.2, 1.0, -1.2, 1.0], **limit)
    assert not stop.converged
    assert "not converged after 3" in stop.reason or "limit of calls" in stop.reason


@pytest.mark.parametrize("n", [1, 4, 30])
def test_newton_needs_two_hessians_for_a_quadratic(n, rng):
    H, centre = positive_definite(rng, n, 1e6), rng.normal(size=n)
    stop, record = run("newton", quadratic(H, centre), centre + 0.1 * rng.normal(size=n) / np.sqrt(np.diag(H)))
    assert stop.converged
    assert record.hessians <= 2
    assert record.values <= 2


def test_newton_far_away_needs_few_hessians(rng):
    """The first region is as large as the slope, and grows by 3."""
    H, centre = positive_definite(rng, 10, 1e6), rng.normal(size=10)
    stop, record = run("newton", quadratic(H, centre), centre + 100 * rng.normal(size=10))
    assert stop.converged
    assert record.hessians <= 12


@pytest.mark.parametrize("start", [(0.0, 0.0), (1.0, 0.0), (1.0, -1e-6), (0.0, 1e-12)])
def test_newton_leaves_an_exact_saddle_point(start):
    stop, _ = run("newton", saddle(), start)
    assert stop.converged
    assert stop.value == pytest.approx(-0.25, abs=1e-8)


def test_newton_leaves_a_maximum():
    """A Mexican hat, from its top: no slope, only negative curvature."""
    function = Function(
        lambda x: (x @ x - 1) ** 2,
        lambda x: 4 * (x @ x - 1) * x,
        lambda x: 4 * (x @ x - 1) * np.eye(3) + 8 * np.outer(x, x),
        3,
    )
    stop, _ = run("newton", function, np.zeros(3))
    assert stop.converged
    assert np.linalg.norm(stop.x) == pytest.approx(1.0, abs=1e-4)


def test_newton_with_derivatives_that_do_not_exist_somewhere():
    """√|x − 1| has no derivatives at 1; the value there is finite. The step to that very point is not taken."""
    function = Function(
        lambda x: (x[0] - 2) ** 2 / 2 + (x[1]) ** 2,
        lambda x: [x[0] - 2, 2 * x[1]] if x[0] != 2 else [np.nan, 0.0],
        lambda x: np.diag([1.0, 2.0]) if x[0] != 2 else np.full((2, 2), np.inf),
        2,
    )
    stop, _ = run("newton", function, [0.0, 1.0])
    assert np.isfinite(stop.x).all()
    assert stop.value < 1e-6
