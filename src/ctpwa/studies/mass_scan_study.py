"""``ctpwa search --scan``: is there a resonance that nobody knows? One more of given J^P and width is tried at many masses."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cached_property, partial
from math import exp, inf, isfinite, log, nan
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.words import counted
from ctpwa.engine.likelihood.values import model_values
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section, with_error
from ctpwa.observables.significance import log_p_value, standard_deviations
from ctpwa.observables.tails import chi2_of_tail, normal_tail
from ctpwa.studies.baseline import about_fit
from ctpwa.studies.candidates import Candidate, checked_candidate
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.enlarged import EnlargedModels, fit_enlarged, number_of
from ctpwa.studies.expected import expected_events
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.scanned import MassRange, expected_crossings, peaks_first, upcrossings
from ctpwa.studies.score import score_test
from ctpwa.studies.toy_data import ToySource
from ctpwa.studies.tried import REFIT, SCORE, STARTS, Trials, Tried, TriedStudy, extent_of, in_sigma, recorded_gain, step_of

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

PEAK, TOY = "peak: ", "toy: "  # beginnings of keys
TOGETHER = 80  # couplings of one model: those of all masses share their spin amplitudes
LEVELS = (1, 2, 3, 4, 5)  # standard deviations that a figure marks


class MassScan(TriedStudy):
    """An additional resonance at many masses, and what it gains at each."""

    name: ClassVar[str] = "mass-scan"
    title: ClassVar[str] = "Mass scan"

    @cached_property
    def scanned(self) -> MassRange:
        """What is added."""
        own = self.about.options["scan"]
        return MassRange(**{**own, "systems": tuple(own["systems"])})

    @property
    def masses(self) -> np.ndarray:
        """GeV."""
        return self.scanned.masses

    @property
    def scores(self) -> np.ndarray:
        """S of the score test at every mass; not a number where there is none."""
        return np.array([own.S for own in self.tried])

    @property
    def gains(self) -> np.ndarray:
        """2 Δ ln L of the fits; not a number where there is none."""
        return np.array([own.gain for own in self.tried])

    @property
    def ndf(self) -> int:
        """Parameters that an additional resonance of fixed mass has."""
        return max((own.S_ndf or own.gain_ndf for own in self.tried), default=0)

    @property
    def best(self) -> Tried | None:
        """The mass at which it gains most: of the fits, or of the score tests without any; None if nothing is known yet."""
        for values in (self.gains, self.scores):
            if np.isfinite(values).any():
                return self.tried[int(np.nanargmax(values))]
        return None

    @property
    def peak(self) -> FitRecord | None:
        """The good fit in which the mass floats; None if there is none."""
        found = next((own for own in self.records if own.key.startswith(PEAK)), None)
        return found if found is not None and found.good else None

    @property
    def peak_mass(self) -> tuple[float, float] | None:
        """Where the mass ended that floats, and its error; None if there is none."""
        name = f"{self.scanned.name}.mass"
        return None if self.peak is None or name not in self.peak.errors else (self.peak.values[name], self.peak.errors[name])

    @property
    def local(self) -> tuple[float, int]:
        """The largest gain at a fixed mass, and its degrees of freedom: of fits, or of score tests without any."""
        best = self.best
        if best is None:
            return nan, 0
        return (best.gain, best.gain_ndf) if isfinite(best.gain) else (best.S, best.S_ndf)

    @property
    def toys(self) -> tuple[FitRecord, ...]:
        """Score tests of toys without the resonance that are good."""
        number = int(self.about.extent["toys"])
        return tuple(own for k in range(number) if (own := self.by_key.get(f"{TOY}{k}")) is not None and own.good)

    @property
    def reference(self) -> float:
        """The level at which upcrossings are counted: where there are most."""
        return max(float(self.ndf - 1), 0.5)

    @property
    def crossings(self) -> float:
        """How often S rises above that level: on average in toys, or in the data, but at least once."""
        if self.toys:
            return float(np.mean([own.numbers["crossings"] for own in self.toys]))
        known = self.scores[np.isfinite(self.scores)]
        return float(max(1, upcrossings(known.tolist(), self.reference)))

    @property
    def global_log_p(self) -> float:
        """Ln of the probability that chance makes as large a gain at any of the masses."""
        gain, ndf = self.local
        if not ndf or not np.isfinite(self.scores).any():
            return nan
        local = log_p_value(max(gain, 0.0), ndf)
        if gain <= self.reference:
            return 0.0
        more = expected_crossings(gain, self.reference, self.crossings, ndf)
        return min(0.0, float(np.logaddexp(local, log(more) if more > 0 else -inf)))

    @property
    def chapter(self) -> str:
        """Title of its chapter of a report."""
        return f"{self.title} of {self.scanned.name}"

    @property
    def headline(self) -> str:
        """The best mass, and how significant it is."""
        words = f"{self.scanned.words}, at {counted(len(self.tried), 'mass', 'masses')}."
        best = self.best
        if best is None:
            return words
        gain, ndf = self.local
        how = "2 Δ ln L" if isfinite(best.gain) else "S"
        words += f" The best is {float(best.remark):.4f} GeV: {how} = {gain:.1f} for {counted(ndf, 'parameter')},"
        words += f" {in_sigma(gain, ndf):.1f} σ locally"
        log_p = self.global_log_p
        if isfinite(log_p):
            trials = exp(min(log_p - log_p_value(max(gain, 0.0), ndf), 700.0))
            words += f", {standard_deviations(log_p):.1f} σ anywhere in the range, which counts like {trials:.0f} independent masses"
        words += "."
        if self.peak_mass is not None:
            words += f" With a mass that floats it is {with_error(*self.peak_mass)} GeV."
        return words + self._toy_words() + self.correlation_words()

    def _toy_words(self) -> str:
        toys, S = self.toys, self.scores
        if not toys or not np.isfinite(S).any():
            return ""
        larger = sum(float(own.numbers["S"]) >= float(np.nanmax(S)) for own in toys)
        return f" {larger or 'None'} of {counted(len(toys), 'toy')} without it has a larger S anywhere."

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know to read the numbers."""
        source = "toys" if self.toys else "the scan itself, which is a rough estimate: add toys"
        return (
            *super().notes,
            f"look-elsewhere effect: S rises above {self.reference:g} {self.crossings:.2g} times, from {source} (Gross and Vitells)",
        )

    def sections(self) -> tuple[Section, ...]:
        """Every mass."""
        rows = tuple(
            (
                own.remark,
                f"{own.S:.2f}" if isfinite(own.S) else "",
                f"{own.score_sigma:.1f}" if isfinite(own.S) else "",
                f"{own.gain:.2f}" if isfinite(own.gain) else "",
                f"{own.sigma:.1f}" if isfinite(own.gain) else "",
            )
            for own in self.tried
        )
        bad = [own for own in self.records if own.key.startswith((PEAK, TOY)) and not own.good]
        failed = (Section("NOT good", ("fit", "reasons"), tuple((own.key, own.reasons) for own in bad)),) if bad else ()
        return (Section("masses", ("mass / GeV", "S", "σ", "2 Δ ln L", "σ"), rows), *self.failures(), *failed)

    def figures(self) -> dict[str, AnyFigure]:
        """What it gains, against its mass."""
        from ctpwa.report.figures.searches import draw_mass_scan

        if self.best is None:
            return {}
        levels = [(k, chi2_of_tail(2 * normal_tail(k), self.ndf)) for k in LEVELS]
        return {
            f"mass-scan-{self.scanned.name}": draw_mass_scan(
                self.masses, self.scores, self.gains, levels, self.peak_mass, self.scanned.name
            )
        }


