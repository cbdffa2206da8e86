"""``ctpwa hypotheses``: which J^P, lineshape or (L, S) a resonance has. Each is fitted to the same events."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import PhysicsError
from ctpwa.base.words import counted
from ctpwa.config.alternatives import Alternative, free_alternative, jp_alternative, lineshape_alternative, ls_alternative
from ctpwa.fitting.text import Section
from ctpwa.model.model import Model
from ctpwa.observables.significance import probability, standard_deviations
from ctpwa.studies.baseline import about_fit
from ctpwa.studies.calibration import Counted, NormalTail, smaller
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.hypothesis_fits import RATIO, Hypothesis, ToyPair, changed_analysis
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.refits import PARAMETERS, UNIT, ended
from ctpwa.studies.removal import named_resonances, opened_at
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.study import Study
from ctpwa.studies.toy_data import ToySource
from ctpwa.studies.toy_fits import toy_tasks

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

STARTS = 10
FITTED = "as fitted"
AGAINST, TOY = " against ", ": toy "  # parts of keys
SAME = 1e-3  # in −ln L: a fit that ends lower by more has found a better minimum
WEIGHTED = "events have weights, or background is subtracted: differences of ln L, AIC and BIC are scaled by Σ w/Σ w², and approximate"


@dataclass(frozen=True)
class Ranked:
    """A hypothesis that was fitted.

    Attributes:
        name:    what it is called
        record:  its fit
        events:  Σ w
    """

    name: str
    record: FitRecord
    events: float

    @property
    def unit(self) -> float:
        """Twice what one standard deviation adds to −ln L."""
        return self.record.numbers.get(UNIT, math.nan)

    @property
    def nll(self) -> float:
        """−ln L in units in which one standard deviation adds ½."""
        return self.record.nll / self.unit

    @property
    def parameters(self) -> int:
        """Parameters that the data determine."""
        return int(self.record.numbers.get(PARAMETERS, 0))

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2k − 2 ln L."""
        return 2 * self.parameters + 2 * self.nll

    @property
    def bic(self) -> float:
        """Bayes' criterion, k ln N − 2 ln L; N events with these weights count as (Σ w)²/Σ w²."""
        return self.parameters * math.log(self.events / self.unit) + 2 * self.nll


@dataclass(frozen=True)
class Separation:
    """Two hypotheses and toys of both.

    Attributes:
        first, second:  the hypotheses, the better one first
        observed:       2 ln(L1/L2)
        of_first:       the same in good toys of the first
        of_second:      2 ln(L2/L1) in good toys of the second
        failed:         toys whose fits did not end at a minimum
    """

    first: str
    second: str
    observed: float
    of_first: np.ndarray
    of_second: np.ndarray
    failed: int

    @property
    def first_true(self) -> Counted:
        """Toys of the first in which it wins by no more than in the data."""
        return smaller(self.of_first, self.observed)

    @property
    def second_true(self) -> Counted:
        """Toys of the second in which it loses by no less than in the data."""
        return smaller(self.of_second, -self.observed)


