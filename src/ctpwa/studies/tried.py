"""Candidates that were tried: by the score test, and by fits of models that have one of them more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, isfinite, log, log1p, nan
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ctpwa.engine.likelihood.values import model_values
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section
from ctpwa.observables.significance import log_p_value, standard_deviations
from ctpwa.studies.baseline import Baseline
from ctpwa.studies.candidates import Candidate, in_groups
from ctpwa.studies.enlarged import EnlargedModels, fit_enlarged, number_of
from ctpwa.studies.expected import expected_events
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.run import FitTask, StudyRun
from ctpwa.studies.score import Score, score_test
from ctpwa.studies.study import Study

SCORE, FIT = "score: ", "fit: "  # beginnings of keys
STEP = "step "  # beginning of the names of numbers
MOST = 40  # couplings of the candidates that are in one model together
STARTS = 3
REFIT = 5  # candidates
SURE = 9.0  # 2 Δ ln L from which on it is asked whether the model without the candidate has a lower minimum
NOT_REACHED = "it ended above the model without it; try more starts"
LOWER = 0.01  # 2 Δ ln L by which another minimum is lower: less is where fits stop


@dataclass(frozen=True)
class Tried:
    """A candidate, and what is known about it.

    Attributes:
        key:      of the candidate
        name:     of it
        label:    the same with LaTeX between dollar signs
        remark:   what to know about it
        score:    record of the score test; None: not done yet
        fit:      record of the fit with it; None: not fitted
        base:     lowest −ln L of the model without it
        unit:     twice what one standard deviation adds to −ln L
    """

    key: str
    name: str
    label: str
    remark: str
    score: FitRecord | None
    fit: FitRecord | None
    base: float
    unit: float

    @property
    def S(self) -> float:
        """Of the score test; not a number if there is none."""
        return self._number(self.score, "S")

    @property
    def S_ndf(self) -> int:
        """Its degrees of freedom."""
        return int(self._number(self.score, "ndf", 0.0))

    @property
    def gain(self) -> float:
        """2 Δ ln L of the fit; not a number if there is no good one."""
        return nan if self.fit is None or not self.fit.good else 2 * (self.base - self.fit.nll) / self.unit

    @property
    def gain_ndf(self) -> int:
        """Parameters that the fit has more."""
        return int(self._number(self.fit, "ndf", 0.0))

    @property
    def score_sigma(self) -> float:
        """S in standard deviations."""
        return in_sigma(self.S, self.S_ndf)

    @property
    def sigma(self) -> float:
        """2 Δ ln L of the fit in standard deviations."""
        return in_sigma(self.gain, self.gain_ndf)

    @property
    def best_sigma(self) -> float:
        """Of the fit, or of the score test without one; minus infinity without either."""
        return next((own for own in (self.sigma, self.score_sigma) if isfinite(own)), -inf)

    @staticmethod
    def _number(record: FitRecord | None, name: str, default: float = nan) -> float:
        return default if record is None else float(record.numbers.get(name, default))


def in_sigma(gain: float, ndf: int) -> float:
    """2 Δ ln L in standard deviations; not a number if it is not known."""
    return standard_deviations(log_p_value(max(gain, 0.0), ndf)) if isfinite(gain) and ndf > 0 else nan


def after_trials(gain: float, ndf: int, trials: float) -> float:
    """The same if the largest of so many independent ones is looked at: p → 1 − (1 − p)ⁿ."""
    log_p = log_p_value(max(gain, 0.0), ndf)
    return standard_deviations(min(log_p + log(trials), 0.0) if log_p < -20 else _log_of_any(log_p, trials))


def _log_of_any(log_p: float, trials: float) -> float:
    p = min(float(np.exp(log_p)), 1 - 1e-16)
    return log(-float(np.expm1(trials * log1p(-p))))


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's; not a number with less than four pairs, or if all values of a kind are the same."""
    if len(pairs) < 4:
        return nan
    ranks = np.array([rankdata(values) for values in zip(*pairs, strict=True)])
    spread = ranks.std(axis=1)
    return float(np.corrcoef(ranks)[0, 1]) if (spread > 0).all() else nan


