"""Three ways to evaluate a formula: numpy from lambdify, torch by walking the tree, and derivatives of each."""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp
import torch

from ctpwa.model.lineshapes.formula import Formula, csqrt, q2, s


def complex_sqrt(x):
    return np.sqrt(np.asarray(x, dtype=complex))


def arguments(formula: Formula):
    return [s, q2, *(p.symbol for p in formula.parameters)]


@cache
def compiled(formula: Formula):
    """(F, first derivatives, second derivatives) of the formula as one numpy function."""
    symbols = [p.symbol for p in formula.parameters]
    first = [sp.diff(formula.expression, x) for x in symbols]
    second = [sp.diff(first[i], symbols[j]) for i in range(len(symbols)) for j in range(i + 1)]
    everything = [formula.expression, *first, *second]
    return sp.lambdify(arguments(formula), everything, [{"csqrt": complex_sqrt}, "numpy"], cse=lambda nodes: sp.cse(nodes, order="none"))


def numpy_values(formula: Formula, s_value: float, q2_value: float, parameters: dict[str, float]):
    """F, ∂F [param] and ∂²F [pair] at one point, as complex numbers."""
    values = [parameters[p.name] for p in formula.parameters]
    F, *derivatives = compiled(formula)(np.float64(s_value), np.float64(q2_value), *map(np.float64, values))
    flat = np.array([complex(x) for x in derivatives], dtype=complex)
    return complex(F), flat[: len(values)], flat[len(values) :]


def value_of(formula: Formula, s_value: float, q2_value: float, parameters: dict[str, float]) -> complex:
    """F at one point, without derivatives."""
    values = {s: s_value, q2: q2_value} | {p.symbol: parameters[p.name] for p in formula.parameters}
    return complex(torch_tree(formula.expression, {k: torch.tensor(v, dtype=torch.float64) for k, v in values.items()}, {}))


def torch_tree(node: sp.Basic, values: dict[sp.Symbol, torch.Tensor], memo: dict[sp.Basic, torch.Tensor]) -> torch.Tensor:
    """The value of an expression in torch, node by node; knows only the nodes that a formula may hold."""
    if node in memo:
        return memo[node]

    def walk(child: sp.Basic) -> torch.Tensor:
        return torch_tree(child, values, memo)

    if node.is_Symbol:
        result = values[node]
    elif node == sp.I:
        result = torch.tensor(1j, dtype=torch.complex128)
    elif node.is_number and not node.args:
        result = torch.tensor(float(node), dtype=torch.float64)
    elif node.is_Add:
        result = sum((walk(child) for child in node.args[1:]), start=walk(node.args[0]))
    elif node.is_Mul:
        result = walk(node.args[0])
        for child in node.args[1:]:
            result = result * walk(child)
    elif node.is_Pow:
        result = torch_power(walk(node.base), node.exp)
    elif isinstance(node, sp.Piecewise):
        result = walk(node.args[-1][0])
        assert node.args[-1][1] == sp.true
        for value, test in reversed(node.args[:-1]):
            result = torch.where(torch_test(test, walk), walk(value), result)
    elif isinstance(node, csqrt):
        result = torch.sqrt(walk(node.args[0]).to(torch.complex128))
    else:
        function = {sp.exp: torch.exp, sp.log: torch.log, sp.sin: torch.sin, sp.cos: torch.cos, sp.atan: torch.atan}[node.func]
        argument = walk(node.args[0])
        assert not argument.is_complex(), f"{node.func} of a complex argument"
        result = function(argument)
    memo[node] = result
    return result


def torch_power(base: torch.Tensor, exponent: sp.Rational) -> torch.Tensor:
    assert exponent.is_Rational
    assert exponent.q == 1 or not base.is_complex(), "root of a complex number"
    assert exponent.q == 1 or bool((base >= 0).all()), "root of a negative number"
    if exponent.q == 1:
        power = base
        for _ in range(abs(exponent.p) - 1):
            power = power * base
        return power if exponent > 0 else 1 / power
    if exponent.q == 2:
        return torch_power(torch.sqrt(base), sp.Integer(exponent.p))
    return base ** float(exponent)


def torch_test(test, walk):
    left, right = (walk(side) for side in test.args)
    assert not left.is_complex()
    assert not right.is_complex()
    return {sp.Lt: torch.lt, sp.Le: torch.le, sp.Gt: torch.gt, sp.Ge: torch.ge, sp.StrictLessThan: torch.lt}[test.func](left, right)


def torch_values(formula: Formula, s_value: float, q2_value: float, parameters: dict[str, float]):
    """F, ∂F [param] and ∂²F [pair] by automatic differentiation."""
    x = [torch.tensor(parameters[p.name], dtype=torch.float64, requires_grad=True) for p in formula.parameters]
    values = {s: torch.tensor(s_value, dtype=torch.float64), q2: torch.tensor(q2_value, dtype=torch.float64)}
    values |= {p.symbol: tensor for p, tensor in zip(formula.parameters, x, strict=True)}
    F = torch_tree(formula.expression, values, {}).to(torch.complex128)
    n = len(x)
    first, second = np.zeros(n, dtype=complex), np.zeros((n, n), dtype=complex)
    for part, unit in ((F.real, 1), (F.imag, 1j)):
        if not part.requires_grad:
            continue
        grad = torch.autograd.grad(part, x, create_graph=True, allow_unused=True)
        for i, slope in enumerate(grad):
            if slope is None:
                continue
            first[i] += unit * slope.item()
            if slope.requires_grad:
                curve = torch.autograd.grad(slope, x, retain_graph=True, allow_unused=True)
                second[i] += unit * np.array([0.0 if c is None else c.item() for c in curve])
    return complex(F.item()), first, np.array([second[i, j] for i in range(n) for j in range(i + 1)])
