"""Where −ln L of a bin is no parabola, and which values of numbers of events and of phases agree with the data there.

For a quantity t the other parameters are minimised: that is the profile of −ln L. With Gaussian errors σ it has risen by ½ at t ± σ. Where
it has not, or where another solution is nearly as good, the interval goes from the lowest to the highest t at which the profile of a
solution crosses ½ above the best one. Phase space is finite: what it adds to variances, as a factor 1 + r, is what the rise is multiplied
by,

    ½ (1 + r) = ½ gᵀ V g / gᵀ V_data g,     g = ∂t/∂x

The number of events of a wave has a profile in the likelihood of shapes times that of a Poisson number μ of all events, of which there are
N; with μ = N e^u that is N (e^u − 1 − u). Its square root is what is walked along: −ln L is nearer to a parabola in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.coupling_forms import form_of
from ctpwa.minimise.constrained import Condition, SmoothQuantity, constrained_minimum
from ctpwa.minimise.objective import Objective, Scaled
from ctpwa.studies.quantities import PhaseDifference

PARABOLA = 0.25  # how much √(2 rise) at one standard deviation may differ from 1
CLOSE = 0.02  # of √(2 rise): so precisely a crossing is found
STEPS = 16  # points of the walk to a crossing
HALVINGS = 3  # of a step that leads nowhere
ROOM = 5.0  # ln(μ/N) stays within this
DIFFERENCE = 1e-5  # of a parameter: for second derivatives of a quantity


@dataclass(frozen=True)
class Interval:
    """Which values agree with the data.

    Attributes:
        lower, upper:  distances to its ends, both positive; infinite if −ln L does not rise enough anywhere
    """

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class ProfileStart:
    """A solution from which profiles are followed.

    Attributes:
        x:      its parameters
        value:  of the quantity, of an angle the one next to that of the best solution
        rise:   of −ln L above that solution, in units in which one standard deviation adds ½
    """

    x: np.ndarray
    value: float
    rise: float


class WithTotal:
    """−ln L of shapes in units of events without weights, and that of the number of all events: the last parameter is u = ln(μ/N)."""

    def __init__(self, likelihood: Likelihood, number: float, variance: float) -> None:
        self._shape, self._n = Scaled(likelihood, likelihood.unit), number**2 / variance
        self.names = (*likelihood.names, "ln(mu/N)")
        self.bounds = np.vstack([likelihood.bounds, [-ROOM, ROOM]])
        self.rounding = self._shape.rounding

    def value(self, p: Any) -> Any:
        """The value at a point."""
        return float(self._shape.value(p[:-1])) + self._n * (math.exp(p[-1]) - 1 - p[-1])

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient at a point."""
        value, gradient = self._shape.value_and_grad(p[:-1])
        rise = math.exp(p[-1]) - 1
        return float(value) + self._n * (rise - p[-1]), np.append(gradient, self._n * rise)

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian at a point."""
        value, gradient, H = self._shape.value_grad_hessian(p[:-1])
        rise = math.exp(p[-1]) - 1
        whole = np.zeros((len(p), len(p)))
        whole[:-1, :-1], whole[-1, -1] = H, self._n * (rise + 1)
        return float(value) + self._n * (rise - p[-1]), np.append(gradient, self._n * rise), whole


class RootOfEvents:
    """√ of the events of waves: √(N e^u c† Q c / c† A c) with Q over truth and A over accepted phase space; lineshapes stand still.

    Args:
        likelihood:  whose parameters come before u
        number:      N
        accepted:    integrals over accepted phase space
        everywhere:  those over truth
        waves:       which waves
    """

    period: float | None = None

    def __init__(
        self, likelihood: Likelihood, number: float, accepted: WaveIntegrals, everywhere: WaveIntegrals, waves: Sequence[int]
    ) -> None:
        self._parameters, self._n = likelihood.parameters, len(likelihood.coupling_names)
        self._log = math.log(number * everywhere.weight / accepted.weight)
        self._A = form_of(accepted, self._n)[0]
        self._Q = form_of(everywhere, self._n, waves)[0]

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient."""
        c, J = self._parameters.native(x[:-1])[0], self._parameters.jacobian(x[:-1])
        dc = J[: self._n] + 1j * J[self._n : 2 * self._n]
        (q, dq), (a, da) = (((c.conj() @ M @ c).real, 2 * (dc.conj().T @ (M @ c)).real) for M in (self._Q, self._A))
        if not q > 0:
            return 0.0, np.zeros(len(x))
        root = math.exp((math.log(q / a) + self._log + x[-1]) / 2)
        return root, root / 2 * np.append(dq / q - da / a, 1.0)

    def second(self, x: np.ndarray) -> np.ndarray:
        """Its Hessian, of differences of gradients."""
        rows = []
        for k in range(len(x)):
            step = np.zeros(len(x))
            step[k] = DIFFERENCE * max(1.0, abs(x[k]))
            rows.append((self.at(x + step)[1] - self.at(x - step)[1]) / (2 * step[k]))
        H = np.array(rows)
        return (H + H.T) / 2


