"""Where −ln L of a bin is no parabola, and which values of numbers of events and of phases agree with the data there.

For a quantity t the other parameters are minimised: that is the profile of −ln L. With Gaussian errors σ it has risen by ½, 2 and 4.5 at
t ± σ, 2σ and 3σ. Where it has not, or where another solution is nearly as good, intervals of one, two and three standard deviations go from
the lowest to the highest t at which the profile of a solution crosses them. Tails have to be looked at: a valley that begins beyond two
standard deviations may hold the truth. Phase space is finite: what it adds to variances, as a factor 1 + r, is what the rise is multiplied
by,

    ½ (1 + r) = ½ gᵀ V g / gᵀ V_data g,     g = ∂t/∂x

The number of events of a wave has a profile in the likelihood of shapes times that of a Poisson number μ of all events, of which there are
N; with μ = N e^u that is N (e^u − 1 − u). Every data set has a number of its own. The square root of their sum is what is walked along:
−ln L is nearer to a parabola in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.coupling_forms import form_of
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.minimise.constrained import Condition, SmoothQuantity, constrained_minimum
from ctpwa.minimise.objective import Objective, Scaled
from ctpwa.studies.quantities import PhaseDifference

LEVELS = (1, 2, 3)  # standard deviations at which profiles are looked at
PARABOLA = 0.15  # how much √(2 rise) may differ there, relatively
CLOSE = 0.02  # of √(2 rise): so precisely a crossing is found
STEPS = 16  # points of the walk to a crossing
HALVINGS = 3  # of a step that leads nowhere
ROOM = 5.0  # ln(μ/N) stays within this
DIFFERENCE = 1e-5  # of a parameter: for second derivatives of a quantity


@dataclass(frozen=True)
class Interval:
    """Which values agree with the data within 1, 2 and 3 standard deviations.

    Attributes:
        below, above:  distances to the ends, all positive; infinite if −ln L does not rise enough anywhere
    """

    below: tuple[float, ...]
    above: tuple[float, ...]

    @property
    def lower(self) -> float:
        """One standard deviation below."""
        return self.below[0]

    @property
    def upper(self) -> float:
        """One standard deviation above."""
        return self.above[0]

    @property
    def turned(self) -> Interval:
        """Of the negative quantity."""
        return Interval(self.above, self.below)

    def mapped(self, distance: Callable[[float, int], float]) -> Interval:
        """The same in other units.

        Args:
            distance:  of an end, given in these and its side, −1 or 1
        """
        below, above = (tuple(distance(end, side) for end in ends) for side, ends in ((-1, self.below), (1, self.above)))
        return Interval(below, above)


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


@dataclass(frozen=True, eq=False)
class _Step:
    """Of a walk.

    Attributes:
        distance:  from where it began
        root:      √(2 rise)
        x:         the parameters
    """

    distance: float
    root: float
    x: np.ndarray


class WithTotal:
    """−ln L of shapes in units of events without weights, and that of the number of all events of every data set: the last parameters are
    u = ln(μ/N) of each.

    Args:
        likelihood:  of shapes
        signals:     N of every data set with its variance
    """

    def __init__(self, likelihood: Fittable, signals: Sequence[tuple[float, float]]) -> None:
        self._shape, self._n = Scaled(likelihood, likelihood.unit), np.array([number**2 / variance for number, variance in signals])
        self.names = (*likelihood.names, *(f"ln(mu/N) {k + 1}" for k in range(len(signals))))
        self.bounds = np.vstack([likelihood.bounds, np.tile([-ROOM, ROOM], (len(signals), 1))])
        self.rounding = self._shape.rounding

    def value(self, p: Any) -> Any:
        """The value at a point."""
        x, u = self._parts(p)
        return float(self._shape.value(x)) + float(self._n @ (np.expm1(u) - u))

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient at a point."""
        x, u = self._parts(p)
        value, gradient = self._shape.value_and_grad(x)
        return float(value) + float(self._n @ (np.expm1(u) - u)), np.append(gradient, self._n * np.expm1(u))

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian at a point."""
        x, u = self._parts(p)
        value, gradient, H = self._shape.value_grad_hessian(x)
        whole = np.zeros((len(p), len(p)))
        whole[: len(x), : len(x)], whole[len(x) :, len(x) :] = H, np.diag(self._n * np.exp(u))
        return float(value) + float(self._n @ (np.expm1(u) - u)), np.append(gradient, self._n * np.expm1(u)), whole

    def _parts(self, p: Any) -> tuple[np.ndarray, np.ndarray]:
        return p[: len(p) - len(self._n)], p[len(p) - len(self._n) :]


@dataclass(frozen=True, eq=False)
class EventNumbers:
    """What numbers of events of a data set are made of.

    Attributes:
        number:      N
        accepted:    integrals over accepted phase space
        everywhere:  those over truth
    """

    number: float
    accepted: WaveIntegrals
    everywhere: WaveIntegrals


class RootOfEvents:
    """√ of the events of waves: √ Σ N e^u c† Q c / c† A c with Q over truth and A over accepted phase space, a sum over data sets;
    lineshapes stand still.

    Args:
        likelihood:  whose parameters come before u; any data set, since there are couplings alone
        numbers:     of every data set
        waves:       which waves
    """

    period: float | None = None

    def __init__(self, likelihood: Likelihood, numbers: Sequence[EventNumbers], waves: Sequence[int]) -> None:
        self._parameters, self._n = likelihood.parameters, len(likelihood.coupling_names)
        self._logs = np.array([math.log(own.number * own.everywhere.weight / own.accepted.weight) for own in numbers])
        self._forms = [(form_of(own.everywhere, self._n, waves)[0], form_of(own.accepted, self._n)[0]) for own in numbers]

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient."""
        y, u = x[: len(x) - len(self._logs)], x[len(x) - len(self._logs) :]
        c, J = self._parameters.native(y)[0], self._parameters.jacobian(y)
        dc = J[: self._n] + 1j * J[self._n : 2 * self._n]
        events, slope = np.zeros(len(u)), np.zeros(len(y))
        for k, forms in enumerate(self._forms):
            (q, dq), (a, da) = (((c.conj() @ M @ c).real, 2 * (dc.conj().T @ (M @ c)).real) for M in forms)
            size = math.exp(self._logs[k] + u[k]) / a
            events[k] = size * q
            slope += size * (dq - q / a * da)
        if not events.sum() > 0:
            return 0.0, np.zeros(len(x))
        root = math.sqrt(events.sum())
        return root, np.append(slope, events) / (2 * root)

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

    def interval(self, errors: Sequence[tuple[float, float]], limits: tuple[float, float]) -> Interval | None:
        """Which values agree with the data; None if those that a Gaussian error would have do.

        Args:
            errors:  how far 1, 2 and 3 standard deviations are below and above the best value
            limits:  of the quantity: beyond them it has no values
        """
        best, *others = self.places
        near = [own for own in others if own.rise < self.sigmas**2 / 2]
        if not near and self._is_parabola(errors, limits):
            return None
        scale = sum(errors[0]) / 2
        ends = [self._ends(side, scale, limits) for side in (-1, 1)]
        below, above = (tuple(abs(end - best.value) for end in own) for own in ends)
        return Interval(below, above)

    def root(self, t: float, start: np.ndarray) -> float:
        """√(2 rise) of the lowest point with this t, of those that all solutions and one more point lead to; NaN if none does.

        Args:
            t:      the value
            start:  the point
        """
        error = abs(t - self.places[0].value) or 1.0
        places = (start, *(own.x for own in self.places))
        for patient in (False, True):
            if roots := [own[1] for x in places if (own := self._at(x, t, error, patient)) is not None]:
                return min(roots)
        return math.nan

    def _is_parabola(self, errors: Sequence[tuple[float, float]], limits: tuple[float, float]) -> bool:
        """Whether √(2 rise) is 1, 2 and 3 where it should be, and no other solution is where it should not."""
        best, *others = self.places
        for side in (0, 1):
            x = best.x
            for n, own in zip(LEVELS, errors, strict=True):
                t = best.value + (own[1] if side else -own[0])
                found = self._at(x, t, own[side]) if limits[0] < t < limits[1] else None
                if found is None or abs(found[1] / (n * self.sigmas) - 1) > PARABOLA:
                    return False
                x = found[0]
        return not any(self._is_aside(own, errors[0]) for own in others)

    def _is_aside(self, own: ProfileStart, error: tuple[float, float]) -> bool:
        """Whether a solution that counts within three standard deviations is further away than a parabola allows."""
        root, away = math.sqrt(2 * max(own.rise, 0.0)) / self.sigmas, own.value - self.places[0].value
        return root < LEVELS[-1] and abs(away) > (1 + PARABOLA) * root * error[away > 0]

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

    def _ends(self, side: int, scale: float, limits: tuple[float, float]) -> list[float]:
        """Values on one side up to which solutions are 1, 2 and 3 standard deviations from the best one or less; ±∞ if nothing ends."""
        found = [[side * -math.inf] for _ in LEVELS]
        for own in self.places:
            step = _Step(0.0, math.sqrt(2 * max(own.rise, 0.0)), own.x)
            room = abs((limits[0] if side < 0 else limits[1]) - own.value)
            for n, ends in zip(LEVELS, found, strict=True):
                if step.root < n * self.sigmas:
                    if step.distance < room:
                        step = self._end(own, step, side, n * self.sigmas, scale, room)
                    ends.append(own.value + side * step.distance)
        return [side * max(side * end for end in ends) for ends in found]

    def _end(self, own: ProfileStart, low: _Step, side: int, wanted: float, scale: float, room: float) -> _Step:
        """Where the profile of a solution has risen to √(2 rise) on one side; infinitely far away if nowhere.

        Args:
            own:     the solution
            low:     a step where it has not
            side:    −1 or 1
            wanted:  √(2 rise)
            scale:   one standard deviation, roughly
            room:    how far the quantity has values
        """
        high, halved, distance = None, 0, min(low.distance + scale, room)
        for _ in range(STEPS):
            found = self._at(low.x, own.value + side * distance, scale, patient=halved == HALVINGS)
            if found is None:
                if halved == HALVINGS:
                    break
                distance, halved = (low.distance + distance) / 2, halved + 1
                continue
            step = _Step(distance, found[1], found[0])
            if abs(step.root / wanted - 1) <= CLOSE:
                return step
            if step.root < wanted:
                low = step
                if distance >= room:
                    return low
            else:
                high = step
            if high is None:
                distance = min(room, distance * min(max(wanted / step.root if step.root > 0 else 2.0, 1.2), 2.0))
            else:
                part = (wanted - low.root) / (high.root - low.root)
                distance = low.distance + (high.distance - low.distance) * min(max(part, 0.1), 0.9)
        return high if high is not None else replace(low, distance=math.inf)