class Hypotheses(Study):
    """Fits of several hypotheses about one resonance, ranked."""

    name: ClassVar[str] = "hypotheses"
    title: ClassVar[str] = "Hypotheses"

    @cached_property
    def ranked(self) -> tuple[Ranked, ...]:
        """Hypotheses by AIC, the best first; those that are not at a minimum last."""
        found = [Ranked(own.key, own, self.about.options["events"]) for own in self.records if TOY not in own.key]
        return tuple(sorted(found, key=lambda own: (not ended(own.record), own.aic if math.isfinite(own.aic) else math.inf)))

    @cached_property
    def separations(self) -> tuple[Separation, ...]:
        """Pairs of which there are toys."""
        known = {own.name: own for own in self.ranked}
        pairs = dict.fromkeys(tuple(own.key.rpartition(TOY)[0].split(AGAINST)) for own in self.records if TOY in own.key)
        found = []
        for first, second in pairs:
            if [own.name for own in self.ranked].index(first) > [own.name for own in self.ranked].index(second):
                continue
            toys = [self._toys(a, b) for a, b in ((first, second), (second, first))]
            good = [np.array([own.numbers[RATIO] for own in some if ended(own)]) for some in toys]
            failed = sum(map(len, toys)) - sum(map(len, good))
            found.append(Separation(first, second, 2 * (known[second].nll - known[first].nll), good[0], good[1], failed))
        return tuple(found)

    def _toys(self, truth: str, other: str) -> list[FitRecord]:
        return [own for own in self.records if own.key.startswith(f"{truth}{AGAINST}{other}{TOY}")]

    @property
    def chapter(self) -> str:
        """Title of its chapter of a report."""
        return f"{self.title} about {self.about.options['resonance']}"

    @property
    def headline(self) -> str:
        """Which is the best, and how far the next one is."""
        best, *others = self.ranked
        resonance = self.about.options["resonance"]
        words = f"{counted(len(self.ranked), 'hypothesis', 'hypotheses')} about {resonance}, compared by AIC."
        if bad := [own.name for own in self.ranked if not ended(own.record)]:
            words += f" NOT at a minimum: {', '.join(bad)}."
        if not ended(best.record):
            return words
        words += f" Best: {best.name}."
        if others and ended(others[0].record):
            second = others[0]
            words += f" Next: {second.name}, {second.nll - best.nll:+.2f} in -ln L and {second.aic - best.aic:+.2f} in AIC."
        base = next((own.nll for own in self.ranked if own.name == FITTED), math.nan)
        lower = self.about.base.nll - base * best.unit
        if lower > SAME * best.unit:
            words += (
                f" The fitted model itself has a minimum that is {lower:.2f} below the one it was given with: fit again with more starts."
            )
        return words

    def sections(self) -> tuple[Section, ...]:
        """Ranking, toys, and fits that are not good."""
        columns = ("", "-ln L", "Δ(-ln L)", "parameters", "AIC", "Δ AIC", "BIC", "Δ BIC", "verdict")
        at_minimum = [own for own in self.ranked if ended(own.record)]
        least = [min((getattr(own, kind) for own in at_minimum), default=math.nan) for kind in ("nll", "aic", "bic")]
        found = [Section("hypotheses", columns, tuple(_row(own, least) for own in self.ranked))]
        if self.separations:
            columns = ("", "", "2 ln(L1/L2)", "toys", "as far", "p-value", "significance", "extrapolated p", "extrapolated")
            rows = tuple(row for own in self.separations for row in _separation_rows(own))
            foot = (
                "p-value: how often toys of a hypothesis speak as much against it as the data do; extrapolated: tail of a normal"
                " distribution with mean and width of the toys; no toy is there"
            )
            found.append(Section("separation", columns, rows, foot))
        bad = tuple((own.key, own.reasons) for own in self.records if not (ended(own) if TOY in own.key else own.good))
        return (*found, *((Section("NOT good", ("fit", "reasons"), bad),) if bad else ()))

    def figures(self) -> dict[str, AnyFigure]:
        """Differences of ln L; toys of the two best."""
        from ctpwa.report.figures.model_tests import draw_ranking, draw_separation

        known = [own for own in self.ranked if ended(own.record)]
        found: dict[str, AnyFigure] = {}
        if len(known) > 1:
            values = np.array([(2 * own.nll, own.aic, own.bic) for own in known])
            found["hypotheses"] = draw_ranking([own.name for own in known], values - values.min(axis=0))
        for number, own in enumerate(self.separations):
            if len(own.of_first) > 1 and len(own.of_second) > 1:
                name = "hypotheses-separation" + (f"-{number + 1}" if number else "")
                found[name] = draw_separation((own.first, own.of_first), (own.second, -own.of_second), own.observed)
        return found


def _row(own: Ranked, least: Sequence[float]) -> tuple[str, ...]:
    verdict = "good" if own.record.good else "NOT good"
    if not math.isfinite(own.nll):
        return own.name, *[""] * 7, verdict
    if not ended(own.record):
        return own.name, f"{own.nll:.3f}", "", str(own.parameters), "", "", "", "", verdict
    differences = [f"{value - best:.2f}" for value, best in zip((own.nll, own.aic, own.bic), least, strict=True)]
    return (
        own.name,
        f"{own.nll:.3f}",
        differences[0],
        str(own.parameters),
        f"{own.aic:.2f}",
        differences[1],
        f"{own.bic:.2f}",
        differences[2],
        verdict,
    )


def _separation_rows(own: Separation) -> list[tuple[str, ...]]:
    rows = []
    sides = ((own.first, own.of_first, own.observed, own.first_true), (own.second, own.of_second, -own.observed, own.second_true))
    for k, (name, toys, observed, found) in enumerate(sides):
        words = (f"{k + 1}: {name}", "if it is true", f"{own.observed:.2f}", str(found.total))
        if not found.total:
            rows.append((*words, *[""] * 5))
            continue
        more = ("", "")
        if found.beyond and found.total > 1:
            log_p = NormalTail.of(toys).log_p_value(observed)
            more = (probability(log_p), f"{standard_deviations(log_p):.1f} σ")
        rows.append((*words, str(found.extreme), str(found), f"{'> ' if found.beyond else ''}{found.sigmas:.1f} σ", *more))
    return rows


