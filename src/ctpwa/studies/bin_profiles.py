"""Profiles of one bin: numbers of events and phases whose errors are not Gaussian, with the intervals that they have instead."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import block_diag

from ctpwa.base.errors import CtpwaError
from ctpwa.engine.likelihood.values import free_parameters
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.fractions import SignalEvents
from ctpwa.fitting.result import FitResult
from ctpwa.studies.bin_fit import BinFit
from ctpwa.studies.bin_intervals import (
    LEVELS,
    EventNumbers,
    Interval,
    ProfileWalk,
    RootOfEvents,
    WithTotal,
    events_walk,
    phase_walk,
    scaled_error,
)
from ctpwa.studies.bin_records import TOTAL, couplings_of, fitted_at, interval_numbers, intervals_key
from ctpwa.studies.bin_solutions import HALF_TURN, Solution
from ctpwa.studies.fit_record import FitRecord

ABSENT = 0.01  # of the standard deviations of the root of a number of events: so near to 0 walks go, where that has no gradient
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BinProfiles:
    """Profiles at the best solution of a bin.

    Attributes:
        fit:         of the bin
        solutions:   of it, the best one first, with signs as they were fitted
        references:  coherent set → the coupling whose phase others are compared with
    """

    fit: BinFit
    solutions: Sequence[Solution]
    references: Mapping[int, str]

    def record(self) -> FitRecord:
        """What they leave in the study."""
        begin, best = time.perf_counter(), self.solutions[0]
        key = intervals_key(best.bin.key)
        try:
            events, phases = self._event_intervals(), self._phase_intervals()
        except CtpwaError as error:
            return FitRecord.failed(key, error, time.perf_counter() - begin)
        numbers = interval_numbers("events", events) | interval_numbers("phase", phases)
        return FitRecord(key, best.record.nll, True, numbers=numbers, seconds=time.perf_counter() - begin)

    @cached_property
    def _at_best(self) -> tuple[Fittable, FitResult]:
        likelihood, x = self.fit.at(self.solutions[0].record)
        return likelihood, self.fit.fitted(likelihood, x[None], concluded=True)

    @cached_property
    def _points(self) -> list[tuple[np.ndarray, float]]:
        """Parameters of all solutions, and −ln L above the best one."""
        likelihood, result = self._at_best
        others = [
            (self._point(likelihood, image), self._rise(image)) for own in self.solutions[1:] for image in own.images(self.solutions[0])
        ]
        return [(result.x, 0.0), *others]

    @cached_property
    def _covariances(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the parameters, and that of the measured events alone."""
        result = self._at_best[1]
        whole, own = (np.where(np.isfinite(V), V, 0.0) for V in (result.covariance, result.statistical_covariance))
        return whole, own

    def _rise(self, own: Solution) -> float:
        return float(own.record.nll - self.solutions[0].record.nll) / self.fit.likelihood.unit

    def _point(self, likelihood: Fittable, own: Solution) -> np.ndarray:
        """The parameters of a solution, some of whose sets may have other signs than were fitted."""
        bare, theta = fitted_at(own.record)
        turned = own.values != couplings_of(own.record, list(own.names))
        c = {name: bare[name].conjugate() if sign else bare[name] for name, sign in zip(own.names, turned, strict=True)}
        return free_parameters(likelihood, c, theta)

    @cached_property
    def event_walks(self) -> dict[str, ProfileWalk]:
        """Along the roots of numbers of events of all waves and groups of them; empty if these depend on more than couplings."""
        likelihood, result = self._at_best
        terms, x = terms_of(likelihood), result.x
        if len(likelihood.coupling_index) < len(likelihood.names) or any(term.mixture is not None for term in terms):
            return {}
        signals = [SignalEvents.of(term, x) for term in terms]
        numbers = []
        for term, signal, sample in zip(terms, signals, self.fit.samples, strict=True):
            accepted = term.integrals(x)
            everywhere = accepted if sample.truth is None else term.integrals(x, sample.truth)
            numbers.append(EventNumbers(signal.value, accepted, everywhere))
        objective = WithTotal(likelihood, [(own.value, own.variance) for own in signals])
        of_totals = np.diag([own.variance / own.value**2 for own in signals])
        whole, own = (block_diag(V, of_totals) for V in self._covariances)
        still = np.zeros(len(terms))
        points = [(np.append(at, still), rise) for at, rise in self._points]
        walks = {}
        for name, waves in self.fit.groups.items():
            if name != TOTAL:  # whose error is that of a Poisson number
                quantity = RootOfEvents(terms[0], numbers, waves)
                slope = quantity.at(points[0][0])[1]
                walks[name] = events_walk(objective, quantity, points, scaled_error(slope, whole, own))
        return walks

    @cached_property
    def phase_walks(self) -> dict[str, ProfileWalk]:
        """Along phases of all waves in radians, relative to the references of their sets."""
        likelihood, result = self._at_best
        best, walks = self.solutions[0], {}
        for name, own in zip(best.names, best.sets, strict=True):
            if name != (reference := self.references[own]):
                walk = phase_walk(likelihood, (name, reference), self._points, 1.0)
                slope = walk.quantity.at(result.x)[1]
                walks[name] = replace(walk, sigmas=scaled_error(slope, *self._covariances))
        return walks

    def _event_intervals(self) -> dict[str, Interval]:
        found = {}
        for name, walk in self.event_walks.items():
            value, error = self.solutions[0].events[name]
            if not (math.isfinite(error) and error > 0):
                continue
            root = math.sqrt(value)
            ends = [(root - math.sqrt(max(value - n * error, 0.0)), math.sqrt(value + n * error) - root) for n in LEVELS]
            least = min(ABSENT * sum(ends[0]), root)
            if (own := walk.interval(ends, (least, math.inf))) is not None:
                found[name] = own.mapped(partial(_in_events, root, least))
        return found

    def _phase_intervals(self) -> dict[str, Interval]:
        best, found = self.solutions[0], {}
        for name, walk in self.phase_walks.items():
            _, error = best.phase(name, self.references[best.sets[best.names.index(name)]])
            if not math.isfinite(error) or error == 0:
                continue
            at, sigma = walk.places[0].value, min(math.radians(error), math.pi / 2)
            if (own := walk.interval([(n * sigma, n * sigma) for n in LEVELS], (at - math.pi, at + math.pi))) is not None:
                found[name] = own.mapped(_degrees)
        return found


def _in_events(root: float, least: float, end: float, side: int) -> float:
    """The distance in events of an end of which that in their root is given; what is next to 0 is 0."""
    at = root + side * end
    return abs((0.0 if at <= least * (1 + ROUNDING) else at) ** 2 - root**2)


def _degrees(end: float, side: int) -> float:
    """Half a turn is no end."""
    angle = math.degrees(end)
    return math.inf if angle > HALF_TURN or math.isclose(angle, HALF_TURN) else angle
