"""Newton's method in a trust region, with the exact Hessian.

In every step the quadratic model g·s + ½ s·H·s is minimised within |D s| ≤ Δ (``region.py``); D_i² are the largest curvatures seen so
far, so that the region does not depend on the units of the parameters. Directions of negative curvature are followed downhill, so a
saddle point is left and not taken for a minimum.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from ctpwa.minimise.region import TrustRegion, length_of
from ctpwa.minimise.steps import HESSIAN, VALUE, Answer, Ask, Steps, Stop, inside

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # of the predicted gain
SHRINK, GROW = 0.25, 3.0
LARGE = 100.0  # a region of so many standard deviations: what gains nothing in it is flat


def newton(
    x: np.ndarray, bounds: np.ndarray, *, tolerance: float = 1e-9, max_iterations: int = 300, noise: float = 0.0, eager: bool = False
) -> Steps:
    """Minimise from ``x``.

    Args:
        x:               start
        bounds:          limits [parameter, 2], infinite where there are none
        tolerance:       stop when the expected gain ½ g·H⁻¹·g is below this
        max_iterations:  give up after this many steps
        noise:           rounding of f; smaller gains are trusted without looking at f
        eager:           ask for the Hessian at every point, needed or not: fewer questions, and all of one kind
    """
    x = inside(np.asarray(x, dtype=float), bounds)
    answer: Answer = yield Ask(x, HESSIAN)
    if not _finite(answer):
        return Stop(x, answer.value, False, "the start has no finite likelihood", 0)
    f, g, H = answer.value, answer.gradient, answer.hessian
    curvature = np.abs(H.diagonal())
    radius, shift = -1.0, 0.0
    bounded = bool(np.isfinite(bounds).any())
    for iteration in range(max_iterations):
        curvature = np.maximum(curvature, np.abs(H.diagonal()))
        scale = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
        if radius < 0:
            radius = max(length_of(scale * g), 1.0)
        shrunk = False
        region = TrustRegion(g, H, scale, shift)
        while True:
            trial, at_edge = region.bounded_step(x, radius, bounds) if bounded else region.step(x, radius)
            step = trial - x
            gain = -float(g.dot(step) + step.dot(H @ step) / 2)
            if gain <= tolerance and not at_edge:
                if not gain > 0:
                    return Stop(x, f, True, "converged", iteration)
                tried: Answer = yield Ask(trial, HESSIAN if eager else VALUE)
                if tried.value <= f + noise:
                    return Stop(trial, tried.value, True, "converged", iteration + 1)
                return Stop(x, f, True, "converged", iteration)
            if gain <= tolerance and not shrunk:  # a small region, or a direction in which almost nothing changes
                if radius >= LARGE:
                    return Stop(x, f, True, "converged", iteration)
                radius *= GROW
                continue
            tried = yield Ask(trial, HESSIAN if eager else VALUE)
            actual = f - tried.value
            ratio = 1.0 if gain < noise and abs(actual) < 10 * noise else (actual / gain if isfinite(actual) else -1.0)
            if ratio > ACCEPT:
                answer = tried if eager else (yield Ask(trial, HESSIAN))
                if not _finite(answer):
                    ratio = -1.0
            if ratio < POOR:
                radius, shrunk = SHRINK * min(length_of(step / scale), radius), True
            elif ratio > GOOD and at_edge:
                radius *= GROW
            if ratio > ACCEPT:
                break
            if radius < 1e-12 or gain < noise:
                return Stop(x, f, gain < max(tolerance, noise), "no step makes the likelihood better", iteration)
        x, f, g, H, shift = trial, answer.value, answer.gradient, answer.hessian, region.shift
    return Stop(x, f, False, f"not converged after {max_iterations} iterations", max_iterations)


def _finite(answer: Answer) -> bool:
    return isfinite(answer.value + answer.gradient.sum() + answer.hessian.sum())
