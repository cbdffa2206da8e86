"""MIGRAD of iminuit, with exact gradient and Hessian."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from ctpwa.minimise.drive import Record, Watch
from ctpwa.minimise.minos import HALF
from ctpwa.minimise.objective import Objective
from ctpwa.minimise.steps import GRADIENT, HESSIAN, VALUE, Stop, inside

NO_VALUE = 1e300  # what Minuit gets where there is no finite value
NEAR_LIMIT = 1e-4  # of -ln L, which the way to a limit would gain


class _Counted:
    """The objective as Minuit wants it; the last gradient is kept, because value and gradient are asked for one after the other."""

    def __init__(self, objective: Objective, watch: Watch | None) -> None:
        self.objective, self.watch = objective, watch
        self.record = Record()
        self.best, self.best_x = np.inf, np.zeros(0)
        self._at: bytes = b""
        self._gradient = np.zeros(0)

    def value(self, x: np.ndarray) -> float:
        """The value."""
        f = float(self.objective.value(x))
        self.record.count(VALUE)
        if f < self.best:
            self.best, self.best_x = f, np.array(x)
            self.record.history.append(f)
            if self.watch is not None:
                self.watch(self.best_x, f)
        return f if np.isfinite(f) else NO_VALUE

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient."""
        key = np.asarray(x).tobytes()
        if key != self._at:
            self._at, self._gradient = key, self.objective.value_and_grad(x)[1]
            self.record.count(GRADIENT)
        return self._gradient

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """The Hessian."""
        self.record.count(HESSIAN)
        return self.objective.value_grad_hessian(x)[2]

    def curvature(self, x: np.ndarray) -> np.ndarray:
        """The diagonal of the Hessian."""
        return np.diag(self.hessian(x)).copy()


def _minuit(counted: _Counted, x: np.ndarray) -> Any:
    """A Minuit object at ``x``.

    Minuit turns parameters with limits into ones without, but leaves the curvature of this map out of a Hessian that it is given; it
    then finds no end at a limit. With limits it therefore only gets the diagonal, which it asks for where curvature is negative.
    """
    import iminuit

    objective, bounds = counted.objective, counted.objective.bounds
    hessian = None if np.isfinite(bounds).any() else counted.hessian
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", iminuit.warnings.IMinuitWarning)  # that a Hessian makes its diagonal superfluous; it does not
        minuit = iminuit.Minuit(
            counted.value, np.asarray(x, dtype=float), grad=counted.gradient, g2=counted.curvature, hessian=hessian, name=objective.names
        )
    minuit.errordef = HALF
    curvature = np.abs(counted.curvature(x))
    minuit.errors = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    for name, (lower, upper) in zip(objective.names, bounds, strict=True):
        if lower == upper:
            minuit.fixed[name] = True
        else:
            minuit.limits[name] = (lower, upper)
    return minuit


def migrad(
    objective: Objective, x: np.ndarray, *, tolerance: float, max_calls: int | None = None, watch: Watch | None = None
) -> tuple[Stop, Record]:
    """Minimise with MIGRAD.

    Args:
        objective:  what is minimised
        x:          start
        tolerance:  largest expected distance to the minimum at the end
        max_calls:  limit of evaluations; default: Minuit's
        watch:      called with every improved point
    """
    begin = time.perf_counter()
    counted = _Counted(objective, watch)
    start = inside(np.asarray(x, dtype=float), objective.bounds)
    try:
        stop = _migrad(counted, start, tolerance, max_calls)
    except KeyboardInterrupt:
        if not len(counted.best_x):
            raise
        stop = Stop(counted.best_x, counted.best, False, "interrupted", counted.record.values)
    counted.record.seconds = time.perf_counter() - begin
    return stop, counted.record


def _migrad(counted: _Counted, x: np.ndarray, tolerance: float, max_calls: int | None) -> Stop:
    objective = counted.objective
    f = counted.value(x)
    if not f < NO_VALUE or not np.isfinite(counted.gradient(x)).all():
        return Stop(x, float(objective.value(x)), False, "the start has no finite likelihood", 0)
    if (objective.bounds[:, 0] == objective.bounds[:, 1]).all():  # also without parameters
        return Stop(x, f, True, "converged", 0)
    minuit = _minuit(counted, x)
    minuit.strategy = 2  # with 1 it believes in a wrong EDM
    minuit.tol = tolerance / (0.002 * HALF)  # MIGRAD stops at EDM < 0.002 · tol · errordef
    for _ in range(5):  # rounding may stop it early: go on while it gains
        before = minuit.fval if minuit.fmin is not None else np.inf
        minuit.migrad(ncall=max_calls)
        if minuit.valid or not before - minuit.fval > objective.rounding:
            break
    near = float(minuit.fmin.edm) < max(1e-4, 100 * objective.rounding) and not minuit.fmin.has_reached_call_limit
    converged = bool(minuit.valid) or near
    end, value = _at_limits(counted, np.array(minuit.values), float(minuit.fval))
    return Stop(end, value, converged, "converged" if converged else _why(minuit), int(minuit.nfcn))


def _at_limits(counted: _Counted, x: np.ndarray, f: float) -> tuple[np.ndarray, float]:
    """The end of MIGRAD with parameters at their limits that are as good as there: MIGRAD only comes close to limits."""
    bounds = counted.objective.bounds
    gradient = counted.gradient(x)
    limit = np.where(gradient > 0, bounds[:, 0], bounds[:, 1])
    way = np.where(np.isfinite(limit), limit - x, 0.0)
    near = np.flatnonzero((way != 0) & (np.abs(gradient * way) < NEAR_LIMIT))
    for i in near:
        moved = x.copy()
        moved[i] = limit[i]
        value = counted.value(moved)
        if value <= f:
            x, f = moved, value
    return x, f


def _why(minuit: Any) -> str:
    fmin = minuit.fmin
    if fmin.has_reached_call_limit:
        return "MIGRAD reached its limit of calls"
    if fmin.is_above_max_edm:
        return f"MIGRAD stopped at EDM {fmin.edm:.1e}, above its goal"
    return "MIGRAD found no valid minimum"
