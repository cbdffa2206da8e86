"""A sample as the kernels see it: K, the event table and weights, on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

import numpy as np
import sympy as sp
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.event_column import Columns
from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.plan.plan import NOWHERE, BasisMember, CallbackInputs, CallbackRows, Plan, System
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.kinematics.two_body import breakup_momentum_squared
from ctpwa.model.lineshapes.formula import Basis, column_variable, q2, s

CHUNK_EVENTS = 1 << 18
TABLE_EVENTS, LONG_TABLE_EVENTS = 1 << 15, 1 << 18  # of which the event table is computed at a time; not on a CPU operations must be long
Inputs = Mapping[CallbackInputs, tuple[Tensor, ...]]  # s, q² and event columns, each [event]


@dataclass(frozen=True)
class Sample:
    """Events ready for the kernels; events of positive weight come first, so that every chunk has weights of one sign.

    With a finite resolution an event is several points of phase space, one after the other; otherwise it is one.

    Attributes:
        K:          [structure, row, point]; in mixed precision in single precision, of which kernels make double when they read it
        E:          event table [row, point]
        w:          weights [event]; on a GPU with a step of 0 if all are 1
        n_positive: events with weight ≥ 0
        order:      original position of every event; None if nothing moved
        inputs:     what callbacks are functions of
        v:          weights of the points of every event [event, point of it]; None if an event is one point
        number:     no two samples have the same
    """

    K: Tensor
    E: Tensor
    w: Tensor
    n_positive: int
    order: Tensor | None
    inputs: Inputs
    v: Tensor | None = None
    number: int = field(default_factory=count().__next__, init=False)

    def __reduce__(self) -> tuple[type[Sample], tuple[object, ...]]:
        """Pickled without its number: it gets one of its own wherever it arrives."""
        return Sample, (self.K, self.E, self.w, self.n_positive, self.order, self.inputs, self.v)

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.w.shape[0]

    @property
    def n_points(self) -> int:
        """Number of points of all events."""
        return self.K.shape[-1]

    @property
    def points_per_event(self) -> int:
        """Number of points of an event."""
        return 1 if self.v is None else self.v.shape[1]

    def at_points(self, w: Tensor) -> Sample:
        """A sample in which every point is an event of its own.

        Args:
            w:  weights of the points, of the same sign as those of their events
        """
        return Sample(self.K, self.E, w, self.n_positive * self.points_per_event, None, self.inputs)

    @cached_property
    def weighted_points(self) -> Sample:
        """Every point as an event of its own, with its share of the weight of its event."""
        assert self.v is not None
        return self.at_points((self.w[:, None] * self.v / self.v.sum(dim=1, keepdim=True)).flatten())

    @cached_property
    def log_point_weights(self) -> float:
        """Σ w ln Σ_k v_k: what the weights of points add to a sum of logarithms beyond their shares."""
        assert self.v is not None
        return float(self.w @ self.v.sum(dim=1).log())

    def picked(self, events: Tensor, w: Tensor, order: Tensor | None) -> Sample:
        """Some events with other weights, or all in another order; those with weight ≥ 0 come first.

        Args:
            events:  their numbers in this sample
            w:       their weights
            order:   their original positions
        """
        k = self.points_per_event
        points = events if k == 1 else (k * events[:, None] + torch.arange(k, device=events.device)).flatten()
        inputs = picked_inputs(self.inputs, points)
        v = None if self.v is None else self.v[events]
        n_positive = int((w >= 0).sum())
        return Sample(self.K[..., points].contiguous(), self.E[:, points].contiguous(), w, n_positive, order, inputs, v)

    def in_pieces(self, size: int) -> Iterator[Sample]:
        """All events, in copies of at most ``size`` at a time; a sample that is no longer than that is one."""
        if self.n_events <= size:
            yield self
            return
        k = self.points_per_event
        for start in range(0, self.n_events, size):
            stop = min(start + size, self.n_events)
            points = slice(k * start, k * stop)
            inputs, v = picked_inputs(self.inputs, points), None if self.v is None else self.v[start:stop]
            n_positive = min(max(self.n_positive - start, 0), stop - start)
            yield Sample(self.K[..., points].contiguous(), self.E[:, points].contiguous(), self.w[start:stop], n_positive, None, inputs, v)

    def to(self, device: torch.device) -> Sample:
        """The same sample on another device."""
        if self.K.device == device:
            return self
        inputs = {place: tuple(values.to(device) for values in own) for place, own in self.inputs.items()}
        order = None if self.order is None else self.order.to(device)
        v = None if self.v is None else self.v.to(device)
        return Sample(self.K.to(device), self.E.to(device), self.w.to(device), self.n_positive, order, inputs, v)

    def chunks(self, size: int) -> Iterator[tuple[int, int]]:
        """Ranges of at most ``size`` events whose weights have one sign."""
        for begin, end in ((0, self.n_positive), (self.n_positive, self.n_events)):
            for start in range(begin, end, size):
                yield start, min(start + size, end)


def picked_inputs(inputs: Inputs, which: Tensor | slice) -> Inputs:
    """Those of some events, or of all in another order."""
    return {place: tuple(values[which] for values in own) for place, own in inputs.items()}


def build_sample(K: Tensor, E: Tensor, w: Tensor, inputs: Inputs, v: Tensor | None = None) -> Sample:
    """A sample of what was computed of its events, which is taken over, and put in order where it is.

    Args:
        K:       spin amplitudes [structure, row, point]
        E:       event table
        w:       weights of the events
        inputs:  what callbacks are functions of
        v:       weights of the points of every event, if it has several
    """
    if not bool((w < 0).any()):
        return Sample(K, E, w, len(w), None, inputs, v)
    order = torch.argsort((w < 0).to(torch.int8), stable=True)
    points = order if v is None else torch.arange(v.numel(), device=v.device).view(v.shape)[order].flatten()
    for row in (*K.flatten(0, 1), *E):  # one at a time: a second copy of the whole sample may not fit
        row.copy_(row[points])
    moved = None if v is None else v[order]
    return Sample(K, E, w[order], int((w >= 0).sum()), order, picked_inputs(inputs, points), moved)


def checked_weights(weights: Tensor, n_events: int, device: torch.device) -> Tensor:
    """Weights in double precision on a device; refuses a wrong number of them, NaN and infinity."""
    w = torch.as_tensor(weights, dtype=torch.float64, device=device)
    if w.shape != (n_events,):
        raise DataError(
            f"weights have shape {'×'.join(map(str, w.shape))} for {counted(n_events, 'event')}\n fix: give one weight per event"
        )
    if not bool(w.isfinite().all()):
        index = int((~w.isfinite()).nonzero()[0, 0])
        raise DataError(f"the weight of event {index} is not finite\n fix: remove these events or correct their weights")
    return w


def vertex_variables(
    p4: Sequence[Tensor], system: System, daughters: tuple[System, System], known: dict[System, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Mass squared s and q² of a vertex from the masses in the event; rounding below threshold counts as threshold.

    Args:
        p4:         momenta of the final particles
        system:     which of them are below the vertex
        daughters:  which are below each of its daughters
        known:      masses squared of systems, which vertices share; new ones are added
    """
    known = {} if known is None else known
    for group in (system, *daughters):
        if group not in known:
            known[group] = mass_squared(sum(p4[i] for i in group))  # type: ignore[arg-type]
    s_R, s_1, s_2 = (known[group] for group in (system, *daughters))
    m1, m2 = s_1.clamp(min=0).sqrt(), s_2.clamp(min=0).sqrt()
    return s_R, breakup_momentum_squared(s_R, m1, m2).clamp(min=0)


