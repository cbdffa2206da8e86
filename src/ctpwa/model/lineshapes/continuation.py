"""Lineshapes at complex masses: the analytic continuation of a formula onto a chosen Riemann sheet, with exact derivatives.

The variable is w = √s with Re w > 0. A channel with break-up momentum q_i has two sheets, named by the sign of Im q_i: + is the physical
one, and − the one that begins below the real axis where the channel is open,

    q_i = ± i √(−q_i²)        with the root whose real part is positive.

Parts of a formula that are chosen by a condition (a channel that is closed below its threshold, an absolute value) are those that hold at
a given mass on the real axis: each piece of the axis has a continuation of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from ctpwa.model.lineshapes import kmatrix
from ctpwa.model.lineshapes.barrier import breakup_q2
from ctpwa.model.lineshapes.formula import Basis, Formula, Lineshape, Vertex, columns_of, csqrt, q2, s
from ctpwa.model.lineshapes.parts import FormulaParts, NotAnalytic, Walk, of_event

SAME_THRESHOLD = 1e-9  # GeV


@dataclass(frozen=True)
class SheetChannel:
    """A channel whose break-up momentum has two signs.

    Attributes:
        threshold:  mass where it opens, GeV
        own:        whether it is the channel of the vertex, in which events are seen
    """

    threshold: float
    own: bool = False


class Continuation(ABC):
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

    @abstractmethod
    def values(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """F [function, point] and its derivatives over (w, parameters) [function, variable, point].

        Args:
            w:      complex masses
            sheet:  +1 or −1 for every channel
            at:     mass on the real axis whose piece of the formula is continued
        """

    @abstractmethod
    def inverse(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """A function that has a zero where F has a pole, and its derivatives over (w, parameters) [variable, point]."""

    @abstractmethod
    def piece(self, at: float) -> tuple[int, ...]:
        """Which branch of every condition holds at a mass on the real axis."""

    @abstractmethod
    def switched_off(self, at: float) -> tuple[bool, ...]:
        """Which channels do not take part in the piece at a mass on the real axis."""

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
    for column in columns_of(lineshape):
        raise NotAnalytic(f"{lineshape.name} depends on {column} of the event, not on the mass alone")
    if isinstance(lineshape, Formula):
        F = FormulaContinuation(lineshape, vertex, values)
        if F.refusal is not None:
            raise F.refusal
        return F
    if isinstance(lineshape, Basis):
        if isinstance(lineshape.origin, kmatrix.KMatrix):
            return KMatrixContinuation(lineshape.origin, vertex, lineshape)
        raise NotAnalytic(f"{lineshape.name} is a set of values at masses, not an analytic function")
    raise NotAnalytic(f"{lineshape.name} is a Python function, which is known only on the real axis")


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
        self._parts = FormulaParts(formula.name, vertex, self._symbols, self._channel_of)
        self._whole = self._parts.add(formula.expression)
        self._conditional = [self._parts.index[node] for node in _conditional(formula.expression)]

    @property
    def has_pole(self) -> bool:
        """Whether anything that depends on the mass is divided by."""
        return any(power.exp.is_negative and power.base != s and of_event(power.base) for power in self.formula.expression.atoms(sp.Pow))

    def on_axis(self, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F [point] and its derivatives over the parameters [parameter, point] at real masses, as events see it."""
        walk = self._walk(mass)
        F = walk.visit(self._whole)
        n = len(self.parameters)
        slopes = np.zeros((n + 1, *mass.shape), dtype=complex) if F.slopes is None else F.slopes
        return np.broadcast_to(np.asarray(F.value, dtype=complex), mass.shape), np.broadcast_to(slopes, (n + 1, *mass.shape))[1:]

    def values(self, w: Any, sheet: Sequence[int], at: float) -> tuple[np.ndarray, np.ndarray]:
        """F [1, point] and its derivatives [1, variable, point]."""
        points = np.asarray(w, dtype=complex)
        F = self._walk(points, sheet, self._axis(at)).visit(self._whole)
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
        walk = self._walk(w, sheet, self._axis(at))
        walk.visit(self._whole)
        return walk.arguments

    def _walk(self, w: Any, sheet: Sequence[int] | None = None, axis: Walk | None = None) -> Walk:
        return Walk(self._parts.list, self._theta, np.asarray(w, dtype=complex), sheet, axis)

    def _axis(self, at: float) -> Walk:
        return self._walk(at)

    def _refuse_odd_powers(self) -> None:
        for power in self.formula.expression.atoms(sp.Pow):
            if power.base in (s, q2) and not (2 * power.exp).is_Integer:
                raise NotAnalytic(f"{self.formula.name} holds {power}, which has more than two sheets")

    def _find_channels(self) -> tuple[tuple[SheetChannel, ...], dict[sp.Expr, int]]:
        """Channels by threshold, and which of them each root belongs to."""
        own = self.vertex.m1 + self.vertex.m2
        found: dict[sp.Expr, float] = {}
        if any(power.base == q2 and not power.exp.is_Integer for power in self.formula.expression.atoms(sp.Pow)):
            found[q2] = own
        for root in sorted(self.formula.expression.atoms(csqrt), key=sp.default_sort_key):
            argument = root.args[0]
            if of_event(argument) and not _is_size(argument):
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


