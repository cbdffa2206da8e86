"""Profiles of one bin: numbers of events and phases whose errors are not Gaussian, with the intervals that they have instead."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.base.errors import CtpwaError
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import free_parameters
from ctpwa.fitting.fractions import SignalEvents
from ctpwa.studies.bin_fit import BinFit
from ctpwa.studies.bin_intervals import Interval, RootOfEvents, WithTotal, events_walk, phase_walk, scaled_error
from ctpwa.studies.bin_records import fitted_at, interval_numbers, intervals_key
from ctpwa.studies.bin_solutions import HALF_TURN, Solution
from ctpwa.studies.fit_record import FitRecord


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
            events, phases = self._intervals()
        except CtpwaError as error:
            return FitRecord.failed(key, error, time.perf_counter() - begin)
        numbers = interval_numbers("events", events) | interval_numbers("phase", phases)
        return FitRecord(key, best.record.nll, True, numbers=numbers, seconds=time.perf_counter() - begin)

    def _intervals(self) -> tuple[dict[str, Interval], dict[str, Interval]]:
        """Of events, and of phases in degrees, where errors are not Gaussian."""
        best = self.solutions[0]
        likelihood, x = self.fit.at(best.record)
        result = self.fit.fitted(likelihood, x[None], self.fit.binned.analysis.settings.simulation)
        points = [(result.x, 0.0), *((self._point(likelihood, own), self._rise(own)) for own in self.solutions[1:])]
        known = [np.where(np.isfinite(V), V, 0.0) for V in (result.covariance, result.statistical_covariance)]
        return self._events(likelihood, points, *known), self._phases(likelihood, points, *known)

    def _rise(self, own: Solution) -> float:
        return float(own.record.nll - self.solutions[0].record.nll) / self.fit.likelihood.unit

    def _point(self, likelihood: Likelihood, own: Solution) -> np.ndarray:
        """The parameters of a solution, with the signs of phases that are nearer to the best one where they are open."""
        bare, theta = fitted_at(own.record)
        turned = own.near(self.solutions[0]).values != own.values
        c = {name: bare[name].conjugate() if sign else bare[name] for name, sign in zip(own.names, turned, strict=True)}
        return free_parameters(likelihood, c, theta)

    def _events(self, likelihood: Likelihood, points: _Points, V: np.ndarray, data: np.ndarray) -> dict[str, Interval]:
        best = self.solutions[0]
        if len(likelihood.coupling_index) < len(likelihood.names) or likelihood.mixture is not None:
            return {}  # numbers of events then depend on more than couplings
        x, truth = points[0][0], self.fit.samples.truth
        signal, accepted = SignalEvents.of(likelihood, x), likelihood.integrals(x)
        everywhere = accepted if truth is None else likelihood.integrals(x, truth)
        objective = WithTotal(likelihood, signal.value, signal.variance)
        of_total = signal.variance / signal.value**2
        whole, statistical = (np.block([[own, np.zeros((len(x), 1))], [np.zeros((1, len(x))), of_total]]) for own in (V, data))
        found = {}
        for name in best.names:
            if name not in self.fit.groups:
                continue
            quantity = RootOfEvents(likelihood, signal.value, accepted, everywhere, self.fit.groups[name])
            value, error = best.events[name]
            slope = quantity.at(np.append(x, 0.0))[1]
            walk = events_walk(objective, quantity, points, scaled_error(slope, whole, statistical))
            low, high = math.sqrt(max(value - error, 0.0)), math.sqrt(value + error)
            if (own := walk.interval(low, high, (0.0, math.inf))) is not None:
                ends = (math.sqrt(value) - own.lower) ** 2, (math.sqrt(value) + own.upper) ** 2
                found[name] = Interval(value - ends[0], ends[1] - value)
        return found

    def _phases(self, likelihood: Likelihood, points: _Points, V: np.ndarray, data: np.ndarray) -> dict[str, Interval]:
        best, found = self.solutions[0], {}
        for name, own in zip(best.names, best.sets, strict=True):
            reference = self.references[own]
            _, error = (0.0, math.inf) if name == reference else best.phase(name, reference)
            if not math.isfinite(error) or error == 0:
                continue
            walk = phase_walk(likelihood, (name, reference), points, 1.0)
            slope = walk.quantity.at(points[0][0])[1]
            walk = phase_walk(likelihood, (name, reference), points, scaled_error(slope, V, data))
            at, sigma = walk.places[0].value, min(math.radians(error), math.pi / 2)
            interval = walk.interval(at - sigma, at + sigma, (at - math.pi, at + math.pi))
            if interval is not None:
                ends = (math.degrees(own) for own in (interval.lower, interval.upper))
                found[name] = Interval(*(own if own < HALF_TURN else math.inf for own in ends))
        return found


_Points = Sequence[tuple[np.ndarray, float]]
