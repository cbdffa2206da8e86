"""Arithmetic with quantities: trees of numbers, quantities, operators and functions that know their value, LaTeX, unit and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.observe.frames import ROUNDING, Momenta
from ctpwa.observe.quantities import KINDS, Limits, Quantity

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)  # how strongly operators bind
Array = np.ndarray


@dataclass(frozen=True)
class Unit:
    """A power of GeV, or radians.

    Attributes:
        power:    power of GeV; None if it is not known
        radians:  whether it is an angle in radians
    """

    power: float | None = 0.0
    radians: bool = False

    def __str__(self) -> str:
        if self.radians:
            return "rad"
        if not self.power:
            return ""
        return "GeV" if self.power == 1 else f"GeV$^{{{self.power:g}}}$"


@dataclass(frozen=True)
class ExpressionNode:
    """A node of the tree.

    Attributes:
        value:   momenta → value for every event, or one number for all
        latex:   LaTeX
        binds:   how strongly its outermost operator binds
        unit:    its unit
        limits:  the range of its values; None if that is not known
        number:  its value, if it is a number
    """

    value: Callable[[Momenta], Array | float]
    latex: str
    binds: int = ATOM
    unit: Unit = Unit()
    limits: Limits = None
    number: float | None = None

    def bracketed(self, binds: int) -> str:
        """LaTeX for use inside an operator."""
        return self.latex if self.binds >= binds else f"({self.latex})"


def quantity(found: Quantity, limits: Limits) -> ExpressionNode:
    """A quantity of the final state as a node."""
    power = KINDS[found.name].power
    return ExpressionNode(found.value, found.latex, ATOM, Unit(power or 0.0, radians=power is None), limits)


def number(value: float) -> ExpressionNode:
    """A number as a node."""
    return ExpressionNode(lambda momenta: value, f"{value:g}", ATOM, number=value)


def negative(term: ExpressionNode) -> ExpressionNode:
    """−x"""
    flipped = None if term.limits is None else (-term.limits[1], -term.limits[0])
    value = None if term.number is None else -term.number
    return ExpressionNode(lambda momenta: -term.value(momenta), f"-{term.bracketed(SIGN)}", SIGN, term.unit, flipped, value)


def binary(symbol: str, left: ExpressionNode, right: ExpressionNode, text: str) -> ExpressionNode:
    """Sum, difference, product, quotient or power.

    Args:
        symbol:       the operator
        left, right:  what it joins
        text:         as written, for messages
    """
    compute, binds = OPERATORS[symbol]

    def value(momenta: Momenta) -> Array | float:
        with np.errstate(all="ignore"):
            return finite(compute(left.value(momenta), right.value(momenta)), text, momenta)

    match symbol:
        case "**":
            latex = f"{left.bracketed(ATOM)}^{{{right.latex}}}"
        case "*" if left.number is not None and right.number is None:
            latex = rf"{left.bracketed(PRODUCT)}\,{right.bracketed(PRODUCT)}"
        case "*":
            latex = rf"{left.bracketed(PRODUCT)} \cdot {right.bracketed(SIGN)}"
        case "/":
            latex = rf"{left.bracketed(PRODUCT)} / {right.bracketed(POWER)}"
        case _:
            latex = f"{left.bracketed(SUM)} {symbol} {right.bracketed(PRODUCT)}"
    return ExpressionNode(value, latex, binds, _unit(symbol, left, right))


def _power(left: Array | float, right: Array | float) -> Array | float:
    return np.power(np.asarray(left, dtype=np.float64), right)


OPERATORS: dict[str, tuple[Callable[[Array | float, Array | float], Array | float], int]] = {
    "+": (np.add, SUM),
    "-": (np.subtract, SUM),
    "*": (np.multiply, PRODUCT),
    "/": (np.divide, PRODUCT),
    "**": (_power, POWER),
}


def _unit(symbol: str, left: ExpressionNode, right: ExpressionNode) -> Unit:
    """The unit of a sum, product or power; unknown if its parts do not fit together."""
    a, b = left.unit, right.unit
    if symbol in "+-":
        if right.number is not None or left.number is not None:
            return a if right.number is not None else b
        return a if a == b else Unit(None)
    if a.radians or b.radians:
        return Unit(None)  # most likely degrees
    if a.power is None or b.power is None:
        return Unit(None)
    if symbol == "**":
        return Unit(a.power * right.number) if right.number is not None else Unit(None if a.power else 0.0)
    return Unit(a.power + (b.power if symbol == "*" else -b.power))


def _arc_cosine(x: Array | float) -> Array | float:
    """Arc cosine; what is beyond 1 by rounding counts as 1."""
    return np.arccos(np.where((np.abs(x) > 1) & (np.abs(x) <= 1 + ROUNDING), np.sign(x), x))


def _smallest(*values: Array | float) -> Array | float:
    return np.minimum.reduce(np.broadcast_arrays(*values))


def _largest(*values: Array | float) -> Array | float:
    return np.maximum.reduce(np.broadcast_arrays(*values))


# name → what is computed, how LaTeX writes it
FUNCTIONS: dict[str, tuple[Callable[..., Array | float], str]] = {
    "sqrt": (np.sqrt, r"\sqrt{%s}"),
    "abs": (np.abs, r"|%s|"),
    "log": (np.log, r"\ln(%s)"),
    "exp": (np.exp, r"\exp(%s)"),
    "cos": (np.cos, r"\cos(%s)"),
    "sin": (np.sin, r"\sin(%s)"),
    "acos": (_arc_cosine, r"\arccos(%s)"),
    "min": (_smallest, r"\min(%s)"),
    "max": (_largest, r"\max(%s)"),
}
MANY = ("min", "max")  # functions of two or more arguments
CONSTANTS = {"pi": ExpressionNode(lambda momenta: pi, r"\pi", ATOM, number=pi)}


def function(name: str, arguments: Sequence[ExpressionNode], text: str) -> ExpressionNode:
    """A function of one argument, or the smallest or largest of several.

    Args:
        name:       of the function
        arguments:  what it is a function of
        text:       as written, for messages
    """
    compute, pattern = FUNCTIONS[name]

    def value(momenta: Momenta) -> Array | float:
        with np.errstate(all="ignore"):
            return finite(compute(*(argument.value(momenta) for argument in arguments)), text, momenta)

    latex = pattern % ", ".join(argument.latex for argument in arguments)
    return ExpressionNode(value, latex, ATOM, _unit_of_function(name, arguments), _limits_of_function(name, arguments))


def _unit_of_function(name: str, arguments: Sequence[ExpressionNode]) -> Unit:
    unit = arguments[0].unit
    if name == "acos":
        return Unit(radians=True)
    if name == "sqrt":
        return Unit(None if unit.power is None or unit.radians else unit.power / 2)
    if name in ("abs", *MANY):
        return unit if all(argument.unit == unit for argument in arguments) else Unit(None)
    return Unit()


def _limits_of_function(name: str, arguments: Sequence[ExpressionNode]) -> Limits:
    known = [argument.limits for argument in arguments if argument.limits is not None]
    if len(known) < len(arguments):
        return None
    if name == "abs":
        low, high = known[0]
        return (0.0, max(-low, high)) if low < 0 < high else (min(abs(low), abs(high)), max(abs(low), abs(high)))
    if name in MANY:
        choose = min if name == "min" else max
        return choose(low for low, _ in known), choose(high for _, high in known)
    return None


def finite(values: Array | float, text: str, momenta: Momenta) -> Array | float:
    """The same values; those that are not numbers are refused."""
    bad = ~np.isfinite(values)
    if np.any(bad):
        event = momenta.first_event + (int(np.argmax(bad)) if np.ndim(bad) else 0)
        count = int(np.sum(bad)) if np.ndim(bad) else momenta.n_events
        raise DataError(
            f"{text} has no finite value in event {event}" + (f" and {count - 1} more nearby" if count > 1 else "") + "\n"
            " fix: check the momenta, or write a variable that is defined for all events"
        )
    return values
