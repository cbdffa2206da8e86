"""Functions whose minima are known, as the minimisers want them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctpwa.minimise.drive import Record, drive
from ctpwa.minimise.lbfgs import lbfgs
from ctpwa.minimise.minuit import migrad
from ctpwa.minimise.newton import newton
from ctpwa.minimise.steps import Stop

METHODS = ("newton", "lbfgs", "minuit")


class Function:
    """A function with its gradient and Hessian; counts how often it is asked.

    Args:
        value, gradient, hessian:  of a point
        n:                         number of parameters
        bounds:                    limits [parameter, 2]; default: none
        rounding:                  of the value
    """

    def __init__(
        self,
        value: Callable[[np.ndarray], float],
        gradient: Callable[[np.ndarray], Any],
        hessian: Callable[[np.ndarray], Any],
        n: int,
        bounds: Any = None,
        rounding: float = 0.0,
    ) -> None:
        self._value, self._gradient, self._hessian = value, gradient, hessian
        self.names = tuple(f"x{i}" for i in range(n))
        self.bounds = np.tile([-np.inf, np.inf], (n, 1)) if bounds is None else np.array(bounds, dtype=float)
        self.rounding = rounding
        self.asked: list[np.ndarray] = []

    def value(self, p: Any) -> Any:
        x = np.asarray(p, dtype=float)
        if x.ndim == 2:
            return np.array([self.value(row) for row in x])
        self._check(x)
        return float(self._value(x))

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        x = np.asarray(p, dtype=float)
        if x.ndim == 2:
            pairs = [self.value_and_grad(row) for row in x]
            return np.array([value for value, _ in pairs]), np.array([grad for _, grad in pairs]).reshape(x.shape)
        return self.value(x), np.array(self._gradient(x), dtype=float).reshape(len(x))

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        x = np.asarray(p, dtype=float)
        if x.ndim == 2:
            values, grads, hessians = zip(*map(self.value_grad_hessian, x), strict=True)
            return np.array(values), np.array(grads), np.array(hessians)
        return *self.value_and_grad(x), np.array(self._hessian(x), dtype=float).reshape(len(x), len(x))

    def _check(self, x: np.ndarray) -> None:
        """Limits are never crossed, not even by rounding."""
        assert np.isfinite(x).all()
        assert (x >= self.bounds[:, 0]).all()
        assert (x <= self.bounds[:, 1]).all()
        self.asked.append(x.copy())


def run(method: str, function: Function, x: Any, tolerance: float = 1e-9, **options: Any) -> tuple[Stop, Record]:
    """Minimise with one of the methods, as ``ctpwa.fit`` does."""
    start = np.asarray(x, dtype=float)
    if method == "minuit":
        return migrad(function, start, tolerance=tolerance, **options)
    steps = {"newton": newton, "lbfgs": lbfgs}[method](start, function.bounds, tolerance=tolerance, noise=function.rounding, **options)
    return drive(function, steps)


def quadratic(H: Any, centre: Any, bounds: Any = None, offset: float = 0.0, rounding: float = 0.0) -> Function:
    """½ (x − centre)·H·(x − centre) + offset."""
    H, centre = np.asarray(H, dtype=float), np.asarray(centre, dtype=float)
    return Function(
        lambda x: (x - centre) @ H @ (x - centre) / 2 + offset, lambda x: H @ (x - centre), lambda x: H, len(centre), bounds, rounding
    )


def rosenbrock(n: int, bounds: Any = None) -> Function:
    """Σ 100 (x_{i+1} − x_i²)² + (1 − x_i)²: a curved valley; minimum 0 at (1, …, 1)."""

    def value(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def gradient(x):
        g = np.zeros_like(x)
        g[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        g[1:] += 200 * (x[1:] - x[:-1] ** 2)
        return g

    def hessian(x):
        H = np.zeros((len(x), len(x)))
        for i in range(len(x) - 1):
            H[i, i] += 1200 * x[i] ** 2 - 400 * x[i + 1] + 2
            H[i + 1, i + 1] += 200
            H[i, i + 1] = H[i + 1, i] = -400 * x[i]
        return H

    return Function(value, gradient, hessian, n, bounds)


def saddle(bounds: Any = None) -> Function:
    """x² − y² + y⁴: a saddle point at the origin, minima −¼ at (0, ±1/√2)."""
    return Function(
        lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4,
        lambda x: [2 * x[0], -2 * x[1] + 4 * x[1] ** 3],
        lambda x: np.diag([2.0, -2 + 12 * x[1] ** 2]),
        2,
        bounds,
    )


def monkey_saddle() -> Function:
    """x³ − 3 x y² + (x² + y²)²: the origin has no curvature at all; three minima −27/256 at radius ¾."""

    def hessian(p):
        x, y = p
        r2 = x**2 + y**2
        return [[6 * x + 4 * r2 + 8 * x**2, -6 * y + 8 * x * y], [-6 * y + 8 * x * y, -6 * x + 4 * r2 + 8 * y**2]]

    return Function(
        lambda p: p[0] ** 3 - 3 * p[0] * p[1] ** 2 + (p[0] ** 2 + p[1] ** 2) ** 2,
        lambda p: [
            3 * p[0] ** 2 - 3 * p[1] ** 2 + 4 * p[0] * (p[0] ** 2 + p[1] ** 2),
            -6 * p[0] * p[1] + 4 * p[1] * (p[0] ** 2 + p[1] ** 2),
        ],
        hessian,
        2,
    )


def poisson(count: float, bounds: Any = None) -> Function:
    """−ln L = μ − n ln μ of one Poisson mean."""

    def value(x):
        return x[0] - count * np.log(x[0]) if x[0] > 0 else np.nan

    return Function(value, lambda x: [1 - count / x[0]], lambda x: [[count / x[0] ** 2]], 1, bounds)


def positive_definite(rng: np.random.Generator, n: int, condition: float) -> np.ndarray:
    """A random symmetric matrix with eigenvalues from 1 to ``condition``."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = np.logspace(0, np.log10(condition), n)
    H = (Q * values) @ Q.T
    return (H + H.T) / 2
