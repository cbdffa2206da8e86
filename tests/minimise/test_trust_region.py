"""The step of a trust region: the conditions that hold at the minimum of a quadratic function in a ball, and nowhere else."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctpwa.minimise.newton import trust_region_step


def gain(g, H, s):
    return -(g @ s + s @ H @ s / 2)


def check_minimum(g, H, radius):
    """(H + λ) s = −g with λ ≥ 0, λ (radius − |s|) = 0 and H + λ without negative eigenvalues."""
    s, at_edge = trust_region_step(g, H, radius)
    assert np.isfinite(s).all()
    length = np.linalg.norm(s)
    assert length <= radius * (1 + 1e-9)
    size = max(np.abs(np.linalg.eigvalsh(H)).max(), np.linalg.norm(g) / radius, 1e-300)
    s_H = H @ s
    lam = -float((g + s_H) @ s) / length**2 if length > 0 else 0.0
    scale = size * max(length, 1e-300) + np.linalg.norm(g)
    if at_edge:
        assert length == pytest.approx(radius, rel=1e-9)
        assert lam >= -1e-9 * size
        lam = max(lam, 0.0)
    else:
        lam = 0.0
    assert np.linalg.norm(s_H + lam * s + g) <= 1e-8 * scale
    assert np.linalg.eigvalsh(H)[0] + lam >= -1e-8 * size
    return s, at_edge


def symmetric(values, seed):
    n = len(values)
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    H = (Q * np.asarray(values, dtype=float)) @ Q.T
    return (H + H.T) / 2, Q


eigenvalue = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 1e-8, -1e-8, 1e6]), st.floats(-10, 10))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    values=st.lists(eigenvalue, min_size=1, max_size=6),
    slopes=st.lists(st.sampled_from([0.0, 1.0, -3.0, 1e-7, 1e-13, 1e4]), min_size=6, max_size=6),
    log_radius=st.integers(-6, 6),
    seed=st.integers(0, 1000),
)
@example(values=[0.0], slopes=[0.0] * 6, log_radius=0, seed=0)
@example(values=[0.0, 1.0], slopes=[0.0, 1.0, 0, 0, 0, 0], log_radius=2, seed=0)
@example(values=[-1.0, 1.0], slopes=[1e-13, 1e4, 0, 0, 0, 0], log_radius=6, seed=1)
def test_it_is_the_minimum(values, slopes, log_radius, seed):
    """Definite, indefinite and singular matrices, slopes that miss the lowest curvature exactly or almost."""
    H, Q = symmetric(values, seed)
    check_minimum(Q @ np.array(slopes[: len(values)]), H, 10.0**log_radius)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_nothing_in_the_ball_is_better(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    A = rng.normal(size=(n, n))
    H, g, radius = A + A.T, rng.normal(size=n) * 10.0 ** rng.integers(-3, 3), 10.0 ** rng.uniform(-2, 2)
    s, _ = check_minimum(g, H, radius)
    points = rng.normal(size=(2000, n))
    points *= (radius * rng.random(2000) ** (1 / n) / np.linalg.norm(points, axis=1))[:, None]
    best = -(points @ g + np.einsum("pi,ij,pj->p", points, H, points) / 2).min()
    assert gain(g, H, s) >= best - 1e-9 * abs(best)


def test_the_hard_case():
    """No slope along the lowest curvature: the step goes to the edge along it, on either side."""
    H, g = np.diag([-2.0, 1.0]), np.array([0.0, 1.0])
    s, at_edge = check_minimum(g, H, 5.0)
    assert at_edge
    assert s[1] == pytest.approx(-1 / 3)
    assert abs(s[0]) == pytest.approx(np.sqrt(25 - 1 / 9))


@pytest.mark.parametrize("slope", [1e-6, 1e-9, 1e-11, 1e-13, 1e-15])
def test_almost_the_hard_case(slope):
    """The side is that of the small slope, and the step is as long as the region."""
    H, g = np.diag([-2.0, 1.0]), np.array([slope, 1.0])
    s, at_edge = check_minimum(g, H, 5.0)
    assert at_edge
    assert np.linalg.norm(s) == pytest.approx(5.0, rel=1e-9)
    if slope > 1e-11:
        assert s[0] < 0


def test_a_singular_matrix_without_slope_along_its_flat_direction():
    """The flat direction is left alone; the step is not at the edge, so a minimiser can see that it has converged."""
    s, at_edge = trust_region_step(np.array([0.0, 2.0]), np.diag([0.0, 4.0]), 10.0)
    np.testing.assert_allclose(s, [0.0, -0.5])
    assert not at_edge


def test_no_slope_and_no_curvature():
    s, at_edge = trust_region_step(np.zeros(3), np.zeros((3, 3)), 1.0)
    np.testing.assert_array_equal(s, np.zeros(3))
    assert not at_edge


def test_a_slope_without_curvature_is_followed_to_the_edge():
    s, at_edge = trust_region_step(np.array([3.0, 4.0]), np.zeros((2, 2)), 2.0)
    np.testing.assert_allclose(s, [-1.2, -1.6], rtol=1e-12)
    assert at_edge


def test_a_newton_step_inside_is_exact():
    H = np.array([[4.0, 1.0], [1.0, 3.0]])
    s, at_edge = trust_region_step(np.array([1.0, 2.0]), H, 100.0)
    np.testing.assert_allclose(s, -np.linalg.solve(H, [1.0, 2.0]), rtol=1e-14)
    assert not at_edge
