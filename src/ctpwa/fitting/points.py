"""Where a fit starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.base.words import counted
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum, advice
from ctpwa.model.parameters import MAX_STARTS


def start_points(likelihood: Likelihood | LikelihoodSum, starts: int | Any, start: Any, seed: int) -> np.ndarray:
    """All starts, [start, parameter].

    Args:
        likelihood:  the likelihood
        starts:      how many, or the points themselves
        start:       the first: all parameters in order, some of them by name, or None for the values of the model
        seed:        of the others, whose couplings are random
    """
    n = len(likelihood.names)
    if not isinstance(starts, (int, np.integer)):
        if start is not None:
            raise DataError("both start and points to start from are given\n fix: leave one of them out")
        points = np.atleast_2d(_numbers("starts", starts))
        if points.shape[1:] != (n,) or not len(points) or not np.isfinite(points).all():
            raise DataError(
                f"starts have shape {points.shape}\n"
                f" fix: give how many, or finite numbers [start, parameter] for {counted(n, 'free parameter')}"
            )
        return _within_limits(likelihood, points)
    if not 1 <= starts <= MAX_STARTS or isinstance(starts, bool):
        raise DataError(f"{starts} starts\n fix: give at least 1 and at most {MAX_STARTS}")
    first = _within_limits(likelihood, _first(likelihood, start)[None])
    if starts == 1:
        return first
    return np.concatenate([first, likelihood.random_couplings(first[0], int(starts) - 1, seed)])


def _first(likelihood: Likelihood | LikelihoodSum, start: Any) -> np.ndarray:
    """The start, given as all numbers in order, as some of them by name, or not at all."""
    if isinstance(start, Mapping):
        values = dict(zip(likelihood.names, likelihood.start, strict=True))
        for name in start:
            if name not in values:
                raise PhysicsError(f"start value of {name!r}, which is not a free parameter", advice(name, likelihood))
        start = list((values | dict(start)).values())
    first = _numbers("the start", likelihood.start if start is None else start)
    n = len(likelihood.names)
    if first.shape != (n,):
        raise DataError(f"the start has shape {first.shape}\n fix: give {counted(n, 'number')}, see .names")
    if not np.isfinite(first).all():
        k = int(np.argmin(np.isfinite(first)))
        raise DataError(f"the start of {likelihood.names[k]!r} is {first[k]}\n fix: give a finite number")
    return first


def _numbers(what: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{what}: {values!r} is not made of numbers\n fix: give numbers") from None


def _within_limits(likelihood: Likelihood | LikelihoodSum, points: np.ndarray) -> np.ndarray:
    lower, upper = likelihood.bounds.T
    outside = (points < lower) | (points > upper)
    if outside.any():
        i, k = (int(index[0]) for index in np.nonzero(outside))
        raise DataError(
            f"the start of {likelihood.names[k]!r} is {points[i, k]:g}, outside its limits {lower[k]:g} to {upper[k]:g}\n"
            " fix: give a value between them"
        )
    return points
