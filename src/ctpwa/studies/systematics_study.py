"""``ctpwa systematics``: a fit with other assumptions, one after the other, and the errors that follow from them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from ctpwa.analysis.analysis import Analysis, analysis_of
from ctpwa.analysis.reopen import OpenedFit, event_patterns, matches
from ctpwa.base.errors import DataError
from ctpwa.base.output import write_texts
from ctpwa.base.words import counted
from ctpwa.config.read import load_document
from ctpwa.config.sources import DataSet, GeneratedSource
from ctpwa.config.variations import DOWN, INDEPENDENT, SUBSET, UP, Side, Variation, VariedFit, read_variations
from ctpwa.data.columns import sha256_of
from ctpwa.engine.backends.registry import engine_names
from ctpwa.fitting.plain import build, to_plain
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import of_coupling, take_over
from ctpwa.fitting.text import Section, with_error
from ctpwa.report.content import SystematicErrors
from ctpwa.report.export.systematics import SystematicRow, systematics_csv, systematics_latex
from ctpwa.studies.baseline import Baseline, about_fit
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.shifts import (
    GROUPS,
    LARGER,
    LARGEST,
    TWO_SIDED,
    FittedQuantity,
    Shift,
    VariedFits,
    group_effect,
    quantities,
    shift_of,
)
from ctpwa.studies.spread import FRACTION, PARAMETER
from ctpwa.studies.study import Study, how_many_good

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

STARTS = 5  # where waves are others
BETTER = 12.5  # in -ln L: five standard deviations of one parameter
BESIDE = 5  # variations beside each other in a table
Variations = str | os.PathLike[str] | Sequence[Mapping[str, Any]]


class Systematics(Study):
    """Fits with other assumptions, their shifts, and the systematic errors that these add up to."""

    name: ClassVar[str] = "systematics"
    title: ClassVar[str] = "Systematic errors"

    @cached_property
    def variations(self) -> tuple[VariedFits, ...]:
        """The variations, and which fits are theirs."""
        return tuple(build(VariedFits, entry) for entry in self.about.extent["variations"])

    @cached_property
    def quantities(self) -> tuple[FittedQuantity, ...]:
        """Parameters and fractions of the fit."""
        return tuple(quantities(self.about.base))

    @cached_property
    def shifts(self) -> Mapping[str, Mapping[tuple[str, str], Shift]]:
        """Name of a variation → kind and name of a quantity → its shift."""
        rule, base, fits = self.about.extent["two_sided"], self.about.base, self.by_key
        return {
            varied.name: {(own.kind, own.name): shift_of(own, varied, base, fits, rule) for own in self.quantities}
            for varied in self.variations
        }

    @cached_property
    def effects(self) -> np.ndarray:
        """[cause, quantity]: what counts of every independent cause; not a number where no fit says anything."""
        causes: dict[tuple[str, bool], list[VariedFits]] = {}
        for varied in self.variations:
            causes.setdefault((varied.group or varied.name, bool(varied.group)), []).append(varied)
        rule = self.about.extent["groups"]
        rows = [
            [group_effect([self._effect(varied, own) for varied in members], rule) for own in self.quantities]
            for members in causes.values()
        ]
        return np.array(rows).reshape(len(causes), len(self.quantities))

    def _effect(self, varied: VariedFits, own: FittedQuantity) -> float:
        return self.shifts[varied.name][own.kind, own.name].effect

    @cached_property
    def totals(self) -> np.ndarray:
        """[quantity]: systematic errors, all causes in quadrature."""
        return np.sqrt(np.diag(self.covariance))

    @cached_property
    def covariance(self) -> np.ndarray:
        """[quantity, quantity]: Σ δ δᵀ over all causes, parameters before fractions as in ``quantities``."""
        effects = np.nan_to_num(self.effects)
        return effects.T @ effects

    @property
    def errors(self) -> SystematicErrors:
        """For tables of a paper."""
        n = sum(own.kind == PARAMETER for own in self.quantities)
        names = [own.name for own in self.quantities]
        parameters = dict(zip(names[:n], self.totals[:n].tolist(), strict=True))
        return SystematicErrors(parameters, dict(zip(names[n:], self.totals[n:].tolist(), strict=True)), self.covariance[:n, :n])

    @property
    def bad(self) -> tuple[tuple[VariedFits, FitRecord], ...]:
        """Fits that are not good, and are not counted."""
        found = [(varied, self.by_key[key]) for varied in self.variations for key in varied.keys if key in self.by_key]
        return tuple((varied, record) for varied, record in found if not record.good)

    @property
    def complete(self) -> bool:
        """Whether all fits have been done, and are good."""
        return not self.bad and all(key in self.by_key for varied in self.variations for key in varied.keys)

    @property
    def headline(self) -> str:
        """How many, and how large the errors are."""
        n = sum(len(varied.keys) for varied in self.variations)
        done = sum(key in self.by_key for varied in self.variations for key in varied.keys)
        words = how_many_good(f"{counted(len(self.variations), 'variation')} in {counted(n, 'fit')}", len(self.bad))
        if done < n:
            words += f" {n - done} of them have not been done yet."
        if self.bad:
            words += f" Systematic errors do not count what is not good: {', '.join(dict.fromkeys(own.name for own, _ in self.bad))}."
        ratios = {own.name: total / own.error for own, total in zip(self.quantities, self.totals, strict=True) if own.error}
        if ratios and done > len(self.bad):
            largest = max(ratios, key=lambda name: ratios[name])
            words += f" Systematic errors are {np.mean([*ratios.values()]):.2f} errors of the fit on average"
            words += f", and at most {ratios[largest]:.2f}, of {largest}."
        return words

    @property
    def notes(self) -> tuple[str, ...]:
        """How errors were put together."""
        extent = self.about.extent
        rules = [TWO_SIDED[extent["two_sided"]]] if any(len(own.keys) > 1 for own in self.variations) else []
        rules += [GROUPS[extent["groups"]]] if any(own.group for own in self.variations) else []
        chance = (
            "where events are others, chance alone gives a shift σ, which is taken out: √(δ² - σ²) counts of a shift δ, and nothing of"
            " those in brackets, which are below σ"
        )
        other = [chance] if any(own.data or own.phase_space for own in self.variations) else []
        if any(own.phase_space and not own.data for own in self.variations):
            other.append("what chance gives fractions where only phase space is another is not known: their shifts count whole")
        better = [f"{name} by {-change:.1f}" for name, change in self._changes() if change < -BETTER]
        if better:
            other.append(f"-ln L is much lower with {', '.join(better)}: is the fit itself the best minimum, and its model the right one?")
        return (*self.about.notes, *rules, "independent causes are added in quadrature", *other)

    def _changes(self) -> Iterator[tuple[str, float]]:
        """Variations with the same events, and by how much -ln L changes in each of their fits."""
        for varied in self.variations:
            for key in varied.keys if not (varied.data or varied.phase_space) else ():
                if key in self.by_key and np.isfinite(self.by_key[key].nll):
                    yield varied.name, self.by_key[key].nll - self.about.base.nll

    def sections(self) -> tuple[Section, ...]:
        """Errors and shifts of parameters, then of fractions; then what was varied."""
        found: list[Section] = []
        for kind, title in ((PARAMETER, "parameters"), (FRACTION, "fractions")):
            if any(own.kind == kind for own in self.quantities):
                found += [self._errors(kind, title), *self._shift_tables(kind, title)]
        return (*found, self._what(), *self._failures())

    def _errors(self, kind: str, title: str) -> Section:
        rows = []
        for k, own in enumerate(self.quantities):
            if own.kind == kind:
                ratio = f"{self.totals[k] / own.error:.2f}" if own.error else ""
                rows.append((own.name, with_error(own.value, own.error), f"{self.totals[k]:.2g}", ratio, self._largest(own)))
        return Section(title, ("", "fit", "systematic", "systematic / fit", "largest from"), tuple(rows))

    def _largest(self, own: FittedQuantity) -> str:
        found = {varied.name: abs(self._effect(varied, own)) for varied in self.variations}
        there = {name: effect for name, effect in found.items() if effect > 0}
        return max(there, key=lambda name: there[name]) if there else ""

    def _shift_tables(self, kind: str, title: str) -> list[Section]:
        tables = []
        for start in range(0, len(self.variations), BESIDE):
            beside = self.variations[start : start + BESIDE]
            last = start + len(beside)
            which = f"{start + 1} to {last}" if len(beside) > 1 else f"{last}"
            part = f", {which} of {len(self.variations)}" if len(self.variations) > BESIDE else ""
            rows = tuple(
                (own.name, *(_shown(self.shifts[varied.name][own.kind, own.name]) for varied in beside))
                for own in self.quantities
                if own.kind == kind
            )
            tables.append(Section(f"shifts of {title}{part}", ("", *(varied.name for varied in beside)), rows))
        return tables

    def _what(self) -> Section:
        rows = []
        for varied in self.variations:
            found = [self.by_key.get(key) for key in varied.keys]
            nll = ["not done" if own is None else f"{own.nll - self.about.base.nll:+.2f}" if np.isfinite(own.nll) else "" for own in found]
            events = " and ".join(word for word, changed in (("data", varied.data), ("phase space", varied.phase_space)) if changed)
            rows.append((varied.name, varied.group, " / ".join(nll) if not events else "", events and f"{events}, {varied.scatter}"))
        return Section("variations", ("", "group", "change of -ln L", "other events"), tuple(rows))

    def _failures(self) -> tuple[Section, ...]:
        rows = tuple((varied.name, record.reasons) for varied, record in self.bad)
        return (Section("NOT good, and not counted", ("variation", "reasons"), rows),) if rows else ()

    def figures(self) -> dict[str, AnyFigure]:
        """Shifts of every quantity in units of the error of the fit, and what they add up to."""
        from ctpwa.report.figures.systematics import draw_shifts

        shown = [(own, own.error, total) for own, total in zip(self.quantities, self.totals, strict=True) if own.error]
        marks = {
            varied.name: [[side / error for side in self.shifts[varied.name][own.kind, own.name].sides] for own, error, _ in shown]
            for varied in self.variations
        }
        rows = [(self._label(own), total / error) for own, error, total in shown]
        return {"systematics": draw_shifts(rows, marks)} if rows and marks else {}

    def _label(self, own: FittedQuantity) -> str:
        return self.about.labels.get(own.name, own.name)

    def write_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write errors, shifts of every fit, and the covariance matrix of systematic errors as CSV files into a folder."""
        fits = [f"{own.name} {sign}".strip() for own in self.variations for sign in ((UP, DOWN) if len(own.keys) > 1 else ("",))]
        return write_texts(folder, systematics_csv(self._rows(), fits, self.covariance))

    def write_latex(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write errors, and what counts of every variation, as LaTeX tables into a folder."""
        return write_texts(folder, systematics_latex(self._rows(), [own.name for own in self.variations]))

    def _rows(self) -> list[SystematicRow]:
        rows = []
        for own, total in zip(self.quantities, self.totals.tolist(), strict=True):
            shifts = [self.shifts[varied.name][own.kind, own.name] for varied in self.variations]
            sides = tuple(side for shift in shifts for side in shift.sides)
            effects = tuple(shift.effect for shift in shifts)
            rows.append(SystematicRow(own.kind, own.name, self._label(own), own.value, own.error, total, sides, effects))
        return rows


def _shown(shift: Shift) -> str:
    """``+0.0012 / -0.0010``; in brackets what is within chance, and – for what a fit does not have."""
    sides = " / ".join("–" if np.isnan(side) else f"{side:+.2g}" for side in shift.sides)
    return sides if shift.counted or np.isnan(shift.value) else f"({sides})"


@dataclass(frozen=True)
class _PlannedFit:
    """A fit of a variation that has to be done.

    Attributes:
        key:       of it
        side:      what is fitted
        analysis:  the same with its samples
        other:     whether it has other events than the fit
    """

    key: str
    side: Side
    analysis: Analysis
    other: bool


def systematics(
    fit: Fit,
    variations: Variations,
    *,
    two_sided: str = LARGER,
    groups: str = LARGEST,
    starts: int = STARTS,
    seed: int = 0,
    **run: Unpack[RunOptions],
) -> Systematics:
    """Fit with other assumptions, to see by how much values depend on them.

    Every variation is fitted from the minimum of the fit. Phase space that is generated is that of the fit, whatever the model. Where a
    variation changes a sample, what chance alone makes is taken out of a shift.

    Args:
        fit:         a reopened fit, a result, its file, or a model file, which is fitted first
        variations:  a YAML file with a list of variations, or such a list
        two_sided:   what counts of two sides: ``larger``, or ``half`` of their difference
        groups:      what counts of the variations of a group: the ``largest``, or half of their ``envelope``
        starts:      number of starts of fits whose waves are not those of the fit
        seed:        of the random numbers of these
        run:         how to run it, see ``RunOptions``

    Raises:
        ConfigError: with everything that is wrong with the variations
    """
    starts, seed = checked_count("starts", starts), checked_seed(seed)
    for what, given, known in (("two_sided", two_sided, TWO_SIDED), ("groups", groups, GROUPS)):
        if given not in known:
            raise DataError(f"{what} is {given!r}\n fix: give {' or '.join(known)}")
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    planned = _plan(opened, variations)
    extent = [to_plain(varied) for varied in planned]
    about = about_fit(opened, Systematics.name, {"starts": starts, "seed": seed}, variations=extent, two_sided=two_sided, groups=groups)
    with StudyRun(opened, about, run) as study:
        fits = [each for own in planned.values() for each in own]
        if not study.has([each.key for each in fits]):
            work = partial(_fit, study, starts, seed)
            study.fits([[FitTask(each.key, partial(work, each))] for each in fits], "systematics")
    return Systematics.of(study.store)


def _plan(opened: OpenedFit, variations: Variations) -> dict[VariedFits, tuple[_PlannedFit, ...]]:
    """All fits, which differ in their keys if they differ in anything."""
    base, result = opened.analysis, opened.result
    of = VariedFit(load_document(base.description, base.folder), result.fixed, result.names, engine_names())
    found = {}
    for variation in read_variations(variations, of):
        analyses = [analysis_of(side.document, name=base.name, like=base) for side in variation.sides]
        data, phase_space = (any(_differs(own, base, kinds) for own in analyses) for kinds in (("data", "background"), ("phase_space",)))
        fits = tuple(
            _PlannedFit(_key(variation, side, analysis, base), side, analysis, data or phase_space)
            for side, analysis in zip(variation.sides, analyses, strict=True)
        )
        keys = tuple(each.key for each in fits)
        scatter = variation.scatter or (INDEPENDENT if phase_space and not data and _other_seeds(analyses, base) else SUBSET)
        found[VariedFits(variation.name, variation.group, scatter, data, phase_space, keys)] = fits
    return found


def _differs(own: Analysis, base: Analysis, kinds: Sequence[str]) -> bool:
    """Whether samples have other events; other efficiencies do not make them others."""

    def events(data_set: DataSet) -> list[Any]:
        return [[replace(source, efficiency=None) for source in getattr(data_set, kind)] for kind in kinds]

    return [(each.name, events(each)) for each in own.data_sets] != [(each.name, events(each)) for each in base.data_sets]


def _other_seeds(analyses: Sequence[Analysis], base: Analysis) -> bool:
    """Whether all phase space is generated, with other seeds than that of the fit: then no event is in both."""
    before, now = ([source for own in each for data_set in own.data_sets for source in data_set.phase_space] for each in ([base], analyses))
    if not all(isinstance(source, GeneratedSource) for source in (*before, *now)):
        return False
    return not {source.seed for source in before} & {source.seed for source in now}  # type: ignore[union-attr]


def _key(variation: Variation, side: Side, analysis: Analysis, base: Analysis) -> str:
    """Name of a fit, and a hash of everything that it depends on besides the fit of the study."""
    others = [own for own in analysis.data_sets if own not in base.data_sets]
    files = []
    for pattern in event_patterns(others):
        if not (there := matches(pattern)):
            raise DataError(f"variation {variation.name!r}: there is no file {pattern!r}\n fix: correct its path")
        files += [sha256_of(Path(file)) for file in sorted(there)]
    content = json.dumps([to_plain(side.document.data), files], sort_keys=True, default=str)
    return f"{variation.name} {side.sign}".strip() + f" {hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _fit(study: StudyRun, starts: int, seed: int, own: _PlannedFit, before: FitRecord | None) -> FitRecord:
    base = study.baseline
    return base.recorded(own.key, lambda: _comparable(_fitted(study, base, starts, seed, own), base.result))


def _fitted(study: StudyRun, base: Baseline, starts: int, seed: int, own: _PlannedFit) -> FitResult:
    analysis = own.analysis
    likelihood = analysis.likelihood(study.engine, study.device, progress=False)
    taken = take_over(likelihood, base.result)
    n = analysis.settings.starts if own.side.starts else starts if _other_waves(analysis, base.analysis) else 1
    return analysis.fit(
        likelihood=likelihood,
        start=taken.values,
        starts=n,
        seed=seed,
        minos=(),
        progress=False,
        simulation=own.other and base.result.simulation is not None,
        effective_sizes=own.other,
    )


def _other_waves(one: Analysis, other: Analysis) -> bool:
    return {wave.name for wave in one.model.waves} != {wave.name for wave in other.model.waves}


def _comparable(result: FitResult, base: FitResult) -> FitResult:
    """A result without parts of couplings if they are relative to another reference than in the fit."""
    references = [name for name in base.fixed if of_coupling(name, base)]
    if all(name in result.fixed for name in references):
        return result
    return replace(result, parameters=tuple(p for p in result.parameters if not of_coupling(p.name, result)))
