"""MIGRAD and MINOS of iminuit, with exact gradient and Hessian."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctpwa.minimise.drive import Record, Watch
from ctpwa.minimise.objective import Objective
from ctpwa.minimise.steps import GRADIENT, HESSIAN, VALUE, Stop, inside

HALF = 0.5  # what one standard deviation adds to -ln L


@dataclass(frozen=True)
class MinosError:
    """Where -ln L, minimised over all other parameters, has risen by ½.

    Attributes:
        lower, upper:  distances from the minimum, lower < 0 < upper
        valid:         whether both were found
        message:       why not
    """

    lower: float
    upper: float
    valid: bool
    message: str = ""


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
        return f if np.isfinite(f) else 1e300

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


def _minuit(counted: _Counted, x: np.ndarray) -> Any:
    import iminuit

    objective = counted.objective
    minuit = iminuit.Minuit(
        counted.value, np.asarray(x, dtype=float), grad=counted.gradient, hessian=counted.hessian, name=list(objective.names)
    )
    minuit.errordef = HALF
    minuit.limits = [tuple(limits) for limits in objective.bounds]
    curvature = np.abs(np.diag(counted.hessian(x)))
    minuit.errors = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
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
        watch:      is told of every better point
    """
    begin = time.perf_counter()
    counted = _Counted(objective, watch)
    try:
        minuit = _minuit(counted, inside(np.asarray(x, dtype=float), objective.bounds))
        minuit.strategy = 1
        minuit.tol = tolerance / (0.002 * HALF)  # MIGRAD stops at EDM < 0.002 · tol · errordef
        for _ in range(5):  # rounding may stop it early: go on while it gains
            before = minuit.fval if minuit.fmin is not None else np.inf
            minuit.migrad(ncall=max_calls)
            if minuit.valid or not before - minuit.fval > objective.rounding:
                break
        x_end, f_end = np.array(minuit.values), float(minuit.fval)
        edm = float(minuit.fmin.edm)
        converged = bool(minuit.valid) or edm < max(1e-4, 100 * objective.rounding)
        reason = "converged" if converged else _why(minuit)
        stop = Stop(x_end, f_end, converged, reason, int(minuit.nfcn))
    except KeyboardInterrupt:
        if not len(counted.best_x):
            raise
        stop = Stop(counted.best_x, counted.best, False, "interrupted", counted.record.values)
    counted.record.seconds = time.perf_counter() - begin
    return stop, counted.record


def _why(minuit: Any) -> str:
    fmin = minuit.fmin
    if fmin.has_reached_call_limit:
        return "MIGRAD reached its limit of calls"
    if fmin.is_above_max_edm:
        return f"MIGRAD stopped at EDM {fmin.edm:.1e}, above its goal"
    return "MIGRAD found no valid minimum"


def minos(objective: Objective, x: np.ndarray, names: Sequence[str]) -> dict[str, MinosError]:
    """Asymmetric errors of some parameters at a minimum."""
    counted = _Counted(objective, None)
    minuit = _minuit(counted, np.asarray(x, dtype=float))
    minuit.migrad()
    minuit.hesse()
    result = {}
    for name in names:
        try:
            minuit.minos(name)
            found = minuit.merrors[name]
            shift = float(minuit.values[name]) - float(x[objective.names.index(name)])
            result[name] = MinosError(float(found.lower) + shift, float(found.upper) + shift, bool(found.is_valid))
        except RuntimeError as error:
            result[name] = MinosError(-np.inf, np.inf, False, str(error))
    return result
