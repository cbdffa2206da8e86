"""Newton's method in a trust region, with the exact Hessian.

In every step the quadratic model g·s + ½ s·H·s is minimised exactly within |D s| ≤ Δ; D_i² are the largest curvatures seen so far, so
that the region does not depend on the units of the parameters. Directions of negative curvature are followed downhill, so a saddle
point is left and not taken for a minimum.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ctpwa.minimise.steps import HESSIAN, VALUE, Ask, Steps, Stop, held, inside

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # of the predicted gain
SHRINK, GROW = 0.25, 3.0
ROUNDING = 1e-14  # of |f| + Σ|terms|: gains below this cannot be seen in f


def newton(x: np.ndarray, bounds: np.ndarray, *, tolerance: float = 1e-9, max_iterations: int = 300, noise: float = 0.0) -> Steps:
    """Minimise from ``x``.

    Args:
        x:               start
        bounds:          limits [parameter, 2], infinite where there are none
        tolerance:       stop when the expected gain ½ g·H⁻¹·g is below this
        max_iterations:  give up after so many steps
        noise:           rounding of f; smaller gains are trusted without looking at f
    """
    x = inside(np.asarray(x, dtype=float), bounds)
    answer = yield Ask(x, HESSIAN)
    f, g, H = answer.value, answer.gradient, answer.hessian
    if not (np.isfinite(f) and np.isfinite(g).all() and np.isfinite(H).all()):
        return Stop(x, f, False, "the start has no finite likelihood", 0)
    curvature = np.abs(np.diag(H))
    radius = -1.0
    for iteration in range(max_iterations):
        curvature = np.maximum(curvature, np.abs(np.diag(H)))
        scale = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
        free = ~held(x, g, bounds)
        if radius < 0:
            radius = max(float(np.linalg.norm(scale * g)), 1.0)
        while True:
            step, at_edge = _bounded_step(x, g, H, scale, radius, free, bounds)
            gain = -(g @ step + step @ H @ step / 2)
            if gain <= tolerance and not at_edge:
                if not gain > 0:
                    return Stop(x, f, True, "converged", iteration)
                tried = yield Ask(inside(x + step, bounds), VALUE)
                if tried.value <= f + noise:
                    return Stop(inside(x + step, bounds), min(tried.value, f), True, "converged", iteration + 1)
                return Stop(x, f, True, "converged", iteration)
            trial = inside(x + step, bounds)
            tried = yield Ask(trial, VALUE)
            actual = f - tried.value
            ratio = 1.0 if gain < noise and abs(actual) < 10 * noise else (actual / gain if np.isfinite(actual) else -1.0)
            length = float(np.linalg.norm(step / scale))
            if ratio < POOR:
                radius = SHRINK * min(length, radius)
            elif ratio > GOOD and at_edge:
                radius *= GROW
            if ratio > ACCEPT:
                break
            if radius < 1e-12 or gain < noise:
                return Stop(x, f, gain < max(tolerance, noise), "no step makes the likelihood better", iteration)
        answer = yield Ask(trial, HESSIAN)
        x, f, g, H = trial, answer.value, answer.gradient, answer.hessian
    return Stop(x, f, False, f"not converged after {max_iterations} iterations", max_iterations)


def _bounded_step(
    x: np.ndarray, g: np.ndarray, H: np.ndarray, scale: np.ndarray, radius: float, free: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, bool]:
    """The best step among the free parameters; one that would cross a limit is stopped there, and the others take another step."""
    step = np.zeros_like(x)
    free = free.copy()
    at_edge = False
    while free.any():
        index = np.flatnonzero(free)
        fixed = ~free
        own_g = (g[index] + H[np.ix_(index, np.flatnonzero(fixed))] @ step[fixed]) * scale[index]
        own_H = H[np.ix_(index, index)] * np.outer(scale[index], scale[index])
        left = np.sqrt(max(radius**2 - float(np.sum((step[fixed] / scale[fixed]) ** 2)), (1e-3 * radius) ** 2))
        own, at_edge = trust_region_step(own_g, own_H, left)
        step[index] = own * scale[index]
        crossed = free & ((x + step < bounds[:, 0]) | (x + step > bounds[:, 1]))
        if not crossed.any():
            break
        step[crossed] = np.where(step[crossed] < 0, bounds[crossed, 0], bounds[crossed, 1]) - x[crossed]
        free &= ~crossed
        step[free] = 0.0
    return step, at_edge


def trust_region_step(g: np.ndarray, H: np.ndarray, radius: float) -> tuple[np.ndarray, bool]:
    """The s that minimises g·s + ½ s·H·s within |s| ≤ radius, and whether it is at the edge."""
    try:
        step = -cho_solve(cho_factor(H), g)
        if np.linalg.norm(step) <= radius:
            return step, False
    except LinAlgError:
        pass
    values, vectors = np.linalg.eigh(H)
    along = vectors.T @ g
    floor = max(0.0, -float(values[0]))
    size = np.abs(values).max()
    # |s(λ)| = |g/(h + λ)| falls with λ > floor; find λ with |s| = radius
    low, high = floor, floor + float(np.linalg.norm(g)) / radius + 1e-300
    smallest = values - values[0] < 1e-12 * size
    if np.linalg.norm(along[smallest]) <= 1e-12 * np.linalg.norm(g):  # the hard case: no slope along the lowest curvature
        rest = ~smallest
        s = np.zeros_like(along)
        s[rest] = -along[rest] / (values[rest] + floor)
        if np.linalg.norm(s) <= radius and values[0] < 0:
            s[np.flatnonzero(smallest)[0]] = np.sqrt(radius**2 - s @ s)
            return vectors @ s, True
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(along / (values + middle + 1e-300)) > radius:
            low = middle
        else:
            high = middle
        if high - low <= 1e-10 * high:
            break
    return vectors @ (-along / (values + high)), True
