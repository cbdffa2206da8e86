"""``ctpwa search``: which resonance is missing? Candidates are added one by one, all by the score test, the best ones by fits."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from ctpwa.base.words import counted
from ctpwa.fitting.text import Section, with_error
from ctpwa.studies.baseline import about_fit
from ctpwa.studies.candidates import Given, read_candidates
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.run import RunOptions, StudyRun
from ctpwa.studies.tried import REFIT, STARTS, Trials, Tried, TriedStudy, after_trials, extent_of

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure


class Search(TriedStudy):
    """Candidates that were added to a model, and what each of them gains."""

    name: ClassVar[str] = "search"
    title: ClassVar[str] = "Search"

    @property
    def ranked(self) -> tuple[Tried, ...]:
        """All candidates, the most significant first."""
        return tuple(sorted(self.tried, key=lambda own: own.best_sigma, reverse=True))

    @property
    def headline(self) -> str:
        """How many, and which is the best."""
        fitted = [own for own in self.ranked if isfinite(own.gain)]
        words = f"{counted(len(self.tried), 'candidate')}, {len(fitted) or 'none'} of them fitted."
        if not fitted:
            return words
        best = max(fitted, key=lambda own: own.sigma)
        words += f" The best is {best.name}: 2 Δ ln L = {best.gain:.1f} for {counted(best.gain_ndf, 'parameter')}, {best.sigma:.1f} σ"
        if len(self.tried) > 1:
            words += f", or {after_trials(best.gain, best.gain_ndf, len(self.tried)):.1f} σ as the best of {len(self.tried)}"
        return words + "." + self.correlation_words()

    def sections(self) -> tuple[Section, ...]:
        """All candidates, the most significant first."""
        columns = ("candidate", "S", "ndf", "σ", "2 Δ ln L", "ndf", "σ", "fraction", "remark")
        rows = tuple(self._row(own) for own in self.ranked)
        refused = tuple((name, why) for name, why in self.about.extent["refused"].items())
        more = (Section("cannot be added", ("state", "reason"), refused),) if refused else ()
        return (
            Section("candidates", columns, rows, "S: score test, without a fit; 2 Δ ln L: fit with the candidate"),
            *more,
            *self.failures(),
        )

    def _row(self, own: Tried) -> tuple[str, ...]:
        score = (f"{own.S:.1f}", str(own.S_ndf), f"{own.score_sigma:.1f}") if isfinite(own.S) else ("", "", "")
        fit = (f"{own.gain:.1f}", str(own.gain_ndf), f"{own.sigma:.1f}") if isfinite(own.gain) else ("", "", "")
        why = "" if own.score is None else own.score.reasons
        return own.name, *score, *fit, self._fraction(own), "; ".join(text for text in (why, own.remark) if text)

    def _fraction(self, own: Tried) -> str:
        """Of the candidate where it was fitted, in every data set."""
        if own.fit is None or not own.fit.good:
            return ""
        found = {name: value for name, value in own.fit.fractions.items() if name.rpartition(": ")[2] == own.name}
        return ", ".join(f"{with_error(100 * value, 100 * own.fit.fraction_errors[name])} %" for name, value in found.items())

    def figures(self) -> dict[str, AnyFigure]:
        """What every candidate gains."""
        from ctpwa.report.figures.searches import draw_candidates

        rows = [(own.label, own.score_sigma, own.sigma) for own in self.ranked if isfinite(own.best_sigma)]
        return {"search": draw_candidates(rows)} if rows else {}


def search(
    fit: Fit, candidates: Given = None, *, refit: int | None = REFIT, starts: int = STARTS, seed: int = 0, **run: Unpack[RunOptions]
) -> Search:
    """Add candidates to the model of a fit, one by one, and say what each gains.

    All of them are tried by Rao's score test, which needs one evaluation of the likelihood for many candidates and no fit; then the best
    ones are fitted.

    Args:
        fit:         a reopened fit, a result, its file, or a model file, which is fitted first
        candidates:  names of the PDG or texts as under ``resonances`` of a model file, or a mapping of that form; default: all states that
                     ``ctpwa init`` lists for the decay and that the model does not have
        refit:       how many are fitted, those with the most significant score; None: all
        starts:      of every fit: one where the score test leads to, the others random
        seed:        of random starts
        run:         how to run it, see ``RunOptions``
    """
    seed, starts = checked_seed(seed), checked_count("starts", starts)
    most = None if refit is None else checked_count("fits", refit, 0)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    found = read_candidates(opened.analysis, candidates)
    options = {"seed": seed, "starts": starts}
    extent: dict[str, Any] = {"candidates": extent_of(found.members), "refused": dict(found.refused), "refit": most}
    with StudyRun(opened, about_fit(opened, Search.name, options, **extent), run) as study:
        trials = Trials(study, found.members, seed=seed, starts=starts)
        trials.score_all("score test")
        trials.fit_all(trials.promising(most), "fits with candidates")
    return Search.of(study.store)
