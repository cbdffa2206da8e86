"""``ctpwa search --select``: from a model to a better one, by adding the best candidate and removing the weakest resonance in turn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from ctpwa.analysis.analysis import analysis_of
from ctpwa.base.errors import CtpwaError, DataError, suggest
from ctpwa.base.output import written_whole
from ctpwa.base.words import counted
from ctpwa.config.changes import Changes
from ctpwa.config.fit_settings import fit_settings
from ctpwa.config.model_text import model_text
from ctpwa.config.read import Document, load_document
from ctpwa.engine.likelihood.values import ModelValues, free_parameters, model_values
from ctpwa.fitting.fittable import Fittable
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section
from ctpwa.model.couplings import WAVE, coupling_names
from ctpwa.model.parameter import PARTS, as_cartesian
from ctpwa.studies.baseline import about_fit
from ctpwa.studies.candidates import Candidate, Given, added_to, described, read_candidates
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.enlarged import Enlarged, EnlargedModels, fit_enlarged, number_of
from ctpwa.studies.expected import expected_events
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.score import score_test
from ctpwa.studies.selection import ADD, AIC, BIC, CRITERIA, SIGNIFICANCE, Rules, State, Taken, Wanted, key_of, moved
from ctpwa.studies.study import Study
from ctpwa.studies.tried import FIT, REFIT, SCORE, STARTS, score_record, step_of

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

THRESHOLD = 5.0  # standard deviations
WORDS = {AIC: "AIC", BIC: "BIC", SIGNIFICANCE: "significance"}


class Selection(Study):
    """A model that was improved step by step, and all fits on the way."""

    name: ClassVar[str] = "selection"
    title: ClassVar[str] = "Selection"

    @cached_property
    def rules(self) -> Rules:
        """How the model was chosen."""
        own = self.about.options["rules"]
        return Rules(**{**own, "base": frozenset(own["base"]), "candidates": tuple(own["candidates"])})

    @cached_property
    def _followed(self) -> tuple[list[Taken], Wanted | None]:
        return self.rules.follow(self.by_key)

    @property
    def steps(self) -> tuple[Taken, ...]:
        """What was added and removed, in order."""
        return tuple(self._followed[0])

    @property
    def finished(self) -> bool:
        """Whether nothing changes any more."""
        return self._followed[1] is None

    @property
    def resonances(self) -> tuple[str, ...]:
        """Those of the final model."""
        return tuple(sorted(self.steps[-1].state if self.steps else self.rules.base))

    @property
    def chapter(self) -> str:
        """Title of its chapter of a report."""
        return f"{self.title} by {WORDS[self.rules.by]}"

    @property
    def headline(self) -> str:
        """What the final model is."""
        added = [own for own in self.resonances if own not in self.rules.base]
        removed = [own for own in sorted(self.rules.base) if own not in self.resonances]
        how = f"by {WORDS[self.rules.by]}" + (f" of {self.rules.threshold:g} σ" if self.rules.by == SIGNIFICANCE else "")
        words = f"{counted(len(self.steps), 'step')} {how}, {counted(sum(own.key.startswith(FIT) for own in self.records), 'fit')}."
        words += f" Added: {', '.join(added) or 'nothing'}. Removed: {', '.join(removed) or 'nothing'}."
        return words if self.finished else words + " It is not finished: the same call goes on."

    def sections(self) -> tuple[Section, ...]:
        """The steps, what could be done next, and fits that are not good."""
        columns = ("step", "resonance", "2 Δ ln L", "ndf", "σ", self._criterion)
        steps = tuple(self._row(own.move.action, own.move.name, own.move) for own in self.steps)
        last = frozenset(self.resonances)
        rest = [(action, name) for action, name in self._next(last)]
        found = [(action, name, self.rules.compared(last, action, name, self.by_key)) for action, name in rest]
        left = tuple(self._row(f"not {action}ed" if action == ADD else "not removed", name, move) for action, name, move in found if move)
        bad = tuple((own.key.removeprefix(FIT), own.reasons) for own in self.records if not own.good)
        return (
            *([Section("steps", columns, steps)] if steps else []),
            *([Section("in the end", columns, left)] if left else []),
            *([Section("NOT good", ("model", "reasons"), bad)] if bad else []),
        )

    @property
    def _criterion(self) -> str:
        return "Δ 2(−ln L)" if self.rules.by == SIGNIFICANCE else f"Δ {WORDS[self.rules.by]}"

    def _next(self, last: State) -> list[tuple[str, str]]:
        if not self.finished:
            return []
        added = [(ADD, name) for name in self.rules.chosen(last, self.by_key)] if self.rules.possible(last) else []
        return [*added, *(("remove", name) for name in sorted(last))] if len(last) > 1 else added

    def _row(self, words: str, name: str, move: Any) -> tuple[str, ...]:
        change = move.criterion if self.rules.by != SIGNIFICANCE else (-move.gain if move.action == ADD else move.gain)
        sigma = f"{move.sigma:.1f}" if isfinite(move.sigma) else ""
        return words, name, f"{move.gain:.1f}", str(move.ndf), sigma, f"{change:+.1f}"

    def figures(self) -> dict[str, AnyFigure]:
        """The criterion after every step."""
        from ctpwa.report.figures.searches import draw_selection

        labels = dict(self.about.labels) | {own["name"]: own["label"] for own in self.about.extent["candidates"]}
        words = [f"{own.move.action} {labels.get(own.move.name, own.move.name)}" for own in self.steps]
        states = [("start", self.rules.base), *zip(words, (own.state for own in self.steps), strict=True)]
        label = "$-2\\ln L$" if self.rules.by == SIGNIFICANCE else WORDS[self.rules.by]
        points = [(name, self.rules.criterion(state, self.by_key)) for name, state in states]
        return {"selection": draw_selection(points, f"{label} above the last")} if self.steps else {}

    def model(self) -> dict[str, Any]:
        """The final model as a model file describes it, which starts from the values that were fitted.

        Raises:
            CtpwaError: if the selection is not finished
        """
        if not self.finished:
            raise CtpwaError("the selection is not finished, so there is no final model\n fix: run the same command again")
        extent, last = self.about.extent, frozenset(self.resonances)
        candidates = [Candidate(own["name"], own["resonance"], tuple(own["chains"])) for own in extent["candidates"]]
        larger = added_to(extent["model"], [own for own in candidates if own.name in last])
        gone = tuple(name for name in sorted(self.rules.base) if name not in last)
        document = load_document(larger, changes=Changes(without=gone))
        record = self.by_key[FIT + key_of(last)] if self.steps else self.about.base
        return _with_values(document, record.values)

    def write_model(self, path: str | os.PathLike[str]) -> None:
        """Write the final model as a model file, whole or not at all; a file that exists is not replaced.

        Args:
            path:  where to; paths of samples are relative to its folder, so that it should be that of the model it began with
        """
        goal = Path(path)
        if os.path.lexists(goal):
            raise CtpwaError(f"{str(goal)!r} already exists\n fix: name another file")
        about = f"A model of {self.about.decay}, written by ctpwa search. {self.headline}"
        with written_whole(goal) as temporary:
            temporary.write_text(model_text(self.model(), [about]), encoding="utf-8")
            found = {file.name for file in analysis_of(load_document(temporary)).files}
            missing = sorted(set(self.about.extent["files"]) - found)
            if missing:
                raise CtpwaError(
                    f"{missing[0]!r} is not found from {str(goal)!r}\n fix: write the model into the folder of the one it began with"
                )


def _with_values(document: Document, values: Mapping[str, float]) -> dict[str, Any]:
    """A description that starts from values of a fit."""
    data, model, settings = dict(document.data), document.model, fit_settings(document.spec)
    start = {name: value for name, value in values.items() if name not in model.relations}
    data.pop("couplings", None)
    if settings.couplings == WAVE:
        parts = PARTS[settings.representation]
        numbers = {}
        for name in coupling_names(model.waves):
            if f"{name}.{parts[0]}" in start:  # the phase of a reference is 0, and the reference wave is 1
                numbers[name] = list(as_cartesian([start.pop(f"{name}.{part}", 0.0) for part in parts], settings.representation))
        data["couplings"] = numbers
    settings_of_fit = {key: value for key, value in (data.get("fit") or {}).items() if key != "start"}
    data["fit"] = settings_of_fit | ({"start": start} if start else {})
    return data


def select_model(
    fit: Fit,
    candidates: Given = None,
    *,
    by: str = BIC,
    threshold: float | None = None,
    refit: int | None = REFIT,
    starts: int = STARTS,
    seed: int = 0,
    **run: Unpack[RunOptions],
) -> Selection:
    """Improve the model of a fit: the best candidate is added if it passes, then the weakest resonance removed if it fails, until nothing
    changes.

    Args:
        fit:         a reopened fit, a result, its file, or a model file, which is fitted first
        candidates:  as for ``search``
        by:          ``aic`` or ``bic``, which have to fall; or ``significance``
        threshold:   standard deviations that every resonance needs, for ``significance``; default: 5
        refit:       how many candidates are fitted in every step, those with the most significant score; None: all
        starts:      of every fit with a candidate
        seed:        of random starts
        run:         how to run it, see ``RunOptions``
    """
    if by not in CRITERIA:
        raise DataError(f"unknown criterion {by!r}\n fix: {suggest(by, CRITERIA)}")
    if threshold is not None and (by != SIGNIFICANCE or not 0 < threshold < np.inf):
        raise DataError(f"a threshold of {threshold!r} with the criterion {by!r}\n fix: give a positive number, with significance alone")
    seed, starts = checked_seed(seed), checked_count("starts", starts)
    most = None if refit is None else checked_count("fits", refit)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    analysis, result = opened.analysis, opened.result
    found = read_candidates(analysis, candidates)
    rules = Rules(
        by,
        THRESHOLD if threshold is None else float(threshold),
        most,
        frozenset(analysis.model.resonances),
        tuple(own.name for own in found.members),
        float(result.nll),
        len(result.parameters),
        float(result.weight),
    )
    options = {
        "rules": asdict(rules) | {"base": sorted(rules.base)},
        "keys": [own.key for own in found.members],
        "seed": seed,
        "starts": starts,
    }
    extent: dict[str, Any] = {
        "model": described(analysis, []),
        "candidates": [
            {"name": own.name, "label": own.label, "resonance": dict(own.resonance), "chains": list(own.chains)} for own in found.members
        ],
        "files": sorted({file.name for file in analysis.files}),
    }
    with StudyRun(opened, about_fit(opened, Selection.name, options, **extent), run) as study:
        selecting = _Selecting(study, rules, found.members, starts, seed)
        while (wanted := rules.follow(study.store.records)[1]) is not None:
            study.fits([[task] for task in selecting.tasks(wanted)], f"{key_of(wanted.state).count(' + ') + 1} resonances")
    return Selection.of(study.store)


class _Selecting:
    """Does what a selection asks for, with one likelihood that has all candidates."""

    def __init__(self, study: StudyRun, rules: Rules, candidates: Sequence[Candidate], starts: int, seed: int) -> None:
        self._study, self._rules, self._candidates, self._starts, self._seed = study, rules, candidates, starts, seed
        self._models = EnlargedModels(study)

    @property
    def _everything(self) -> Enlarged:
        return self._models.of(self._candidates)

    def _likelihood(self, state: State) -> Fittable:
        return self._everything.without(name for name in {*self._rules.base, *self._rules.candidates} if name not in state)

    def _values(self, state: State) -> ModelValues:
        """Couplings and parameters of a model that was fitted."""
        own = self._study.baseline
        if state == self._rules.base:
            return model_values(own.likelihood, own.x)
        likelihood, values = self._likelihood(state), self._study.store.records[FIT + key_of(state)].values
        found = model_values(likelihood, [values[name] for name in likelihood.names])
        gone = tuple(f"{name}." for name in (*self._rules.base, *self._rules.candidates) if name not in state)
        return replace(found, parameters={name: value for name, value in found.parameters.items() if not name.startswith(gone)})

    def tasks(self, wanted: Wanted) -> list[FitTask]:
        """Fits and score tests that are wanted."""
        if not wanted.moves:
            return [FitTask(SCORE + key_of(wanted.state), partial(self._score, wanted.state))]
        return [
            FitTask(FIT + key_of(moved(wanted.state, action, name)), partial(self._fit, wanted.state, action, name))
            for action, name in wanted.moves
        ]

    def _score(self, state: State, before: FitRecord | None) -> FitRecord:
        likelihood, values = self._likelihood(state), self._values(state)
        x = free_parameters(likelihood, values.couplings, values.parameters, strict=False)
        everything = Enlarged(self._everything.likelihood, tuple(self._rules.possible(state)))
        couplings = {name: everything.couplings(name) for name in everything.names}
        study, own = self._study, self._study.baseline
        expected = expected_events(own.opened, likelihood, x, study.engine, study.device)
        return score_record(SCORE + key_of(state), own, score_test(everything.likelihood, likelihood, x, couplings, expected))

    def _fit(self, state: State, action: str, name: str, before: FitRecord | None) -> FitRecord:
        own, after = self._study.baseline, moved(state, action, name)
        numbers = {"unit": own.likelihood.unit}

        def work() -> FitResult:
            likelihood, values = self._likelihood(after), self._values(state)
            if action == ADD:
                couplings = Enlarged(self._everything.likelihood, tuple(self._rules.possible(state))).couplings(name)
                step = {c: z for c, z in step_of(self._study.store.records[SCORE + key_of(state)]).items() if c in couplings}
                result = fit_enlarged(own, likelihood, values, step, self._starts, [self._seed, number_of(key_of(after))])
            else:
                result = fit_enlarged(own, likelihood, values, {}, 1, [self._seed])
            numbers["free"] = float(len(result.parameters))
            return result

        return replace(own.recorded(FIT + key_of(after), work), numbers=numbers)
