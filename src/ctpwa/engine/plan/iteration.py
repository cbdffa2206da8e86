"""Numbers p(θ) that are computed once per evaluation, with first and second derivatives.

Most of them are the same few formulas with other parameters and other constants: the running widths of twenty resonances differ in a mass,
a width and the masses of the daughters. Each such *template* is compiled once, however many numbers are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from ctpwa.engine.plan.forward_mode import Numbers, compiled
from ctpwa.model.lineshapes.formula import symbols_of


@dataclass(frozen=True)
class IterationNumber:
    """A number that is computed once per evaluation.

    Attributes:
        expression:  formula in the symbols of a lineshape
        names:       which parameter of the model each of its symbols is
        centred:     whether it is the difference to the present value: always 0, with derivative 1
    """

    expression: sp.Expr
    names: tuple[tuple[sp.Symbol, str], ...]
    centred: bool = False

    @classmethod
    def of(cls, expression: sp.Expr, names: Mapping[sp.Symbol, str], *, centred: bool = False) -> IterationNumber:
        """A formula with the names that it needs."""
        return cls(expression, tuple((symbol, names[symbol]) for symbol in sorted(symbols_of(expression), key=str)), centred)

    def depends_on(self, parameters: Collection[str]) -> bool:
        """Whether it changes with any of these parameters."""
        return any(name in parameters for _, name in self.names)

    def __str__(self) -> str:
        return str(self.expression.xreplace({symbol: sp.Symbol(name, real=True) for symbol, name in self.names}))


class IterationNumbers:
    """p(θ), its Jacobian and second derivatives, compiled from the formulas.

    A fit may try points at which a formula has no value, such as a mass of 0: the result is then NaN or infinite, without a warning.

    Args:
        numbers:     the formulas; those that depend on floating parameters come first
        n_floating:  how many do
        parameters:  names of θ
        fixed:       values of all other parameters
    """

    def __init__(self, numbers: Sequence[IterationNumber], n_floating: int, parameters: Sequence[str], fixed: Mapping[str, float]) -> None:
        self.n_floating, self.n_theta = n_floating, len(parameters)
        templates = _Templates(parameters)
        uses = [templates.use(number) for number in numbers]
        others = sorted({name for use in uses for name in use.names} - set(parameters))
        self._others = np.array([fixed[name] for name in others], dtype=float)
        place = {name: k for k, name in enumerate([*parameters, *others])}
        with np.errstate(all="ignore"):
            self.constant = np.array(_calls(uses[n_floating:], place, "value")(self._all(np.zeros(self.n_theta))), dtype=float)
        floating = uses[:n_floating]
        self._fixed_at_zero = [j for j, number in enumerate(numbers) if number.centred]
        self._floating, self._place = floating, place
        moving = [[place[use.names[i]] for i in use.template.floating] for use in floating]
        first = [(j, k) for j, own in enumerate(moving) for k in own]
        second = [(j, k, m) for j, own in enumerate(moving) for i, k in enumerate(own) for m in own[i:]]
        self._first_at = np.array(first, dtype=np.int64).reshape(-1, 2)
        self._second_at = np.array(second, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def _values(self) -> Callable[[Sequence[float]], list[float]]:
        return _calls(self._floating, self._place, "value")

    @cached_property
    def _first(self) -> Callable[[Sequence[float]], list[float]]:
        return _calls(self._floating, self._place, "first")

    @cached_property
    def _second(self) -> Callable[[Sequence[float]], list[float]]:
        return _calls(self._floating, self._place, "second")

    def _all(self, theta: np.ndarray) -> list[float]:
        return [*theta, *self._others]

    @np.errstate(all="ignore")
    def values(self, theta: np.ndarray) -> np.ndarray:
        """All p."""
        if not self.n_floating:
            return self.constant
        result = np.concatenate([self._values(self._all(theta)), self.constant])
        result[self._fixed_at_zero] = 0.0
        return result

    @np.errstate(all="ignore")
    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """∂p/∂θ [floating p, θ]."""
        result = np.zeros((self.n_floating, self.n_theta))
        if self.n_floating:
            result[self._first_at[:, 0], self._first_at[:, 1]] = self._first(self._all(theta))
        return result

    @np.errstate(all="ignore")
    def pull_back(self, theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_j ∂p_j/∂θ [θ]; most derivatives are 0 and do not take part."""
        if not self.n_floating:
            return np.zeros(self.n_theta)
        j, k = self._first_at.T
        return np.bincount(k, weights=weights[j] * np.array(self._first(self._all(theta))), minlength=self.n_theta)

    @np.errstate(all="ignore")
    def second(self, theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_j ∂²p_j/∂θ∂θ [θ, θ]."""
        result = np.zeros((self.n_theta, self.n_theta))
        if self.n_floating:
            j, k, m = self._second_at.T
            values = weights[j] * np.array(self._second(self._all(theta)))
            np.add.at(result, (k, m), values)
            off = k != m
            np.add.at(result, (m[off], k[off]), values[off])
        return result


def _calls(uses: Sequence[_Use], place: Mapping[str, int], which: str) -> Callable[[Sequence[float]], list[float]]:
    """One function of all parameter values that calls the compiled templates of many numbers; the results are one after the other.

    Args:
        uses:   the numbers
        place:  where the value of every parameter stands
        which:  ``value``, ``first`` or ``second``
    """
    names: dict[_Template, str] = {}
    calls = []
    for use in uses:
        function = names.setdefault(use.template, f"f{len(names)}")
        arguments = [*(f"x[{place[name]}]" for name in use.names), *map(repr, use.constants)]
        calls.append(f"*{function}({', '.join(arguments)})")
    return eval(f"lambda x: [{', '.join(calls)}]", {name: getattr(template, which) for template, name in names.items()})


@dataclass(frozen=True)
class _Use:
    """A number as a template with the parameters and constants that are put into it."""

    template: _Template
    names: tuple[str, ...]
    constants: tuple[float, ...]


class _Template:
    """A formula in symbols, with its derivatives over some of them, compiled when they are wanted.

    Args:
        expression:  the formula
        arguments:   its symbols: parameters, then constants
        floating:    positions of those whose derivatives are wanted
    """

    def __init__(self, expression: sp.Expr, arguments: Sequence[sp.Symbol], floating: tuple[int, ...]) -> None:
        self.expression, self.arguments, self.floating = expression, list(arguments), floating

    @cached_property
    def value(self) -> Numbers:
        """The number itself."""
        return compiled(self.expression, self.arguments, self.floating, 0)

    @cached_property
    def first(self) -> Numbers:
        """Its first derivatives."""
        return compiled(self.expression, self.arguments, self.floating, 1)

    @cached_property
    def second(self) -> Numbers:
        """The upper triangle of its second derivatives."""
        return compiled(self.expression, self.arguments, self.floating, 2)


@lru_cache(maxsize=1 << 10)
def _template(expression: sp.Expr, arguments: tuple[sp.Symbol, ...], floating: tuple[int, ...]) -> _Template:
    """A template, the same one for all plans of a process."""
    return _Template(expression, arguments, floating)


class _Templates:
    """All templates so far.

    Args:
        floating:  names of the floating parameters
    """

    def __init__(self, floating: Sequence[str]) -> None:
        self.floating = frozenset(floating)
        self._known: dict[Hashable, _Template] = {}

    def use(self, number: IterationNumber) -> _Use:
        """A number as a template and what to put into it."""
        outline = _outline(number.expression)
        name_of = dict(number.names)
        names = tuple(name_of[symbol] for symbol in outline.symbols)
        floating = tuple(i for i, name in enumerate(names) if name in self.floating)
        key = (outline.shape, floating)
        if key not in self._known:
            self._known[key] = _template(*_renamed(number.expression), floating)
        return _Use(self._known[key], names, tuple(float(constant) for constant in outline.constants))


@lru_cache(maxsize=1 << 12)
def _outline(expression: sp.Expr) -> _Outline:
    return _Outline(expression)


@lru_cache(maxsize=1 << 12)
def _renamed(expression: sp.Expr) -> tuple[sp.Expr, tuple[sp.Symbol, ...]]:
    """An expression in the symbols of a template, and these: those of its symbols, then those of its constants."""
    outline = _outline(expression)
    new = {constant: sp.Symbol(f"c{i}", real=True) for constant, i in outline.constants.items()}
    new |= {symbol: sp.Symbol(f"x{i}", real=True) for symbol, i in outline.symbols.items()}
    return expression.xreplace(new), tuple(new[old] for old in (*outline.symbols, *outline.constants))


class _Outline:
    """What is left of an expression when its symbols and constants are numbered in the order in which they come.

    Two expressions of one shape are the same formula with other symbols and constants. Whole numbers and fractions belong to the formula.

    Attributes:
        shape:      what is left
        symbols:    the number of every symbol
        constants:  that of every constant
    """

    def __init__(self, expression: sp.Expr) -> None:
        self.symbols: dict[sp.Symbol, int] = {}
        self.constants: dict[sp.Float, int] = {}
        self.shape = self._visit(expression)

    def _visit(self, node: sp.Basic) -> Hashable:
        if isinstance(node, sp.Symbol):
            return "x", self.symbols.setdefault(node, len(self.symbols))
        if isinstance(node, sp.Float):
            return "c", self.constants.setdefault(node, len(self.constants))
        if not node.args:
            return node
        return node.func, *(self._visit(argument) for argument in node.args)
