"""Fits of other models to the events of a fit, or to toys: from points that were chosen, and what they leave for a comparison."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ctpwa.fitting.fit import TOLERANCE, fit
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.minimum import INTERRUPTED, How, find_minimum
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.search_settings import USUAL
from ctpwa.minimise.steps import Stop
from ctpwa.minimise.verdict import SMALL_EDM
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import not_interrupted

ENDED = "ended"  # 1 if −ln L is known, whether or not all parameters are determined there
STEADY, HARDLY = 30, 0.01  # in so many steps −ln L falls by less than this many units
PARAMETERS = "parameters"  # how many parameters the data determine
MOST_STEPS = 100  # of the fit of a toy: what needs more runs away
UNIT = "unit"  # twice what one standard deviation adds to −ln L
QUICK: dict[str, Any] = {"simulation": False, "effective_sizes": False, "progress": False}  # without a pass that no study asks for


def fit_from(likelihood: Fittable, points: Any, method: str, **options: Any) -> FitResult:
    """The best of the fits from several points, quietly.

    Args:
        likelihood:  what is fitted
        points:      where to begin, [start, parameter]; what is outside the limits begins at them
        method:      minimiser
        options:     of ``ctpwa.fit``
    """
    lower, upper = likelihood.bounds.T
    result = fit(likelihood, np.clip(points, lower, upper), method, **(QUICK | options))
    return not_interrupted(result)


def lowest_from(likelihood: Fittable, points: Any, method: str, seed: int = 0) -> Stop:
    """The lowest point that fits from several points reach, without errors and fractions: for toys, of which there are many.

    Args:
        likelihood:  what is fitted; with no free parameter, it is where it is
        points:      where to begin, [start, parameter]; what is outside the limits begins at them
        method:      minimiser
        seed:        which events the first look at several points takes
    """
    if not likelihood.names:
        nothing = np.zeros(0)
        return Stop(nothing, float(likelihood.value(nothing)), True, "nothing is free", 0)
    lower, upper = likelihood.bounds.T
    for term in terms_of(likelihood):
        term.engine.prepare()
    how = How(method, TOLERANCE, MOST_STEPS, False, None, Journal(), USUAL)
    stop = find_minimum(likelihood, np.clip(np.atleast_2d(points), lower, upper), seed, False, how)[0]
    if stop.reason == INTERRUPTED:
        raise KeyboardInterrupt
    return stop


def record_of_toy(key: str, likelihood: Fittable, stop: Stop, fine: bool, **numbers: float) -> FitRecord:
    """What the fit of a toy leaves.

    Args:
        key:         which of the fits it is
        likelihood:  of the toy
        stop:        where the fit ended
        fine:        whether all fits of the toy are at a minimum
        numbers:     what to keep
    """
    values = dict(zip(likelihood.names, stop.x.tolist(), strict=True))
    reasons = "" if fine else stop.reason if not stop.converged else "a fit of this toy has not found its minimum"
    return FitRecord(key, stop.value, fine, reasons, values, numbers={UNIT: float(likelihood.unit), ENDED: float(fine)} | numbers)


def has_ended(result: FitResult, unit: float) -> bool:
    """Whether −ln L of a fit is known: it is at a minimum, or hardly falls any more.

    Some directions may be flat there, as they are when a model says more than data can tell. Without a resonance two others may become
    one pole, which no finite couplings reach: the fit never ends, and −ln L stays where it is.

    Args:
        result:  of the fit
        unit:    twice what one standard deviation adds to −ln L
    """
    verdict, values = result.verdict, result.record.history[-STEADY - 1 :]
    steady = len(values) > STEADY and values[0] - values[-1] < HARDLY * unit
    return verdict.good or ((bool(verdict.flat) or steady) and not verdict.negative and verdict.edm <= SMALL_EDM)


def compared(result: FitResult, likelihood: Fittable) -> dict[str, float]:
    """What a comparison needs to know of a fit besides −ln L; numbers of its record."""
    determined = len(result.parameters) - len(result.verdict.flat)
    unit = float(likelihood.unit)
    return {PARAMETERS: float(determined), UNIT: unit, ENDED: float(has_ended(result, unit))}


def nothing_to_fit(key: str, likelihood: Fittable, **numbers: float) -> FitRecord:
    """What a model without free parameters leaves: −ln L as it is."""
    nll = float(likelihood.value(np.zeros(0)))
    return FitRecord(key, nll, math.isfinite(nll), numbers={PARAMETERS: 0.0, UNIT: float(likelihood.unit), ENDED: 1.0} | numbers)


def ended(record: FitRecord) -> bool:
    """Whether a record is of a fit that is at a minimum."""
    return math.isfinite(record.nll) and record.numbers.get(ENDED) == 1.0
