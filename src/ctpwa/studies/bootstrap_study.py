"""``ctpwa bootstrap``: how values scatter if events count as often as chance has it; no model is needed for that."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from ctpwa.data.events import Events
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.text import with_error
from ctpwa.observables.projections import event_weights
from ctpwa.studies.baseline import Baseline, about_fit
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.spread import PARAMETER, Spread, SpreadStudy

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

REPLICAS = 100
INTERVAL = (15.8655, 84.1345)  # percentiles of one standard deviation
DATA, SIDEBAND = range(2)  # streams of random numbers


class Bootstrap(SpreadStudy):
    """Fits of the same events with other multiplicities, and how their values scatter."""

    name: ClassVar[str] = "bootstrap"
    title: ClassVar[str] = "Bootstrap"
    noun: ClassVar[str] = "replica"
    columns: ClassVar[tuple[str, ...]] = ("", "fit", "bootstrap", "scatter / error", "68 % of the replicas")

    def scatter(self) -> str:
        """How it compares with the errors of the fit."""
        ratios = [own.width / error for own in self.spreads if (error := self._statistical(own)) is not None]
        if not ratios:
            return ""
        middle, low, high = np.mean(ratios), min(ratios), max(ratios)
        return f" Values scatter by {middle:.2f} statistical errors of the fit on average, by {low:.2f} to {high:.2f}."

    def _statistical(self, own: Spread) -> float | None:
        """The statistical error that the fit quotes, of a parameter; of a fraction its whole error."""
        base = self.about.base
        error = base.statistical.get(own.name) if own.kind == PARAMETER else base.fraction_errors.get(own.name)
        return error or None

    def row(self, own: Spread) -> tuple[str, ...]:
        """Value and error of the fit and of the replicas."""
        error, base = self._statistical(own), self.about.base
        quoted = base.errors.get(own.name) if own.kind == PARAMETER else base.fraction_errors.get(own.name)
        low, high = own.truth + np.percentile(own.deviations, INTERVAL)
        ratio = "" if error is None else f"{own.width / error:.2f}"
        return own.name, with_error(own.truth, quoted), with_error(own.truth + own.bias, own.width), ratio, f"{low:.5g} … {high:.5g}"

    def figures(self) -> dict[str, AnyFigure]:
        """Scatter of every quantity beside the error of the fit."""
        from ctpwa.report.figures.studies import draw_scatter

        rows = [(self.label(own), own.deviations / error) for own in self.spreads if (error := self._statistical(own)) is not None]
        return {"bootstrap": draw_scatter(rows)} if rows and len(self.good) > 1 else {}


def bootstrap(fit: Fit, n: int = REPLICAS, *, seed: int = 0, **run: Unpack[RunOptions]) -> Bootstrap:
    """Fit replicas of the data, in each of which every event counts k times, k being a Poisson number with mean 1.

    The scatter of their values is an error that needs no likelihood, for weighted and subtracted events as well; it does not count the
    size of the simulation. A replica with the same seed and number is the same, however many there are.

    Args:
        fit:   a reopened fit, a result, its file, or a model file, which is fitted first
        n:     number of replicas
        seed:  of the random numbers
        run:   how to run it, see ``RunOptions``
    """
    n, seed = checked_count("replicas", n, 2), checked_seed(seed)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    with StudyRun(opened, about_fit(opened, Bootstrap.name, {"seed": seed}, replicas=n), run) as study:
        keys = [str(number) for number in range(n)]
        if not study.has(keys):
            study.fits([[FitTask(key, partial(_fit_replica, study.baseline, seed, key))] for key in keys], "bootstrap")
    return Bootstrap.of(study.store)


def _fit_replica(own: Baseline, seed: int, key: str, before: FitRecord | None) -> FitRecord:
    return own.recorded(key, lambda: own.refit(own.each(partial(_replica, own, seed, int(key)))))


def _replica(own: Baseline, seed: int, number: int, data_set: int, term: Likelihood) -> Likelihood:
    samples = own.opened.read()[data_set]

    def weights(events: Events, stream: int) -> np.ndarray:
        w = event_weights(events)
        return w * np.random.default_rng([seed, number, data_set, stream]).poisson(1.0, len(w))

    return term.with_weights(weights(samples.data, DATA), None if samples.background is None else weights(samples.background, SIDEBAND))
