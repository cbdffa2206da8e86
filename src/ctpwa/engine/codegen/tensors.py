"""Values of sympy expressions on torch tensors: the oracle of generated code, and the event-only stage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce

import sympy as sp
import torch
from torch import Tensor

from ctpwa.kinematics.constants import constants
from ctpwa.model.lineshapes.formula import csqrt
from ctpwa.model.lineshapes.functions import FUNCTIONS


def evaluate(expression: sp.Expr, values: Mapping[sp.Symbol, Tensor]) -> Tensor:
    """The value of an expression; differentiable by torch with respect to all values that ask for it."""
    return _Evaluation(values).value(expression)


class _Evaluation:
    """Values of expressions; no functions that refer to each other, which would keep all tensors until the garbage is collected."""

    def __init__(self, values: Mapping[sp.Symbol, Tensor]) -> None:
        self.values = values
        self.device = next(iter(values.values())).device
        self.seen: dict[sp.Expr, Tensor] = {}

    def value(self, node: sp.Expr) -> Tensor:
        """The value of a node, computed once."""
        if node not in self.seen:
            self.seen[node] = self._compute(node)
        return self.seen[node]

    def _compute(self, node: sp.Expr) -> Tensor:
        if isinstance(node, sp.Symbol):
            return self.values[node]
        if node.is_number:
            number = _number(node)
            dtype = torch.complex128 if number.imag else torch.float64
            return constants((number if number.imag else number.real,), dtype, self.device)[0]
        if isinstance(node, (sp.Add, sp.Mul)):
            first, *rest = (self.value(argument) for argument in node.args)
            for other in rest:
                first = first + other if isinstance(node, sp.Add) else first * other
            return first
        if isinstance(node, sp.Pow):
            return _power(self.value(node.base), node.exp)
        if isinstance(node, csqrt):
            x = self.value(node.args[0])
            return (
                torch.complex(torch.where(x > 0, x, 0.0).sqrt(), torch.where(x < 0, -x, 0.0).sqrt())
                if not x.requires_grad
                else _smooth_csqrt(x)
            )
        if isinstance(node, sp.Piecewise):
            return self._piecewise(node)
        if isinstance(node, sp.Abs):  # sympy makes it of √x²
            return self.value(node.args[0]).abs()
        if node.func.__name__ in FUNCTIONS:
            return FUNCTIONS[node.func.__name__].tensor(self.value(node.args[0]))
        raise TypeError(f"no torch code for {node.func.__name__} in {node}")

    def _piecewise(self, node: sp.Piecewise) -> Tensor:
        *branches, (last, _) = node.args
        result = self.value(last)
        for branch, condition in reversed(branches):
            result = torch.where(self._compare(condition), self.value(branch), result)
        return result

    def _compare(self, condition: sp.Basic) -> Tensor:
        if isinstance(condition, (sp.And, sp.Or)):
            combine = torch.logical_and if isinstance(condition, sp.And) else torch.logical_or
            return reduce(combine, (self._compare(part) for part in condition.args))
        left, right = self.value(condition.lhs), self.value(condition.rhs)
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[condition.rel_op]


@lru_cache(maxsize=1 << 12)
def _number(node: sp.Expr) -> complex:
    """The value of a constant: sympy takes a tenth of a millisecond for each."""
    return complex(node)


def _power(base: Tensor, exponent: sp.Expr) -> Tensor:
    if exponent.is_Integer:
        return base ** int(exponent)
    return base.sqrt() if exponent == sp.Rational(1, 2) else base ** float(exponent)


def _smooth_csqrt(x: Tensor) -> Tensor:
    """Csqrt without 0·∞ in its derivative: the argument of the unused branch is 1."""
    positive, negative = torch.where(x > 0, x, 1.0).sqrt(), torch.where(x < 0, -x, 1.0).sqrt()
    zero = torch.zeros_like(x)
    return torch.complex(torch.where(x > 0, positive, zero), torch.where(x < 0, negative, zero))
