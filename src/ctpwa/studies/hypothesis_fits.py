"""Fits of other hypotheses about a resonance to the same events, and to toys of the two best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.analysis.analysis import Analysis, analysis_of
from ctpwa.base.errors import PhysicsError
from ctpwa.config.alternatives import Alternative, alternative_document
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.values import model_values
from ctpwa.fitting.fittable import Fittable
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import take_over
from ctpwa.minimise.steps import Stop
from ctpwa.studies.baseline import Baseline, timed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.refits import compared, fit_from, lowest_from, nothing_to_fit, record_of_toy
from ctpwa.studies.removal import intensity_at
from ctpwa.studies.toy_data import ToySource
from ctpwa.studies.toy_fits import ToyFits

RATIO = "ratio"  # 2 ln(L of the truth / L of the other), in units in which one standard deviation adds 1
TOY_STARTS = 2  # at most


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis about a resonance, ready to be fitted.

    Attributes:
        own:        the fit that it is an alternative of
        resonance:  what it is about
        change:     what it says; None: it is what was fitted
        starts:     of its fits
        seed:       of random couplings
        engine:     which computes
        device:     where; None: a GPU if there is one
    """

    own: Baseline
    resonance: str
    change: Alternative | None
    starts: int
    seed: int
    engine: str
    device: str | None

    @cached_property
    def analysis(self) -> Analysis:
        """Its model, with the samples of the fit."""
        if self.change is None:
            return self.own.analysis
        analysis = changed_analysis(self.own.analysis, self.resonance, self.change)
        analysis.share_samples(self.own.analysis)
        return analysis

    @cached_property
    def likelihood(self) -> Fittable:
        """Of the events of the fit."""
        return self.own.likelihood if self.change is None else self.analysis.likelihood(self.engine, self.device, False)

    def points(self, likelihood: Fittable, first: np.ndarray, known: Sequence[bool], n: int) -> np.ndarray:
        """Starts: what is known as it is and the couplings of the resonance at random; every other one with all couplings at random.

        Args:
            likelihood:  what is fitted
            first:       all parameters
            known:       which of them have good values; if all have, the first start is this one
            n:           how many
        """
        random = likelihood.random_couplings(first, n, self.seed)
        own = self._of_resonance(likelihood)
        unknown = ~np.array(known, dtype=bool)
        points = [np.where(unknown, random[0], first)]
        points += [random[k] if k % 2 == 0 else np.where(unknown | own, random[k], first) for k in range(1, n)]
        return np.array(points)

    def _of_resonance(self, likelihood: Fittable) -> np.ndarray:
        """Which parameters belong to couplings of the resonance."""
        waves = [wave for wave in self.analysis.model.waves if any(r.name == self.resonance for r in wave.resonances)]
        names = tuple({f"{name}." for wave in waves for name in (wave.coupling, wave.name)} | {f"{wave.coupling}:" for wave in waves})
        return np.array([name.startswith(names) for name in likelihood.names], dtype=bool)

    def fit(self, key: str) -> FitRecord:
        """Fit it to the data.

        Args:
            key:  which of the fits it is
        """
        return timed(key, lambda: self._fit(key))

    def _fit(self, key: str) -> FitRecord:
        likelihood = self.likelihood
        if not likelihood.names:
            return nothing_to_fit(key, likelihood)
        values = taken_values(likelihood, self.own.result)
        first = np.array([values.get(name, start) for name, start in zip(likelihood.names, likelihood.start, strict=True)])
        theta = np.ones(len(first), dtype=bool)
        theta[likelihood.coupling_index] = False
        known = [name in values or bool(lineshape) for name, lineshape in zip(likelihood.names, theta, strict=True)]
        points = self.points(likelihood, first, known, self.starts)
        result = fit_from(likelihood, points, self.analysis.settings.method, seed=self.seed, truth=self.own.truths)
        return FitRecord.of(key, result, **compared(result, likelihood))

    def intensity(self, record: FitRecord) -> ModelIntensity:
        """The signal as it was fitted.

        Args:
            record:  its fit
        """
        found = model_values(self.likelihood, self._x(record))
        return intensity_at(self.analysis.model, found.couplings, found.parameters, self.engine, self.device)

    def fit_toy(self, source: ToySource, number: int, record: FitRecord) -> tuple[Fittable, Stop]:
        """Its likelihood of a toy, and where the fit ends.

        Args:
            source:  makes the toy
            number:  which toy
            record:  its fit to the data, where it starts
        """
        likelihood = source.likelihood(self.likelihood, number)
        x, n = self._x(record), min(self.starts, TOY_STARTS)
        points = self.points(likelihood, x, [True] * len(x), n) if len(x) else x
        return likelihood, lowest_from(likelihood, points, self.analysis.settings.method, self.seed)

    def _x(self, record: FitRecord) -> np.ndarray:
        return np.array([record.values[name] for name in self.likelihood.names])


def changed_analysis(analysis: Analysis, resonance: str, change: Alternative) -> Analysis:
    """The analysis with another hypothesis about a resonance; no sample is read."""
    document = alternative_document(analysis.description, analysis.model, resonance, change)
    return analysis_of(document, name=analysis.name, changed=(*analysis.changed, f"{resonance}: {change.name}"))


def taken_values(likelihood: Fittable, result: FitResult) -> dict[str, float]:
    """Start values that a likelihood takes over from a result; none if they have nothing in common."""
    try:
        return take_over(likelihood, result).values
    except PhysicsError:
        return {}


@dataclass(frozen=True)
class ToyPair(ToyFits):
    """Toys of one hypothesis, which are fitted by it and by another one.

    Attributes:
        truth:   whose toys they are
        other:   the other one
        fitted:  their fits to the data
        source:  makes toys of the first
    """

    truth: Hypothesis
    other: Hypothesis
    fitted: tuple[FitRecord, FitRecord]
    source: ToySource

    def _fit(self, key: str, number: int) -> FitRecord:
        likelihood, right = self.truth.fit_toy(self.source, number, self.fitted[0])
        _, wrong = self.other.fit_toy(self.source, number, self.fitted[1])
        ratio = 2 * (wrong.value - right.value) / likelihood.unit
        return record_of_toy(key, likelihood, right, right.converged and wrong.converged, **{RATIO: ratio})
