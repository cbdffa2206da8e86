"""Formulas as text in the language of lineshapes, with the numbers of their parameters."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.formula import Formula, csqrt, q2, s
from ctpwa.model.lineshapes.functions import FUNCTIONS


def breakup_text(m1: float, m2: float, s: str = "s") -> str:
    """q² of a pair of constant masses, GeV, as a text in s."""
    above, below = (m1 + m2) ** 2, (m1 - m2) ** 2
    return f"(({s} - {above!r})*({s} - {below!r})/(4*{s}))" if below else f"(({s} - {above!r})/4)"


def expression_text(formula: Formula, values: Mapping[str, float], momentum: str) -> str:
    """A formula as a text in ``s`` and what stands for q².

    Args:
        formula:   the formula
        values:    its parameters by name
        momentum:  what is written for q² of the daughters

    Raises:
        PhysicsError: if it depends on more than s, or cannot be written as one expression
    """
    numbers = {p.symbol: sp.Float(values[p.name]) for p in formula.parameters}
    expression = formula.expression.xreplace(numbers)
    left = sorted(str(symbol) for symbol in expression.free_symbols - {s, q2})
    if left:
        raise PhysicsError(f"{formula.name!r} depends on {', '.join(left)}", "choose a lineshape that depends on masses alone")
    return _text(expression, formula.name, momentum)


def _text(node: sp.Expr, name: str, momentum: str) -> str:
    def inside(part: sp.Expr) -> str:
        return _text(part, name, momentum)

    if node == s:
        return "s"
    if node == q2:
        return momentum
    if node == sp.I:
        return "i"
    if node == sp.pi:
        return "pi"
    if node.is_Integer:
        return str(int(node)) if node >= 0 else f"({int(node)})"
    if node.is_Rational:
        return f"({int(node.p)}/{int(node.q)})"
    if node.is_Float:
        return repr(float(node)) if node >= 0 else f"({float(node)!r})"
    if node.is_Add:
        return "(" + " + ".join(map(inside, node.args)) + ")"
    if node.is_Mul:
        return "(" + "*".join(map(inside, node.args)) + ")"
    if isinstance(node, csqrt):
        return f"sqrt({inside(node.args[0])})"
    if node.is_Pow and node.exp.is_Rational and node.exp.q in (1, 2):
        base = inside(node.base) if node.exp.q == 1 else f"sqrt({inside(node.base)})"
        power = abs(int(node.exp.p))
        raised = base if power == 1 else f"{base}**{power}"
        return f"(1/{raised})" if node.exp < 0 else raised
    if isinstance(node, sp.Piecewise) and (x := _absolute(node)) is not None:
        return f"abs({inside(x)})"
    if isinstance(node, sp.Abs):
        return f"abs({inside(node.args[0])})"
    known = {function.node: own for own, function in FUNCTIONS.items()}
    if node.func in known:
        return f"{known[node.func]}({inside(node.args[0])})"
    what = "conditions" if isinstance(node, sp.Piecewise) else node.func.__name__
    raise PhysicsError(f"{name!r} holds {what}, which one expression cannot say", "choose another lineshape")


def _absolute(node: sp.Piecewise) -> sp.Expr | None:
    """X if the choice is |x|."""
    if len(node.args) != 2:
        return None
    (x, test), (other, _) = node.args
    positive = isinstance(test, sp.Ge) and sp.expand(test.lhs - test.rhs - x) == 0
    return x if positive and sp.expand(x + other) == 0 else None
