"""Real formulas → Python functions of numbers, with first and second derivatives by forward differentiation.

Every node of a formula becomes a line; its derivatives are lines made from those of its parts by the rules of sums, products and chains.
Differentiating the formula as a whole and looking for common parts again would take sympy tens of times longer, for the same operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from ctpwa.model.lineshapes.functions import FUNCTIONS

Numbers = Callable[..., Sequence[float]]
BESIDES: dict[str, Any] = {"Abs": abs, "sign": np.sign, "sqrt": np.sqrt}  # what formulas and their derivatives have, besides functions
ZERO, ONE = "0.0", "1.0"
x = sp.Dummy("x", real=True)


def compiled(expression: sp.Expr, arguments: Sequence[sp.Symbol], floating: Sequence[int], order: int) -> Numbers:
    """A function of the arguments, which are real.

    Args:
        expression:  a real formula
        arguments:   its symbols
        floating:    positions of those over which it is differentiated
        order:       0: it returns the value; 1: the first derivatives; 2: the upper triangle of the second ones
    """
    code = _Code(order, {arguments[i]: k for k, i in enumerate(floating)}, {symbol: f"a{i}" for i, symbol in enumerate(arguments)})
    found = code.of(expression)
    n = len(floating)
    if order == 0:
        results = [found.value]
    elif order == 1:
        results = [found.first.get(j, ZERO) for j in range(n)]
    else:
        results = [found.second.get((j, k), ZERO) for j in range(n) for k in range(j, n)]
    lines = [f"def numbers({', '.join(code.names.values())}):", *code.lines, f"    return ({''.join(f'{result}, ' for result in results)})"]
    space = {name: function.number for name, function in FUNCTIONS.items()} | BESIDES
    exec("\n".join(lines), space)
    function: Numbers = space["numbers"]
    return function


@dataclass(frozen=True)
class JetCode:
    """Code of a value and of its derivatives; those that are 0 are not there.

    Attributes:
        value:   the value
        first:   variable → ∂
        second:  pair of variables, the smaller one first → ∂²
    """

    value: str
    first: Mapping[int, str] = field(default_factory=dict)
    second: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass
class _Code:
    """Lines of a function.

    Attributes:
        order:     of the derivatives
        variable:  number of each symbol over which formulas are differentiated
        names:     code of every symbol
    """

    order: int
    variable: Mapping[sp.Symbol, int]
    names: Mapping[sp.Symbol, str]
    lines: list[str] = field(default_factory=list)
    _seen: dict[sp.Expr, JetCode] = field(default_factory=dict)

    def of(self, node: sp.Expr) -> JetCode:
        """A node, computed once."""
        if node not in self._seen:
            self._seen[node] = self._compute(node)
        return self._seen[node]

    def _compute(self, node: sp.Expr) -> JetCode:
        if isinstance(node, sp.Symbol):
            first = {self.variable[node]: ONE} if node in self.variable and self.order else {}
            return JetCode(self.names[node], first)
        if node.is_number:
            return JetCode(repr(float(node)))
        if isinstance(node, sp.Add):
            return self._sum([self.of(argument) for argument in node.args])
        if isinstance(node, sp.Mul):
            jet, *rest = (self.of(argument) for argument in node.args)
            for other in rest:
                jet = self._product(jet, other)
            return jet
        if isinstance(node, sp.Pow):
            return self._power(node)
        if isinstance(node, sp.Piecewise):
            return self._piecewise(node)
        name = node.func.__name__
        if (name not in FUNCTIONS and name not in BESIDES) or len(node.args) != 1:
            raise TypeError(f"no code for {name} in {node}")
        inner = self.of(node.args[0])
        derivatives = [
            node.func(x).diff(x, k).replace(sp.DiracDelta, lambda *_: sp.Integer(0)) for k in (1, 2)[: self.order] if inner.first
        ]
        return self._chain(f"{name}({inner.value})", inner, [self._at(each, inner.value) for each in derivatives])

    def _at(self, expression: sp.Expr, value: str) -> str:
        """Code of a formula of x at a value."""
        inside = _Code(0, {}, {x: value}, self.lines)
        return inside.of(expression).value

    def _line(self, code: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"    {name} = {code}")
        return name

    def _add(self, terms: Sequence[str]) -> str:
        """Code of a sum; the name of a single term."""
        kept = [term for term in terms if term != ZERO]
        if not kept:
            return ZERO
        return kept[0] if len(kept) == 1 and " " not in kept[0] else self._line(" + ".join(kept))

    def _sum(self, jets: Sequence[JetCode]) -> JetCode:
        first = {j: self._add([jet.first[j] for jet in jets if j in jet.first]) for j in _keys(jets, "first")}
        second = {jk: self._add([jet.second[jk] for jet in jets if jk in jet.second]) for jk in _keys(jets, "second")}
        return JetCode(self._add([jet.value for jet in jets]), first, second)

    def _product(self, a: JetCode, b: JetCode) -> JetCode:
        first, second = {}, {}
        for j in _keys([a, b], "first"):
            first[j] = self._add([*_times(a.first.get(j), b.value), *_times(a.value, b.first.get(j))])
        for j, k in _pairs(first) if self.order == 2 else ():
            terms = [*_times(a.second.get((j, k)), b.value), *_times(a.value, b.second.get((j, k)))]
            cross = _times(a.first.get(j), b.first.get(k))
            terms += [f"2.0 * {term}" for term in cross] if j == k else [*cross, *_times(a.first.get(k), b.first.get(j))]
            if terms:
                second[j, k] = self._add(terms)
        return JetCode(self._line(f"{a.value} * {b.value}"), first, second)

    def _chain(self, value: str, inner: JetCode, outer: Sequence[str]) -> JetCode:
        """f(u): f' u_j, f'' u_j u_k + f' u_jk.

        Args:
            value:  code of f(u)
            inner:  u
            outer:  code of f' and f'', up to the order
        """
        result = self._line(value)
        if not inner.first:
            return JetCode(result)
        first = {j: self._add(_times(outer[0], slope)) for j, slope in inner.first.items()}
        second = {}
        for j, k in _pairs(first) if self.order == 2 else ():
            bent = _times(" * ".join([outer[1], inner.first[j]]) if inner.first[j] != ONE else outer[1], inner.first[k])
            second[j, k] = self._add([*bent, *_times(outer[0], inner.second.get((j, k)))])
        return JetCode(result, first, second)

    def _power(self, node: sp.Pow) -> JetCode:
        base, exponent = self.of(node.base), node.exp
        if not exponent.is_number:  # u^v = exp(v ln u)
            jet = self._product(self.of(exponent), self.of(sp.log(node.base)))
            value = self._line(f"{base.value} ** {self.of(exponent).value}")
            return self._chain(value, jet, [value, value][: self.order])
        derivatives = [exponent * x ** (exponent - 1), exponent * (exponent - 1) * x ** (exponent - 2)]
        outer = [self._at(each, base.value) for each in derivatives[: self.order] if base.first]
        if exponent == sp.Rational(1, 2):
            return self._chain(f"sqrt({base.value})", base, outer)
        number = repr(int(exponent) if exponent.is_Integer else float(exponent))
        return self._chain(f"{base.value} ** {number}", base, outer)

    def _piecewise(self, node: sp.Piecewise) -> JetCode:
        """Both branches are computed; that the one not taken may have no value does no harm."""
        *branches, (last, always) = node.args
        if always != sp.true:
            raise TypeError(f"no value where no condition of {node} holds")
        jet = self.of(last)
        for expression, condition in reversed(branches):
            jet = self._where(self._condition(condition), self.of(expression), jet)
        return jet

    def _where(self, condition: str, yes: JetCode, no: JetCode) -> JetCode:
        def chosen(a: str, b: str) -> str:
            return self._line(f"{a} if {condition} else {b}")

        first = {j: chosen(yes.first.get(j, ZERO), no.first.get(j, ZERO)) for j in _keys([yes, no], "first")}
        second = {jk: chosen(yes.second.get(jk, ZERO), no.second.get(jk, ZERO)) for jk in _keys([yes, no], "second")}
        return JetCode(chosen(yes.value, no.value), first, second)

    def _condition(self, test: sp.Basic) -> str:
        if isinstance(test, (sp.And, sp.Or)):
            return f"({(' and ' if isinstance(test, sp.And) else ' or ').join(self._condition(part) for part in test.args)})"
        return f"({self.of(test.lhs).value} {test.rel_op} {self.of(test.rhs).value})"


def _keys(jets: Sequence[JetCode], which: str) -> list[Any]:
    return sorted({key for jet in jets for key in getattr(jet, which)})


def _pairs(first: Mapping[int, str]) -> list[tuple[int, int]]:
    return [(j, k) for j in sorted(first) for k in sorted(first) if j <= k]


def _times(a: str | None, b: str | None) -> list[str]:
    """A product as a list of terms: none if a factor is 0."""
    if a is None or b is None or ZERO in (a, b):
        return []
    return [b if a == ONE else a if b == ONE else f"{a} * {b}"]
