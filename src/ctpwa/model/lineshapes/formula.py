"""What a lineshape is: one sympy formula in event variables and parameters, from which everything else is derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp


class EventVariable(sp.Symbol):
    """A symbol with its own value in every event."""


s = EventVariable("s", positive=True)
"""The symbol of the invariant mass squared of a resonance in the event, GeV²."""
q2 = EventVariable("q2", nonnegative=True)
"""The symbol of its squared break-up momentum in the event, GeV²; never negative."""


def column_variable(name: str) -> EventVariable:
    """The symbol of an event column of one number."""
    return EventVariable(name, real=True)


@lru_cache(maxsize=1 << 12)  # of expressions, which know their hash: looking through one takes sympy a millisecond
def symbols_of(expression: sp.Basic) -> frozenset[sp.Symbol]:
    """All symbols of an expression."""
    return frozenset(expression.free_symbols)


@lru_cache(maxsize=1 << 12)
def event_variables(expression: sp.Basic) -> frozenset[EventVariable]:
    """The event variables that an expression depends on."""
    return frozenset(symbol for symbol in symbols_of(expression) if isinstance(symbol, EventVariable))


def columns_of(lineshape: Lineshape) -> tuple[str, ...]:
    """Names of the event columns that a lineshape uses."""
    if isinstance(lineshape, Formula):
        return tuple(sorted(str(variable) for variable in event_variables(lineshape.expression) - {s, q2}))
    return lineshape.columns if isinstance(lineshape, Callback) else ()


class csqrt(sp.Function):
    """√x of a real x on the physical sheet: √x above zero, i√−x below."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """1 / 2√x."""
        return 1 / (2 * csqrt(self.args[0]))

    @classmethod
    def eval(cls, x: sp.Expr) -> sp.Expr | None:
        """Numbers are evaluated at once."""
        if x.is_Number:
            return sp.sqrt(x) if x >= 0 else sp.I * sp.sqrt(-x)
        return None

    def _latex(self, printer: Any, exp: Any = None) -> str:
        text = rf"\sqrt{{{printer._print(self.args[0])}}}"
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"


@dataclass(frozen=True)
class Vertex:
    """What a lineshape may know of the vertex where its resonance decays.

    Attributes:
        m1, m2:   nominal masses of the daughters, GeV
        L:        smallest orbital angular momentum of the vertex
        d:        barrier radius, GeV⁻¹: a number, or the symbol of ``RADIUS``
        columns:  event columns of one number that the model declares
        varying:  which daughters have a mass of their own in every event
    """

    m1: float
    m2: float
    L: int
    d: float | sp.Symbol
    columns: tuple[str, ...] = ()
    varying: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class LineshapeParameter:
    """A real parameter of a lineshape.

    Attributes:
        name:          as in model files, e.g. ``mass``
        unit:          e.g. ``GeV``; empty if dimensionless
        latex:         symbol in formulas
        lower, upper:  limits of physical sense; None if there is none
        default:       value if the user gives none; None: it must be given, or come from the PDG (mass, width)
    """

    name: str
    unit: str = ""
    latex: str = ""
    lower: float | None = None
    upper: float | None = None
    default: float | None = None

    @property
    def symbol(self) -> sp.Symbol:
        """The symbol of this parameter in formulas."""
        return sp.Symbol(self.name, real=True)


# the barrier radius of a resonance that floats it
RADIUS = LineshapeParameter("radius", "GeV^-1", "d", lower=0.0)


@dataclass(frozen=True)
class OtherChannel:
    """A decay channel that a lineshape knows besides that of its vertex: its name and the masses of its particles, GeV."""

    name: str
    m1: float
    m2: float


@dataclass(frozen=True)
class Formula:
    """A lineshape given by one formula.

    Attributes:
        name:        name in model files
        expression:  F(s, q2, event columns; parameters), complex
        parameters:  its real parameters
        reference:   where the formula is from
        printed:     the same formula with symbols for what would clutter it in print, e.g. q0; None: the expression itself
        channels:    channels besides that of the vertex, for the names of Riemann sheets
        unitary:     whether 1/F is M(s) − i Σ_j g_j² ρ_j with an M that no momentum turns the sign of: poles then have couplings g_j²
    """

    name: str
    expression: sp.Expr
    parameters: tuple[LineshapeParameter, ...] = ()
    reference: str = ""
    printed: sp.Expr | None = None
    channels: tuple[OtherChannel, ...] = ()
    unitary: bool = False

    @property
    def latex(self) -> str:
        """The formula as LaTeX."""
        short = self.expression if self.printed is None else self.printed
        short = short.xreplace({number: sp.Float(number, 6) for number in short.atoms(sp.Float)})
        names = {p.symbol: p.latex or sp.latex(p.symbol) for p in self.parameters}
        return sp.latex(short, symbol_names={**names, q2: "q^2"})


@dataclass(frozen=True)
class Basis:
    """A lineshape that is linear in complex coefficients: each function of the event becomes a wave with its own coupling.

    Attributes:
        name:       name in model files
        labels:     name of every function
        functions:  each takes arrays s and q2 and returns a complex or real array
        reference:  where the formula is from
        evaluate:   all functions at once, ``evaluate(s, q2)`` → [function, event]; None if that saves nothing
        origin:     what the functions are made of, if it says how they continue to complex masses
        channels:   channels besides that of the vertex, for the names of Riemann sheets
        all_channels:  names of all channels by threshold, where the functions are those of a known reaction
    """

    name: str
    labels: tuple[str, ...]
    functions: tuple[Callable[[Any, Any], Any], ...]
    reference: str = ""
    evaluate: Callable[[Any, Any], Any] | None = None
    origin: Any = field(default=None, compare=False)
    channels: tuple[OtherChannel, ...] = ()
    all_channels: tuple[str, ...] = ()

    def values(self, s: Any, q2: Any) -> Any:
        """All functions at numpy arrays s and q2 [event], as one array [function, event]."""
        if self.evaluate is not None:
            return self.evaluate(s, q2)
        return np.stack([function(s, q2) for function in self.functions])


@dataclass(frozen=True)
class Callback:
    """A lineshape without a closed formula: a Python function on arrays.

    Attributes:
        name:        name in model files
        function:    ``function(s, q2, parameters) -> F`` on torch tensors [event]; parameters are 0-dimensional tensors by name,
                     and the result must be differentiable by torch with respect to them; with ``columns`` it gets these as a fourth
                     argument, tensors [event] by name
        parameters:  its real parameters
        columns:     event columns that it uses
    """

    name: str
    function: Callable[..., Any]
    parameters: tuple[LineshapeParameter, ...] = ()
    columns: tuple[str, ...] = ()

    def values(self, s: Any, q2: Any, parameters: Mapping[str, Any], columns: Mapping[str, Any]) -> Any:
        """F of every event."""
        return self.function(s, q2, parameters, columns) if self.columns else self.function(s, q2, parameters)


Lineshape = Formula | Basis | Callback


@dataclass(frozen=True)
class LineshapeKind:
    """A family of lineshapes that a model file can ask for by name.

    Attributes:
        name:     name in model files
        build:    ``build(vertex, **options) -> Lineshape``
        options:  names of the options that ``build`` takes, with what they mean
        summary:  one line for documentation
    """

    name: str
    build: Callable[..., Lineshape]
    summary: str
    options: Mapping[str, str] = field(default_factory=dict)
