"""Formulas at complex masses, part by part, with exact first derivatives over mass and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.barrier import breakup_q2
from ctpwa.model.lineshapes.formula import Vertex, csqrt, event_variables, q2, s
from ctpwa.model.lineshapes.functions import FUNCTIONS


class NotAnalytic(PhysicsError):
    """A lineshape without an analytic continuation; ``what`` says why."""


class Jet:
    """Values with their derivatives over a few variables; ``slopes`` [variable, …] is None for a constant."""

    __slots__ = ("slopes", "value")

    def __init__(self, value: Any, slopes: Any = None) -> None:
        self.value, self.slopes = value, slopes

    def __add__(self, other: Jet) -> Jet:
        if self.slopes is None or other.slopes is None:
            return Jet(self.value + other.value, self.slopes if other.slopes is None else other.slopes)
        return Jet(self.value + other.value, self.slopes + other.slopes)

    def __mul__(self, other: Jet) -> Jet:
        if other.slopes is None:
            return Jet(self.value * other.value, None if self.slopes is None else self.slopes * other.value)
        if self.slopes is None:
            return Jet(self.value * other.value, self.value * other.slopes)
        return Jet(self.value * other.value, self.slopes * other.value + self.value * other.slopes)

    def chain(self, value: Any, slope: Any) -> Jet:
        """A function of this with its value and its derivative."""
        return Jet(value, None if self.slopes is None else slope * self.slopes)

    def power(self, n: int) -> Jet:
        """Integer power."""
        return self.chain(self.value**n, n * self.value ** (n - 1))


@dataclass(frozen=True)
class Part:
    """A part of a formula, with the numbers of the parts that it is made of.

    Attributes:
        kind:      what it is: ``s``, ``parameter``, ``number``, ``add``, ``multiply``, ``power`` (integer), ``power of m`` (m = √s),
                   ``power of q``, ``principal power``, ``root``, ``choice``, or the name of a function
        parts:     numbers of its parts
        number:    value, index of a parameter, exponent, or number of a channel
        of_event:  whether it depends on the event
        tests:     of a choice: for every branch what must hold, as nested (operation, left, right) of numbers of parts
    """

    kind: str
    parts: tuple[int, ...] = ()
    number: Any = None
    of_event: bool = False
    tests: tuple[Any, ...] = ()


class FormulaParts:
    """A formula as a list of parts, each once, so that evaluations need no symbols.

    Args:
        name:        of the formula
        vertex:      for the break-up momentum of the own channel
        symbols:     number of every parameter
        channel_of:  number of the channel to which the root of an expression belongs
    """

    def __init__(self, name: str, vertex: Vertex, symbols: Mapping[sp.Symbol, int], channel_of: Mapping[sp.Expr, int]) -> None:
        self.name, self.vertex, self.symbols, self.channel_of = name, vertex, symbols, channel_of
        self.list: list[Part] = []
        self.index: dict[sp.Basic, int] = {}

    def add(self, node: sp.Expr) -> int:
        """Number of a part."""
        if node not in self.index:
            part = self._part(node)
            self.list.append(part)
            self.index[node] = len(self.list) - 1
        return self.index[node]

    def _part(self, node: sp.Expr) -> Part:
        event = of_event(node)
        if node == s:
            return Part("s", of_event=True)
        if node == q2:
            return Part("add", (self.add(breakup_q2(s, self.vertex.m1, self.vertex.m2)),), of_event=True)
        if node.is_Symbol:
            return Part("parameter", number=self.symbols[node])
        if node.is_number:
            return Part("number", number=complex(node))
        if isinstance(node, (sp.Add, sp.Mul)):
            return Part("add" if isinstance(node, sp.Add) else "multiply", tuple(map(self.add, node.args)), of_event=event)
        if isinstance(node, sp.Pow):
            return self._power(node.base, node.exp, event)
        if isinstance(node, csqrt):
            return Part("root", (self.add(node.args[0]),), self.channel_of.get(node.args[0]), event)
        if isinstance(node, sp.Piecewise):
            return Part("choice", tuple(self.add(value) for value, _ in node.args), None, event, tuple(self._test(t) for _, t in node.args))
        if node.func.__name__ not in FUNCTIONS:
            raise NotAnalytic(f"{self.name} holds {node.func.__name__}, whose continuation is not known")
        return Part(node.func.__name__, (self.add(node.args[0]),), of_event=event)

    def _power(self, base: sp.Expr, exponent: sp.Expr, event: bool) -> Part:
        if exponent.is_Integer:
            return Part("power", (self.add(base),), int(exponent), event)
        whole = (2 * exponent).is_Integer
        if base == s and whole:
            return Part("power of m", (), int(2 * exponent), True)
        if base == q2 and whole:
            return Part("power of q", (self._root_of_q2(),), int(2 * exponent), True)
        return Part("principal power", (self.add(base),), float(exponent), event)

    def _root_of_q2(self) -> int:
        key = csqrt(q2)
        if key not in self.index:
            self.list.append(Part("root", (self.add(q2),), self.channel_of.get(q2), True))
            self.index[key] = len(self.list) - 1
        return self.index[key]

    def _test(self, test: Any) -> Any:
        if test in (sp.true, sp.false):
            return bool(test)
        if isinstance(test, (sp.And, sp.Or)):
            return ("and" if isinstance(test, sp.And) else "or", *(self._test(part) for part in test.args))
        return (test.rel_op, self.add(test.lhs), self.add(test.rhs))


class Walk:
    """One evaluation of a formula. Without a sheet: on the real axis, where roots of negative numbers are i|√|.

    Args:
        parts:  the formula
        theta:  values of its parameters
        w:      masses
        sheet:  sign of every channel
        axis:   the evaluation at a mass on the real axis that decides about conditions
    """

    def __init__(
        self, parts: Sequence[Part], theta: np.ndarray, w: np.ndarray, sheet: Sequence[int] | None = None, axis: Walk | None = None
    ) -> None:
        self.parts, self.sheet, self.axis = parts, sheet, axis
        n = 1 + len(theta)
        unit = np.eye(n, dtype=complex).reshape(n, n, *(1,) * w.ndim)
        self.w = Jet(w, unit[0] * np.ones_like(w))
        self.theta = [Jet(complex(value), unit[i + 1]) for i, value in enumerate(theta)]
        self.arguments: list[np.ndarray] = []
        self._seen: list[Jet | None] = [None] * len(self.parts)

    def visit(self, index: int) -> Jet:
        """The value of a part of the formula."""
        found = self._seen[index]
        if found is None:
            found = self._seen[index] = self._compute(self.parts[index], index)
        return found

    def branch(self, index: int) -> int:
        """Which branch of a choice holds, at a single point of the real axis."""
        return next(i for i, test in enumerate(self.parts[index].tests) if bool(np.all(self._holds(test))))

    def _compute(self, part: Part, index: int) -> Jet:
        match part.kind:
            case "number":
                return Jet(part.number)
            case "parameter":
                return self.theta[part.number]
            case "s":
                return self.w.power(2)
            case "power of m":
                return self.w.power(part.number)
            case "choice":
                return self._choice(part, index)
        first, *rest = (self.visit(i) for i in part.parts)
        match part.kind:
            case "add":
                for other in rest:
                    first = first + other
                return first
            case "multiply":
                for other in rest:
                    first = first * other
                return first
            case "power" | "power of q":
                return first.power(part.number)
            case "root":
                return self._root(first, part)
            case "principal power":
                if part.of_event:
                    self.arguments.append(first.value)
                value = first.value**part.number
                return first.chain(value, part.number * value / first.value)
        return self._function(first, part.kind)

    def _root(self, x: Jet, part: Part) -> Jet:
        """√ of what may be negative."""
        if not np.any(x.value):
            return Jet(x.value)
        if self.sheet is None or not part.of_event:
            value = np.sqrt(np.real(x.value) + 0j)
        elif part.number is None:
            self.arguments.append(x.value)
            value = np.sqrt(x.value)
        else:
            value = self.sheet[part.number] * 1j * np.sqrt(-x.value)
        with np.errstate(divide="ignore", invalid="ignore"):
            return x.chain(value, np.where(value == 0, 0.0, 1 / (2 * value)))

    def _choice(self, part: Part, index: int) -> Jet:
        if self.axis is not None:
            return self.visit(part.parts[self.axis.branch(index)])
        result = self.visit(part.parts[-1])
        for number, test in reversed(list(zip(part.parts[:-1], part.tests[:-1], strict=True))):
            holds, yes = self._holds(test), self.visit(number)
            slopes = None
            if yes.slopes is not None or result.slopes is not None:
                slopes = np.where(holds, 0.0 if yes.slopes is None else yes.slopes, 0.0 if result.slopes is None else result.slopes)
            result = Jet(np.where(holds, yes.value, result.value), slopes)
        return result

    def _holds(self, test: Any) -> Any:
        if isinstance(test, bool):
            return test
        operation, *sides = test
        if operation in ("and", "or"):
            parts = [self._holds(part) for part in sides]
            return np.logical_and.reduce(parts) if operation == "and" else np.logical_or.reduce(parts)
        left, right = (np.real(self.visit(side).value) for side in sides)
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operation]

    def _function(self, x: Jet, name: str) -> Jet:
        function = FUNCTIONS[name]
        if function.cut is not None:
            self.arguments.append(function.cut(x.value))
        value, slope = function.continued(x.value)
        return x.chain(value, slope)


def of_event(node: sp.Basic) -> bool:
    """Whether it depends on the event."""
    return bool(event_variables(node))