@dataclass(frozen=True, eq=False)
class ProfileWalk:
    """Follows profiles of one quantity.

    Attributes:
        objective:  −ln L in units in which one standard deviation adds ½
        quantity:   t
        places:     solutions, the best one first
        sigmas:     √(1 + r)
    """

    objective: Objective
    quantity: SmoothQuantity
    places: tuple[ProfileStart, ...]
    sigmas: float

    def interval(self, low: float, high: float, limits: tuple[float, float]) -> Interval | None:
        """Which values agree with the data; None if those between ``low`` and ``high`` do, as a parabola would have it.

        Args:
            low, high:  one standard deviation below and above the best value
            limits:     of the quantity: beyond them it has no values
        """
        best, *others = self.places
        near = [own for own in others if own.rise < self.sigmas**2 / 2]
        if not near and limits[0] < low and high < limits[1] and all(self._is_parabola(best, t) for t in (low, high)):
            return None
        scale = (high - low) / 2
        ends = [[self._end(own, side, scale, limits) for own in (best, *near)] for side in (-1, 1)]
        return Interval(best.value - min(ends[0]), max(ends[1]) - best.value)

    def root(self, t: float, start: np.ndarray) -> float:
        """√(2 rise) of the lowest point with this t, of those that all solutions and one more point lead to; NaN if none does.

        Args:
            t:      the value
            start:  the point
        """
        error = abs(t - self.places[0].value) or 1.0
        found = (self._at(x, t, error, patient=False) for x in (start, *(own.x for own in self.places)))
        return min((own[1] for own in found if own is not None), default=math.nan)

    def _is_parabola(self, best: ProfileStart, t: float) -> bool:
        found = self._at(best.x, t, (t - best.value) or 1.0)
        return found is not None and abs(found[1] / self.sigmas - 1) <= PARABOLA

    def _at(self, x: np.ndarray, t: float, error: float, patient: bool = True) -> tuple[np.ndarray, float] | None:
        """The lowest point near x with this t, and √(2 rise) there; None if there is none."""
        held = Condition(self.quantity, t, abs(error))
        stop = constrained_minimum(self.objective, x, {}, [held], patient=False)
        if patient and not (stop.converged and math.isfinite(stop.value)):
            stop = constrained_minimum(self.objective, x, {}, [held], least=self._best - 1.0)
        if not (stop.converged and math.isfinite(stop.value)):
            return None
        return stop.x, math.sqrt(max(2 * (stop.value - self._best), 0.0))

    @cached_property
    def _best(self) -> float:
        return float(self.objective.value(self.places[0].x))

    def _end(self, own: ProfileStart, side: int, scale: float, limits: tuple[float, float]) -> float:
        """Where the profile of a solution has risen by ½ (1 + r) above the best one, on one side; ±∞ if nowhere."""
        limit = limits[0] if side < 0 else limits[1]
        room = abs(limit - own.value)
        low, high, x = (0.0, math.sqrt(2 * max(own.rise, 0.0))), None, own.x
        distance, halved = min(scale, room), 0
        for _ in range(STEPS):
            found = self._at(x, own.value + side * distance, scale)
            if found is None:
                if halved == HALVINGS:
                    break
                distance, halved = (low[0] + distance) / 2, halved + 1
                continue
            point, root = found
            if abs(root / self.sigmas - 1) <= CLOSE:
                return own.value + side * distance
            if root < self.sigmas:
                low, x = (distance, root), point
                if distance >= room:
                    return limit
            else:
                high = distance, root
            if high is None:
                distance = min(room, distance * min(max(self.sigmas / root if root > 0 else 2.0, 1.2), 2.0))
            else:
                part = (self.sigmas - low[1]) / (high[1] - low[1])
                distance = low[0] + (high[0] - low[0]) * min(max(part, 0.1), 0.9)
        if high is not None:
            return own.value + side * high[0]
        return side * math.inf


def phase_walk(likelihood: Likelihood, names: tuple[str, str], points: Sequence[tuple[np.ndarray, float]], sigmas: float) -> ProfileWalk:
    """Along arg c_A − arg c_B in radians.

    Args:
        likelihood:  of the bin
        names:       A and B
        points:      solutions: parameters, and −ln L above the best one
        sigmas:      √(1 + r)
    """
    quantity = PhaseDifference(likelihood, likelihood, np.ones(len(likelihood.names)), names)
    places = tuple(ProfileStart(x, quantity.at(x)[0], rise) for x, rise in points)
    best = places[0].value
    near = tuple(replace(own, value=best + (own.value - best + math.pi) % (2 * math.pi) - math.pi) for own in places)
    return ProfileWalk(Scaled(likelihood, likelihood.unit), quantity, near, sigmas)


def events_walk(objective: WithTotal, quantity: RootOfEvents, points: Sequence[tuple[np.ndarray, float]], sigmas: float) -> ProfileWalk:
    """Along √ of a number of events.

    Args:
        objective:  with the number of all events
        quantity:   the root
        points:     solutions: parameters, and −ln L above the best one
        sigmas:     √(1 + r)
    """
    whole = [(np.append(x, 0.0), rise) for x, rise in points]
    return ProfileWalk(objective, quantity, tuple(ProfileStart(x, quantity.at(x)[0], rise) for x, rise in whole), sigmas)


def scaled_error(slope: np.ndarray, covariance: np.ndarray, statistical: np.ndarray) -> float:
    """√(1 + r) of a quantity.

    Args:
        slope:        ∂t/∂x
        covariance:   of x
        statistical:  that of the measured events alone
    """
    whole, own = (float(slope @ V @ slope) for V in (covariance, statistical))
    return math.sqrt(max(whole / own, 1.0)) if own > 0 and math.isfinite(whole) else 1.0
