"""The posterior density of a likelihood with flat priors, in coordinates in which it is nearly a normal distribution.

    p(y) ∝ L(x(y))   within the limits of the parameters, 0 outside

y are the parameters x, but for the couplings of waves whose lineshapes float: of these it has what they add to the amplitude
(``wave_projections.py``). A sampler sees z: y = T(u), u = u₀ + A z. T maps all real numbers to what limits allow, and A Aᵀ is the inverse
Hessian at the minimum, so that the metric of the sampler is the Hessian. The density of z has the factor |∂y/∂z|.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ctpwa.fitting.fittable import Fittable
from ctpwa.studies.wave_projections import WaveProjections

SMALLEST = 1e-6  # curvature, relative to the largest: less is not determined, and gets this
INSIDE = 1e-3  # of the room between limits, or of the size of a value: how far from a limit a chain begins at least
LARGEST = 700.0  # exponent


@dataclass(frozen=True)
class Limited:
    """The map T from real numbers to what limits allow, for all parameters.

    Attributes:
        bounds:  lower and upper limits [parameter, 2]
    """

    bounds: np.ndarray

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which have two limits, a lower one only, an upper one only."""
        low, high = np.isfinite(self.bounds).T
        return low & high, low & ~high, high & ~low

    def inside(self, x: np.ndarray) -> np.ndarray:
        """The same point, away from limits."""
        low, high = self.bounds.T
        both, lower, upper = self._kinds
        x = x.copy()
        room = INSIDE * np.where(both, high - low, np.maximum(np.abs(x), 1.0))
        x = np.where(both | lower, np.maximum(x, low + room), x)
        return np.where(both | upper, np.minimum(x, high - room), x)

    def to_real(self, x: np.ndarray) -> np.ndarray:
        """U of a point away from limits."""
        low, high = self.bounds.T
        both, lower, upper = self._kinds
        u = x.copy()
        u[both] = np.log((x - low)[both] / (high - x)[both])
        u[lower] = np.log((x - low)[lower])
        u[upper] = np.log((high - x)[upper])
        return u

    def from_real(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """x, ∂x/∂u, ln|∂x/∂u| and its derivative, of every parameter."""
        low, high = self.bounds.T
        both, lower, upper = self._kinds
        u = np.where(both | lower | upper, np.clip(u, -LARGEST, LARGEST), u)
        x, slope, log, dlog = u.copy(), np.ones_like(u), np.zeros_like(u), np.zeros_like(u)
        part = 1 / (1 + np.exp(-u[both]))
        room = (high - low)[both]
        x[both], slope[both] = low[both] + room * part, room * part * (1 - part)
        log[both], dlog[both] = np.log(room) - np.logaddexp(0, -u[both]) - np.logaddexp(0, u[both]), 1 - 2 * part
        for one, sign, limit in ((lower, 1.0, low), (upper, -1.0, high)):
            size = np.exp(u[one])
            x[one], slope[one], log[one], dlog[one] = limit[one] + sign * size, sign * size, u[one], 1.0
        return x, slope, log, dlog


@dataclass(frozen=True)
class Point:
    """A point of the parameters.

    Attributes:
        x:       the free parameters
        pulled:  the gradient over z, given that over x
        log:     ln|∂y/∂z|, y being what the density is flat in
        dlog:    its gradient over z
    """

    x: np.ndarray
    pulled: Callable[[np.ndarray], np.ndarray]
    log: float
    dlog: np.ndarray


class Posterior:
    """−ln of the density of z, and its gradient.

    Args:
        likelihood:   with the minimum at ``x``
        x:            its free parameters
        projections:  of waves whose lineshapes float; None: their couplings are coordinates like all others
    """

    def __init__(self, likelihood: Fittable, x: np.ndarray, projections: WaveProjections | None = None) -> None:
        self._likelihood, self._projections = likelihood, projections
        bounds = likelihood.bounds.copy()
        if projections is not None:
            bounds[projections.places.ravel()] = -np.inf, np.inf  # of sizes: a point with another phase, not one below 0
        self._limited = Limited(bounds)
        self._u, self._A = self._to_real(np.asarray(x, dtype=float)), np.eye(len(x))
        point = self._point(np.zeros(len(x)))
        f, _, H = likelihood.value_grad_hessian(point.x)
        J = np.array([point.pulled(row) for row in np.eye(len(x))])
        self._A, self._highest = _inverse_root(J.T @ H @ J / likelihood.unit), float(f)

    def _to_real(self, x: np.ndarray) -> np.ndarray:
        x = self._limited.inside(x)
        return self._limited.to_real(x if self._projections is None else self._projections.to_projections(x))

    def _point(self, z: np.ndarray) -> Point:
        y, slope, log, dlog = self._limited.from_real(self._u + self._A @ z)
        at = None if self._projections is None else self._projections.from_projections(y)
        over_y = (lambda g: g) if self._projections is None or at is None else partial(self._projections.pulled, at)
        return Point(y if at is None else at.x, lambda g: self._A.T @ (slope * over_y(g)), float(log.sum()), self._A.T @ dlog)

    def x(self, z: np.ndarray) -> np.ndarray:
        """The free parameters."""
        return self._point(z).x

    def z(self, x: np.ndarray) -> np.ndarray:
        """Where a point of the parameters is."""
        return np.linalg.solve(self._A, self._to_real(x) - self._u)

    def value(self, z: np.ndarray) -> float:
        """−ln p(z), up to a constant."""
        return self.gradient(z)[1]

    def gradient(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """The gradient of −ln p(z), and −ln p(z); infinite where there is no likelihood."""
        nowhere = np.zeros_like(z), np.inf
        try:
            point = self._point(z)
        except np.linalg.LinAlgError:  # waves are the same there
            return nowhere
        f, g = self._likelihood.value_and_grad(point.x)
        f, g = (f - self._highest) / self._likelihood.unit, g / self._likelihood.unit
        if not (np.isfinite(f) and np.isfinite(g).all()):
            return nowhere
        return point.pulled(g) - point.dlog, float(f - point.log)


def _inverse_root(H: np.ndarray) -> np.ndarray:
    """A with A Aᵀ = H⁻¹; curvatures by size, none of them tiny."""
    scale = 1 / np.sqrt(np.where(np.diag(H) != 0, np.abs(np.diag(H)), 1.0))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    size = np.abs(values)
    return scale[:, None] * vectors / np.sqrt(np.maximum(size, SMALLEST * size.max()))


def draw(
    posterior: Posterior, z: np.ndarray, n: int, seed: Sequence[int], step: float | None, warm_up: int = 0
) -> tuple[np.ndarray, float, float]:
    """A piece of a chain of Hamiltonian Monte Carlo, which makes as many steps as it takes to turn around.

    Args:
        posterior:  what is sampled
        z:          where it begins
        n:          how many points
        seed:       of the random numbers
        step:       size of a step; None: found while it warms up
        warm_up:    how many points are thrown away first

    Returns:
        the points [point, parameter], the size of a step, and the mean probability to accept one
    """
    from mici.adapters import DualAveragingStepSizeAdapter
    from mici.integrators import LeapfrogIntegrator
    from mici.samplers import DynamicMultinomialHMC
    from mici.systems import EuclideanMetricSystem

    system = EuclideanMetricSystem(posterior.value, grad_neg_log_dens=posterior.gradient)
    integrator = LeapfrogIntegrator(system, step_size=step)
    sampler = DynamicMultinomialHMC(system, integrator, np.random.default_rng(seed))
    adapters = [DualAveragingStepSizeAdapter()] if step is None else None
    _, traces, statistics = sampler.sample_chains(
        warm_up,
        n,
        [z],
        adapters=adapters,
        trace_funcs=[lambda state: {"z": state.pos}],
        display_progress=False,
    )
    return traces["z"][0], float(integrator.step_size), float(statistics["accept_stat"][0].mean())