def mass_scan(
    fit: Fit,
    scan: str | MassRange,
    *,
    refit: int | None = REFIT,
    toys: int = 0,
    starts: int = STARTS,
    seed: int = 0,
    **run: Unpack[RunOptions],
) -> MassScan:
    """Add a resonance of given J^P and width to the model of a fit, at many masses, and say what it gains at each.

    Args:
        fit:     a reopened fit, a result, its file, or a model file, which is fitted first
        scan:    what is added and where, such as ``X: 1- in K+ K-, mass 1.0..2.5/60, width 0.1``
        refit:   at how many masses the model is fitted, those first where the score peaks; None: all
        toys:    number of toys of the model without the resonance that say how large a gain chance makes anywhere in the range
        starts:  of every fit: one where the score test leads to, the others random
        seed:    of random starts and of toys
        run:     how to run it, see ``RunOptions``
    """
    scanned = MassRange.read(scan) if isinstance(scan, str) else scan
    seed, starts, n_toys = checked_seed(seed), checked_count("starts", starts), checked_count("toys", toys, 0)
    most = None if refit is None else checked_count("fits", refit, 0)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    candidates = scanned.candidates()
    for own in (candidates[-1], scanned.floating(scanned.low)):
        checked_candidate(opened.analysis, own)
    couplings = checked_candidate(opened.analysis, candidates[0]).couplings
    candidates = [replace(own, couplings=couplings) for own in candidates]
    options = {"scan": asdict(scanned), "seed": seed, "starts": starts}
    extent: dict[str, Any] = {"candidates": extent_of(candidates), "refit": most, "toys": n_toys}
    with StudyRun(opened, about_fit(opened, MassScan.name, options, **extent), run) as study:
        trials = Trials(study, candidates, seed=seed, starts=starts, most=TOGETHER)
        trials.score_all("score test")
        ranked = [candidates[k] for k in peaks_first(MassScan.of(study.store).scores)]
        trials.fit_all(ranked if most is None else ranked[:most], "fits with the resonance")
        if most != 0:
            _fit_peak(study, scanned, MassScan.of(study.store), seed, starts)
        if not study.has([f"{TOY}{k}" for k in range(n_toys)]):
            _run_toys(study, trials.groups(candidates), opened, seed, n_toys)
    return MassScan.of(study.store)