class TriedStudy(Study):
    """A study that adds candidates to a model."""

    @cached_property
    def base_nll(self) -> float:
        """The lowest −ln L of the model itself that any fit has found."""
        found = [float(own.numbers["base"]) for own in self.records if "base" in own.numbers]
        return min([float(self.about.base.nll), *found])

    @cached_property
    def unit(self) -> float:
        """Twice what one standard deviation adds to −ln L."""
        return next((float(own.numbers["unit"]) for own in self.records if "unit" in own.numbers), 1.0)

    @cached_property
    def tried(self) -> tuple[Tried, ...]:
        """All candidates, in the order in which they were given."""
        return tuple(
            Tried(
                own["key"],
                own["name"],
                own["label"],
                own["remark"],
                self.by_key.get(SCORE + own["key"]),
                self.by_key.get(FIT + own["key"]),
                self.base_nll,
                self.unit,
            )
            for own in self.about.extent["candidates"]
        )

    @property
    def correlation(self) -> tuple[float, int]:
        """Spearman's rank correlation of S with 2 Δ ln L, and of how many candidates."""
        pairs = [(own.S, own.gain) for own in self.tried if isfinite(own.S) and isfinite(own.gain)]
        return rank_correlation(pairs), len(pairs)

    def correlation_words(self) -> str:
        """The same in a sentence; empty if too few were fitted."""
        value, n = self.correlation
        return f" S and 2 Δ ln L of {n} fits have a rank correlation of {value:.2f} (Spearman)." if isfinite(value) else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know to read the numbers; first of all if the model itself has a lower minimum."""
        gain = 2 * (float(self.about.base.nll) - self.base_nll) / self.unit
        lower = f"the model without any candidate has a lower minimum than the fit, by 2 Δ ln L = {gain:.4g}: fit it again with more starts"
        return (*([lower] if gain > LOWER else []), *self.about.notes)

    def failures(self) -> tuple[Section, ...]:
        """A table of the fits that are not good, if there are any."""
        bad = tuple((own.name, own.fit.reasons) for own in self.tried if own.fit is not None and not own.fit.good)
        return (Section("NOT good", ("candidate", "reasons"), bad),) if bad else ()


def extent_of(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Candidates as they stand in what a study is."""
    return [{"key": own.key, "name": own.name, "label": own.label, "remark": own.remark} for own in candidates]


