"""Parameters that are formulas of other parameters, such as ``2*K*(1410).mass - 0.1``.

Names of parameters hold brackets, stars and signs. In a formula the longest known name that begins at a place is meant there; what is left
is arithmetic and the functions of lineshape expressions, parsed against the same whitelist. Formulas of formulas are written out, so that
every one is a function of parameters that stand on their own; its first and second derivatives are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp

from ctpwa.base.errors import TextError, suggest
from ctpwa.model.lineshapes.expression_parser import MAX_LENGTH, MAX_SIZE, parse_formula
from ctpwa.model.lineshapes.formula import LineshapeParameter
from ctpwa.model.lineshapes.functions import FUNCTIONS
from ctpwa.model.lineshapes.nodes import MAX_EXPONENT, Nodes

MAX_CHAIN = 100  # formulas of formulas
RESERVED = frozenset({"pi", "i", "I", *Nodes(()).functions})  # words of the language, which no parameter may be called
_LIKE_A_NAME = re.compile(r"(\d[\d.]*[*/+-])?(\S*\.[A-Za-z_]\w*)")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class RelationError(TextError):
    """A formula of parameters that makes no sense.

    Attributes:
        parameter:  the parameter that it belongs to
    """

    parameter: str = ""


@dataclass(frozen=True)
class Relation:
    """A parameter as a function of others, which stand on their own.

    Attributes:
        name:        the parameter
        arguments:   names of those that it depends on
        expression:  the function, in one symbol for each of them, called like the parameter
    """

    name: str
    arguments: tuple[str, ...]
    expression: sp.Expr

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: not the compiled functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def same_as(self) -> str:
        """The parameter that it is equal to; empty if it is any other function."""
        return str(self.expression) if isinstance(self.expression, sp.Symbol) else ""

    @cached_property
    def affine(self) -> bool:
        """Whether its first derivatives are constant."""
        return all(slope.is_number for slope in self._first)

    def value(self, arguments: np.ndarray) -> float:
        """The function itself; NaN where it has no value."""
        return float(_called(self._compiled[0], arguments, ()))

    def first(self, arguments: np.ndarray) -> np.ndarray:
        """Its first derivatives."""
        return _called(self._compiled[1], arguments, (len(self.arguments),))

    def second(self, arguments: np.ndarray) -> np.ndarray:
        """The matrix of its second derivatives."""
        return _called(self._compiled[2], arguments, 2 * (len(self.arguments),))

    @property
    def _symbols(self) -> list[sp.Symbol]:
        return [_symbol(name) for name in self.arguments]

    @cached_property
    def _first(self) -> list[sp.Expr]:
        return [sp.diff(self.expression, symbol) for symbol in self._symbols]

    @cached_property
    def _compiled(self) -> tuple[Callable[..., Any], ...]:
        second = [[sp.diff(slope, symbol) for symbol in self._symbols] for slope in self._first]
        modules = ["math", {name: function.number for name, function in FUNCTIONS.items()}]
        return tuple(sp.lambdify(self._symbols, what, modules=modules) for what in (self.expression, self._first, second))


def _called(function: Callable[..., Any], arguments: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.array(function(*map(float, arguments)), dtype=float).reshape(shape)  # without arguments too
    except (ValueError, OverflowError, ZeroDivisionError):
        return np.full(shape, np.nan)


def _symbol(name: str) -> sp.Symbol:
    return sp.Symbol(name, real=True)


def make_relations(formulas: Mapping[str, str], known: Iterable[str]) -> tuple[Relation, ...]:
    """All relations of some parameters, each a function of those that have no formula.

    Args:
        formulas:  parameter → its formula
        known:     all parameters that formulas may use

    Raises:
        RelationError: for an unknown name, a circle, or a text that is no formula
    """
    return _made(tuple(formulas.items()), frozenset(known)) if formulas else ()


@lru_cache(maxsize=64)
def _made(formulas: tuple[tuple[str, str], ...], known: frozenset[str]) -> tuple[Relation, ...]:
    direct = {name: _parsed(name, text, known) for name, text in formulas}
    done: dict[str, sp.Expr] = {}
    for name in direct:
        _written_out(name, direct, done, ())
    return tuple(Relation(name, tuple(sorted(map(str, done[name].free_symbols))), done[name]) for name in direct)


def _written_out(name: str, direct: Mapping[str, sp.Expr], done: dict[str, sp.Expr], above: tuple[str, ...]) -> sp.Expr:
    """The formula of a parameter in those that have none."""
    if name in above:
        circle = " -> ".join([*above[above.index(name) :], name])
        raise _about(above[0], RelationError(f"{above[0]!r} depends on itself: {circle}", "give one of them a number"))
    if len(above) > MAX_CHAIN:
        raise _about(above[0], RelationError(f"{above[0]!r} needs more than {MAX_CHAIN} formulas, one after the other", "simplify them"))
    if name not in done:
        inner = {str(symbol) for symbol in direct[name].free_symbols}
        parts = {_symbol(other): _written_out(other, direct, done, (*above, name)) for other in sorted(inner) if other in direct}
        sizes = {symbol: _size(part) for symbol, part in parts.items()}
        if sum(sizes.get(node, 1) for node in sp.preorder_traversal(direct[name])) > MAX_SIZE:
            raise _about(name, RelationError(f"the formula of {name!r} has more than {MAX_SIZE} terms", "simplify it"))
        done[name] = direct[name].xreplace(parts)
    return done[name]


def _size(expression: sp.Expr) -> int:
    return sum(1 for _ in sp.preorder_traversal(expression))


def _about(name: str, error: RelationError) -> RelationError:
    error.parameter = name
    return error


class _RealNodes(Nodes):
    """Everything is real: roots of what is negative have no value."""

    def power(self, base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        """Base to an exponent; half-integer powers are real."""
        root = sp.nsimplify(exponent) if exponent.is_number else None
        if root is None or root.is_Integer or not (root.is_Rational and root.q == 2 and abs(root) <= MAX_EXPONENT):
            return super().power(base, exponent)
        return self.number(base**root)


def _parsed(name: str, text: str, known: Collection[str]) -> sp.Expr:
    """A text as a formula in the symbols of parameters."""
    if len(text) > MAX_LENGTH:
        raise _about(name, RelationError(f"a formula of {len(text)} characters", f"keep formulas below {MAX_LENGTH} characters"))
    plain, used = _placeholders(text, known)
    parameters = [LineshapeParameter(word) for word in used]
    try:
        expression = parse_formula(plain, {"pi": sp.pi}, parameters, _RealNodes(parameters))
    except TextError as error:
        raise _about(name, _in_words(error, text, used, known)) from None
    if expression.has(sp.I):
        raise _about(name, RelationError(f"{text.strip()!r} has the square root of a negative number", "parameters are real numbers"))
    expression = expression.replace(sp.Abs, lambda x: sp.Piecewise((x, x >= 0), (-x, True)))  # whose derivatives are functions
    return expression.xreplace({_symbol(word): _symbol(own) for word, own in used.items()})


def _placeholders(text: str, known: Collection[str]) -> tuple[str, dict[str, str]]:
    """The text with a word of the same length in place of every name, and what each of these words stands for.

    A name begins and ends where no other word does: ``a`` is not in ``atan``, nor ``X.m`` in ``X.mass``.
    """
    longest = sorted(known, key=len, reverse=True)
    words: dict[str, str] = {}
    result, place = [], 0
    while place < len(text):
        inside_word = place > 0 and (text[place - 1].isalnum() or text[place - 1] in "_.")
        found = None if inside_word else next((name for name in longest if _stands_at(name, text, place)), None)
        if found is None:
            result.append(text[place])
            place += 1
            continue
        word = next((word for word, name in words.items() if name == found), found if found.isidentifier() else "")
        if not word:
            number = len(words)
            word = f"_{_DIGITS[number // 36 % 36]}{_DIGITS[number % 36]}".ljust(len(found), "_")
        words[word] = found
        result.append(word)
        place += len(found)
    return "".join(result), words


def _stands_at(name: str, text: str, place: int) -> bool:
    end = text[place + len(name) : place + len(name) + 1]
    return text.startswith(name, place) and not (end.isalnum() or end in tuple("_."))


def _in_words(error: TextError, text: str, used: Mapping[str, str], known: Collection[str]) -> RelationError:
    """An error in terms of what was written: placeholders are names again, and what looks like a name is one."""
    what, fix, word = error.what, error.fix, error.word
    for placeholder, name in used.items():
        what, fix, word = (part.replace(placeholder, name) for part in (what, fix, word))
    plain, _ = _placeholders(text, known)
    for placeholder in used:
        plain = plain.replace(placeholder, " " * len(placeholder))
    strange = [match.group(2).lstrip("*/+-(") for match in _LIKE_A_NAME.finditer(plain)]
    if not strange and "unknown name" not in what:
        return RelationError(what, fix, word, error.column)
    wrong = [*([text.strip()] if "[" in text and not used else []), *strange, *([] if strange else [word])]
    near = [(name, hint) for name, hint in ((name, suggest(name, known)) for name in wrong) if hint.startswith("did")]
    name, fix = near[0] if near else (wrong[0], "write a number, or a formula with the names of parameters as ctpwa check lists them")
    return RelationError(f"{name!r} is not a parameter", fix, name, text.find(name) + 1)
