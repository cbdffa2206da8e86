"""``ctpwa significance``: is a resonance needed? Each is removed, and all others are fitted again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.base.words import counted
from ctpwa.fitting.text import Section
from ctpwa.model.model import Model
from ctpwa.observables.significance import log_p_value, probability, standard_deviations
from ctpwa.studies.baseline import Baseline, about_fit, timed
from ctpwa.studies.calibration import ChiSquareTail, Counted, larger
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.refits import PARAMETERS, UNIT, compared, ended, nothing_to_fit
from ctpwa.studies.removal import Removal, named_resonances, opened_at
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.significance_toys import DELTA, WORSE, NullToys
from ctpwa.studies.study import Study
from ctpwa.studies.toy_data import ToySource
from ctpwa.studies.toy_fits import toy_tasks

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

STARTS = 5
WITHOUT, AND, TOY = "without ", " and ", ": toy "  # parts of keys
UNDEFINED = "undefined"  # lineshape parameters that mean nothing without the resonance
NDF = "ndf"
WEIGHTED = (
    "events have weights, or background is subtracted: 2 Δ ln L is scaled by Σ w/Σ w², and its distribution is only near χ²; p-values from"
    " it are approximate"
)
FLOATING = (
    "where lineshape parameters float with a resonance, they mean nothing without it, and 2 Δ ln L is larger by chance than χ² has it:"
    " --toys N calibrates it"
)


@dataclass(frozen=True)
class Removed:
    """What a fit loses without some resonances.

    Attributes:
        name:    of the resonances
        record:  the fit without them
        base:    −ln L with them
        toys:    2 Δ ln L of good toys without them
        failed:  toys whose fits did not end at a minimum
    """

    name: str
    record: FitRecord
    base: float
    toys: np.ndarray
    failed: int

    @property
    def delta(self) -> float:
        """2 Δ ln L, in units in which one standard deviation adds 1."""
        return 2 * (self.record.nll - self.base) / self.record.numbers.get(UNIT, math.nan)

    @property
    def ndf(self) -> int:
        """Parameters that only the fit with them determines."""
        return int(self.record.numbers.get(NDF, 0))

    @property
    def undefined(self) -> int:
        """How many of these are lineshape parameters that mean nothing without them."""
        return int(self.record.numbers.get(UNDEFINED, 0))

    @property
    def log_p_value(self) -> float:
        """Ln of Wilks' probability of a larger 2 Δ ln L if they do not exist; not a number if there is nothing to test."""
        return log_p_value(max(self.delta, 0.0), self.ndf) if ended(self.record) and self.ndf > 0 else math.nan

    @property
    def sigmas(self) -> float:
        """The same in standard deviations."""
        return standard_deviations(self.log_p_value) if math.isfinite(self.log_p_value) else math.nan

    @property
    def counted(self) -> Counted:
        """Toys with a larger 2 Δ ln L."""
        return larger(self.toys, self.delta)

    @property
    def tail(self) -> ChiSquareTail | None:
        """A χ² fitted to the toys; None for less than two of them."""
        return ChiSquareTail.of(self.toys) if len(self.toys) > 1 else None


