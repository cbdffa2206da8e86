"""What a study starts from: a fit, its samples and its likelihood at the minimum."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from ctpwa.analysis.analysis import Analysis
from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import CtpwaError
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.fitting.fit import fit
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.labels import group_label, parameter_label
from ctpwa.fitting.result import CHECKSUM, FitResult
from ctpwa.studies.about import About
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, not_interrupted, opened_fit
from ctpwa.version import VERSION

BASE = "base"  # key of the fit that a study is of
REPRODUCED = 1e-6  # of one standard deviation in −ln L: other machines round otherwise


@dataclass(frozen=True)
class Baseline:
    """A fit that others are made from.

    Attributes:
        opened:      the result, and the analysis it came from
        likelihood:  of all its data sets
    """

    opened: OpenedFit
    likelihood: Fittable

    @property
    def result(self) -> FitResult:
        """What was found."""
        return self.opened.result

    @property
    def analysis(self) -> Analysis:
        """Model, samples and settings."""
        return self.opened.analysis

    @property
    def x(self) -> np.ndarray:
        """The free parameters at the minimum."""
        return self.result.x

    @cached_property
    def curvature(self) -> np.ndarray:
        """The Hessian of −ln L at the minimum."""
        return self.likelihood.hessian(self.x)

    @cached_property
    def record(self) -> FitRecord:
        """What it leaves in a study."""
        return FitRecord.of(BASE, self.result, self.result.record.seconds)

    @cached_property
    def truths(self) -> list[Events | EventStream | None] | None:
        """Phase space before acceptance, for fractions; None if there is none."""
        found = [self.analysis.read(own.name).truth for own in self.analysis.data_sets]
        return None if all(truth is None for truth in found) else found

    def about(self, study: str, options: Mapping[str, Any], notes: Sequence[str] = (), **extent: Any) -> About:
        """What a study of this fit is.

        Args:
            study:    its name
            options:  what every fit of it depends on
            notes:    what one should know to read it
            extent:   how far it goes
        """
        return about_fit(self.opened, study, options, notes, **extent)

    def each(self, change: Callable[[int, Likelihood], Likelihood]) -> Fittable:
        """A likelihood with every data set changed.

        Args:
            change:  number of a data set and its likelihood → another one
        """
        return changed_terms(self.likelihood, change)

    def refit(self, likelihood: Fittable, start: Any = None, points: np.ndarray | None = None, **options: Any) -> FitResult:
        """Fit a relative of the likelihood, quietly.

        Args:
            likelihood:  what to fit
            start:       where to begin, all parameters in order or some by name; default: the minimum, where names are the same
            points:      where to begin instead, if there are several starts, [start, parameter]
            options:     of ``ctpwa.fit``
        """
        near = start is None and "starts" not in options
        if points is not None:
            options["starts"] = points
        elif start is None:
            start = {name: value for name, value in zip(self.result.names, self.x.tolist(), strict=True) if name in likelihood.names}
        settings: dict[str, Any] = {"method": self.analysis.settings.method, "progress": False}
        settings |= {"simulation": False, "effective_sizes": False}
        same = near and points is None and likelihood.names == self.likelihood.names
        if same and settings["method"] == "newton" and not all(_has_quick_hessians(term) for term in terms_of(likelihood)):
            settings["curvature"] = self.curvature
        return not_interrupted(fit(likelihood, start=start, truth=self.truths, **(settings | options)))

    def recorded(self, key: str, work: Callable[[], FitResult], **numbers: float) -> FitRecord:
        """Fit, and keep what is left of it; what goes wrong is kept as well.

        Args:
            key:      which of the fits it is
            work:     fits
            numbers:  what else to keep
        """
        return timed(key, lambda: FitRecord.of(key, work(), **numbers))


def _has_quick_hessians(term: Likelihood) -> bool:
    """Whether Newton's method needs no help of a Hessian that is known nearby."""
    return term.samples.n_summed <= term.engine.quick_hessians


def changed_terms(likelihood: Fittable, change: Callable[[int, Likelihood], Likelihood]) -> Fittable:
    """A likelihood with every data set changed, see ``Baseline.each``."""
    terms = [change(i, term) for i, term in enumerate(terms_of(likelihood))]
    return terms[0] if isinstance(likelihood, Likelihood) else LikelihoodSum(terms)


def timed(key: str, work: Callable[[], FitRecord]) -> FitRecord:
    """What a fit leaves, with the time it took; what goes wrong is kept as well.

    Args:
        key:   which of the fits it is
        work:  fits
    """
    begin = time.perf_counter()
    try:
        record = work()
    except CtpwaError as error:
        record = FitRecord.failed(key, error)
    return replace(record, seconds=time.perf_counter() - begin)


def about_fit(opened: OpenedFit, study: str, options: Mapping[str, Any], notes: Sequence[str] = (), **extent: Any) -> About:
    """What a study of a fit is, see ``Baseline.about``; no sample is read."""
    result, model = opened.result, opened.model
    record = FitRecord.of(BASE, result, result.record.seconds)
    couplings = [coupling.name for coupling in result.couplings]
    labels = {name: parameter_label(model, name, couplings) for name in record.values}
    labels |= {name: group_label(model, name.rpartition(": ")[2]) for name in record.fractions}
    return About(
        study,
        options,
        record,
        result.as_dict()[CHECKSUM],
        result.decay,
        labels,
        extent,
        tuple(notes),
        VERSION,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def baseline(given: Fit, *, engine: str | None = None, device: str | None = None, progress: bool | None = None) -> Baseline:
    """The fit that a study is of, with its likelihood.

    Args:
        given:     a reopened fit, a result, its file, or a model file
        engine:    instead of that of the model file
        device:    instead of that of the model file
        progress:  show progress bars; default: on a terminal when it takes more than two seconds

    Raises:
        CtpwaError: if the likelihood is not that of the fit
    """
    opened = opened_fit(given, progress=progress)
    likelihood = opened.analysis.likelihood(engine, device, progress)
    result = opened.result
    if likelihood.names != result.names:
        differing = sorted(set(likelihood.names) ^ set(result.names))
        raise CtpwaError(
            f"the free parameters are not those of the result: {', '.join(differing[:3]) or 'their order differs'}\n"
            " fix: fit again, without options that change what floats"
        )
    opened.read(progress=progress)  # refuses other events
    value = float(likelihood.value(result.x))
    if not abs(value - result.nll) <= max(REPRODUCED * likelihood.unit, 10 * likelihood.rounding):
        raise CtpwaError(
            f"-ln L at the fitted values is {value:.6f}, and the result says {result.nll:.6f}\n"
            " fix: fit again with this version of ctpwa and these samples"
        )
    return Baseline(opened, likelihood)
