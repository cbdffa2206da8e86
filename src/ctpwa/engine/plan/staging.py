"""Split a lineshape formula by life cycle: what depends on the event only, on parameters only, and on both.

Every quantity is computed exactly once in its life: event-only parts before the fit, parameter-only parts once per evaluation, and only
the rest inside the pass over the events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from ctpwa.model.lineshapes.formula import csqrt, event_variables, symbols_of


@dataclass(frozen=True)
class Staged:
    """A formula in three parts.

    Attributes:
        mixed:      what is left for every event and iteration, in the symbols of ``event`` and ``iteration``
        event:      symbol → expression in event variables
        iteration:  symbol → expression in parameters
    """

    mixed: sp.Expr
    event: dict[sp.Symbol, sp.Expr]
    iteration: dict[sp.Symbol, sp.Expr]


def is_complex(expression: sp.Expr) -> bool:
    """Whether an expression can have an imaginary part: it holds I or a square root of unknown sign."""
    return expression.has(sp.I) or expression.has(csqrt)


@lru_cache(maxsize=1 << 10)
def stage(expression: sp.Expr) -> Staged:
    """Find the event-only, parameter-only and mixed parts of a formula.

    Sums and products are regrouped by what their parts depend on, so that m0² Γ0 · q³/√s · N(q0)/N(q) becomes one number per
    iteration times one number per event.
    """
    return _Stager().run(sp.sympify(expression))


class _Stager:
    def __init__(self) -> None:
        self.event: dict[sp.Expr, sp.Symbol] = {}
        self.iteration: dict[sp.Expr, sp.Symbol] = {}

    def run(self, expression: sp.Expr) -> Staged:
        mixed = self._visit(expression)
        return Staged(mixed, {v: k for k, v in self.event.items()}, {v: k for k, v in self.iteration.items()})

    def _visit(self, node: sp.Expr) -> sp.Expr:
        kind = _dependence(node)
        if kind == "number":
            return node
        if kind != "mixed":
            return self._named(node, kind)
        if isinstance(node, (sp.Add, sp.Mul)):
            return self._regroup(node)
        if isinstance(node, sp.Piecewise):
            return sp.Piecewise(*((self._visit(value), self._condition(test)) for value, test in node.args))
        return node.func(*(self._visit(argument) for argument in node.args))

    def _condition(self, test: sp.Basic) -> sp.Basic:
        if test in (sp.true, sp.false):
            return test
        visit = self._condition if isinstance(test, (sp.And, sp.Or)) else self._visit
        return test.func(*(visit(part) for part in test.args))

    def _regroup(self, node: sp.Add | sp.Mul) -> sp.Expr:
        groups: dict[str, list[sp.Expr]] = {"number": [], "event": [], "iteration": [], "mixed": []}
        for argument in node.args:
            groups[_dependence(argument)].append(argument)
        home = next((kind for kind in ("iteration", "event") if groups[kind]), None)
        if home is not None:  # real numbers join the parameters, so that formulas that differ by constants share their mixed part
            real = node.func(*(number for number in groups["number"] if number.is_real))
            imaginary = [number for number in groups["number"] if not number.is_real]
            if isinstance(node, sp.Mul) and real.is_negative:
                real, imaginary = -real, [sp.S.NegativeOne, *imaginary]
            groups["number"] = imaginary
            groups[home].append(real)
        parts = [self._named(node.func(*groups[kind]), kind) for kind in ("event", "iteration") if groups[kind]]
        return node.func(*groups["number"], *parts, *(self._visit(argument) for argument in groups["mixed"]))

    def _named(self, node: sp.Expr, kind: str) -> sp.Expr:
        """The symbol of a part; signs and factors of i stay outside, so that parts are real where they can be."""
        factor = sp.Integer(1)
        if isinstance(node, sp.Mul):
            outside = [a for a in node.args if a is sp.I or a is sp.S.NegativeOne]
            factor = sp.Mul(*outside)
            node = sp.Mul(*(a for a in node.args if a not in outside))
        if isinstance(node, sp.Add) and len(node.args) == 1:
            node = node.args[0]
        known = self.event if kind == "event" else self.iteration
        if node not in known:
            known[node] = sp.Symbol(f"{'e' if kind == 'event' else 'p'}{len(known)}", real=None if is_complex(node) else True)
        return factor * known[node]


def _dependence(node: sp.Expr) -> str:
    symbols = symbols_of(node)
    if not symbols:
        return "number"
    of_event = event_variables(node)
    if not of_event:
        return "mixed" if is_complex(node) else "iteration"  # iteration numbers are real
    return "event" if symbols <= of_event else "mixed"


@lru_cache(maxsize=1 << 10)
def derivatives(expression: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> tuple[list[sp.Expr], dict[tuple[int, int], sp.Expr]]:
    """First derivatives and the upper triangle of second derivatives; computed once in a process, so nobody may change them."""
    first = [sp.diff(expression, symbol) for symbol in symbols]
    second = {(j, k): sp.diff(first[j], symbols[k]) for j in range(len(symbols)) for k in range(j, len(symbols))}
    return first, second
