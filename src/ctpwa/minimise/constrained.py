"""Minima of f at points where some quantities have given values.

Parameters that are held are fixed. For other quantities q(x) = t, Newton's method solves the equations of the Lagrange function together:

    ∂f + λ·∂q = 0,     q = t

with the exact Hessian of f and that of λ·q. Where that fails, at limits or far from the solution, the augmented Lagrange function
f + λ·(q − t) + ½ w (q − t)² is minimised in a trust region, and λ corrected, until q = t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, null_space

from ctpwa.minimise.drive import drive, one_thread
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Objective, Restricted
from ctpwa.minimise.steps import Stop, inside

EXACT = 1e-8  # of the error of a quantity: so far from its value it may be
TOLERANCE = 1e-9  # what is left to gain
EQUATION_STEPS = 12
FURTHEST = 20.0  # standard deviations: a longer step of the equations is not trusted
ROUNDS, STEPS = 12, 40  # corrections of λ, and steps of each minimisation
ROUGH = 0.1  # what the first of them may leave to gain; the next ones less and less
STIFF, STIFFER, SLOW = 100.0, 10.0, 0.25  # w in units of 1/error²; its growth where q − t shrinks by less than to this part
NOT_REACHED = "no point with this value was found"
BELOW = "on the way to this value there are points below the fit"


class SmoothQuantity(Protocol):
    """A smooth function of the parameters."""

    @property
    def period(self) -> float | None:
        """Of an angle; None for all others."""

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient."""

    def second(self, x: np.ndarray) -> np.ndarray:
        """Its Hessian; where that is not exact, steps are less good, and nothing else."""


