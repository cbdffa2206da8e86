"""Columns ∂ψ/∂c of samples whose lineshapes are fixed, kept on the device for batches: they are the same in every evaluation."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.memory import available_bytes
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.sample import Sample

MOST_BYTES = 1 << 30  # of all samples together
FREE_SHARE = 0.25  # of what is free on the device, if that is less

Chunk = tuple[int, int, Tensor]  # first and last event, columns [part, row · event]


@dataclass(frozen=True)
class Columns:
    """∂ψ/∂c of a sample, without parts that are zero in every event.

    Attributes:
        parts:   which of [re | im · coupling] are there
        chunks:  all of its events
    """

    parts: Tensor
    chunks: list[Chunk]


class KeptColumns:
    """The columns of some samples, each computed when it is first asked for and kept as long as its sample.

    Args:
        plan:        its lineshapes are fixed
        device:      where the columns lie
        most_bytes:  of all samples together
    """

    def __init__(self, plan: Plan, device: torch.device, most_bytes: int = MOST_BYTES) -> None:
        self._parts = torch.from_numpy(_even_number(plan.column_parts)).to(device)
        self._per_event = 8 * plan.n_rows * len(self._parts)
        self._kept: dict[int, Columns] = {}
        self._bytes, self._most_bytes = 0, most_bytes

    def of(self, sample: Sample, compute: Callable[[], Iterable[Chunk]]) -> Columns | None:
        """The columns of a sample; None if there is no room for them.

        Args:
            sample:   stays on the device
            compute:  gives all its columns, chunk by chunk
        """
        if sample.number not in self._kept:
            size = self._per_event * sample.n_events
            free = available_bytes(self._parts.device)
            if size > self._most_bytes - self._bytes or (free is not None and size > FREE_SHARE * free):
                return None
            self._kept[sample.number] = Columns(self._parts, [(start, stop, D[self._parts]) for start, stop, D in compute()])
            self._bytes += size
            weakref.finalize(sample, _drop, weakref.ref(self), sample.number, size)
        return self._kept[sample.number]

    def drop(self, number: int, size: int) -> None:
        """Forget the columns of a sample."""
        del self._kept[number]
        self._bytes -= size


def _drop(kept: weakref.ref[KeptColumns], number: int, size: int) -> None:
    there = kept()
    if there is not None:
        there.drop(number, size)


def _even_number(there: np.ndarray) -> np.ndarray:
    """Indices of what is there, with one that is not if their number would be odd: matrix products are faster then."""
    found = np.flatnonzero(there)
    return found if len(found) % 2 == 0 else np.sort(np.append(found, np.flatnonzero(~there)[0]))