def _fit_peak(study: StudyRun, scanned: MassRange, found: MassScan, seed: int, starts: int) -> None:
    """The fit in which the mass floats, from the best of the fixed ones."""
    best = found.best
    if best is None:
        return
    candidate = scanned.floating(float(best.remark))
    score = study.store.records[SCORE + best.key]
    step = {name.replace(best.name, scanned.name): z for name, z in step_of(score).items()}

    def task(before: FitRecord | None) -> FitRecord:
        own = study.baseline

        def work() -> FitResult:
            likelihood = EnlargedModels(study).of([candidate]).likelihood
            values = model_values(own.likelihood, own.x)
            simulation = own.analysis.settings.simulation  # its error is quoted
            return fit_enlarged(own, likelihood, values, step, starts, [seed, number_of(candidate.key)], simulation=simulation)

        return recorded_gain(own, PEAK + candidate.key, work)

    study.fits([[FitTask(PEAK + candidate.key, task)]], "fit with a mass that floats")


def _run_toys(study: StudyRun, groups: list[list[Candidate]], opened: OpenedFit, seed: int, n: int) -> None:
    """Score tests of toys of the model without the resonance."""
    models = EnlargedModels(study, keep=len(groups))
    source = ToySource(opened, study.intensity, seed)

    def toy(number: int, before: FitRecord | None) -> FitRecord:
        own = study.baseline
        numbers: dict[str, float] = {}

        def work() -> FitResult:
            base = source.likelihood(own.likelihood, number)
            result = own.refit(base)
            if result.verdict.good:
                S: list[float] = []
                expected = expected_events(opened, base, result.x, study.engine, study.device)
                for group in groups:
                    larger = models.of(group)
                    names = {name: larger.couplings(name) for name in larger.names}
                    toy_with = source.likelihood(larger.likelihood, number)
                    S += [score.S for score in score_test(toy_with, base, result.x, names, expected).values()]
                ndf = 2 * len(next(iter(names.values())))
                numbers.update(S=float(np.nanmax(S)), crossings=float(upcrossings(S, max(ndf - 1.0, 0.5))))
            return result

        record = own.recorded(f"{TOY}{number}", work)
        return FitRecord(record.key, record.nll, record.good, record.reasons, numbers=numbers, seconds=record.seconds)

    study.fits([[FitTask(f"{TOY}{k}", partial(toy, k))] for k in range(n)], "toys")