def phase_walk(likelihood: Fittable, names: tuple[str, str], points: Sequence[tuple[np.ndarray, float]], sigmas: float) -> ProfileWalk:
    """Along arg c_A − arg c_B in radians.

    Args:
        likelihood:  of the bin
        names:       A and B
        points:      solutions: parameters, and −ln L above the best one
        sigmas:      √(1 + r)
    """
    quantity = PhaseDifference(likelihood, terms_of(likelihood)[0], np.ones(len(likelihood.names)), names)
    places = tuple(ProfileStart(x, quantity.at(x)[0], rise) for x, rise in points)
    best = places[0].value
    near = tuple(replace(own, value=best + (own.value - best + math.pi) % (2 * math.pi) - math.pi) for own in places)
    return ProfileWalk(Scaled(likelihood, likelihood.unit), quantity, near, sigmas)


def events_walk(objective: WithTotal, quantity: RootOfEvents, points: Sequence[tuple[np.ndarray, float]], sigmas: float) -> ProfileWalk:
    """Along √ of a number of events.

    Args:
        objective:  with the numbers of all events
        quantity:   the root
        points:     solutions: parameters with u, and −ln L above the best one
        sigmas:     √(1 + r)
    """
    return ProfileWalk(objective, quantity, tuple(ProfileStart(x, quantity.at(x)[0], rise) for x, rise in points), sigmas)


def scaled_error(slope: np.ndarray, covariance: np.ndarray, statistical: np.ndarray) -> float:
    """√(1 + r) of a quantity.

    Args:
        slope:        ∂t/∂x
        covariance:   of x
        statistical:  that of the measured events alone
    """
    whole, own = (float(slope @ V @ slope) for V in (covariance, statistical))
    return math.sqrt(max(whole / own, 1.0)) if own > 0 and math.isfinite(whole) else 1.0