class KMatrixContinuation(Continuation):
    """A K-matrix at complex masses. Its numbers are fixed, so there are no parameters."""

    parameters = ()

    def __init__(self, matrix: kmatrix.KMatrix, vertex: Vertex, basis: Basis) -> None:
        self.matrix, self.basis = matrix, basis
        self._roots = [_phase_space(rho, vertex) for rho in matrix.phase_space]
        self._four_pions = any(isinstance(rho, kmatrix.FourPions) for rho in matrix.phase_space)
        self.switches = self._four_pions
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
        return (int(at >= 1.0),) if self._four_pions else ()

    def switched_off(self, at: float) -> tuple[bool, ...]:
        """The four-pion phase space below 1 GeV is a polynomial, without a cut."""
        return tuple(isinstance(rho, kmatrix.FourPions) and at < 1.0 for rho in self.matrix.phase_space)

    def _rho(self, w: np.ndarray, sheet: Sequence[int], at: float) -> np.ndarray:
        z = w**2
        columns = []
        for rho, sign, (threshold, other) in zip(self.matrix.phase_space, sheet, self._roots, strict=True):
            if isinstance(rho, kmatrix.FourPions) and at < 1.0:
                columns.append(rho.below(z))
            else:
                columns.append(sign * 1j * np.sqrt(-(1 - threshold**2 / z)) * np.sqrt(1 - other**2 / z))
        return np.stack(columns, axis=-1)


def _phase_space(rho: Any, vertex: Vertex) -> tuple[float, float]:
    """m_a and m_b of a phase space √[(1 − m_a²/s)(1 − m_b²/s)]."""
    if rho is kmatrix.own_phase_space:
        return vertex.m1 + vertex.m2, abs(vertex.m1 - vertex.m2)
    if isinstance(rho, kmatrix.FourPions):
        return 4 * kmatrix.M_PION, 0.0
    if isinstance(rho, partial) and rho.func in (kmatrix.two_body_phase_space, kmatrix.threshold_phase_space):
        m1, m2 = rho.keywords["m1"], rho.keywords["m2"]
        return m1 + m2, abs(m1 - m2) if rho.func is kmatrix.two_body_phase_space else 0.0
    if isinstance(rho, partial) and rho.func is kmatrix.barrier_phase_space:
        raise NotAnalytic("a K-matrix with L > 0 is known only on the real axis; coupled_channels is known everywhere")
    raise NotAnalytic(f"the phase space {rho!r} is known only on the real axis")


def _conditional(expression: sp.Expr) -> list[sp.Piecewise]:
    """Every Piecewise whose conditions depend on the event, in one order."""
    nodes = [node for node in expression.atoms(sp.Piecewise) if any(of_event(test) for _, test in node.args)]
    return sorted(nodes, key=sp.default_sort_key)


def _is_size(node: sp.Expr) -> bool:
    """Whether it is |x|, which no root of it makes imaginary."""
    return isinstance(node, sp.Piecewise) and len(node.args) == 2 and node.args[0][0] == -node.args[1][0]
