"""Asymmetric errors as MINOS defines them: where −ln L, minimised over all other parameters, has risen by ½.

A crossing is a point with ∂f/∂x_j = 0 for all other parameters and f = f_min + ½. Newton's method solves these equations together: with
the exact Hessian the best x_j are known to first order for every step of x_i, and f along them to second order. Where that fails, at
limits or far from a parabola, the other parameters are minimised one step of x_i after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ctpwa.minimise.drive import drive, one_thread
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Objective, Restricted
from ctpwa.minimise.steps import Extended, inside

HALF = 0.5  # what one standard deviation adds to -ln L
PRECISION = 1e-7  # of the rise
EQUATION_STEPS, PROFILE_STEPS = 12, 60
FURTHEST = 1e4  # standard deviations; further away there is no crossing


@dataclass(frozen=True)
class MinosError:
    """Where -ln L, minimised over all other parameters, has risen by ½.

    Attributes:
        lower, upper:  distances from the minimum, lower < 0 < upper; infinite if there is no such place
        valid:         whether both were found
        message:       why not
    """

    lower: Extended
    upper: Extended
    valid: bool
    message: str = ""


def minos(objective: Objective, x: np.ndarray, names: Sequence[str]) -> dict[str, MinosError]:
    """Asymmetric errors of some parameters at a minimum."""
    if not names:
        return {}
    stop, _ = drive(objective, newton(np.asarray(x, dtype=float), objective.bounds, noise=objective.rounding))
    _, _, H = objective.value_grad_hessian(stop.x)
    with one_thread():
        return {name: _both(_Profile(objective, stop.x, stop.value, H, objective.names.index(name)), x) for name in names}


def _both(profile: _Profile, x: np.ndarray) -> MinosError:
    i, bounds = profile.i, profile.objective.bounds
    if bounds[i, 0] == bounds[i, 1]:
        return MinosError(-np.inf, np.inf, False, "its limits leave it no choice")
    ends, wrong = [], []
    for side, word in ((-1, "lower"), (1, "upper")):
        end, message = profile.crossing(side)
        ends.append(float(end) - float(x[i]))
        if message:
            wrong.append(f"{word}: {message}")
    return MinosError(ends[0], ends[1], not wrong, "; ".join(wrong))


class _Profile:
    """f minimised over all parameters but one."""

    def __init__(self, objective: Objective, best: np.ndarray, f: float, H: np.ndarray, i: int) -> None:
        self.objective, self.best, self.i = objective, best, i
        self.minimum, self.target = f, f + HALF
        self.precision = max(PRECISION, 10 * objective.rounding)
        bounds = objective.bounds
        self.others = np.array([j for j in range(len(best)) if j != i and bounds[j, 0] < bounds[j, 1]], dtype=np.int64)
        inner = (best > bounds[:, 0]) & (best < bounds[:, 1])  # what stands at a limit stays there, to first order
        self.free = self.others[inner[self.others]]
        self.slopes, curvature = self._follow(H)
        self.sigma = 1 / np.sqrt(curvature) if curvature > 0 else max(abs(float(best[i])), 1.0)

    def _follow(self, H: np.ndarray) -> tuple[np.ndarray, float]:
        """How the free others follow x_i, and the curvature of f when they do."""
        own = float(H[self.i, self.i])
        solved = _solve(H[np.ix_(self.free, self.free)], H[self.free, self.i])
        if solved is None:
            return np.zeros(len(self.free)), own
        return -solved, own - float(H[self.i, self.free] @ solved)

    def crossing(self, side: int) -> tuple[float, str]:
        """x_i at the crossing, and what is wrong with it."""
        found = self._equations(side)
        return (found, "") if found is not None else self._walk(side)

    def _equations(self, side: int) -> float | None:
        """Newton's method for all equations at once; None if it does not get there."""
        i, free, objective = self.i, self.free, self.objective
        y = self.best.copy()
        y[i] += side * self.sigma
        y[free] += side * self.sigma * self.slopes
        for _ in range(EQUATION_STEPS):
            if not np.array_equal(y, inside(y, objective.bounds)):
                return None
            f, g, H = objective.value_grad_hessian(y)
            if not (np.isfinite(f) and np.isfinite(g).all() and np.isfinite(H).all()):
                return None
            solved = _solve(H[np.ix_(free, free)], np.stack([g[free], H[free, i]], axis=1))
            if solved is None:
                return None
            to_best, slopes = -solved.T
            # f + c1 t + c2 t²/2 along the best others, t being the step of x_i
            lowest = f + float(g[free] @ to_best) / 2
            c1, c2 = float(g[i] + H[i, free] @ to_best), float(H[i, i] + H[i, free] @ slopes)
            if abs(lowest - self.target) < self.precision and f - lowest < self.precision:
                blocked = np.setdiff1d(self.others, free)
                held = self._held(y, g, blocked)
                return float(y[i]) if held and side * (y[i] - self.best[i]) > 0 else None
            under = c1**2 - 2 * c2 * (lowest - self.target)
            if c2 <= 0 or under < 0:
                return None
            t = (-c1 + side * np.sqrt(under)) / c2
            if abs(t) > 10 * self.sigma:
                return None
            y[i] += t
            y[free] += to_best + slopes * t
        return None

    def _held(self, y: np.ndarray, g: np.ndarray, blocked: np.ndarray) -> bool:
        """Whether parameters at limits would stay there."""
        bounds = self.objective.bounds
        outwards = np.where(y[blocked] <= bounds[blocked, 0], g[blocked] >= 0, g[blocked] <= 0)
        return bool(outwards.all())

    def _walk(self, side: int) -> tuple[float, str]:
        """Step by step: √(2 rise) is nearly linear in x_i and is 1 at the crossing."""
        best, i = float(self.best[self.i]), self.i
        limit = float(self.objective.bounds[i, 0 if side < 0 else 1])
        room = abs(limit - best)
        low, high = 0.0, np.inf  # distances with a rise below and above ½
        distance, point = min(self.sigma, room), self.best
        for _ in range(PROFILE_STEPS):
            point, rise = self._minimised(best + side * distance, point)
            if rise < -max(self.precision, 1e-6):
                return best + side * distance, "a better minimum is on the way"
            if abs(rise - HALF) <= self.precision:
                return best + side * distance, ""
            if not rise < HALF:
                high = distance
            elif distance >= room:
                return limit, "a limit comes first"
            else:
                low = distance
            if distance > FURTHEST * self.sigma:
                return side * np.inf, "not found"
            root = np.sqrt(2 * rise) if np.isfinite(rise) and rise > 0 else np.nan
            guess = distance / root if np.isfinite(root) and root > 0 else 3 * distance
            if high < np.inf:
                inner = low + 0.02 * (high - low), high - 0.02 * (high - low)
                distance = guess if inner[0] < guess < inner[1] else (low + high) / 2
                if high - low <= 1e-12 * high:
                    return best + side * low, "not found"
            else:
                distance = min(max(guess, 1.01 * distance), 3 * distance, room)
        return best + side * distance, "not found"

    def _minimised(self, x_i: float, near: np.ndarray) -> tuple[np.ndarray, float]:
        """The best others at a value of x_i, and how much f has risen."""
        start = near.copy()
        start[self.free] += self.slopes * (x_i - start[self.i])
        start[self.i] = x_i
        if not np.isfinite(self.objective.value(inside(start, self.objective.bounds))):
            start = near.copy()
            start[self.i] = x_i
        start = inside(start, self.objective.bounds)
        if not len(self.others):
            value = float(self.objective.value(start))
            return (start, value - self.minimum) if np.isfinite(value) else (near, np.nan)
        restricted = Restricted(self.objective, start, self.others)
        stop, _ = drive(restricted, newton(start[self.others], restricted.bounds, noise=self.objective.rounding))
        if not np.isfinite(stop.value):
            return near, np.nan
        return restricted.full(stop.x), stop.value - self.minimum


def _solve(H: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """H⁻¹ times something; None if H is not positive definite."""
    if not len(H):
        return right
    try:
        return np.asarray(cho_solve(cho_factor(H), right))
    except LinAlgError:
        return None