def fill_table(plan: Plan, E: Tensor, p4: Sequence[Tensor], columns: Columns) -> None:
    """The event table of some events with momenta [event, 4], without the rows of callbacks; a chunk of them at a time."""
    step = TABLE_EVENTS if E.device.type == "cpu" else LONG_TABLE_EVENTS
    for start in range(0, E.shape[1], step):
        here = slice(start, start + step)
        _fill(plan, E[:, here], [p[here].T for p in p4], {name: values[here] for name, values in columns.items()})


def _fill(plan: Plan, E: Tensor, p4: Sequence[Tensor], columns: Columns) -> None:
    scalars = {column_variable(name): values for name, values in columns.items() if values.ndim == 1}
    known: dict[tuple[System, tuple[System, System]], dict[sp.Symbol, Tensor]] = {NOWHERE: scalars}
    tables: dict[tuple, Tensor] = {}
    masses: dict[System, Tensor] = {}
    for quantity, row in plan.quantities.items():
        place, source = (quantity.system, quantity.daughters), quantity.source
        if place not in known:
            known[place] = scalars | dict(zip((s, q2), vertex_variables(p4, *place, masses), strict=True))
        variables = known[place]
        if isinstance(source, BasisMember):
            key = (source.basis, place)
            if key not in tables:  # all functions of a basis at once: a K-matrix is inverted once for all of them
                tables[key] = _basis_values(source.basis, variables[s], variables[q2])
            value = tables[key][source.index]
        else:
            value = evaluate(source, variables).expand(E.shape[1])
        if quantity.complex:
            value = value.to(torch.complex128)
            E[row], E[row + 1] = value.real, value.imag
        else:
            E[row] = value


def _basis_values(basis: Basis, s_R: Tensor, q2_R: Tensor) -> Tensor:
    values = np.asarray(basis.values(s_R.cpu().numpy(), q2_R.cpu().numpy()))
    return torch.as_tensor(values.astype(complex), device=s_R.device)


def callback_point(callback: CallbackRows, values: Mapping[str, float], device: torch.device) -> tuple[Tensor, Tensor]:
    """The parameters of a callback, and the directions of those that float, on a device."""
    present = torch.tensor([values[name] for name in callback.names], dtype=torch.float64)
    floating = torch.eye(len(callback.names), dtype=torch.float64)[list(callback.floating)]
    return present.to(device), floating.to(device)


def fill_callback(callback: CallbackRows, sample: Sample, present: Tensor, floating: Tensor, order: int) -> None:
    """Write F of a callback and, up to ``order``, its derivatives into the event table.

    Args:
        callback:           the lineshape and its rows
        sample:             the events
        present, floating:  what ``callback_point`` gives
        order:              highest derivative needed
    """
    s_R, q2_R, *others = sample.inputs[callback.inputs]
    columns = dict(zip(callback.lineshape.columns, others, strict=True))

    def F(theta: Tensor) -> Tensor:
        parameters = {p.name: theta[i] for i, p in enumerate(callback.lineshape.parameters)}
        return torch.view_as_real(callback.lineshape.values(s_R, q2_R, parameters, columns).to(torch.complex128).expand_as(s_R)).T

    def along(f: Callable[[Tensor], Tensor], direction: Tensor) -> Callable[[Tensor], Tensor]:
        return lambda theta: torch.func.jvp(f, (theta,), (direction,))[1]

    row = callback.row
    sample.E[row : row + 2] = F(present)
    n = len(callback.floating)
    for k in range(n):
        sample.E[row + 2 + 2 * k : row + 4 + 2 * k] = along(F, floating[k])(present) if order >= 1 else 0.0
    position = row + 2 + 2 * n
    for j in range(n):
        for k in range(j, n):
            sample.E[position : position + 2] = along(along(F, floating[j]), floating[k])(present) if order >= 2 else 0.0
            position += 2
