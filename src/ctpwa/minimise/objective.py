"""What a minimiser can work on: a smooth function with exact derivatives."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Objective(Protocol):
    """A function of named parameters."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""

    @property
    def bounds(self) -> np.ndarray:
        """Limits [parameter, 2], infinite where there are none."""

    @property
    def rounding(self) -> float:
        """Differences of the value that are lost in rounding."""

    def value(self, p: Any) -> Any:
        """The value."""

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient; of many points at once for [point, parameter]."""

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian; of many points at once for [point, parameter]."""


class Scaled:
    """An objective in units in which one standard deviation adds ½ to it, so that tolerances mean the same whatever the weights of events.

    Args:
        whole:  the objective
        unit:   how much of it is 1
    """

    def __init__(self, whole: Objective, unit: float) -> None:
        self.whole, self.unit = whole, unit
        self.names, self.bounds = whole.names, whole.bounds
        self.rounding = whole.rounding / unit

    def value(self, p: Any) -> Any:
        """The value."""
        return self.whole.value(p) / self.unit

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient."""
        value, grad = self.whole.value_and_grad(p)
        return value / self.unit, grad / self.unit

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian."""
        value, grad, H = self.whole.value_grad_hessian(p)
        return value / self.unit, grad / self.unit, H / self.unit


class Restricted:
    """An objective in which some parameters are fixed.

    Args:
        whole:  the objective
        x:      their values
        index:  the parameters that still move
    """

    def __init__(self, whole: Objective, x: np.ndarray, index: np.ndarray) -> None:
        self.whole, self.index = whole, np.asarray(index, dtype=np.int64)
        self._all_move = np.array_equal(self.index, np.arange(len(whole.names)))
        self._x = np.array(x, dtype=float)
        self.names = tuple(whole.names[i] for i in self.index)
        self.bounds = whole.bounds[self.index]
        self.rounding = whole.rounding

    def full(self, y: np.ndarray) -> np.ndarray:
        """All parameters, of one point or of many."""
        y = np.asarray(y, dtype=float)
        x = np.tile(self._x, (*y.shape[:-1], 1)) if y.ndim > 1 else self._x.copy()
        x[..., self.index] = y
        return x

    def value(self, p: Any) -> Any:
        """The value."""
        return self.whole.value(self.full(p))

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient."""
        value, grad = self.whole.value_and_grad(self.full(p))
        return value, grad[..., self.index]

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian."""
        value, grad, H = self.whole.value_grad_hessian(self.full(p))
        if self._all_move:
            return value, grad, H
        return value, grad[..., self.index], H[..., self.index[:, None], self.index]
