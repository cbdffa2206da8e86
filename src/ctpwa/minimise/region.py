"""The quadratic model g·s + ½ s·H·s around a point and its minimum within a trust region, with or without limits of parameters.

The minimum within |s| ≤ Δ is s = −(H + λ)⁻¹·g with the smallest λ ≥ 0 at which H + λ has no negative eigenvalue and |s| ≤ Δ. Where λ is
positive, it is found by Newton's method for 1/|s(λ)| = 1/Δ with a few Cholesky decompositions, until |s| is near enough to Δ; where that
does not succeed, as without slope along the lowest curvature, the eigenvalues tell it exactly (J. J. Moré, D. C. Sorensen, 1983).
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs, dtrtrs

from ctpwa.minimise.steps import held, inside

NO_CURVATURE = 1e-14  # of the largest curvature: lost in rounding
NEGLIGIBLE = 1e-10  # of the whole gain
NEAR = 0.2  # of the radius: so near to the edge a step may end
TRIES = 12  # decompositions, before eigenvalues are asked
SINGULAR = 1e-12  # of the largest curvature: a matrix with so small a pivot counts as singular
LEAST_SHIFT = 1e-6  # of the largest curvature: below, curvatures are so small that eigenvalues must tell whether there are any

Step = tuple[np.ndarray, bool]  # a step or its end, and whether it is at the edge of the region


class TrustRegion:
    """The model in units ``scale`` of the parameters; what steps have in common is kept.

    Args:
        g, H:   slopes and curvatures
        scale:  units of the parameters
        shift:  λ of the last step before, which is near that of the next one

    Attributes:
        shift:  λ of the last step
    """

    def __init__(self, g: np.ndarray, H: np.ndarray, scale: np.ndarray, shift: float = 0.0) -> None:
        self.g, self.H, self.scale, self.shift = g, H, scale, shift
        self._scaled = H * (scale[:, None] * scale)
        self._curvatures: dict[bytes, Curvature] = {}

    def step(self, x: np.ndarray, radius: float) -> Step:
        """The end of the best step, and whether it is at the edge of the region."""
        own, at_edge = self._step(self.g * self.scale, self._curvature(None), radius, None)
        return x + own * self.scale, at_edge

    def bounded_step(self, x: np.ndarray, radius: float, bounds: np.ndarray) -> Step:
        """The end of a step that respects the limits, and whether it is at the edge of the region.

        The best step is followed until a parameter reaches a limit; it stays there, and the others go on with the best step that is left
        to them. At the end, one that would rather come back from its limit may. The quadratic model falls all the way.
        """
        g, H, scale = self.g, self.H, self.scale
        end, at_edge = x.copy(), False
        free = ~held(x, g, bounds)
        for _ in range(10 + 4 * len(x)):
            step = end - x
            left = radius - length_of(step / scale)
            if left < 1e-3 * radius:
                return end, True
            slope = g + H @ step
            if free.any():
                direction, at_edge = self._free_step(end, slope, left, free, bounds)
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

    def _free_step(self, x: np.ndarray, g: np.ndarray, radius: float, free: np.ndarray, bounds: np.ndarray) -> Step:
        """The best step of some of the parameters without their limits, and whether it is at the edge."""
        inwards = (x <= bounds[:, 0]).astype(float) - (x >= bounds[:, 1])
        own, at_edge = self._step((g * self.scale)[free], self._curvature(free), radius, inwards[free])
        step = np.zeros_like(x)
        step[free] = own * self.scale[free]
        return step, at_edge

    def _curvature(self, free: np.ndarray | None) -> Curvature:
        key = b"" if free is None else free.tobytes()
        if key not in self._curvatures:
            self._curvatures[key] = Curvature(self._scaled if free is None else self._scaled[np.ix_(free, free)])
        return self._curvatures[key]

    def _step(self, g: np.ndarray, H: Curvature, radius: float, lean: np.ndarray | None) -> Step:
        if not len(g):
            return g, False
        step = H.minimum(g)
        if step is not None and np.abs(step).max() <= radius and length_of(step) <= radius:
            return step, False
        found = H.shifted_minimum(g, radius, self.shift)
        if found is None:
            return H.exact_minimum(g, radius, lean)
        step, self.shift = found
        return step, True


class Curvature:
    """A matrix of curvatures, decomposed when that is first needed.

    Args:
        H:  the matrix
    """

    def __init__(self, H: np.ndarray) -> None:
        self.H = H

    @cached_property
    def _cholesky(self) -> np.ndarray | None:
        """Its Cholesky decomposition; None if it is not positive definite."""
        factor, failed = dpotrf(self.H.T, clean=0)  # a matrix that is its own transpose, in the order of LAPACK
        return None if failed else factor

    def minimum(self, g: np.ndarray) -> np.ndarray | None:
        """The s at which g·s + ½ s·H·s is least; None if H is not positive definite."""
        return None if self._cholesky is None else -dpotrs(self._cholesky, g)[0]

    @cached_property
    def _range(self) -> tuple[float, float]:
        """No λ below the first makes H + λ positive definite, any above the second does."""
        return max(0.0, -float(self.H.diagonal().min())), float(np.abs(self.H).sum(axis=0).max())

    def shifted_minimum(self, g: np.ndarray, radius: float, guess: float) -> tuple[np.ndarray, float] | None:
        """−(H + λ)⁻¹·g near the edge of the region, and its λ > 0; None if it is not found soon.

        Args:
            g:       slopes
            radius:  of the region
            guess:   the λ to begin with
        """
        lower, upper = self._range
        least = LEAST_SHIFT * upper
        upper += length_of(g) / radius
        shift = guess if lower < guess < upper else _between(lower, upper)
        for _ in range(TRIES):
            if shift <= least:
                return None
            shifted = self.H.copy()
            shifted.ravel()[:: len(g) + 1] += shift
            factor, s, failed = dposv(shifted.T, g, overwrite_a=1)
            if failed or factor.diagonal().min() ** 2 <= SINGULAR * upper:
                lower, shift = shift, _between(shift, upper)
                continue
            length = length_of(s)
            if abs(length - radius) <= NEAR * radius:
                return -s, shift
            lower, upper = (shift, upper) if length > radius else (lower, shift)
            if not length:
                return None
            root = dtrtrs(factor, s / length, trans=1)[0]
            shift += (length / radius - 1) / float(root.dot(root))
            if not lower < shift < upper:
                shift = _between(lower, upper)
        return None

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, those lost in rounding set to 0, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.H)
        values[np.abs(values) <= NO_CURVATURE * max(-values[0], values[-1])] = 0.0
        return values, vectors

    def exact_minimum(self, g: np.ndarray, radius: float, lean: np.ndarray | None = None) -> Step:
        """The s that minimises g·s + ½ s·H·s within |s| ≤ radius, and whether it is at the edge.

        Args:
            g:       slopes
            radius:  of the region
            lean:    which way to go along a direction of negative curvature without slope
        """
        values, vectors = self._eigen
        along = vectors.T @ g
        lowest = float(values[0])
        if lowest == 0:
            flat, size = values == 0, np.abs(along)
            way = np.divide(size, values, out=np.full_like(size, radius), where=size < radius * values)
            if length_of(size[flat]) * radius <= NEGLIGIBLE * (size * way)[~flat].sum():
                along[flat] = 0.0  # what it would gain is not worth the way to the edge
        curve = values - min(lowest, 0.0)
        # |s(t)| = |along / (curve + t)| falls with t ≥ 0
        t = float((np.abs(along) / radius - curve).max(initial=0.0))
        above = curve + t
        if t == 0:
            above[along == 0] = 1.0  # any number: there is nothing to divide, perhaps by 0
        s = along / above
        length = length_of(s)
        at_edge = t > 0 or length > radius or lowest < 0
        for _ in range(100):  # Newton's method for 1/|s(t)| = 1/radius, which is nearly linear in t; from the left it does not overshoot
            if length - radius <= 1e-13 * radius:
                break
            t += (length / radius - 1) * length**2 / float(s.dot(s / above))
            above = curve + t
            s = along / above
            length = length_of(s)
        if t == 0 and lowest < 0:  # the hard case: no slope along the lowest curvature
            towards = float(vectors[:, 0] @ lean) if lean is not None else 0.0
            s[0] = sqrt(max(radius**2 - length**2, 0.0)) * (1.0 if towards < 0 else -1.0)
        return -(vectors @ s), at_edge


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


def length_of(x: np.ndarray) -> float:
    """|x|."""
    return sqrt(x.dot(x))


def _between(lower: float, upper: float) -> float:
    """A number between two that may be orders of magnitude apart."""
    return max(sqrt(max(lower, 1e-3 * upper) * upper), lower + 0.01 * (upper - lower))
