"""−ln L as a function of one or two quantities, minimised over everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ctpwa.base.errors import CtpwaError
from ctpwa.fitting.counted_events import too_few_at
from ctpwa.fitting.holes import hole, may_have_holes
from ctpwa.fitting.physical import HEIGHTS, PhysicalEdge, WithBarrier
from ctpwa.minimise.constrained import BELOW, Condition, apart, constrained_minimum
from ctpwa.minimise.objective import Objective, Scaled
from ctpwa.studies.baseline import Baseline
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.quantities import FreeParameter
from ctpwa.studies.quantity_names import FRACTION, PHASE, POLE, Asked, make_quantity

LEAST = 0.02  # of its fitted value: a fraction or a width that is smaller is nearly 0, where its slope vanishes
PRECISION = 1e-7  # of the rise at a crossing
WALK = 40  # steps to a crossing
HALVINGS = 2  # of a way that is too far
BISECT = 6  # every so many of them halve what is left
FURTHEST = 5.0  # times the range: no crossing is looked for further away
LOWER = 1e-3  # in units in which one standard deviation adds ½: a point so much below the fit is a better minimum, and no rounding
SURPRISING = 2.0  # standard deviations between a point and where it was expected: it may be on another branch than its neighbour


def number(what: str, k: int) -> str:
    """The name of a number of the k-th quantity, from 0, in a record."""
    return f"{what} {k + 1}"


@dataclass(frozen=True)
class ProfilePoint:
    """A point of a profile.

    Attributes:
        x:       the free parameters
        values:  of the quantities
        rise:    of −ln L above the fit, in units in which one standard deviation adds ½
        good:    whether it is a minimum with these values
        reason:  why not
        jump:    how far it is from where it was expected, in standard deviations
    """

    x: np.ndarray
    values: tuple[float, ...]
    rise: float
    good: bool
    reason: str
    jump: float

    @property
    def root(self) -> float:
        """√(2 rise): standard deviations."""
        return math.sqrt(max(2 * self.rise, 0.0))


class Profile:
    """Profiles of a likelihood around a fit.

    Args:
        own:    the fit
        asked:  the quantities

    Attributes:
        values:       of the quantities where the fit ended
        errors:       their statistical standard deviations; 0 where there is none
        correlation:  of two quantities
    """

    def __init__(self, own: Baseline, asked: Sequence[Asked]) -> None:
        self._own, self._asked = own, tuple(asked)
        likelihood, result = own.likelihood, own.result
        self._edge = PhysicalEdge.of(likelihood)
        scaled = Scaled(likelihood, likelihood.unit)
        self._objective: Objective = scaled if self._edge is None else WithBarrier(scaled, self._edge, HEIGHTS[-1])
        value, self._gradient, self._H = self._objective.value_grad_hessian(own.x)
        self._least = float(value) - LOWER
        covariance = result.statistical_covariance
        curvature = np.abs(self._H.diagonal())
        alone = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
        known = covariance.diagonal() > 0
        steps = np.where(known, np.sqrt(np.where(known, covariance.diagonal(), 1.0)), alone)
        self.quantities = [make_quantity(one, own, steps) for one in asked]
        found = [quantity.at(own.x) for quantity in self.quantities]
        self.values = tuple(value for value, _ in found)
        self._J = np.array([slope for _, slope in found])
        C = self._J @ covariance @ self._J.T
        self.errors = tuple(float(e) for e in np.sqrt(C.diagonal().clip(min=0)))
        both = math.prod(self.errors) if len(self.errors) == 2 else 0.0
        self.correlation = float(C[0, 1] / both) if both else 0.0
        self._follow = self._directions()

    @property
    def x(self) -> np.ndarray:
        """The free parameters where the fit ended."""
        return self._own.x

    def _directions(self) -> np.ndarray:
        """How the best parameters follow the quantities, [parameter, quantity]: H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹; those at limits stay."""
        bounds, x = self._objective.bounds, self.x
        own = {quantity.index for quantity in self.quantities if isinstance(quantity, FreeParameter)}
        free = np.array([i for i in range(len(x)) if i in own or bounds[i, 0] < x[i] < bounds[i, 1]], dtype=np.int64)
        H = self._H[np.ix_(free, free)]
        scale = 1 / np.sqrt(np.where(np.abs(H.diagonal()) > 0, np.abs(H.diagonal()), 1.0))
        inverse = np.linalg.pinv(H * np.outer(scale, scale), rcond=1e-10, hermitian=True) * np.outer(scale, scale)
        moved = inverse @ self._J[:, free].T
        follow = np.zeros((len(x), len(self.quantities)))
        follow[free] = moved @ np.linalg.pinv(self._J[:, free] @ moved)
        return follow

    def limits(self, k: int) -> tuple[float, float]:
        """Between which values the k-th quantity is looked at."""
        quantity, value, asked = self.quantities[k], self.values[k], self._asked[k]
        if isinstance(quantity, FreeParameter):
            low, high = self._objective.bounds[quantity.index]
            return float(low), float(high)
        if asked.kind == PHASE:
            return value - math.pi, value + math.pi
        if asked.kind == FRACTION or (asked.kind == POLE and asked.parts[1] == "width"):
            return LEAST * abs(value), math.inf
        return -math.inf, math.inf

    def range(self, k: int, sigmas: float) -> tuple[float, float]:
        """The range of the k-th quantity: as it was asked for, or so many errors to both sides, within its limits.

        Raises:
            CtpwaError: if its error is not known, or the range is outside its limits
        """
        asked, (least, most) = self._asked[k], self.limits(k)
        if asked.range is not None:
            low, high = asked.range
            if asked.kind != PHASE and not (least <= low and high <= most):
                raise CtpwaError(
                    f"the range {low:g} to {high:g} of {asked.name} goes beyond {least:g} to {most:g}\n"
                    " fix: give a range within these limits"
                )
            return low, high
        reach = sigmas * self.errors[k] if self.errors[k] > 0 else self._one_sided(k, sigmas)
        if not (math.isfinite(reach) and reach > 0):
            raise CtpwaError(f"{asked.name} has no error to tell how far to scan\n fix: give a range, {asked.name}=LOW..HIGH")
        return max(self.values[k] - reach, least), min(self.values[k] + reach, most)

    def _one_sided(self, k: int, sigmas: float) -> float:
        """How far a parameter at a limit is from where −ln L has risen by ½ σ²: slope t + ½ curvature t² = ½ σ²."""
        quantity = self.quantities[k]
        if not isinstance(quantity, FreeParameter):
            return math.nan
        direction = self._follow[:, k]
        slope, curvature = abs(float(self._gradient @ direction)), float(direction @ self._H @ direction)
        if curvature <= 0:
            return sigmas**2 / (2 * slope) if slope > 0 else math.nan
        return (-slope + math.sqrt(slope**2 + curvature * sigmas**2)) / curvature

    def at(self, values: Sequence[float], scales: Sequence[float], near: FitRecord | None = None) -> ProfilePoint:
        """The lowest point with these values of the quantities.

        Args:
            values:  of the quantities
            scales:  what counts as 1 in them
            near:    a point to begin near; default: where the fit ended
        """
        x, before = self.x, self.values
        if near is not None and near.good:
            x = np.array([near.values[name] for name in self._own.likelihood.names])
            before = tuple(float(near.numbers[number("value", k)]) for k in range(len(values)))
        return self._from(x, before, values, scales, HALVINGS)

    def _from(
        self, x: np.ndarray, before: Sequence[float], values: Sequence[float], scales: Sequence[float], halvings: int
    ) -> ProfilePoint:
        """From a point with other values of the quantities; where that is too far, by way of one between them."""
        steps = [apart(quantity, to, at) for quantity, to, at in zip(self.quantities, values, before, strict=True)]
        point = self._solved(x, np.array(steps), values, scales, patient=not halvings)
        if point.good or not halvings or point.reason == BELOW:
            return point
        between = [at + step / 2 for at, step in zip(before, steps, strict=True)]
        half = self._from(x, before, between, scales, halvings - 1)
        return self._from(half.x, between, values, scales, halvings - 1) if half.good else replace(half, values=tuple(values))

    def _solved(self, x: np.ndarray, steps: np.ndarray, values: Sequence[float], scales: Sequence[float], patient: bool) -> ProfilePoint:
        start = np.clip(x + self._follow @ steps, *self._objective.bounds.T)
        if not np.isfinite(self._objective.value(start)):
            start = x
        fixed: dict[int, float] = {}
        held: list[Condition] = []
        for quantity, value, scale in zip(self.quantities, values, scales, strict=True):
            if isinstance(quantity, FreeParameter):
                fixed[quantity.index] = value
            else:
                held.append(Condition(quantity, value, scale))
        stop = constrained_minimum(self._objective, start, fixed, held, patient=patient, least=self._least)
        unit, likelihood = self._own.likelihood.unit, self._own.likelihood
        nll = unit * (stop.value - (0.0 if self._edge is None else HEIGHTS[-1] * self._edge.barrier(stop.x)[0]))
        good, reason = stop.converged and math.isfinite(nll), "" if stop.converged else stop.reason
        if good and may_have_holes(likelihood) and (endless := hole(likelihood, stop.x)):
            good, reason = False, endless
        away = stop.x - start
        jump = math.sqrt(abs(float(away @ self._H @ away)))
        rise = (nll - self._own.result.nll) / unit
        if good and (rise < -LOWER or jump > SURPRISING) and (few := too_few_at(likelihood, stop.x)):
            good, reason = False, few[0]
        return ProfilePoint(stop.x, tuple(values), rise, good, reason, jump)

    def record(self, key: str, point: ProfilePoint, seconds: float) -> FitRecord:
        """What a point leaves in a study."""
        numbers = {number("value", k): value for k, value in enumerate(point.values)}
        return FitRecord(
            key,
            self._own.result.nll + point.rise * self._own.likelihood.unit,
            point.good,
            point.reason,
            dict(zip(self._own.likelihood.names, point.x.tolist(), strict=True)),
            numbers=numbers | {"rise": point.rise, "jump": point.jump},
            seconds=seconds,
        )

    def crossing(
        self, side: int, sigmas: float, scale: float, known: Sequence[tuple[float, FitRecord]], end: float, beyond: bool
    ) -> tuple[ProfilePoint | None, str]:
        """Where −ln L of one quantity has risen by ½ σ² on one side of the fit, and what is wrong with it.

        √(2 rise) is nearly linear in the distance from the fit.

        Args:
            side:    −1 or 1
            sigmas:  standard deviations
            scale:   what counts as 1 in the quantity
            known:   points on this side: distance and record, the nearest first
            end:     the distance of the last point of the scan
            beyond:  whether to look further
        """
        limit = side * (self.limits(0)[0 if side < 0 else 1] - self.values[0])
        furthest = min(limit, FURTHEST * end if beyond else end)
        low, high = (0.0, 0.0), None
        near: FitRecord | None = None
        for distance, record in known:
            root = math.sqrt(max(2 * float(record.numbers["rise"]), 0.0))
            if root >= sigmas:
                high = distance, root
                near = near or record
                break
            low, near = (distance, root), record
        last: ProfilePoint | None = None
        tried: list[tuple[float, float]] = []
        for step in range(WALK):
            if high is not None:
                distance = _between(low, high, tried, sigmas) if step % BISECT != BISECT - 1 else (low[0] + high[0]) / 2
            elif low[0] >= furthest:
                return last, "a limit comes first" if low[0] >= limit else "beyond the range"
            else:
                guess = low[0] * sigmas / low[1] if low[1] > 0 else max(1.2 * low[0], scale * sigmas)
                distance = min(max(guess, 1.02 * low[0]), 2 * low[0] if low[0] > 0 else math.inf, furthest)
            last = self.at([self.values[0] + side * distance], [scale], near)
            if not last.good:
                return last, last.reason
            if abs(last.rise - sigmas**2 / 2) <= max(PRECISION, 10 * self._objective.rounding):
                return last, ""
            near = self.record("", last, 0.0)
            tried.append((distance, last.root))
            low, high = (tried[-1], high) if last.root < sigmas else (low, tried[-1])
            if high is not None and high[0] - low[0] <= 1e-12 * high[0]:
                break
        return last, "not found"


def _between(low: tuple[float, float], high: tuple[float, float], tried: Sequence[tuple[float, float]], root: float) -> float:
    """The distance at which √(2 rise) should be ``root``: by the last two that were tried, or by those around it."""
    for a, b in [tried[-2:]] if len(tried) > 1 else []:
        if a[1] != b[1] and low[0] < (distance := a[0] + (b[0] - a[0]) * (root - a[1]) / (b[1] - a[1])) < high[0]:
            return distance
    return low[0] + (high[0] - low[0]) * (root - low[1]) / (high[1] - low[1])
