"""Lineshapes at complex masses: the analytic continuation of a formula onto a chosen Riemann sheet, with exact derivatives.

The variable is w = √s with Re w > 0. A channel with break-up momentum q_i has two sheets, named by the sign of Im q_i: + is the physical
one, and − the one that begins below the real axis where the channel is open,

    q_i = ± i √(−q_i²)        with the root whose real part is positive.

Parts of a formula that are chosen by a condition (a channel that is closed below its threshold, an absolute value) are those that hold at
a given mass on the real axis: each piece of the axis has a continuation of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from ctpwa.errors import PhysicsError
from ctpwa.model.lineshapes import kmatrix
from ctpwa.model.lineshapes.barrier import breakup_q2
from ctpwa.model.lineshapes.formula import EVENT_VARIABLES, Basis, Formula, Lineshape, Vertex, csqrt, q2, s

SAME_THRESHOLD = 1e-9  # GeV
FUNCTIONS: dict[str, Callable[[Any], tuple[Any, Any]]] = {  # value and derivative
    "exp": lambda x: (np.exp(x), np.exp(x)),
    "log": lambda x: (np.log(x), 1 / x),
    "sin": lambda x: (np.sin(x), np.cos(x)),
    "cos": lambda x: (np.cos(x), -np.sin(x)),
    "atan": lambda x: (np.arctan(x), 1 / (1 + x**2)),
}


class NotAnalytic(PhysicsError):
    """A lineshape without an analytic continuation; ``what`` says why."""


@dataclass(frozen=True)
class SheetChannel:
    """A channel whose break-up momentum has two signs.

    Attributes:
        threshold:  mass where it opens, GeV
        own:        whether it is the channel of the vertex, in which events are seen
    """

    threshold: float
    own: bool = False


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


class Continuation:
    """A lineshape at complex masses w.

    Attributes:
        channels:    the channels whose momenta have two signs, by threshold; a sheet is a sign for each
        parameters:  names of the parameters over which derivatives are taken
        switches:    whether the formula switches channels on and off

    F may have several functions (those of a basis), all with the same poles.
    """

    channels: tuple[SheetChannel, ...]
    parameters: tuple[str, ...]
    switches: bool

    def values(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """F [function, point] and its derivatives over (w, parameters) [function, variable, point].

        Args:
            w:      complex masses
            sheet:  +1 or −1 for every channel
            at:     mass on the real axis whose piece of the formula is continued
        """
        raise NotImplementedError

    def inverse(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """A function that has a zero where F has a pole, and its derivatives over (w, parameters) [variable, point]."""
        raise NotImplementedError

    def piece(self, at: float) -> tuple[int, ...]:
        """Which branch of every condition holds at a mass on the real axis."""
        raise NotImplementedError

    def switched_off(self, at: float) -> tuple[bool, ...]:
        """Which channels do not take part in the piece at a mass on the real axis."""
        raise NotImplementedError

    def cuts(self, w: Any, sheet: Sequence[int], at: float) -> list[np.ndarray]:
        """Numbers whose negative real axis is a cut of a logarithm, an arc tangent or a root that belongs to no channel."""
        return []


def continuation(lineshape: Lineshape, vertex: Vertex, values: Mapping[str, float]) -> Continuation:
    """The continuation of a lineshape.

    Args:
        lineshape:  the lineshape
        vertex:     the vertex where its resonance decays
        values:     of its parameters

    Raises:
        NotAnalytic: if there is none; the message says why
    """
    if isinstance(lineshape, Formula):
        F = FormulaContinuation(lineshape, vertex, values)
        if F.refusal is not None:
            raise F.refusal
        return F
    if isinstance(lineshape, Basis):
        if isinstance(lineshape.origin, kmatrix.KMatrix):
            return KMatrixContinuation(lineshape.origin, vertex, lineshape)
        raise NotAnalytic(f"{lineshape.name} is a set of values at masses, not an analytic function")
    raise NotAnalytic(f"{lineshape.name} is a Python function, which is known on the real axis only")


class FormulaContinuation(Continuation):
    """A formula at complex masses; any sheet, any piece.

    Attributes:
        refusal:  why it has no continuation, and only ``on_axis`` makes sense; None if it has one
    """

    def __init__(self, formula: Formula, vertex: Vertex, values: Mapping[str, float]) -> None:
        self.formula, self.vertex = formula, vertex
        self.parameters = tuple(p.name for p in formula.parameters)
        self._theta = np.array([values[name] for name in self.parameters], dtype=float)
        self._symbols = {p.symbol: i for i, p in enumerate(formula.parameters)}
        self._numbers = {p.symbol: sp.Float(values[p.name]) for p in formula.parameters}
        self.refusal: NotAnalytic | None = None
        try:
            self._refuse_odd_powers()
            self.channels, self._channel_of = self._find_channels()
        except NotAnalytic as refusal:
            self.refusal, self.channels, self._channel_of = refusal, (), {}
        self.switches = any(isinstance(argument, sp.Piecewise) for argument in self._channel_of)
        self._parts = _Parts(self)
        self._whole = self._parts.add(formula.expression)
        self._conditional = [self._parts.index[node] for node in _conditional(formula.expression)]

    @property
    def has_pole(self) -> bool:
        """Whether anything that depends on the mass is divided by."""
        return any(power.exp.is_negative and power.base != s and _of_event(power.base) for power in self.formula.expression.atoms(sp.Pow))

    def on_axis(self, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F [point] and its derivatives over the parameters [parameter, point] at real masses, as events see it."""
        walk = _Walk(self, np.asarray(mass, dtype=complex), None, None)
        F = walk.visit(self._whole)
        n = len(self.parameters)
        slopes = np.zeros((n + 1, *mass.shape), dtype=complex) if F.slopes is None else F.slopes
        return np.broadcast_to(np.asarray(F.value, dtype=complex), mass.shape), np.broadcast_to(slopes, (n + 1, *mass.shape))[1:]

    def values(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """F [1, point] and its derivatives [1, variable, point]."""
        points = np.asarray(w, dtype=complex)
        F = _Walk(self, points, sheet, self._axis(at)).visit(self._whole)
        slopes = np.zeros((len(self.parameters) + 1, *points.shape), dtype=complex) if F.slopes is None else F.slopes
        return np.asarray(F.value)[None], np.asarray(slopes)[None]

    def inverse(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """1/F and its derivatives."""
        (F,), (slopes,) = self.values(w, sheet, at)
        return 1 / F, -slopes / F**2

    def piece(self, at: float) -> tuple[int, ...]:
        """Which branch of every condition holds."""
        axis = self._axis(at)
        return tuple(axis.branch(index) for index in self._conditional)

    def switched_off(self, at: float) -> tuple[bool, ...]:
        """Channels all of whose roots are 0 in this piece."""
        axis = self._axis(at)
        off = [True] * len(self.channels)
        for argument, channel in self._channel_of.items():
            zero = isinstance(argument, sp.Piecewise) and argument.args[axis.branch(self._parts.index[argument])][0] == 0
            off[channel] = off[channel] and zero
        return tuple(off)

    def cuts(self, w: Any, sheet: Sequence[int], at: float) -> list[np.ndarray]:
        """What logarithms, arc tangents and roots without a channel are taken of."""
        walk = _Walk(self, np.asarray(w, dtype=complex), sheet, self._axis(at))
        walk.visit(self._whole)
        return walk.arguments

    def _axis(self, at: float) -> _Walk:
        return _Walk(self, np.asarray(at, dtype=complex), None, None)

    def _refuse_odd_powers(self) -> None:
        for power in self.formula.expression.atoms(sp.Pow):
            if power.base in EVENT_VARIABLES and not (2 * power.exp).is_Integer:
                raise NotAnalytic(f"{self.formula.name} holds {power}, which has more than two sheets")

    def _find_channels(self) -> tuple[tuple[SheetChannel, ...], dict[sp.Expr, int]]:
        """Channels by threshold, and which of them each root belongs to."""
        own = self.vertex.m1 + self.vertex.m2
        found: dict[sp.Expr, float] = {}
        if any(power.base == q2 and not power.exp.is_Integer for power in self.formula.expression.atoms(sp.Pow)):
            found[q2] = own
        for root in sorted(self.formula.expression.atoms(csqrt), key=sp.default_sort_key):
            argument = root.args[0]
            if _of_event(argument) and not _is_size(argument):
                found[argument] = self._threshold(argument)
        thresholds: list[float] = []
        for threshold in sorted(found.values()):
            if not thresholds or threshold > thresholds[-1] + SAME_THRESHOLD:
                thresholds.append(threshold)
        of = {
            argument: next(i for i, t in enumerate(thresholds) if abs(t - threshold) <= SAME_THRESHOLD)
            for argument, threshold in found.items()
        }
        return tuple(SheetChannel(t, abs(t - own) <= SAME_THRESHOLD) for t in thresholds), of

    def _threshold(self, argument: sp.Expr) -> float:
        """The largest mass at which what stands under a root is 0."""
        branches = [value for value, _ in argument.args] if isinstance(argument, sp.Piecewise) else [argument]
        own = breakup_q2(s, self.vertex.m1, self.vertex.m2)
        zeros = []
        for branch in branches:
            x = branch.xreplace({q2: own}).xreplace(self._numbers)
            if not x.has(s):
                continue
            try:
                zeros += sp.Poly(sp.numer(sp.together(x)), s).nroots()
            except (sp.PolynomialError, sp.GeneratorsError):
                raise NotAnalytic(f"the branch points of the root of {argument} in {self.formula.name} are not known") from None
        positive = [float(sp.re(zero)) for zero in zeros if abs(sp.im(zero)) < 1e-12 and sp.re(zero) > 0]
        if not positive:
            raise NotAnalytic(f"the root of {argument} in {self.formula.name} has no threshold")
        return float(np.sqrt(max(positive)))


@dataclass(frozen=True)
class _Part:
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


class _Parts:
    """A formula as a list of parts, each once, so that evaluations need no symbols."""

    def __init__(self, of: FormulaContinuation) -> None:
        self.of = of
        self.list: list[_Part] = []
        self.index: dict[sp.Basic, int] = {}

    def add(self, node: sp.Expr) -> int:
        """Number of a part."""
        if node not in self.index:
            part = self._part(node)
            self.list.append(part)
            self.index[node] = len(self.list) - 1
        return self.index[node]

    def _part(self, node: sp.Expr) -> _Part:
        event = _of_event(node)
        if node == s:
            return _Part("s", of_event=True)
        if node == q2:
            return _Part("add", (self.add(breakup_q2(s, self.of.vertex.m1, self.of.vertex.m2)),), of_event=True)
        if node.is_Symbol:
            return _Part("parameter", number=self.of._symbols[node])
        if node.is_number:
            return _Part("number", number=complex(node))
        if isinstance(node, (sp.Add, sp.Mul)):
            return _Part("add" if isinstance(node, sp.Add) else "multiply", tuple(map(self.add, node.args)), of_event=event)
        if isinstance(node, sp.Pow):
            return self._power(node.base, node.exp, event)
        if isinstance(node, csqrt):
            return _Part("root", (self.add(node.args[0]),), self.of._channel_of.get(node.args[0]), event)
        if isinstance(node, sp.Piecewise):
            return _Part(
                "choice", tuple(self.add(value) for value, _ in node.args), None, event, tuple(self._test(t) for _, t in node.args)
            )
        if node.func.__name__ not in FUNCTIONS:
            raise NotAnalytic(f"{self.of.formula.name} holds {node.func.__name__}, whose continuation is not known")
        return _Part(node.func.__name__, (self.add(node.args[0]),), of_event=event)

    def _power(self, base: sp.Expr, exponent: sp.Expr, event: bool) -> _Part:
        if exponent.is_Integer:
            return _Part("power", (self.add(base),), int(exponent), event)
        whole = (2 * exponent).is_Integer
        if base == s and whole:
            return _Part("power of m", (), int(2 * exponent), True)
        if base == q2 and whole:
            return _Part("power of q", (self._root_of_q2(),), int(2 * exponent), True)
        return _Part("principal power", (self.add(base),), float(exponent), event)

    def _root_of_q2(self) -> int:
        key = csqrt(q2)
        if key not in self.index:
            self.list.append(_Part("root", (self.add(q2),), self.of._channel_of.get(q2), True))
            self.index[key] = len(self.list) - 1
        return self.index[key]

    def _test(self, test: Any) -> Any:
        if test in (sp.true, sp.false):
            return bool(test)
        if isinstance(test, (sp.And, sp.Or)):
            return ("and" if isinstance(test, sp.And) else "or", *(self._test(part) for part in test.args))
        return (test.rel_op, self.add(test.lhs), self.add(test.rhs))


class _Walk:
    """One evaluation of a formula. Without a sheet: on the real axis, where roots of negative numbers are i|√|."""

    def __init__(self, of: FormulaContinuation, w: np.ndarray, sheet: Sequence[int] | None, axis: _Walk | None) -> None:
        self.parts, self.sheet, self.axis = of._parts.list, sheet, axis
        n = 1 + len(of.parameters)
        unit = np.eye(n, dtype=complex).reshape(n, n, *(1,) * w.ndim)
        self.w = Jet(w, unit[0] * np.ones_like(w))
        self.theta = [Jet(complex(value), unit[i + 1]) for i, value in enumerate(of._theta)]
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

    def _compute(self, part: _Part, index: int) -> Jet:
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

    def _root(self, x: Jet, part: _Part) -> Jet:
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

    def _choice(self, part: _Part, index: int) -> Jet:
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
        if name == "log":
            self.arguments.append(x.value)
        elif name == "atan":
            self.arguments.append((1 + 1j * x.value) / (1 - 1j * x.value))
        value, slope = FUNCTIONS[name](x.value)
        return x.chain(value, slope)


class KMatrixContinuation(Continuation):
    """A K-matrix at complex masses. Its numbers are fixed, so there are no parameters."""

    parameters = ()

    def __init__(self, matrix: kmatrix.KMatrix, vertex: Vertex, basis: Basis) -> None:
        self.matrix, self.basis = matrix, basis
        self._roots = [_phase_space(rho, vertex) for rho in matrix.phase_space]
        self.switches = kmatrix.four_pion_phase_space in matrix.phase_space
        own = vertex.m1 + vertex.m2
        self.channels = tuple(SheetChannel(threshold, abs(threshold - own) <= SAME_THRESHOLD) for threshold, _ in self._roots)

    @property
    def observed(self) -> int:
        """Number of the channel whose amplitude this is."""
        return int(self.basis.evaluate.keywords["channel"])  # type: ignore[union-attr]

    def values(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """F per unit of every production coupling [function, point], and derivatives that nobody asks for."""
        points = np.atleast_1d(np.asarray(w, dtype=complex))
        F = self.matrix.production_at(points**2, self._rho(points, sheet, at), self.observed)
        F = F.reshape(len(F), *np.shape(w))
        return F, np.zeros((len(F), 1, *np.shape(w)))

    def inverse(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """The determinant of the linear system that F solves, and its derivative by differences in four directions."""
        centre = np.asarray(w, dtype=complex)
        h = np.clip(np.abs(centre.imag) / 3, 1e-8, 1e-4) * (1j ** np.arange(4)).reshape(4, *(1,) * centre.ndim)
        points = np.concatenate([centre[None], centre + h])
        flat = points.ravel()
        D = np.linalg.det(self.matrix.system(flat**2, self._rho(flat, sheet, at))).reshape(points.shape)
        return D[0], (D[1:] / h).mean(axis=0, keepdims=True)

    def piece(self, at: float) -> tuple[int, ...]:
        """Whether the four-pion phase space is that above 1 GeV."""
        return (int(at >= 1.0),) if kmatrix.four_pion_phase_space in self.matrix.phase_space else ()

    def switched_off(self, at: float) -> tuple[bool, ...]:
        """The four-pion phase space below 1 GeV is a polynomial, without a cut."""
        return tuple(rho is kmatrix.four_pion_phase_space and at < 1.0 for rho in self.matrix.phase_space)

    def _rho(self, w: np.ndarray, sheet: Sequence[int], at: float) -> np.ndarray:
        z = w**2
        columns = []
        for rho, sign, (threshold, other) in zip(self.matrix.phase_space, sheet, self._roots, strict=True):
            if rho is kmatrix.four_pion_phase_space and at < 1.0:
                columns.append(kmatrix.four_pion_polynomial(z))
            else:
                columns.append(sign * 1j * np.sqrt(-(1 - threshold**2 / z)) * np.sqrt(1 - other**2 / z))
        return np.stack(columns, axis=-1)


def _phase_space(rho: Any, vertex: Vertex) -> tuple[float, float]:
    """m_a and m_b of a phase space √[(1 − m_a²/s)(1 − m_b²/s)]."""
    if rho is kmatrix.own_phase_space:
        return vertex.m1 + vertex.m2, abs(vertex.m1 - vertex.m2)
    if rho is kmatrix.four_pion_phase_space:
        return 4 * kmatrix.M_PION, 0.0
    if isinstance(rho, partial) and rho.func in (kmatrix.two_body_phase_space, kmatrix.threshold_phase_space):
        m1, m2 = rho.keywords["m1"], rho.keywords["m2"]
        return m1 + m2, abs(m1 - m2) if rho.func is kmatrix.two_body_phase_space else 0.0
    raise NotAnalytic(f"the phase space {rho!r} is known on the real axis only")


def _of_event(node: sp.Basic) -> bool:
    return bool(node.free_symbols & set(EVENT_VARIABLES))


def _conditional(expression: sp.Expr) -> list[sp.Piecewise]:
    """Every Piecewise whose conditions depend on the event, in one order."""
    nodes = [node for node in expression.atoms(sp.Piecewise) if any(_of_event(test) for _, test in node.args)]
    return sorted(nodes, key=sp.default_sort_key)


def _is_size(node: sp.Expr) -> bool:
    """Whether it is |x|, which no root of it makes imaginary."""
    return isinstance(node, sp.Piecewise) and len(node.args) == 2 and node.args[0][0] == -node.args[1][0]
