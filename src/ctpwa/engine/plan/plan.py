"""From waves and lineshapes to plain tables: what is stored per event, what is computed per iteration, what the kernels loop over.

    ψ_r(x) = Σ_t K_tr(x) u_t(x),   u_t = Σ_{a∈t} c_a F_a(e(x); p),   I = Σ_r |ψ_r|²

A *channel* a is one term of one wave: a coupling with a constant factor, a wave structure t, and a product of propagators F. Channels
with the same formula are of one *kind*; kernels have one loop per kind and are otherwise driven by tables. ``e`` are event-only numbers
cached once per sample, ``p`` parameter-only numbers computed once per evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ctpwa.base.words import counted
from ctpwa.engine.plan.iteration import IterationNumber, IterationNumbers
from ctpwa.engine.plan.staging import derivatives, is_complex
from ctpwa.model.lineshapes.formula import Basis, Callback, Formula

System = tuple[int, ...]
NOWHERE: tuple[System, tuple[System, System]] = ((), ((), ()))  # the vertex of what depends on event columns alone


CallbackInputs = tuple[System, tuple[System, System], tuple[str, ...]]  # a vertex, whose s and q² are meant, and event columns


@dataclass(frozen=True)
class BasisMember:
    """One function of a basis."""

    basis: Basis
    index: int

    def __str__(self) -> str:
        return f"{self.basis.name}:{self.basis.labels[self.index]}"


@dataclass(frozen=True)
class Propagator:
    """A lineshape at a place in a chain.

    Attributes:
        lineshape:  its formula, one function of a basis, or a callback
        names:      name in the model of each of its parameters
        system:     final particles whose mass it sees
        daughters:  final particles of either daughter
    """

    lineshape: Formula | Callback | BasisMember
    names: tuple[str, ...]
    system: System
    daughters: tuple[System, System]


@dataclass(frozen=True)
class ChannelSpec:
    """A channel before planning: coupling index, constant factor, wave structure, propagators and the index of its wave."""

    coupling: int
    factor: complex
    structure: int
    propagators: tuple[Propagator, ...]
    wave: int = 0


@dataclass(frozen=True)
class EventQuantity:
    """A number cached for every event: an expression in s and q² of a vertex and event columns, or a function of a basis.

    Attributes:
        source:     expression or member of a basis
        system:     final particles of the vertex; none if it depends on event columns alone
        daughters:  final particles of either daughter
        complex:    whether it takes two rows, real and imaginary part
    """

    source: sp.Expr | BasisMember
    system: System
    daughters: tuple[System, System]
    complex: bool


@dataclass(frozen=True)
class FormulaKind:
    """A formula shared by channels.

    Attributes:
        expression:  F in the symbols e0, e1, … and p0, p1, …
        e_complex:   for each e whether it is complex
        n_p:         number of p
        floating:    which of them change during a fit
        inner:       symbols of F besides, each with an expression in e and in those before it; computed in every pass
    """

    expression: sp.Expr
    e_complex: tuple[bool, ...]
    n_p: int
    floating: tuple[int, ...]
    inner: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()

    @property
    def e_symbols(self) -> list[sp.Symbol]:
        """Symbols of the event numbers."""
        return [sp.Symbol(f"e{i}", real=None if c else True) for i, c in enumerate(self.e_complex)]

    @property
    def p_symbols(self) -> list[sp.Symbol]:
        """Symbols of the iteration numbers."""
        return [sp.Symbol(f"p{i}", real=True) for i in range(self.n_p)]

    @property
    def real(self) -> bool:
        """Whether F is real for every event."""
        return not any(self.e_complex) and not is_complex(self.expression)

    @cached_property
    def first(self) -> list[sp.Expr]:
        """∂F/∂p for the floating p."""
        return self._derivatives[0]

    @cached_property
    def second(self) -> dict[tuple[int, int], sp.Expr]:
        """∂²F/∂p∂p for pairs of positions in ``floating``."""
        return self._derivatives[1]

    @cached_property
    def _derivatives(self) -> tuple[list[sp.Expr], dict[tuple[int, int], sp.Expr]]:
        return derivatives(self.expression, tuple(self.p_symbols[i] for i in self.floating))


@dataclass(frozen=True)
class Channel:
    """One line of the tables.

    Attributes:
        coupling:   index of its coupling
        factor:     constant in front of the coupling
        structure:  index of K
        kind:       index of its formula
        e:          rows of the event table, one per e of the kind (the first of two for a complex one)
        p:          index of each p in the vector of iteration numbers
        wave:       index of the wave it belongs to
    """

    coupling: int
    factor: complex
    structure: int
    kind: int
    e: tuple[int, ...]
    p: tuple[int, ...]
    wave: int


@dataclass(frozen=True)
class Segment:
    """Neighbouring channels of one structure and kind that read the same event rows."""

    structure: int
    kind: int
    e: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True)
class CallbackRows:
    """Where the values of a callback go in the event table.

    F is entered as e0 + Σ e_k δ_k + ½ Σ e_kl δ_k δ_l with δ = θ − (present θ): its value and its first and second derivatives are then
    exactly those of the callback.

    Attributes:
        lineshape:  the callback
        names:      name in the model of each of its parameters
        floating:   positions of those that are fitted
        system, daughters:  the vertex it belongs to; ``inputs``: with the event columns that it needs
        row:        first of its rows: F, then ∂F for each floating parameter, then ∂²F for each pair; two rows each
    """

    lineshape: Callback
    names: tuple[str, ...]
    floating: tuple[int, ...]
    system: System
    daughters: tuple[System, System]
    row: int

    @property
    def inputs(self) -> CallbackInputs:
        """What it is a function of."""
        return self.system, self.daughters, self.lineshape.columns


@dataclass(frozen=True)
class Plan:
    """Everything the kernels need besides numbers.

    Attributes:
        n_couplings:  complex couplings
        n_structures, n_rows, real:  shape and type of K
        kinds:        formulas
        channels:     sorted by structure, kind and event rows
        quantities:   what the event table holds, with its first row
        p:            iteration numbers; floating ones first
        callbacks:    lineshapes without a formula, whose event rows are filled again in every evaluation
        n_floating:   how many of them change during a fit
        parameters:   names of the floating parameters θ
        fixed:        values of all other parameters
        n_added:      densities that are added to the intensity: I + Σ β b; the last rows of the event table are their values b
        exponents:    in mixed precision: K of every structure is divided by 2 to this power and stored in single precision, and the
                      factors of its channels are multiplied by it; None in double precision
    """

    n_couplings: int
    n_structures: int
    n_rows: int
    real: bool
    kinds: tuple[FormulaKind, ...]
    channels: tuple[Channel, ...]
    quantities: Mapping[EventQuantity, int]
    p: tuple[IterationNumber, ...]
    callbacks: tuple[CallbackRows, ...]
    n_floating: int
    parameters: tuple[str, ...]
    fixed: Mapping[str, float]
    n_added: int = 0
    exponents: tuple[int, ...] | None = None

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: not what was computed from it, such as compiled functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def in_mixed_precision(self, exponents: tuple[int, ...]) -> Plan:
        """The same tables for K in single precision, every structure divided by 2 to the power of its exponent."""
        channels = tuple(replace(channel, factor=channel.factor * 2.0 ** exponents[channel.structure]) for channel in self.channels)
        return replace(self, channels=channels, exponents=exponents)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Channels in runs."""
        result: list[Segment] = []
        for index, channel in enumerate(self.channels):
            key = (channel.structure, channel.kind, channel.e)
            if result and (result[-1].structure, result[-1].kind, result[-1].e) == key:
                last = result.pop()
                result.append(Segment(*key, last.first, index + 1))
            else:
                result.append(Segment(*key, index, index + 1))
        return tuple(result)

    @cached_property
    def n_event_rows(self) -> int:
        """Rows of the event table."""
        dynamic = sum(2 * n_callback_quantities(len(callback.floating)) for callback in self.callbacks)
        return dynamic + sum(2 if quantity.complex else 1 for quantity in self.quantities) + self.n_added

    @property
    def added_row(self) -> int:
        """The row of the event table with the first added density."""
        return self.n_event_rows - self.n_added

    @property
    def n_columns(self) -> int:
        """Columns of a Gram matrix: couplings, floating iteration numbers, added densities."""
        return self.n_couplings + self.n_floating + self.n_added

    @property
    def n_variables(self) -> int:
        """Variables of an expansion: Re c, Im c, floating p, β."""
        return self.n_couplings + self.n_columns

    def numbers(self, theta: np.ndarray, beta: np.ndarray | None = None) -> np.ndarray:
        """What an engine is given besides couplings: iteration numbers, and β of the added densities after them, 0 if not given."""
        p = self.iteration.values(theta)
        return np.concatenate([p, np.zeros(self.n_added) if beta is None else beta]) if self.n_added else p

    def beta(self, numbers: np.ndarray) -> np.ndarray:
        """β among these."""
        return numbers[len(numbers) - self.n_added :]

    @cached_property
    def most_e(self) -> int:
        """Event quantities of the kind that has most of them."""
        return max((len(kind.e_complex) for kind in self.kinds), default=0)

    @property
    def bytes_per_event(self) -> int:
        """Bytes cached for every event: K, event table, weight, and the inputs of callbacks."""
        return self._bytes(8 if self.exponents is None else 4)

    @property
    def collapses(self) -> bool:
        """Whether no lineshape changes during a fit: a sample for the normalisation then becomes one matrix."""
        return self.n_floating == 0 and not self.callbacks

    @property
    def exact_bytes_per_event(self) -> int:
        """The same with K in double precision."""
        return self._bytes(8)

    def _bytes(self, number: int) -> int:
        inputs = sum(2 + len(columns) for *_, columns in {callback.inputs for callback in self.callbacks})
        return number * self.n_structures * self.n_rows * (1 if self.real else 2) + 8 * (self.n_event_rows + 1 + inputs)

    @cached_property
    def factors(self) -> np.ndarray:
        """Constant factors of the channels."""
        return np.array([channel.factor for channel in self.channels], dtype=complex)

    @cached_property
    def coupling_of(self) -> np.ndarray:
        """Coupling index of every channel."""
        return np.array([channel.coupling for channel in self.channels], dtype=np.int64)

    @cached_property
    def column_parts(self) -> np.ndarray:
        """Which of the real and imaginary parts [re | im · coupling] of ∂ψ/∂c can differ from zero: F = 1 has no imaginary part."""
        parts = np.zeros((2, self.n_couplings), dtype=bool)
        for channel in self.channels:
            mixed = not (self.real and self.kinds[channel.kind].real)
            parts[:, channel.coupling] |= (mixed or channel.factor.real != 0, mixed or channel.factor.imag != 0)
        return parts.ravel()

    @cached_property
    def iteration(self) -> IterationNumbers:
        """p(θ) with derivatives."""
        return IterationNumbers(self.p, self.n_floating, self.parameters, self.fixed)

    def explain(self) -> str:
        """The life cycles in words, for ``ctpwa check --explain``."""
        lines = [
            f"{counted(len(self.channels), 'channel')} of {counted(len(self.kinds), 'kind')}"
            f" on {counted(self.n_structures, 'wave structure')}, "
            f"{self.bytes_per_event} bytes per event"
        ]
        for index, kind in enumerate(self.kinds):
            number = sum(channel.kind == index for channel in self.channels)
            lines.append(
                f"  {number:3d} × every event and iteration: F = {kind.expression}"
                + "".join(f", {symbol} = {expression}" for symbol, expression in kind.inner)
                + (f"   floating: {', '.join(f'p{i}' for i in kind.floating)}" if kind.floating else "")
            )
        lines += [f"  once per event:     {'complex ' if q.complex else ''}{q.source} of {q.system}" for q in self.quantities]
        lines += [f"  once per iteration: {number}" for number in self.p[: self.n_floating]]
        return "\n".join(lines)


def n_callback_quantities(n_floating: int) -> int:
    """F, its first and its second derivatives."""
    return 1 + n_floating + n_floating * (n_floating + 1) // 2
