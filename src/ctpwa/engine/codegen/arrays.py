"""Values of sympy expressions on torch tensors: the oracle of generated code, and the event-only stage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import sympy as sp
import torch
from torch import Tensor

from ctpwa.kinematics.constants import constants
from ctpwa.model.lineshapes.formula import csqrt

_FUNCTIONS = {"exp": torch.exp, "log": torch.log, "sin": torch.sin, "cos": torch.cos, "atan": torch.atan, "Abs": torch.abs}


def evaluate(expression: sp.Expr, values: Mapping[sp.Symbol, Tensor]) -> Tensor:
    """The value of an expression; differentiable by torch with respect to all values that ask for it."""
    like = next(iter(values.values()))
    seen: dict[sp.Expr, Tensor] = {}

    def visit(node: sp.Expr) -> Tensor:
        if node not in seen:
            seen[node] = compute(node)
        return seen[node]

    def compute(node: sp.Expr) -> Tensor:
        if isinstance(node, sp.Symbol):
            return values[node]
        if node.is_number:
            number = complex(node)
            dtype = torch.complex128 if number.imag else torch.float64
            return constants((number if number.imag else number.real,), dtype, like.device)[0]
        if isinstance(node, (sp.Add, sp.Mul)):
            first, *rest = (visit(argument) for argument in node.args)
            for other in rest:
                first = first + other if isinstance(node, sp.Add) else first * other
            return first
        if isinstance(node, sp.Pow):
            return power(visit(node.base), node.exp)
        if isinstance(node, csqrt):
            x = visit(node.args[0])
            return (
                torch.complex(torch.where(x > 0, x, 0.0).sqrt(), torch.where(x < 0, -x, 0.0).sqrt())
                if not x.requires_grad
                else _smooth_csqrt(x)
            )
        if isinstance(node, sp.Piecewise):
            return piecewise(node)
        if node.func.__name__ in _FUNCTIONS:
            return _FUNCTIONS[node.func.__name__](visit(node.args[0]))
        raise TypeError(f"no torch code for {node.func.__name__} in {node}")

    def power(base: Tensor, exponent: sp.Expr) -> Tensor:
        if exponent.is_Integer:
            return base ** int(exponent)
        return base.sqrt() if exponent == sp.Rational(1, 2) else base ** float(exponent)

    def piecewise(node: sp.Piecewise) -> Tensor:
        *branches, (last, _) = node.args
        result = visit(last)
        for branch, condition in reversed(branches):
            result = torch.where(compare(condition), visit(branch), result)
        return result

    def compare(condition: sp.Basic) -> Tensor:
        if isinstance(condition, (sp.And, sp.Or)):
            combine = torch.logical_and if isinstance(condition, sp.And) else torch.logical_or
            return reduce(combine, (compare(part) for part in condition.args))
        left, right = visit(condition.lhs), visit(condition.rhs)
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[condition.rel_op]

    value = visit(expression)
    seen.clear()  # the functions above refer to each other: what they hold would stay until the garbage is collected
    return value


def _smooth_csqrt(x: Tensor) -> Tensor:
    """Csqrt without 0·∞ in its derivative: the argument of the unused branch is 1."""
    positive, negative = torch.where(x > 0, x, 1.0).sqrt(), torch.where(x < 0, -x, 1.0).sqrt()
    zero = torch.zeros_like(x)
    return torch.complex(torch.where(x > 0, positive, zero), torch.where(x < 0, negative, zero))
