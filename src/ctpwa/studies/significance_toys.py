"""Toys of a fit without resonances, each fitted without and with them: how 2 Δ ln L is distributed if they do not exist."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import free_parameters, model_values
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.remarks import mass_ranges
from ctpwa.studies.baseline import changed_terms
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.refits import lowest_from, record_of_toy
from ctpwa.studies.removal import Removal, without
from ctpwa.studies.toy_data import ToySource
from ctpwa.studies.toy_fits import ToyFits

DELTA = "delta"  # 2 Δ ln L, in units in which one standard deviation adds 1
FEWEST, MOST = 3, 8  # start masses over the range of a mass that floats
PHASES = 2  # starts with other phases
FOLLOWED = 2  # of all starts, those that promise most are fitted
SMALL = 1e-2  # of the usual size of couplings: nearly none
WORSE = 1e-2  # in 2 Δ ln L: a fit with more waves that is worse by more has not found its minimum
STREAM = 7  # of random numbers


@dataclass(frozen=True)
class NullToys(ToyFits):
    """Fits of toys without some resonances.

    Attributes:
        removal:   the fit without them
        fitted:    what it found
        source:    makes toys of it
        observed:  2 Δ ln L of the data
        ndf:       degrees of freedom
        seed:      of the starts
    """

    removal: Removal
    fitted: FitRecord
    source: ToySource
    observed: float
    ndf: float
    seed: int

    def _fit(self, key: str, number: int) -> FitRecord:
        """Without and with the resonances; what is left is the fit with them."""
        own, method = self.removal.own, self.removal.own.analysis.settings.method
        full = changed_terms(self.source.likelihood(own.likelihood, number), lambda _, term: self._in_range(term))
        reduced = changed_terms(full, lambda _, term: without(term, self.removal.names))
        smaller = lowest_from(reduced, [self.fitted.values[name] for name in reduced.names], method)
        random = np.random.default_rng([self.seed, number, STREAM])
        larger = lowest_from(full, self._promising(full, self._points(full, reduced, smaller.x, random)), method)
        if 2 * (smaller.value - larger.value) < -WORSE * full.unit:
            again = lowest_from(full, self._points(full, reduced, smaller.x, random, SMALL), method)
            larger = min(larger, again, key=lambda stop: stop.value)
        delta = 2 * (smaller.value - larger.value) / full.unit
        fine = smaller.converged and larger.converged and delta > -WORSE
        return record_of_toy(key, full, larger, fine, **{DELTA: delta})

    def _in_range(self, term: Likelihood) -> Likelihood:
        """The likelihood with floating masses of the resonances where events are: without them, nothing would hold these."""
        return replace(term, parameters=term.parameters.within(self._ranges))

    def _points(self, full: Fittable, reduced: Fittable, x: np.ndarray, random: np.random.Generator, size: float = 1.0) -> np.ndarray:
        """Starts of the fit with the resonances: they are as small as chance makes them, with random phases, at masses over their range.

        Args:
            full:     the likelihood with them
            reduced:  the likelihood without them
            x:        where the fit without them has ended
            random:   of phases
            size:     of couplings, relative to what chance makes of them
        """
        values = model_values(reduced, x)
        tied = set.intersection(*(set(term.coupling_map.tied) for term in terms_of(full)))
        left = {name: c for name, c in values.couplings.items() if name not in tied}
        gone = {name: c for name, c in self._gone.items() if name not in tied}
        points = []
        for masses in self._masses:
            turned = {name: size * self._chance * c * np.exp(2j * np.pi * random.random()) for name, c in gone.items()}
            parameters = {name: value for name, value in values.parameters.items() if name in full.names}
            parameters |= {name: self.removal.own.result.value(name) for name in self.removal.undefined} | masses
            points.append(free_parameters(full, left | turned, parameters, strict=False))
        return np.array(points)

    def _promising(self, full: Fittable, points: np.ndarray) -> np.ndarray:
        """The points from which the best fits are to be expected, as value, slope and curvature of couplings say; as is the fitted one."""
        every = np.concatenate([points, self.removal.own.x[None]])
        index = full.coupling_index
        expected = []
        for point in every:
            value, slope, H = full.value_grad_hessian(point)
            size, directions = np.linalg.eigh(H[np.ix_(index, index)])
            along = directions.T @ slope[index]
            up = size > 1e-9 * size.max(initial=0.0)
            expected.append(value - float(np.sum(along[up] ** 2 / size[up])) / 2 if math.isfinite(value) else math.inf)
        return every[np.argsort(expected, kind="stable")[:FOLLOWED]]

    @cached_property
    def _gone(self) -> dict[str, complex]:
        """Fitted couplings of the resonances, relative to the reference wave that is left."""
        with_them = {c.name: complex(c.re, c.im) for c in self.removal.own.result.couplings}
        without_them = self.removal.values(self.fitted).couplings
        ratios = [abs(c / with_them[name]) for name, c in without_them.items() if with_them.get(name)]
        scale = float(np.median(ratios)) if ratios else 1.0
        return {name: scale * c for name, c in with_them.items() if name not in without_them}

    @property
    def _chance(self) -> float:
        """How much smaller couplings are that chance alone makes: 2 Δ ln L grows with their square, and is then about ``ndf``."""
        return math.sqrt(self.ndf / self.observed) if self.observed > self.ndf > 0 else 1.0

    @cached_property
    def _ranges(self) -> dict[str, tuple[float, float]]:
        """Floating masses of the resonances → the range that events have and limits allow."""
        full, ranges, found = self.removal.own.likelihood, mass_ranges(self.removal.own.opened.model), {}
        for name in self.removal.undefined:
            resonance, _, parameter = name.rpartition(".")
            if parameter == "mass" and resonance in ranges:
                limits = full.bounds[full.names.index(name)]
                found[name] = float(max(ranges[resonance][0], limits[0])), float(min(ranges[resonance][1], limits[1]))
        return found

    @cached_property
    def _masses(self) -> Sequence[dict[str, float]]:
        """Start values of floating masses, over the range that events have and limits allow; one empty one for each start without any."""
        model = self.removal.own.opened.model
        grids: dict[str, np.ndarray] = {}
        for name, (low, high) in self._ranges.items():
            width = model.resonances[name.rpartition(".")[0]].width or (high - low) / FEWEST
            n = min(max(math.ceil((high - low) / width), FEWEST), MOST)
            grids[name] = low + (np.arange(n) + 0.5) * (high - low) / n
        if not grids:
            return [{}] * PHASES
        n = max(map(len, grids.values()))
        random = np.random.default_rng([self.seed, STREAM])
        orders = {}
        for k, (name, grid) in enumerate(grids.items()):
            orders[name] = np.resize(random.permutation(len(grid)) if k else np.arange(len(grid)), n)
        fitted = {name: self.removal.own.result.value(name) for name in grids}
        return [fitted, *({name: float(grid[orders[name][k]]) for name, grid in grids.items()} for k in range(n))]
