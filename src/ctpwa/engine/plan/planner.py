"""Makes the tables of a ``Plan``: which numbers of a formula are cached per event, which change once per iteration, which in every pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy as sp

from ctpwa.engine.plan.iteration import IterationNumber
from ctpwa.engine.plan.plan import (
    NOWHERE,
    BasisMember,
    CallbackRows,
    Channel,
    ChannelSpec,
    EventQuantity,
    FormulaKind,
    Plan,
    Propagator,
    n_callback_quantities,
)
from ctpwa.engine.plan.staging import Staged, is_complex, stage
from ctpwa.model.lineshapes.formula import Callback, event_variables, q2, s, symbols_of

CHEAP_OPERATIONS = 10  # a fixed propagator with more than this per event is cached instead of computed again


def build_plan(
    channels: Sequence[ChannelSpec],
    *,
    n_couplings: int,
    n_structures: int,
    n_rows: int,
    real: bool,
    values: Mapping[str, float],
    floating: Sequence[str],
) -> Plan:
    """Make the tables.

    Args:
        channels:      all channels
        n_couplings:   number of complex couplings
        n_structures, n_rows, real:  shape and type of K
        values:        value of every lineshape parameter by name
        floating:      names of those that are fitted
    """
    return _Planner(values, floating).plan(channels, n_couplings, n_structures, n_rows, real)


class _Planner:
    def __init__(self, values: Mapping[str, float], floating: Sequence[str]) -> None:
        self.values = dict(values)
        self.floating = list(floating)
        self.quantities: dict[EventQuantity, int] = {}
        self.rows = 0
        self.p: dict[IterationNumber, int] = {}
        self.moves: list[bool] = []  # which of them change during a fit
        self.callbacks: dict[tuple, CallbackRows] = {}
        self.kinds: dict[FormulaKind, int] = {}
        self.known: dict[tuple, tuple[sp.Expr, list[int], list[bool], list[int]]] = {}
        self.staged: dict[sp.Expr, Staged] = {}

    def plan(self, specs: Sequence[ChannelSpec], n_couplings: int, n_structures: int, n_rows: int, real: bool) -> Plan:
        channels = sorted((self._channel(spec) for spec in specs), key=lambda c: (c.structure, c.kind, c.e))
        p, n_floating, renumber = self._floating_first()
        channels = [replace(channel, p=tuple(renumber[i] for i in channel.p)) for channel in channels]
        fixed = {name: value for name, value in self.values.items() if name not in self.floating}
        return Plan(
            n_couplings=n_couplings,
            n_structures=n_structures,
            n_rows=n_rows,
            real=real,
            kinds=tuple(self.kinds),
            channels=tuple(channels),
            quantities=dict(self.quantities),
            p=p,
            callbacks=tuple(self.callbacks.values()),
            n_floating=n_floating,
            parameters=tuple(self.floating),
            fixed=fixed,
        )

    def _floating_first(self) -> tuple[tuple[IterationNumber, ...], int, dict[int, int]]:
        order = sorted(self.p, key=lambda number: not self.moves[self.p[number]])
        return tuple(order), sum(self.moves), {self.p[number]: new for new, number in enumerate(order)}

    def _channel(self, spec: ChannelSpec) -> Channel:
        expression: sp.Expr = sp.Integer(1)
        e_rows: list[int] = []
        e_complex: list[bool] = []
        p_index: list[int] = []
        for propagator in spec.propagators:
            part, rows, are_complex, indices = self._known(propagator)
            e_new = [sp.Symbol(f"e{len(e_rows) + i}", real=None if c else True) for i, c in enumerate(are_complex)]
            p_new = [sp.Symbol(f"p{len(p_index) + i}", real=True) for i in range(len(indices))]
            e_old = [sp.Symbol(f"e{i}", real=None if c else True) for i, c in enumerate(are_complex)]
            p_old = [sp.Symbol(f"p{i}", real=True) for i in range(len(indices))]
            expression = expression * part.xreplace(dict(zip(e_old + p_old, e_new + p_new, strict=True)))
            e_rows += rows
            e_complex += are_complex
            p_index += indices
        moving = tuple(i for i, index in enumerate(p_index) if self.moves[index])
        kind = FormulaKind(expression, tuple(e_complex), len(p_index), moving)
        number = self.kinds.setdefault(kind, len(self.kinds))
        return Channel(spec.coupling, spec.factor, spec.structure, number, tuple(e_rows), tuple(p_index), spec.wave)

    def _known(self, propagator: Propagator) -> tuple[sp.Expr, list[int], list[bool], list[int]]:
        """``_propagator``, once for all channels that share it: hundreds of waves are made of a few dozen."""
        key = (id(propagator.lineshape), propagator.names, propagator.system, propagator.daughters)
        if key not in self.known:
            self.known[key] = self._propagator(propagator)
        return self.known[key]

    def _propagator(self, propagator: Propagator) -> tuple[sp.Expr, list[int], list[bool], list[int]]:
        """F as an expression in e and p, the rows of its e and the indices of its p."""
        lineshape = propagator.lineshape
        if isinstance(lineshape, Callback):
            return self._callback(lineshape, propagator)
        if isinstance(lineshape, BasisMember):
            return self._cached(lineshape, propagator)
        own = {parameter.symbol: name for parameter, name in zip(lineshape.parameters, propagator.names, strict=True)}
        if not symbols_of(lineshape.expression):
            return lineshape.expression, [], [], []
        if lineshape.expression not in self.staged:
            self.staged[lineshape.expression] = stage(lineshape.expression)
        staged = self.staged[lineshape.expression]
        floats = any(name in self.floating for name in own.values())
        if not floats and (staged.mixed.count_ops() > CHEAP_OPERATIONS or any(is_complex(e) for e in staged.event.values())):
            numbers = {symbol: sp.Float(self.values[name], 17) for symbol, name in own.items()}
            return self._cached(lineshape.expression.xreplace(numbers), propagator)
        rows = [self._row(_quantity(e, propagator, is_complex(e))) for e in staged.event.values()]
        indices = [self._number(IterationNumber.of(p, own)) for p in staged.iteration.values()]
        return staged.mixed, rows, [is_complex(e) for e in staged.event.values()], indices

    def _callback(self, lineshape: Callback, propagator: Propagator) -> tuple[sp.Expr, list[int], list[bool], list[int]]:
        floating = tuple(i for i, name in enumerate(propagator.names) if name in self.floating)
        key = (lineshape, propagator.names, propagator.system, propagator.daughters)
        n = len(floating)
        if key not in self.callbacks:
            self.callbacks[key] = CallbackRows(lineshape, propagator.names, floating, propagator.system, propagator.daughters, self.rows)
            self.rows += 2 * n_callback_quantities(n)
        first_row = self.callbacks[key].row
        rows = [first_row + 2 * i for i in range(n_callback_quantities(n))]
        e = [sp.Symbol(f"e{i}") for i in range(len(rows))]
        delta = [sp.Symbol(f"p{k}", real=True) for k in range(n)]
        expression = e[0] + sum((e[1 + k] * delta[k] for k in range(n)), sp.Integer(0))
        pairs = [(j, k) for j in range(n) for k in range(j, n)]
        for position, (j, k) in enumerate(pairs):
            expression += e[1 + n + position] * delta[j] * delta[k] * (sp.Rational(1, 2) if j == k else 1)
        named = [(lineshape.parameters[i].symbol, propagator.names[i]) for i in floating]
        indices = [self._number(IterationNumber(symbol, ((symbol, name),), centred=True)) for symbol, name in named]
        return expression, rows, [True] * len(rows), indices

    def _cached(self, source: sp.Expr | BasisMember, propagator: Propagator) -> tuple[sp.Expr, list[int], list[bool], list[int]]:
        complex_ = not isinstance(source, sp.Expr) or is_complex(source)
        row = self._row(_quantity(source, propagator, complex_))
        return sp.Symbol("e0", real=None if complex_ else True), [row], [complex_], []

    def _number(self, number: IterationNumber) -> int:
        if number not in self.p:
            self.p[number] = len(self.p)
            self.moves.append(number.depends_on(self.floating))
        return self.p[number]

    def _row(self, quantity: EventQuantity) -> int:
        if quantity not in self.quantities:
            self.quantities[quantity] = self.rows
            self.rows += 2 if quantity.complex else 1
        return self.quantities[quantity]


def _quantity(source: sp.Expr | BasisMember, propagator: Propagator, complex_: bool) -> EventQuantity:
    vertex = propagator.system, propagator.daughters
    if isinstance(source, sp.Expr) and not event_variables(source) & {s, q2}:
        vertex = NOWHERE
    return EventQuantity(source, *vertex, complex_)