@dataclass(frozen=True)
class Condition:
    """A quantity with a given value.

    Attributes:
        quantity:  the quantity
        value:     t
        error:     what counts as 1 in q − t
    """

    quantity: SmoothQuantity
    value: float
    error: float

    def off(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The difference q − t, of an angle by the shorter way, and its gradient."""
        value, slope = self.quantity.at(x)
        return apart(self.quantity, value, self.value), slope


def apart(quantity: SmoothQuantity, value: float, other: float) -> float:
    """The difference of two values, of an angle by the shorter way."""
    away, period = value - other, quantity.period
    return away if period is None else float((away + period / 2) % period - period / 2)


def constrained_minimum(
    objective: Objective,
    start: np.ndarray,
    fixed: Mapping[int, float],
    held: Sequence[Condition],
    *,
    patient: bool = True,
    least: float = -np.inf,
) -> Stop:
    """The minimum near a point at which parameters and quantities have given values.

    Args:
        objective:  f
        start:      where to begin
        fixed:      number of a parameter → its value
        held:       other quantities with their values
        patient:    whether to go on, at many times the cost, where the equations do not lead to it
        least:      f of the minimum without given values: what is patient ends where f is lower, since that was none
    """
    x, bounds = inside(np.asarray(start, dtype=float), objective.bounds), objective.bounds
    for i, value in fixed.items():
        x[i] = value
    moving = np.array([j for j in range(len(x)) if j not in fixed and bounds[j, 0] < bounds[j, 1]], dtype=np.int64)
    restricted = Restricted(objective, x, moving)
    if not held or not len(moving):
        return _without_quantities(objective, restricted, x, held)
    own = [Condition(_Part(entry.quantity, restricted), entry.value, entry.error) for entry in held]
    with one_thread():
        y = x[moving]
        stop = _equations(restricted, y, own, None)
        if stop is None:
            stop = _augmented(restricted, y, own, least) if patient else Stop(y, np.nan, False, NOT_REACHED, 0)
    return Stop(restricted.full(stop.x), stop.value, stop.converged, stop.reason, stop.iterations)


def _without_quantities(objective: Objective, restricted: Restricted, x: np.ndarray, held: Sequence[Condition]) -> Stop:
    if not len(restricted.index):
        value = float(objective.value(x))
        reached = all(abs(entry.off(x)[0]) <= EXACT * entry.error for entry in held)
        return Stop(x, value, bool(np.isfinite(value)) and reached, "converged" if reached else NOT_REACHED, 0)
    stop, _ = drive(restricted, newton(x[restricted.index], restricted.bounds, tolerance=TOLERANCE, noise=restricted.rounding))
    return Stop(restricted.full(stop.x), stop.value, stop.converged, stop.reason, stop.iterations)


class _Part:
    """A quantity as a function of the parameters that move."""

    def __init__(self, whole: SmoothQuantity, restricted: Restricted) -> None:
        self.whole, self.restricted, self.period = whole, restricted, whole.period

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient."""
        value, slope = self.whole.at(self.restricted.full(x))
        return value, slope[self.restricted.index]

    def second(self, x: np.ndarray) -> np.ndarray:
        """Its Hessian."""
        index = self.restricted.index
        return self.whole.second(self.restricted.full(x))[np.ix_(index, index)]


def _off(held: Sequence[Condition], y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All q − t [quantity] in units of errors, and their gradients [quantity, parameter]."""
    found = [entry.off(y) for entry in held]
    errors = np.array([entry.error for entry in held])
    return np.array([value for value, _ in found]) / errors, np.array([slope for _, slope in found]) / errors[:, None]


def _equations(objective: Objective, y: np.ndarray, held: Sequence[Condition], multipliers: np.ndarray | None) -> Stop | None:
    """Newton's method for all equations at once; None if it does not get there. Parameters at limits stay there."""
    bounds = objective.bounds
    free = np.flatnonzero((y > bounds[:, 0]) & (y < bounds[:, 1]))
    y, curved, before = y.copy(), _curvatures(held, y), None
    for iteration in range(EQUATION_STEPS):
        f, g, H = objective.value_grad_hessian(y)
        away, J = _off(held, y)
        if not (np.isfinite(f) and np.isfinite(g).all() and np.isfinite(H).all() and np.isfinite(J).all()):
            return None
        if before is not None:
            curved = np.array([_corrected(own, y - before[0], change) for own, change in zip(curved, J - before[1], strict=True)])
        before = y.copy(), J
        own_J, own_g = J[:, free], g[free]
        if multipliers is None:
            multipliers = _multipliers(H[np.ix_(free, free)], own_J, own_g)
        L = (H + np.tensordot(multipliers, curved, axes=1))[np.ix_(free, free)]
        solved = _lagrange_step(L, own_J, own_g, away)
        if solved is None:
            return None
        step, multipliers, left = solved
        if left <= TOLERANCE and np.abs(away).max() <= EXACT:
            return Stop(y, f, True, "converged", iteration) if _stays(y, g + multipliers @ J, free, bounds) else None
        if not step @ np.abs(H.diagonal()[free] * step) <= FURTHEST**2 * len(free):
            return None
        y[free] += step
        if not np.array_equal(y, inside(y, bounds)):
            return None
    return None


def _curvatures(held: Sequence[Condition], y: np.ndarray) -> np.ndarray:
    """Hessians of the quantities in units of errors [quantity, parameter, parameter]."""
    return np.array([entry.quantity.second(y) / entry.error for entry in held])


def _corrected(H: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """A Hessian that explains how a gradient has changed along a step: the nearest one that differs by a matrix of rank 1."""
    missing = change - H @ step
    along = float(missing @ step)
    if abs(along) <= 1e-8 * np.linalg.norm(missing) * np.linalg.norm(step):
        return H
    return H + np.outer(missing, missing) / along


def _multipliers(H: np.ndarray, J: np.ndarray, g: np.ndarray) -> np.ndarray:
    """λ with the least ∂f + λ·∂q, measured by H⁻¹ where that is possible."""
    try:
        solved = cho_solve(cho_factor(H), np.concatenate([J, g[None]]).T)
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(J.T, -g, rcond=None)[0])
    return np.asarray(np.linalg.lstsq(J @ solved[:, :-1], -J @ solved[:, -1], rcond=None)[0])


def _lagrange_step(L: np.ndarray, J: np.ndarray, g: np.ndarray, away: np.ndarray) -> tuple[np.ndarray, np.ndarray, float] | None:
    """A step to where g + L·s + λ·J = 0 and J·s = −away, with its λ, and what f could still gain at its beginning without changing q.

    None if that is no minimum.
    """
    scale = 1 / np.sqrt(np.where(np.abs(L.diagonal()) > 0, np.abs(L.diagonal()), 1.0))
    own_L, own_J, own_g = L * np.outer(scale, scale), J * scale, g * scale
    Z = null_space(own_J)
    if Z.shape[1] != len(scale) - len(own_J):  # a quantity does not move, or both move together
        return None
    towards = np.linalg.lstsq(own_J, -away, rcond=None)[0]
    along = Z.T @ (own_g + own_L @ towards)
    try:
        factor = cho_factor(Z.T @ own_L @ Z) if Z.shape[1] else None
    except LinAlgError:
        return None
    step = towards - (Z @ cho_solve(factor, along) if factor is not None else 0.0)
    multipliers = np.linalg.lstsq(own_J.T, -(own_g + own_L @ step), rcond=None)[0]
    slope = Z.T @ own_g
    left = float(slope @ cho_solve(factor, slope)) / 2 if factor is not None else 0.0
    return step * scale, multipliers, left


def _stays(y: np.ndarray, slope: np.ndarray, free: np.ndarray, bounds: np.ndarray) -> bool:
    """Whether parameters at limits would stay there."""
    blocked = np.setdiff1d(np.arange(len(y)), free)
    return bool(np.where(y[blocked] <= bounds[blocked, 0], slope[blocked] >= 0, slope[blocked] <= 0).all())


class _Augmented:
    """f + λ·(q − t) + ½ w (q − t)²."""

    def __init__(self, whole: Objective, held: Sequence[Condition], multipliers: np.ndarray, stiffness: float) -> None:
        self.whole, self.held, self.multipliers, self.stiffness = whole, held, multipliers, stiffness
        self.names, self.bounds, self.rounding = whole.names, whole.bounds, whole.rounding

    def _added(self, p: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """What is added to f, its gradient, the gradients of the quantities, and how strongly each is pulled."""
        away, J = _off(self.held, p)
        pull = self.multipliers + self.stiffness * away
        return float(away @ (self.multipliers + pull)) / 2, pull @ J, J, pull

    def value(self, p: Any) -> Any:
        """The value."""
        return self.whole.value(p) + self._added(p)[0]

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient."""
        (value, grad), (own, slope, _, _) = self.whole.value_and_grad(p), self._added(p)
        return value + own, grad + slope

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian."""
        (value, grad, H), (own, slope, J, pull) = self.whole.value_grad_hessian(p), self._added(p)
        return value + own, grad + slope, H + self.stiffness * J.T @ J + np.tensordot(pull, _curvatures(self.held, p), axes=1)


def _augmented(objective: Objective, y: np.ndarray, held: Sequence[Condition], least: float) -> Stop:
    """Minimise with a stiff spring to q = t, and correct its pull until it is there; or until f is below ``least``."""
    multipliers, stiffness, before, done = np.zeros(len(held)), STIFF, np.inf, 0
    for k in range(ROUNDS):
        augmented = _Augmented(objective, held, multipliers, stiffness)
        tolerance = max(ROUGH ** (k + 1), TOLERANCE)
        stop, _ = drive(augmented, newton(y, objective.bounds, tolerance=tolerance, max_iterations=STEPS, noise=objective.rounding))
        if not np.isfinite(stop.value):
            break
        y, done = stop.x, done + stop.iterations
        away = _off(held, y)[0]
        multipliers = multipliers + stiffness * away
        distance = float(np.abs(away).max())
        if distance <= EXACT and stop.converged and tolerance == TOLERANCE:
            return Stop(y, float(objective.value(y)), True, "converged", done)
        if stop.converged and distance < 1:
            exact = _equations(objective, y, held, multipliers)
            if exact is not None:
                return exact
        if (value := float(objective.value(y))) < least:
            return Stop(y, value, False, BELOW, done)
        if distance > SLOW * before:
            stiffness *= STIFFER
        before = distance
    return Stop(y, float(objective.value(y)), False, NOT_REACHED, done)
