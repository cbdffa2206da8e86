"""The step of a trust region: the conditions that hold at the minimum of a quadratic function in a ball, and nowhere else."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg.lapack import dposv

from ctpwa.minimise import region
from ctpwa.minimise.region import Curvature, TrustRegion


def gain(g, H, s):
    return -(g @ s + s @ H @ s / 2)


def check_minimum(g, H, radius):
    """(H + λ) s = −g with λ ≥ 0, λ (radius − |s|) = 0 and H + λ without negative eigenvalues."""
    s, at_edge = Curvature(H).exact_minimum(g, radius)
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


@settings(max_examples=200)
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


@settings(max_examples=100)
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
    s, at_edge = Curvature(np.diag([0.0, 4.0])).exact_minimum(np.array([0.0, 2.0]), 10.0)
    np.testing.assert_allclose(s, [0.0, -0.5])
    assert not at_edge


def test_no_slope_and_no_curvature():
    s, at_edge = Curvature(np.zeros((3, 3))).exact_minimum(np.zeros(3), 1.0)
    np.testing.assert_array_equal(s, np.zeros(3))
    assert not at_edge


def test_a_slope_without_curvature_is_followed_to_the_edge():
    s, at_edge = Curvature(np.zeros((2, 2))).exact_minimum(np.array([3.0, 4.0]), 2.0)
    np.testing.assert_allclose(s, [-1.2, -1.6], rtol=1e-12)
    assert at_edge


def test_a_newton_step_inside_is_exact():
    H = np.array([[4.0, 1.0], [1.0, 3.0]])
    s, at_edge = Curvature(H).exact_minimum(np.array([1.0, 2.0]), 100.0)
    np.testing.assert_allclose(s, -np.linalg.solve(H, [1.0, 2.0]), rtol=1e-14)
    assert not at_edge


# steps of a region: near the edge is near enough


@settings(max_examples=200)
@given(
    values=st.lists(eigenvalue, min_size=1, max_size=6),
    slopes=st.lists(st.sampled_from([0.0, 1.0, -3.0, 1e-7, 1e-13, 1e4]), min_size=6, max_size=6),
    log_radius=st.integers(-3, 3),
    log_guess=st.integers(-9, 6),
    seed=st.integers(0, 1000),
)
@example(values=[0.0, 1.0], slopes=[1e-13, 1.0, 0, 0, 0, 0], log_radius=2, log_guess=0, seed=0)
def test_a_step_of_a_region_gains_almost_as_much_as_the_best(values, slopes, log_radius, log_guess, seed):
    H, Q = symmetric(values, seed)
    g, radius = Q @ np.array(slopes[: len(values)]), 10.0**log_radius
    end, at_edge = TrustRegion(g, H, np.ones(len(g)), 10.0**log_guess).step(np.zeros(len(g)), radius)
    best, _ = Curvature(H).exact_minimum(g, radius)
    assert np.linalg.norm(end) <= 1.2 * radius * (1 + 1e-9)
    assert gain(g, H, end) >= 0.6 * gain(g, H, best) - 1e-9 * (np.abs(g) @ np.abs(best) + 1e-300)
    if not at_edge:
        assert gain(g, H, end) == pytest.approx(gain(g, H, best), rel=1e-6, abs=1e-9 * (np.abs(g) @ np.abs(best) + 1e-300))


def test_a_good_guess_saves_decompositions(monkeypatch):
    """And λ of one step is the guess of the next."""
    H, Q = symmetric([-2.0, -1.0, 0.5, 1.0, 3.0], 1)
    g = Q @ np.array([0.3, -1.0, 0.2, 2.0, 1.0])
    tried = []
    monkeypatch.setattr(region, "dposv", lambda *a, **k: tried.append(1) or dposv(*a, **k))
    first = TrustRegion(g, H, np.ones(5))
    end, at_edge = first.step(np.zeros(5), 1.0)
    assert at_edge
    assert np.linalg.norm(end) == pytest.approx(1.0, rel=0.2)
    assert first.shift > 2.0
    before = len(tried)
    again, _ = TrustRegion(g, H, np.ones(5), first.shift).step(np.zeros(5), 1.0)
    assert before > 1
    assert len(tried) - before == 1
    np.testing.assert_array_equal(again, end)


def test_a_saddle_point_without_slope_is_left():
    H, _ = symmetric([-1.0, 1.0, 2.0], 2)
    end, at_edge = TrustRegion(np.zeros(3), H, np.ones(3)).step(np.zeros(3), 0.5)
    assert at_edge
    assert gain(np.zeros(3), H, end) == pytest.approx(0.125)