class Trials:
    """Tries candidates: the score test of all, and fits with some of them.

    Args:
        study:       the study that they are for
        candidates:  all of them
        seed:        of random starts
        starts:      of every fit
        most:        couplings of the candidates that are in one model together
    """

    def __init__(self, study: StudyRun, candidates: Sequence[Candidate], *, seed: int, starts: int, most: int = MOST) -> None:
        self._study, self._candidates, self._seed, self._starts, self._most = study, candidates, seed, starts, most
        self._models = EnlargedModels(study)

    def score_all(self, title: str) -> None:
        """The score tests that are missing: one evaluation for every group."""
        if not self._study.has([SCORE + own.key for own in self._candidates]):
            self._study.fits([self._chain(group) for group in self.groups(self._candidates)], title)

    def groups(self, candidates: Sequence[Candidate]) -> list[list[Candidate]]:
        """Candidates that are in one model together."""
        return in_groups(candidates, self._most)

    def _chain(self, group: Sequence[Candidate]) -> list[FitTask]:
        found: dict[str, Score] = {}

        def scored(name: str, key: str, before: FitRecord | None) -> FitRecord:
            if not found:
                found.update(self.scores(group))
            return score_record(SCORE + key, self._study.baseline, {"": found[name]})

        return [FitTask(SCORE + own.key, partial(scored, own.name, own.key)) for own in group]

    def scores(self, group: Sequence[Candidate]) -> dict[str, Score]:
        """The score test of candidates that are in one model together."""
        own, larger, study = self._study.baseline, self._models.of(group), self._study
        expected = expected_events(own.opened, own.likelihood, own.x, study.engine, study.device)
        return score_test(larger.likelihood, own.likelihood, own.x, {name: larger.couplings(name) for name in larger.names}, expected)

    def promising(self, most: int | None) -> list[Candidate]:
        """The candidates with the most significant score, and all that have none; ``most``: how many, None for all."""
        records = self._study.store.records

        def rank(own: Candidate) -> float:
            numbers = records[SCORE + own.key].numbers
            value = in_sigma(float(numbers.get("S", nan)), int(numbers.get("ndf", 0)))
            return value if isfinite(value) else inf

        ranked = sorted(self._candidates, key=rank, reverse=True)
        unknown = [own for own in ranked if not isfinite(rank(own))]
        known = [own for own in ranked if isfinite(rank(own))]
        return [*unknown, *(known if most is None else known[:most])]

    def fit_all(self, chosen: Sequence[Candidate], title: str) -> None:
        """The fits with one of these more that are missing."""
        if not self._study.has([FIT + own.key for own in chosen]):
            chains = [[FitTask(FIT + own.key, partial(self._fit, group, own)) for own in group] for group in self.groups(chosen)]
            self._study.fits(chains, title)

    def _fit(self, group: Sequence[Candidate], candidate: Candidate, before: FitRecord | None) -> FitRecord:
        own = self._study.baseline
        step = step_of(self._study.store.records[SCORE + candidate.key])

        def fit() -> FitResult:
            likelihood = self._models.of(group).without(other.name for other in group if other is not candidate)
            seed = [self._seed, number_of(candidate.key)]
            return fit_enlarged(own, likelihood, model_values(own.likelihood, own.x), step, self._starts, seed)

        return recorded_gain(own, FIT + candidate.key, fit)


def recorded_gain(own: Baseline, key: str, fit: Callable[[], FitResult]) -> FitRecord:
    """Fit a model that has something more, and keep how many parameters that is.

    Where it gained much, the model itself is fitted again from there: a better minimum of that is not what the candidate brings.

    Args:
        own:  the fit that a study is of
        key:  of the record
        fit:  fits
    """
    numbers: dict[str, float] = {"unit": own.likelihood.unit}
    names, unit = own.likelihood.names, own.likelihood.unit

    def work() -> FitResult:
        result = fit()
        numbers["ndf"] = float(len(result.parameters) - len(names))
        if 2 * (own.result.nll - result.nll) / unit > SURE:
            again = own.refit(own.likelihood, [result.values.get(name, value) for name, value in zip(names, own.x.tolist(), strict=True)])
            if again.verdict.good:
                numbers["base"] = again.nll
        return result

    record = replace(own.recorded(key, work), numbers=numbers)
    if 2 * (own.result.nll - record.nll) / unit < -LOWER:
        return replace(record, good=False, reasons=NOT_REACHED)
    return record


def score_record(key: str, own: Baseline, scores: Mapping[str, Score]) -> FitRecord:
    """What score tests leave; there is no fit.

    Args:
        key:     of the record
        own:     the fit that a study is of
        scores:  of one candidate, called ``""``; or of several by name
    """
    numbers = {"unit": own.likelihood.unit}
    for name, score in scores.items():
        end = f" {name}" if name else ""
        if not score.remark:
            numbers |= {f"S{end}": score.S, f"ndf{end}": float(score.ndf)}
        for coupling, z in score.step.items():
            numbers |= {f"{STEP}{coupling}.re": z.real, f"{STEP}{coupling}.im": z.imag}
    return FitRecord(key, own.result.nll, True, "; ".join(dict.fromkeys(s.remark for s in scores.values() if s.remark)), numbers=numbers)


def step_of(record: FitRecord) -> dict[str, complex]:
    """Where the score test would step to: couplings by name."""
    names = [name.removeprefix(STEP).removesuffix(".re") for name in record.numbers if name.startswith(STEP) and name.endswith(".re")]
    return {name: complex(record.numbers[f"{STEP}{name}.re"], record.numbers[f"{STEP}{name}.im"]) for name in names}
