"""The functions that formulas may hold, each with all its translations: one entry here is all that a new one needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
import torch
from torch import Tensor

# the rational approximation of the Cephes library, S. L. Moshier (1989); 1.2e-16 relative
ARCTANGENT = '''

@triton.jit
def arctangent(x):
    """Reduced to |t| ≤ 0.66 with atan a = π/4 + atan((a − 1)/(a + 1)) = π/2 − atan(1/a), there t + t³ P(t²)/Q(t²)."""
    a = tl.abs(x)
    far, middle = a > 2.414213562373095, a > 0.66
    t = tl.where(far, -1.0 / tl.where(far, a, 1.0), tl.where(middle, (a - 1.0) / (a + 1.0), a))
    half_turns = tl.where(far, 1.0, tl.where(middle, 0.5, 0.0))
    z = t * t
    P = -0.8750608600031904 * z - 16.157537187333652
    P = P * z - 75.00855792314705
    P = P * z - 122.88666844901361
    P = P * z - 64.85021904942025
    Q = z + 24.858464901423062
    Q = Q * z + 165.02700983169885
    Q = Q * z + 432.88106049129027
    Q = Q * z + 485.3903996359137
    Q = Q * z + 194.5506571482614
    value = half_turns.to(tl.float64) * 1.5707963267948966 + (t + t * (z * P / Q))
    return tl.where(x < 0.0, -value, value)
'''


@dataclass(frozen=True)
class FormulaFunction:
    """A function of one real number.

    Attributes:
        node:       the sympy function; its name is that of the function
        number:     its value for one number; NaN or infinite where it has none
        tensor:     its values for a tensor; torch differentiates it
        continued:  value and derivative at complex numbers
        python:     how a kernel in Python calls it
        triton:     how a Triton kernel calls it
        definition: what a Triton kernel must define for that; empty if Triton has it
        cut:        a number that is negative and real where the continuation has a cut; None if it has none
        positive:   whether its argument must be positive
    """

    node: Any
    number: Callable[[float], float]
    tensor: Callable[[Tensor], Tensor]
    continued: Callable[[Any], tuple[Any, Any]]
    python: str
    triton: str
    definition: str = ""
    cut: Callable[[Any], Any] | None = None
    positive: bool = False

    @property
    def name(self) -> str:
        """As it is written in a formula."""
        return str(self.node.__name__)


_LIST = (
    FormulaFunction(sp.exp, np.exp, torch.exp, lambda x: (np.exp(x), np.exp(x)), "math.exp", "tl.exp"),
    FormulaFunction(sp.log, np.log, torch.log, lambda x: (np.log(x), 1 / x), "math.log", "tl.log", cut=lambda x: x, positive=True),
    FormulaFunction(sp.sin, np.sin, torch.sin, lambda x: (np.sin(x), np.cos(x)), "math.sin", "tl.sin"),
    FormulaFunction(sp.cos, np.cos, torch.cos, lambda x: (np.cos(x), -np.sin(x)), "math.cos", "tl.cos"),
    FormulaFunction(
        sp.atan,
        np.arctan,
        torch.atan,
        lambda x: (np.arctan(x), 1 / (1 + x**2)),
        "math.atan",
        "arctangent",
        definition=ARCTANGENT,
        cut=lambda x: (1 + 1j * x) / (1 - 1j * x),
    ),
)
FUNCTIONS = {function.name: function for function in _LIST}
