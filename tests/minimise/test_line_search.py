"""Steps of L-BFGS: every one goes down, in any direction, at limits and next to walls; the inverse Hessian is that of the pairs."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctpwa.minimise.drive import evaluate
from ctpwa.minimise.lbfgs import CURVATURE, DECREASE, LINE_STEPS, _inverse_times, _line_search
from minimise.functions import Function, positive_definite, quadratic, rosenbrock, run


def search(function, x, direction, first=1.0, noise=0.0):
    f, g = function.value_and_grad(x)
    steps = _line_search(x, f, g, direction, function.bounds, first, noise)
    ask, n = next(steps), 0
    try:
        while True:
            n += 1
            ask = steps.send(evaluate(function, ask))
    except StopIteration as end:
        assert n <= LINE_STEPS
        return f, g, end.value


def wavy(a, b, c):
    """x²/2 + a cos(b x + c): many minima along a line."""
    return Function(
        lambda x: x[0] ** 2 / 2 + a * np.cos(b * x[0] + c),
        lambda x: [x[0] - a * b * np.sin(b * x[0] + c)],
        lambda x: [[1 - a * b**2 * np.cos(b * x[0] + c)]],
        1,
    )


@settings(max_examples=200)
@given(
    a=st.floats(0, 3),
    b=st.floats(0.1, 5),
    c=st.floats(0, 6),
    start=st.floats(-10, 10),
    log_first=st.integers(-8, 8),
    log_length=st.integers(-5, 5),
)
def test_enough_decrease_and_a_flatter_slope(a, b, c, start, log_first, log_length):
    function, x = wavy(a, b, c), np.array([start])
    g = function.value_and_grad(x)[1]
    if abs(g[0]) < 0.05:  # next to an extremum a slope that is flatter still is another question
        return
    direction = -g * 10.0**log_length
    f, g, found = search(function, x, direction, 10.0**log_first)
    if found is None:  # only where the first steps are so long that twenty bisections do not find the way back
        assert log_first + log_length > 3
        return
    point, answer = found
    assert answer.value <= f + DECREASE * float(g @ (point - x))
    assert answer.value == function.value(point)
    if -6 <= log_first + log_length <= 6:
        assert abs(answer.gradient @ direction) <= CURVATURE * abs(g @ direction)


def test_a_step_into_a_wall_is_shortened():
    function = Function(
        lambda x: -np.log(1 - x[0]) - 2 * x[0] if x[0] < 1 else np.nan,
        lambda x: [1 / (1 - x[0]) - 2] if x[0] < 1 else [np.nan],
        lambda x: [[1 / (1 - x[0]) ** 2]],
        1,
    )
    f, _, found = search(function, np.array([0.0]), np.array([1.0]), 64.0)
    assert found is not None
    assert found[1].value < f


def test_a_finite_value_without_a_gradient_is_not_taken():
    function = Function(
        lambda x: (x[0] - 1) ** 2,
        lambda x: [2 * (x[0] - 1)] if x[0] < 0.9 else [np.nan],
        lambda x: [[2.0]],
        1,
    )
    _, _, found = search(function, np.array([0.0]), np.array([1.0]))
    assert found is not None
    assert np.isfinite(found[1].gradient).all()


def test_a_limit_ends_the_way():
    """The first parameter would go far beyond its limit: the step ends there, exactly, however short it is."""
    function = quadratic(np.diag([1.0, 1.0]), [100.0, 1.0], bounds=[[-1, 1e-9], [-5, 5]])
    x = np.zeros(2)
    f, g, found = search(function, x, np.array([100.0, 1.0]))
    assert found is not None
    point, answer = found
    assert point[0] == 1e-9
    assert point[1] == pytest.approx(1e-11)
    assert answer.value <= f + DECREASE * float(g @ (point - x))


@pytest.mark.parametrize("n", [2, 5])
def test_pairs_of_a_quadratic_give_its_inverse(n, rng):
    """After n conjugate pairs H⁻¹ is exact; of free parameters alone it is the inverse of their block."""
    H = positive_definite(rng, n, 100.0)
    vectors = np.linalg.eigh(H)[1].T
    pairs = deque((v, H @ v) for v in vectors)
    g = rng.normal(size=n)
    everything = np.ones(n, dtype=bool)
    np.testing.assert_allclose(_inverse_times(g, pairs, None, everything), np.linalg.solve(H, g), rtol=1e-9)
    free = everything.copy()
    free[0] = False
    found = _inverse_times(g[free], deque(), np.linalg.inv(H), free)
    np.testing.assert_allclose(found, np.linalg.solve(H[np.ix_(free, free)], g[free]), rtol=1e-9)


def test_a_metric_saves_evaluations():
    """With the exact inverse Hessian of a quadratic function the first step is the last."""
    H = positive_definite(np.random.default_rng(3), 8, 1e8)
    stop, record = run("lbfgs", quadratic(H, np.ones(8)), np.zeros(8), inverse_metric=np.linalg.inv(H))
    assert stop.converged
    assert record.gradients <= 4
    stop, record = run("lbfgs", rosenbrock(10), np.tile([-1.2, 1.0], 5))
    assert stop.converged
    assert record.gradients < 150


def test_values_only_go_down():
    """The best value after every evaluation is the history; the end is its last entry."""
    function = rosenbrock(6)
    stop, record = run("lbfgs", function, np.tile([-1.2, 1.0], 3))
    assert all(b < a for a, b in zip(record.history, record.history[1:], strict=False))
    assert record.history[-1] == stop.value
