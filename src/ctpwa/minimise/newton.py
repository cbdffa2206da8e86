"""Newton's method in a trust region, with the exact Hessian.

In every step the quadratic model g·s + ½ s·H·s is minimised exactly within |D s| ≤ Δ; D_i² are the largest curvatures seen so far, so
that the region does not depend on the units of the parameters. Directions of negative curvature are followed downhill, so a saddle
point is left and not taken for a minimum.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cached_property
from math import isfinite, sqrt

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ctpwa.minimise.decompose import decompose
from ctpwa.minimise.steps import HESSIAN, VALUE, Answer, Ask, Decompose, Eigen, Steps, Stop, held, inside

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # of the predicted gain
SHRINK, GROW = 0.25, 3.0
LARGE = 100.0  # a region of so many standard deviations: what gains nothing in it is flat
NO_CURVATURE = 1e-14  # of the largest curvature: lost in rounding
NEGLIGIBLE = 1e-10  # of the whole gain

Step = tuple[np.ndarray, bool]  # a step or its end, and whether it is at the edge of the region
Stepping = Generator[Decompose, Eigen, Step]


def newton(
    x: np.ndarray, bounds: np.ndarray, *, tolerance: float = 1e-9, max_iterations: int = 300, noise: float = 0.0, eager: bool = False
) -> Steps:
    """Minimise from ``x``.

    Args:
        x:               start
        bounds:          limits [parameter, 2], infinite where there are none
        tolerance:       stop when the expected gain ½ g·H⁻¹·g is below this
        max_iterations:  give up after so many steps
        noise:           rounding of f; smaller gains are trusted without looking at f
        eager:           ask for the Hessian at every trial point at once, not only where a step is taken: fewer questions
    """
    x = inside(np.asarray(x, dtype=float), bounds)
    answer: Answer = yield Ask(x, HESSIAN)
    if not _finite(answer):
        return Stop(x, answer.value, False, "the start has no finite likelihood", 0)
    f, g, H = answer.value, answer.gradient, answer.hessian
    curvature = np.abs(H.diagonal())
    radius = -1.0
    bounded = bool(np.isfinite(bounds).any())
    for iteration in range(max_iterations):
        curvature = np.maximum(curvature, np.abs(H.diagonal()))
        scale = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
        if radius < 0:
            radius = max(_length(scale * g), 1.0)
        shrunk = False
        region = _Region(g, H, scale)
        while True:
            trial, at_edge = yield from region.bounded_step(x, radius, bounds) if bounded else region.step(x, radius)
            step = trial - x
            gain = -float(g.dot(step) + step.dot(H @ step) / 2)
            if gain <= tolerance and not at_edge:
                if not gain > 0:
                    return Stop(x, f, True, "converged", iteration)
                tried: Answer = yield Ask(trial, VALUE)
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
                radius, shrunk = SHRINK * min(_length(step / scale), radius), True
            elif ratio > GOOD and at_edge:
                radius *= GROW
            if ratio > ACCEPT:
                break
            if radius < 1e-12 or gain < noise:
                return Stop(x, f, gain < max(tolerance, noise), "no step makes the likelihood better", iteration)
        x, f, g, H = trial, answer.value, answer.gradient, answer.hessian
    return Stop(x, f, False, f"not converged after {max_iterations} iterations", max_iterations)


def _finite(answer: Answer) -> bool:
    return isfinite(answer.value + answer.gradient.sum() + answer.hessian.sum())


def _length(x: np.ndarray) -> float:
    return sqrt(x.dot(x))


class _Region:
    """The quadratic model g·s + ½ s·H·s around a point, in units ``scale`` of the parameters; what steps have in common is kept."""

    def __init__(self, g: np.ndarray, H: np.ndarray, scale: np.ndarray) -> None:
        self.g, self.H, self.scale = g, H, scale
        self._scaled = H * (scale[:, None] * scale)
        self._curvatures: dict[bytes, _Curvature] = {}

    def step(self, x: np.ndarray, radius: float) -> Stepping:
        """The end of the best step, and whether it is at the edge of the region."""
        own, at_edge = yield from _trust_region_step(self.g * self.scale, self._curvature(None), radius, None)
        return x + own * self.scale, at_edge

    def bounded_step(self, x: np.ndarray, radius: float, bounds: np.ndarray) -> Stepping:
        """The end of a step that respects the limits, and whether it is at the edge of the region.

        The best step is followed until a parameter reaches a limit; it stays there, and the others go on with the best step that is left
        to them. At the end, one that would rather come back from its limit may. The quadratic model falls all the way.
        """
        g, H, scale = self.g, self.H, self.scale
        end, at_edge = x.copy(), False
        free = ~held(x, g, bounds)
        for _ in range(10 + 4 * len(x)):
            step = end - x
            left = radius - _length(step / scale)
            if left < 1e-3 * radius:
                return end, True
            slope = g + H @ step
            if free.any():
                direction, at_edge = yield from self._free_step(end, slope, left, free, bounds)
                end, blocked = _follow(end, direction, bounds)
                free &= ~blocked
                if blocked.any():
                    continue
                slope = g + H @ (end - x)
            wanting = np.where(free | held(end, slope, bounds), 0.0, np.abs(slope * scale))
            if at_edge or not wanting.any():
                break
            free[np.argmax(wanting)] = True
        return end, at_edge

    def _free_step(self, x: np.ndarray, g: np.ndarray, radius: float, free: np.ndarray, bounds: np.ndarray) -> Stepping:
        """The best step of some of the parameters without their limits, and whether it is at the edge."""
        inwards = (x <= bounds[:, 0]).astype(float) - (x >= bounds[:, 1])
        own, at_edge = yield from _trust_region_step((g * self.scale)[free], self._curvature(free), radius, inwards[free])
        step = np.zeros_like(x)
        step[free] = own * self.scale[free]
        return step, at_edge

    def _curvature(self, free: np.ndarray | None) -> _Curvature:
        key = b"" if free is None else free.tobytes()
        if key not in self._curvatures:
            self._curvatures[key] = _Curvature(self._scaled if free is None else self._scaled[np.ix_(free, free)])
        return self._curvatures[key]


class _Curvature:
    """A matrix of curvatures, decomposed when that is first needed.

    Args:
        H:  the matrix

    Attributes:
        eigen:  eigenvalues, those lost in rounding set to 0, and eigenvectors; None before somebody has found them
    """

    def __init__(self, H: np.ndarray) -> None:
        self.H = H
        self.eigen: Eigen | None = None

    @cached_property
    def _cholesky(self) -> np.ndarray | None:
        """Its Cholesky decomposition; None if it is not positive definite."""
        factor, failed = dpotrf(self.H.T, clean=0)  # a matrix that is its own transpose, in the order of LAPACK
        return None if failed else factor

    def minimum(self, g: np.ndarray) -> np.ndarray | None:
        """The s at which g·s + ½ s·H·s is least; None if H is not positive definite."""
        return None if self._cholesky is None else -dpotrs(self._cholesky, g)[0]

    def set_eigen(self, values: np.ndarray, vectors: np.ndarray) -> None:
        """Keep what was found."""
        values[np.abs(values) <= NO_CURVATURE * max(-values[0], values[-1])] = 0.0
        self.eigen = values, vectors


def _follow(x: np.ndarray, step: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a step ends that is followed until a parameter reaches a limit, and which parameters did."""
    limit = np.where(step < 0, bounds[:, 0], bounds[:, 1])
    moves = step != 0
    room = np.full_like(x, np.inf)
    room[moves] = ((limit - x)[moves] / step[moves]).clip(min=0)
    fraction = min(float(room.min()), 1.0)
    blocked = room <= fraction
    end = inside(x + fraction * step, bounds)
    end[blocked] = limit[blocked]
    return end, blocked