def hypotheses(
    fit: Fit,
    resonance: str,
    *,
    jp: Sequence[str] = (),
    lineshape: Sequence[str] = (),
    ls: Sequence[str] = (),
    change: Sequence[Mapping[str, Any]] = (),
    toys: int = 0,
    starts: int = STARTS,
    seed: int = 0,
    **run: Unpack[RunOptions],
) -> Hypotheses:
    """Fit other hypotheses about a resonance to the same events, and rank them. Each changes one thing and leaves all others.

    They need not be special cases of each other: they are compared by ln L, and by AIC and BIC, which count parameters. With toys of the
    two best, each fitted by both, the difference of ln L gets a p-value under either of them.

    Args:
        fit:        a reopened fit, a result, its file, or a model file, which is fitted first
        resonance:  what they are about
        jp:         other J^P, such as ``2+``, with all (L, S) that they allow
        lineshape:  other lineshapes, with the fitted mass and width where they have them
        ls:         other (L, S), such as ``production (0,1)(2,1)`` or ``decay (1,0)``
        change:     other keys of the resonance in a model file, such as ``{"lineshape": "flatte", "parameters": {…}}``
        toys:       how many toys of each of the two best; default: none
        starts:     of every fit: the fitted values, and random couplings
        seed:       of the random numbers
        run:        how to run it, see ``RunOptions``
    """
    starts, seed = checked_count("starts", starts), checked_seed(seed)
    toys = checked_count("toys", toys, 0)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    about_it = named_resonances(opened.model, [resonance])[0]
    given = [*map(jp_alternative, _listed(jp, "jp")), *map(lineshape_alternative, _listed(lineshape, "lineshape"))]
    given += [*map(ls_alternative, _listed(ls, "ls")), *map(free_alternative, change)]
    if not given:
        raise PhysicsError(f"no other hypothesis about {about_it}", "give another J^P, lineshape or list of (L, S)")
    asked = {alternative.name: alternative for alternative in given}
    same = [name for name, alternative in asked.items() if _same(opened, about_it, alternative)]
    known: dict[str, Alternative | None] = {FITTED: None, **{name: own for name, own in asked.items() if name not in same}}
    if len(known) == 1:
        raise PhysicsError(f"{same[0]} is what was fitted", "give another J^P, lineshape or list of (L, S)")
    notes = [*([WEIGHTED] if opened.result.corrected else []), *(f"{name} is what was fitted" for name in same)]
    options = {"resonance": about_it, "starts": starts, "seed": seed, "events": opened.result.weight}
    about = about_fit(opened, Hypotheses.name, options, notes, hypotheses=list(known), toys=toys)
    with StudyRun(opened, about, run) as study:

        @cache
        def ready(name: str) -> Hypothesis:
            return Hypothesis(study.baseline, about_it, known[name], starts, seed, study.engine, study.device)

        if not study.has(list(known)):
            study.fits([[FitTask(name, partial(_fit, ready, name))] for name in known], "hypotheses")
        ready.cache_clear()  # likelihoods of all of them take room
        best = [own.name for own in Hypotheses.of(study.store).ranked if ended(own.record) and own.name in known][:2]
        pairs = [(best[0], best[1]), (best[1], best[0])] if len(best) == 2 else []
        keys = {pair: [f"{AGAINST.join(pair)}{TOY}{number}" for number in range(toys)] for pair in pairs}
        if not study.has([key for own in keys.values() for key in own]):
            chains = [[task] for pair, own in keys.items() for task in _toy_tasks(study, ready, pair, own, seed)]
            study.fits(chains, "toys of the two best")
    return Hypotheses.of(study.store)


def _listed(values: Sequence[str], what: str) -> list[str]:
    if isinstance(values, str):
        raise PhysicsError(f"{what}={values!r} is one text, not a list", f"write {what}=[{values!r}]")
    return list(values)


def _same(opened: OpenedFit, resonance: str, alternative: Alternative) -> bool:
    """Whether a hypothesis is what was fitted."""
    other = changed_analysis(opened.analysis, resonance, alternative).model
    return _content(other) == _content(opened.model)


def _content(model: Model) -> Any:
    """What a model is made of, for a comparison."""
    waves = [(wave.name, str(wave.chain), wave.coupling, wave.factor) for wave in model.waves]
    own = [
        (name, str(r.lineshape), dict(r.parameters), r.floating, dict(r.options), r.radius, dict(r.measured))
        for name, r in model.resonances.items()
    ]
    return waves, own, dict(model.relations)


def _fit(ready: Callable[[str], Hypothesis], name: str, before: FitRecord | None) -> FitRecord:
    return ready(name).fit(name)


def _toy_tasks(study: StudyRun, ready: Callable[[str], Hypothesis], pair: tuple[str, str], keys: Sequence[str], seed: int) -> list[FitTask]:
    """Fits of toys of the first of two hypotheses by both."""
    records = study.store.records[pair[0]], study.store.records[pair[1]]

    @cache
    def toys() -> ToyPair:
        truth, other = map(ready, pair)
        source = ToySource(opened_at(study.opened, records[0]), truth.intensity(records[0]), seed)
        return ToyPair(truth, other, records, source)

    return toy_tasks(toys, keys)