class Significance(Study):
    """Fits without resonances, and how significant these are."""

    name: ClassVar[str] = "significance"
    title: ClassVar[str] = "Significance of resonances"

    @cached_property
    def removed(self) -> tuple[Removed, ...]:
        """What the fit loses without each, the most significant first; what has no significance is last."""
        found = []
        for record in self.records:
            if TOY in record.key:
                continue
            own = [toy for toy in self.records if toy.key.startswith(record.key + TOY)]
            good = np.array([toy.numbers[DELTA] for toy in own if ended(toy)])
            found.append(Removed(record.key.removeprefix(WITHOUT), record, self.about.base.nll, good, len(own) - len(good)))
        return tuple(sorted(found, key=lambda own: (math.isnan(own.sigmas), -own.sigmas, -own.delta)))

    @cached_property
    def better_without(self) -> tuple[str, ...]:
        """What the fit is better without, which is impossible at its best minimum: then nothing is known about significances."""
        return tuple(own.name for own in self.removed if ended(own.record) and own.delta < -WORSE)

    @property
    def headline(self) -> str:
        """How many, and the least significant."""
        known = [own for own in self.removed if math.isfinite(own.sigmas)]
        words = f"{counted(len(self.removed), 'resonance or set', 'resonances or sets')} removed and fitted without."
        if bad := [own.name for own in self.removed if not ended(own.record)]:
            words += f" NOT at a minimum without {', '.join(bad)}."
        if self.better_without:
            return words + (
                f" The fit is better without {', '.join(self.better_without)}, so it is not at its best minimum, and nothing is known about"
                " significances: fit again with more starts."
            )
        if known:
            words += f" Least significant: {known[-1].name}, {known[-1].sigmas:.1f} σ."
        return words

    def sections(self) -> tuple[Section, ...]:
        """Wilks' theorem, toys, and fits that are not good."""
        columns = ("", "2 Δ ln L", "d.o.f.", "p-value", "significance", "verdict")
        known = not self.better_without
        wilks = Section("Wilks' theorem", columns, tuple(_wilks_row(own, known) for own in self.removed))
        calibrated = tuple(_toys_row(own) for own in self.removed if known and (len(own.toys) or own.failed))
        found = [wilks]
        if calibrated:
            more = ("", "toys", "NOT good", "larger", "p-value", "significance", "effective d.o.f.", "extrapolated p", "extrapolated")
            foot = "extrapolated: tail of χ² with effective degrees of freedom, which are the mean of the toys; no toy is there"
            found.append(Section("calibrated with toys", more, calibrated, foot))
        bad = tuple((own.key, own.reasons) for own in self.records if not (ended(own) if TOY in own.key else own.good))
        return (*found, *((Section("NOT good", ("fit", "reasons"), bad),) if bad else ()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know to read the numbers."""
        floating = any(own.undefined and not len(own.toys) for own in self.removed) and not self.better_without
        return (*super().notes, *([FLOATING] if floating else []))

    def figures(self) -> dict[str, AnyFigure]:
        """Significances as bars; 2 Δ ln L of toys beside that of the data."""
        from ctpwa.report.figures.model_tests import draw_null_toys, draw_significances

        known = [own for own in self.removed if math.isfinite(own.sigmas) and not self.better_without]
        with_toys = [own for own in known if len(own.toys) > 1]
        found: dict[str, AnyFigure] = {}
        if known:
            rows = [(self._label(own), own.sigmas, own.counted.sigmas if len(own.toys) else None, own.counted.beyond) for own in known]
            found["significance"] = draw_significances(rows)
        if with_toys:
            panels = [(self._label(own), own.toys, own.delta, own.ndf, own.tail.ndf) for own in with_toys if own.tail is not None]
            found["significance-toys"] = draw_null_toys(panels)
        return found

    def _label(self, own: Removed) -> str:
        return ", ".join(self.about.labels.get(name, name) for name in own.name.split(AND))


def _wilks_row(own: Removed, known: bool) -> tuple[str, ...]:
    ndf = f"{own.ndf}" + (f" ({own.undefined} undefined without)" if own.undefined else "")
    verdict = "good" if own.record.good else "NOT good"
    if not known or math.isnan(own.log_p_value):
        return own.name, f"{own.delta:.2f}", ndf, "", "", verdict
    return own.name, f"{own.delta:.2f}", ndf, probability(own.log_p_value), f"{own.sigmas:.1f} σ", verdict


def _toys_row(own: Removed) -> tuple[str, ...]:
    found, tail = own.counted, own.tail
    if not found.total or tail is None or not math.isfinite(own.delta):
        return own.name, str(found.total), str(own.failed), *[""] * 6
    log_p = tail.log_p_value(own.delta)
    more = (probability(log_p), f"{standard_deviations(log_p):.1f} σ") if found.beyond else ("", "")
    sigmas = f"{'> ' if found.beyond else ''}{found.sigmas:.1f} σ"
    return (
        own.name,
        str(found.total),
        str(own.failed),
        str(found.extreme),
        str(found),
        sigmas,
        f"{tail.ndf:.2f} ± {tail.error:.2f}",
        *more,
    )


def significance(
    fit: Fit,
    resonances: Sequence[str] = (),
    *,
    together: Sequence[Sequence[str]] = (),
    toys: int = 0,
    starts: int = STARTS,
    seed: int = 0,
    **run: Unpack[RunOptions],
) -> Significance:
    """Remove resonances one by one, or sets of them, fit all others again, and say how significant what is lost is.

    Degrees of freedom are the difference of the numbers of parameters that data determine in the two fits: those of all waves of a
    resonance, its floating masses and widths, and phases that are determined only through it. With toys of the fit without the resonance,
    each fitted without and with it, and from several masses if its mass floats, p-values do not rest on Wilks' theorem.

    Args:
        fit:         a reopened fit, a result, its file, or a model file, which is fitted first
        resonances:  those that are removed one by one; default: each, or none if there are sets
        together:    sets of resonances that are removed together
        toys:        how many toys of the fit without each; default: none
        starts:      of the fit without each: the fitted values, and random couplings
        seed:        of the random numbers
        run:         how to run it, see ``RunOptions``
    """
    starts, seed = checked_count("starts", starts), checked_seed(seed)
    toys = checked_count("toys", toys, 0)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    single = named_resonances(opened.model, resonances) if resonances or not together else ()
    sets = list(dict.fromkeys([*((name,) for name in single), *(named_resonances(opened.model, names) for names in together if names)]))
    if resonances or together:
        _check_something_left(opened.model, sets)
    notes = [WEIGHTED] if opened.result.corrected else []
    keys = {WITHOUT + AND.join(names): names for names in sets}
    about = about_fit(opened, Significance.name, {"starts": starts, "seed": seed}, notes, removed=list(keys), toys=toys)
    with StudyRun(opened, about, run) as study:
        if not study.has(list(keys)):
            tasks = [[FitTask(key, partial(_fit_without, study.baseline, names, key, starts, seed))] for key, names in keys.items()]
            study.fits(tasks, "fits without resonances")
        known = [] if Significance.of(study.store).better_without else [key for key in keys if ended(study.store.records[key])]
        numbered = {key: [f"{key}{TOY}{number}" for number in range(toys)] for key in known}
        if not study.has([toy for own in numbered.values() for toy in own]):
            chains = [[task] for key, own in numbered.items() for task in _toy_tasks(study, key, keys[key], own, seed)]
            study.fits(chains, "toys without resonances")
    return Significance.of(study.store)


def _check_something_left(model: Model, sets: Sequence[Sequence[str]]) -> None:
    """Refuse to remove all waves."""
    for names in sets:
        if all(any(resonance.name in names for resonance in wave.resonances) for wave in model.waves):
            raise PhysicsError(f"no wave is left without {AND.join(names)}", "name fewer resonances, or others")


def _fit_without(own: Baseline, names: tuple[str, ...], key: str, starts: int, seed: int, before: FitRecord | None) -> FitRecord:
    removal = Removal(own, names)

    def numbers(parameters: float) -> dict[str, float]:
        full = len(own.result.parameters) - len(own.result.verdict.flat)
        return {NDF: full - parameters, UNDEFINED: float(len(removal.undefined))}

    def work() -> FitRecord:
        likelihood = removal.likelihood
        if not likelihood.names:
            return nothing_to_fit(key, likelihood, **numbers(0.0))
        result = own.refit(likelihood, removal.start, starts=starts, seed=seed)
        found = compared(result, likelihood)
        return FitRecord.of(key, result, **found, **numbers(found[PARAMETERS]))

    return timed(key, work)


def _toy_tasks(study: StudyRun, key: str, names: tuple[str, ...], toys: Sequence[str], seed: int) -> list[FitTask]:
    """Fits of toys without some resonances; toys are made when the first of them is needed."""
    record = study.store.records[key]

    @cache
    def null() -> NullToys:
        removal = Removal(study.baseline, names)
        intensity = removal.intensity(record, study.engine, study.device)
        source = ToySource(opened_at(study.opened, record), intensity, seed)
        found = Removed("", record, study.store.about.base.nll, np.zeros(0), 0)
        return NullToys(removal, record, source, found.delta, found.ndf, seed)

    return toy_tasks(null, toys)