def trust_region_step(g: np.ndarray, H: np.ndarray, radius: float, lean: np.ndarray | None = None) -> Step:
    """The s that minimises g·s + ½ s·H·s within |s| ≤ radius, and whether it is at the edge.

    s = −(H + λ)⁻¹·g with the smallest λ ≥ 0 at which H + λ has no negative eigenvalue and |s| ≤ radius.

    Args:
        g:       slopes
        H:       curvatures
        radius:  of the region
        lean:    which way to go along a direction of negative curvature without slope
    """
    stepping = _trust_region_step(g, _Curvature(H), radius, lean)
    try:
        question = next(stepping)
        while True:
            question = stepping.send(decompose(question.matrix))
    except StopIteration as end:
        return end.value


def _trust_region_step(g: np.ndarray, H: _Curvature, radius: float, lean: np.ndarray | None) -> Stepping:
    """The same; asks for eigenvalues and eigenvectors if it needs them."""
    if not len(g):
        return g, False
    step = H.minimum(g)
    if step is not None and np.abs(step).max() <= radius and _length(step) <= radius:
        return step, False
    if H.eigen is None:
        H.set_eigen(*(yield Decompose(H.H)))
    assert H.eigen is not None
    return _eigen_step(g, *H.eigen, radius, lean)


def _eigen_step(g: np.ndarray, values: np.ndarray, vectors: np.ndarray, radius: float, lean: np.ndarray | None) -> Step:
    along = vectors.T @ g
    lowest = float(values[0])
    if lowest == 0:
        flat, size = values == 0, np.abs(along)
        way = np.divide(size, values, out=np.full_like(size, radius), where=size < radius * values)
        if _length(size[flat]) * radius <= NEGLIGIBLE * (size * way)[~flat].sum():
            along[flat] = 0.0  # what it would gain is not worth the way to the edge
    curve = values - min(lowest, 0.0)
    # |s(t)| = |along / (curve + t)| falls with t ≥ 0
    t = float((np.abs(along) / radius - curve).max(initial=0.0))
    above = curve + t
    if t == 0:
        above[along == 0] = 1.0  # any number: there is nothing to divide, perhaps by 0
    s = along / above
    length = _length(s)
    at_edge = t > 0 or length > radius or lowest < 0
    for _ in range(100):  # Newton's method for 1/|s(t)| = 1/radius, which is nearly linear in t; from the left it does not overshoot
        if length - radius <= 1e-13 * radius:
            break
        t += (length / radius - 1) * length**2 / float(s.dot(s / above))
        above = curve + t
        s = along / above
        length = _length(s)
    if t == 0 and lowest < 0:  # the hard case: no slope along the lowest curvature
        towards = float(vectors[:, 0] @ lean) if lean is not None else 0.0
        s[0] = sqrt(max(radius**2 - length**2, 0.0)) * (1.0 if towards < 0 else -1.0)
    return -(vectors @ s), at_edge
