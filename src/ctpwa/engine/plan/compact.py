"""Fewer numbers per event: what is cheap to compute from s and q² of a vertex is computed in every pass instead of being kept.

Twelve running widths of three vertices are then six numbers per event. Whether that is quicker depends on the machine: a GPU has
operations to spare, and what streams through it is a matter of bytes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from ctpwa.engine.plan.plan import BasisMember, Channel, EventQuantity, FormulaKind, Plan, System
from ctpwa.model.lineshapes.formula import event_variables, q2, s

MOST_OPERATIONS = 40  # of a number that is computed in every pass
LEAST_SAVING = 0.2  # of the bytes of an event: there are more kinds of formulas then, which take longer to compile
MOST_KINDS = 12  # of formulas, for the same reason
v = sp.Symbol("v", nonnegative=True)  # q/√s, which is kept instead of q² where it saves the square roots


def compacted(
    plan: Plan, *, most_operations: int = MOST_OPERATIONS, least_saving: float = LEAST_SAVING, most_kinds: int = MOST_KINDS
) -> Plan:
    """The same tables with fewer event quantities, if that is worth it.

    Of a vertex at which more than two real numbers are cheap functions of s and q², only s and one more are kept.

    Args:
        plan:             the tables of a model
        most_operations:  of a number that is computed in every pass
        least_saving:     part of the bytes of an event that must be saved
        most_kinds:       of formulas afterwards
    """
    if plan.callbacks:  # their rows are filled in between
        return plan
    groups: dict[tuple[System, tuple[System, System]], list[EventQuantity]] = {}
    for quantity in plan.quantities:
        source = quantity.source
        if isinstance(source, BasisMember) or quantity.complex or not event_variables(source) <= {s, q2}:
            continue
        if source.count_ops() <= most_operations:
            groups.setdefault((quantity.system, quantity.daughters), []).append(quantity)
    large = [group for group in groups.values() if len(group) > 2]
    if not large:
        return plan
    less = _Compactor(plan, large).plan()
    worth_it = less.bytes_per_event <= (1 - least_saving) * plan.bytes_per_event and len(less.kinds) <= most_kinds
    return less if worth_it else plan


class _Compactor:
    def __init__(self, plan: Plan, groups: Sequence[Sequence[EventQuantity]]) -> None:
        self.old = plan
        self.vertex_of = {quantity: group for group in groups for quantity in group}
        self.quantity_at = {row: quantity for quantity, row in plan.quantities.items()}
        self.rows: dict[EventQuantity, int] = {}
        self.kinds: dict[FormulaKind, int] = {}

    def plan(self) -> Plan:
        channels = sorted((self._channel(channel) for channel in self.old.channels), key=lambda c: (c.structure, c.kind, c.e))
        return replace(self.old, channels=tuple(channels), kinds=tuple(self.kinds), quantities=dict(self.rows))

    def _channel(self, channel: Channel) -> Channel:
        kind = self.old.kinds[channel.kind]
        used: dict[EventQuantity, sp.Symbol] = {}
        inner: list[tuple[sp.Symbol, sp.Expr]] = []
        new_name: dict[sp.Expr, sp.Symbol] = {}
        for symbol, row in zip(kind.e_symbols, channel.e, strict=True):
            quantity = self.quantity_at[row]
            if quantity not in self.vertex_of or quantity.source == s:
                new_name[symbol] = _symbol(used, quantity)
            else:
                new_name[symbol] = self._computed(quantity, used, inner)
        new_kind = FormulaKind(kind.expression.xreplace(new_name), tuple(q.complex for q in used), kind.n_p, kind.floating, tuple(inner))
        return replace(channel, kind=self.kinds.setdefault(new_kind, len(self.kinds)), e=tuple(self._row(quantity) for quantity in used))

    def _computed(self, quantity: EventQuantity, used: dict[EventQuantity, sp.Symbol], inner: list[tuple[sp.Symbol, sp.Expr]]) -> sp.Symbol:
        """The symbol of a number that is computed; how to compute it is added to ``inner``."""
        second = _second_variable(self.vertex_of[quantity])
        e_s = _symbol(used, replace(quantity, source=s))
        e_second = _symbol(used, replace(quantity, source=sp.sqrt(q2 / s) if second == v else q2))
        names: dict[sp.Expr, sp.Expr] = {s: e_s, second: e_second}
        if second == v:
            names[q2] = _inner(inner, e_second**2 * e_s)
        return _inner(inner, _in_terms_of(quantity.source, second).xreplace(names))

    def _row(self, quantity: EventQuantity) -> int:
        return self.rows.setdefault(quantity, sum(2 if other.complex else 1 for other in self.rows))


def _symbol(used: dict[EventQuantity, sp.Symbol], quantity: EventQuantity) -> sp.Symbol:
    """The symbol of an event quantity of the new kind."""
    return used.setdefault(quantity, sp.Symbol(f"e{len(used)}", real=None if quantity.complex else True))


def _inner(inner: list[tuple[sp.Symbol, sp.Expr]], expression: sp.Expr) -> sp.Symbol:
    known = {found: symbol for symbol, found in inner}
    if expression not in known:
        inner.append((sp.Symbol(f"x{len(inner)}", real=True), expression))
    return known.get(expression, inner[-1][0])


def _second_variable(group: Sequence[EventQuantity]) -> sp.Symbol:
    """What to keep besides s; q/√s only if √s is wanted anyway, so that s must be positive as before."""
    powers = [power for quantity in group for power in sp.sympify(quantity.source).atoms(sp.Pow)]
    roots = {power.base for power in powers if (2 * power.exp).is_odd}
    return v if {s, q2} <= roots else q2


def _in_terms_of(expression: sp.Expr, variable: sp.Symbol) -> sp.Expr:
    """√q² = v √s, if v is kept: most factors of √s cancel then."""
    if variable == q2:
        return expression
    return expression.replace(
        lambda node: node.is_Pow and node.base == q2 and (2 * node.exp).is_odd,
        lambda node: q2 ** (node.exp - sp.Rational(1, 2)) * v * sp.sqrt(s),
    )
