"""A chunk of a sample as one block of bytes, so that it moves with one copy between disk, main memory and device.

    event table | weights | weights of points | inputs of callbacks | K | order

Each part begins at a multiple of ``ALIGNMENT``. Only results per event need the order, on the host: it stands last and does not move.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from ctpwa.engine.plan.plan import CallbackInputs
from ctpwa.engine.samples.sample import Sample

ALIGNMENT = 256  # bytes: kernels are compiled once for pointers of this alignment


@dataclass(frozen=True)
class ChunkLayout:
    """What a chunk holds.

    Attributes:
        n_events:    events of the chunk
        n_positive:  those with weight ≥ 0, which come first
        structures:  spin structures
        rows:        rows of K
        event_rows:  rows of the event table
        inputs:      what callbacks are functions of
        dtype:       type of K
        ordered:     whether events moved
        weights:     how many weights are in it; 1 if all are the same
        points:      points of an event
    """

    n_events: int
    n_positive: int
    structures: int
    rows: int
    event_rows: int
    inputs: tuple[CallbackInputs, ...]
    dtype: torch.dtype
    ordered: bool
    weights: int
    points: int = 1

    @classmethod
    def of(cls, sample: Sample) -> ChunkLayout:
        """That of a sample."""
        (structures, rows, _), n = sample.K.shape, sample.n_events
        places = tuple(sample.inputs)
        weights = 1 if sample.w.stride(0) == 0 else n
        ordered = sample.order is not None
        shape = structures, rows, sample.E.shape[0]
        return cls(n, sample.n_positive, *shape, places, sample.K.dtype, ordered, weights, sample.points_per_event)

    @property
    def _parts(self) -> list[tuple[tuple[int, ...], torch.dtype]]:
        n = self.n_events * self.points
        real = torch.float64
        inputs = [((2 + len(columns), n), real) for *_, columns in self.inputs]
        of_points = (self.n_events, self.points if self.points > 1 else 0)
        table = [((self.event_rows, n), real), ((self.weights,), real), (of_points, real)]
        return [*table, *inputs, ((self.structures, self.rows, n), self.dtype)]

    @property
    def moved(self) -> int:
        """Bytes that kernels need."""
        return sum(_aligned(prod(shape) * dtype.itemsize) for shape, dtype in self._parts)

    @property
    def size(self) -> int:
        """Bytes of the whole block."""
        return self.moved + (_aligned(8 * self.n_events) if self.ordered else 0)

    def sample(self, block: Tensor, *, with_order: bool) -> Sample:
        """The sample in a block of bytes, without a copy.

        Args:
            block:       the bytes, on any device
            with_order:  whether the order is in it
        """
        tensors, start = [], 0
        for shape, dtype in self._parts:
            length = prod(shape) * dtype.itemsize
            tensors.append(block[start : start + length].view(dtype).view(shape))
            start += _aligned(length)
        order = block[start : start + 8 * self.n_events].view(torch.int64) if self.ordered and with_order else None
        E, w, v, *tables, K = tensors
        inputs = {place: tuple(table) for place, table in zip(self.inputs, tables, strict=True)}
        return Sample(K, E, w.expand(self.n_events), self.n_positive, order, inputs, v if self.points > 1 else None)

    def pack(self, sample: Sample, block: Tensor) -> None:
        """Copy a sample into a block."""
        goal = self.sample(block, with_order=True)
        goal.E.copy_(sample.E)
        goal.w[: self.weights].copy_(sample.w[: self.weights])
        goal.K.copy_(sample.K)
        if goal.v is not None and sample.v is not None:
            goal.v.copy_(sample.v)
        for place, own in goal.inputs.items():
            for into, values in zip(own, sample.inputs[place], strict=True):
                into.copy_(values)
        if goal.order is not None and sample.order is not None:
            goal.order.copy_(sample.order)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
