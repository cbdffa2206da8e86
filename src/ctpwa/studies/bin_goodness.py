"""How well the best solution of a bin describes its events: one test of what X decays to, and one of what the bins are of.

*Decay*: events in cells of equal expectation in masses and angles. *Inside*: whether couplings are constant in the bin. With u from −1 to 1
between its edges, the functions u, u² and u ∂ ln p of all parameters are those in which parameters with a slope in u differ from constants.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.base.errors import CtpwaError
from ctpwa.data.events import Events
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.observables.cell_variables import cell_variables
from ctpwa.observables.goodness import equal_cells
from ctpwa.observables.projections import event_weights
from ctpwa.observables.residual_test import EventFunctions, ResidualTest, residual_test
from ctpwa.studies.bin_densities import EventDensities
from ctpwa.studies.bin_fit import BinFit
from ctpwa.studies.bin_records import DECAY, INSIDE, events_of, goodness_key, goodness_numbers
from ctpwa.studies.fit_record import FitRecord

PER_CELL = 25  # events in a cell, at least
DEEPEST = 7  # 2^7 cells
PER_FUNCTION = 10  # events for each function of a test
WIDEST = 4.0  # standard deviations: ∂ ln p has long tails where the intensity is nearly 0


@dataclass(frozen=True, eq=False)
class BinGoodness:
    """Tests of the best solution of a bin.

    Attributes:
        fit:   of the bin
        best:  what its best solution has left
    """

    fit: BinFit
    best: FitRecord

    def record(self) -> FitRecord:
        """What they leave in the study."""
        begin, key = time.perf_counter(), goodness_key(self.fit.bin.key)
        try:
            inside = self.inside()
            numbers = goodness_numbers({DECAY: self.decay(), INSIDE: inside}, self._moved(inside))
        except (CtpwaError, np.linalg.LinAlgError) as error:
            return FitRecord.failed(key, error, time.perf_counter() - begin)
        return FitRecord(key, self.best.nll, True, numbers=numbers, seconds=time.perf_counter() - begin)

    def decay(self) -> ResidualTest:
        """Of the distribution of masses and angles; every data set has cells of its own."""
        model, found = self.fit.binned.analysis.model, []
        without = [axis.text for axis in self.fit.binned.axes]
        for own in self._data_sets:
            data = np.concatenate([cell_variables(model, events, without) for events in own.densities.measured])
            simulated = cell_variables(model, own.densities.simulated, without)
            depth = int(np.clip(np.log2(max(own.effective / PER_CELL, 1.0)), 0, DEEPEST))
            cells = equal_cells(data, simulated, own.omega.clip(min=0), depth)
            inside = np.zeros((len(data), len(cells))), np.zeros((len(simulated), len(cells)))
            for k, (of_data, of_model, _) in enumerate(cells):
                inside[0][of_data, k] = inside[1][of_model, k] = 1.0
            found.append(inside)
        before = np.cumsum([0, *(data.shape[1] for data, _ in found)])
        spread = [
            tuple(np.pad(part, [(0, 0), (first, before[-1] - first - part.shape[1])]) for part in pair)
            for first, pair in zip(before, found, strict=False)
        ]
        return self._test(spread)

    def inside(self) -> ResidualTest:
        """Of the distribution of what the bins are of."""
        most = max(int(sum(own.effective for own in self._data_sets) / PER_FUNCTION), 1)
        found = []
        for own in self._data_sets:
            samples = own.densities.measured, [own.densities.simulated]
            data, model = (self._changes(events, g)[:, :most] for events, g in zip(samples, own.scores, strict=True))
            found.append(_bounded(data, model, own.omega))
        return self._test(found)

    def _moved(self, test: ResidualTest) -> dict[str, float]:
        """Waves → by how many errors their events would differ if parameters had slopes."""
        likelihood, x = self._at
        before, after = (np.abs(self.fit.event_values(likelihood, own)) ** 2 for own in (x, x + test.moves))
        events, found = events_of(self.best), {}
        for name, old, new in zip(self.fit.first.coupling_names, before, after, strict=True):
            value, error = events.get(name, (0.0, 0.0))
            if error > 0 and old > 0:
                found[name] = float(value / error * (new / old - 1))
        return found

    def _changes(self, samples: Sequence[Events], g: np.ndarray) -> np.ndarray:
        """u, u² and u g of every axis, [event, function]."""
        own = self.fit.bin
        found = []
        for axis, low, high in zip(self.fit.binned.axes, own.low, own.high, strict=True):
            values = np.concatenate([axis.values(events, self.fit.binned.analysis.model) for events in samples])
            u = ((2 * values - low - high) / (high - low))[:, None]
            found.append(np.concatenate([u, u**2, u * g], axis=1))
        return np.concatenate(found, axis=1)

    def _test(self, functions: Sequence[tuple[np.ndarray, ...]]) -> ResidualTest:
        """Of functions of measured and of simulated events, for every data set."""
        return residual_test(
            *(
                (EventFunctions(data, own.scores[0], own.densities.weights), EventFunctions(model, own.scores[1], own.omega))
                for own, (data, model) in zip(self._data_sets, functions, strict=True)
            )
        )

    @cached_property
    def _data_sets(self) -> list[_DataSet]:
        likelihood, x = self._at
        found = []
        for term, samples in zip(terms_of(likelihood), self.fit.samples, strict=True):
            index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
            found.append(_DataSet(EventDensities(term, samples), x, index))
        return found

    @cached_property
    def _at(self) -> tuple[Fittable, np.ndarray]:
        return self.fit.at(self.best)


@dataclass(frozen=True, eq=False)
class _DataSet:
    """One data set at the solution.

    Attributes:
        densities:  of its events
        x:          the free parameters of all data sets
        index:      which of them are its own
    """

    densities: EventDensities
    x: np.ndarray
    index: np.ndarray

    @cached_property
    def effective(self) -> float:
        """How many events without weights would say as much."""
        w = self.densities.weights
        return float(w.sum() ** 2 / (w @ w))

    @cached_property
    def scores(self) -> tuple[np.ndarray, ...]:
        """∂ ln p of measured and of simulated events over all free parameters."""
        found = self.densities.scores(self.x[self.index])
        whole = tuple(np.zeros((len(own), len(self.x))) for own in found)
        for own, part in zip(whole, found, strict=True):
            own[:, self.index] = part
        return whole

    @cached_property
    def omega(self) -> np.ndarray:
        """Weights with which simulated events follow the fit."""
        weights = self.densities.at(self.x[self.index])[1] * event_weights(self.densities.simulated)
        return np.asarray(weights / weights.sum())


def _bounded(data: np.ndarray, model: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Functions that stay within ``WIDEST`` standard deviations of their means."""
    mean = omega @ model
    width = WIDEST * np.sqrt((omega @ (model - mean) ** 2).clip(min=0))
    return np.clip(data, mean - width, mean + width), np.clip(model, mean - width, mean + width)
