"""``ctpwa toys``: are values unbiased, and errors right? Toys of a fit are fitted back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from ctpwa.observables.tails import chi2_tail, normal_tail
from ctpwa.studies.baseline import Baseline, about_fit
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.spread import FRACTION, ONE, PARAMETER, TWO, Spread, SpreadStudy
from ctpwa.studies.toy_data import ToySource

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

TOYS = 200
SUSPICIOUS = 4.0  # standard errors: with a hundred quantities, one in a hundred studies has one that far off by chance


class Toys(SpreadStudy):
    """Toys of a fit that were fitted back, and how their values and pulls are distributed."""

    name: ClassVar[str] = "toys"
    title: ClassVar[str] = "Toys"
    noun: ClassVar[str] = "toy"
    columns: ClassVar[tuple[str, ...]] = ("", "truth", "bias", "spread", "mean error", "pull mean", "pull width", "in 1 σ", "in 2 σ")

    def scatter(self) -> str:
        """Widths of the pulls, and whether anything is off."""
        widths = [own.pull_width[0] for own in self.spreads]
        words = f" Pulls have widths of {np.nanmean(widths):.3f} on average, from {np.nanmin(widths):.2f} to {np.nanmax(widths):.2f}."
        off = [own.name for own in self.spreads if _off(own)]
        if off:
            return words + f" More than {SUSPICIOUS:g} standard errors off: {', '.join(off)}."
        return words + f" No mean or width is off by more than {SUSPICIOUS:g} standard errors."

    def row(self, own: Spread) -> tuple[str, ...]:
        """Bias, spread and pulls."""
        mean, width = own.pull_mean, own.pull_width
        if len(own.values) < 2:  # which do not scatter
            return own.name, f"{own.truth:.5g}", f"{own.bias:+.2g}", "", f"{own.mean_error:.3g}", "", "", "", ""
        return (
            own.name,
            f"{own.truth:.5g}",
            f"{own.bias:+.2g} ± {own.bias_error:.2g}",
            f"{own.width:.3g}",
            f"{own.mean_error:.3g}",
            f"{mean[0]:+.2f} ± {mean[1]:.2f}",
            f"{width[0]:.2f} ± {width[1]:.2f}",
            f"{own.coverage(1):.1%}",
            f"{own.coverage(2):.1%}",
        )

    def foot(self, kind: str) -> str:
        """What intervals should cover."""
        return f"intervals of 1 and 2 σ should cover {ONE:.1%} and {TWO:.1%}" if kind == PARAMETER else ""

    def figures(self) -> dict[str, AnyFigure]:
        """All pulls, and mean and width of each."""
        from ctpwa.report.figures.pulls import draw_pulls
        from ctpwa.report.figures.studies import draw_pull_summary

        if len(self.good) < 2:
            return {}
        groups = {
            f"{kind}s": np.concatenate([own.pulls for own in self.spreads if own.kind == kind])
            for kind in (PARAMETER, FRACTION)
            if any(own.kind == kind for own in self.spreads)
        }
        rows = [(self.label(own), own.pull_mean, own.pull_width) for own in self.spreads]
        return {"toys-pulls": draw_pulls(groups), "toys-summary": draw_pull_summary(rows)}


def _off(own: Spread) -> bool:
    """Whether mean or width is as far from 0 and 1 as those of normal pulls hardly ever are; the width of a few scatters much."""
    n, width = len(own.pulls), own.pull_width[0]
    if n < 2:
        return False
    sum_of_squares = (n - 1) * width**2
    above = chi2_tail(sum_of_squares, n - 1)
    tail = min(above, 1 - above)
    return bool(abs(own.pull_mean[0]) * np.sqrt(n) > SUSPICIOUS or tail < normal_tail(SUSPICIOUS))


def toys(fit: Fit, n: int = TOYS, *, seed: int = 0, **run: Unpack[RunOptions]) -> Toys:
    """Fit toys of a fit, to see whether its values are unbiased and its errors right.

    Toy data are picked from the phase-space samples of the fit in proportion to what was fitted, and fits start at the truth. A toy with
    the same seed and number is the same, however many there are.

    Args:
        fit:   a reopened fit, a result, its file, or a model file, which is fitted first
        n:     number of toys
        seed:  of the random numbers
        run:   how to run it, see ``RunOptions``
    """
    n, seed = checked_count("toys", n), checked_seed(seed)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    notes = ["toy data are picked from the phase-space samples, so errors do not count the size of the simulation"]
    with StudyRun(opened, about_fit(opened, Toys.name, {"seed": seed}, notes, toys=n), run) as study:
        keys = [str(number) for number in range(n)]
        if not study.has(keys):
            source = ToySource(opened, study.intensity, seed)
            study.fits([[FitTask(key, partial(_fit_toy, study.baseline, source, key))] for key in keys], "toys")
    return Toys.of(study.store)


def _fit_toy(own: Baseline, source: ToySource, key: str, before: FitRecord | None) -> FitRecord:
    return own.recorded(key, lambda: own.refit(source.likelihood(own.likelihood, int(key))))
