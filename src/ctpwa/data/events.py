"""Events: momenta of all final particles and a weight for each event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ctpwa.data.own_part import OwnPart, join_parts
from ctpwa.data.summary import SampleSummary


@dataclass(frozen=True)
class Events(Mapping[str, Tensor]):
    """A sample. It is a mapping from final-particle names to momenta, so it can be passed wherever momenta are wanted.

    Attributes:
        momenta:  name → [event, 4], (E, px, py, pz) in GeV
        weights:  [event]; None if all are 1
        summary:  where they come from, if they were read from files
        rows:     which rows of the whole sample they are, if several processes share it; None: they are the whole sample
    """

    momenta: Mapping[str, Tensor]
    weights: Tensor | None = None
    summary: SampleSummary | None = field(default=None, compare=False)
    rows: OwnPart | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Tensor:
        return self.momenta[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.momenta)

    def __len__(self) -> int:
        return len(self.momenta)

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(next(iter(self.momenta.values())))


def concatenate(parts: Sequence[Events]) -> Events:
    """Several samples as one; where only some have weights, those of the others are 1."""
    if len(parts) == 1:
        return parts[0]
    momenta = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    shared = [part.rows for part in parts if part.rows is not None]
    rows = join_parts(shared) if len(shared) == len(parts) else None
    if all(part.weights is None for part in parts):
        return Events(momenta, rows=rows)
    weights = [part[next(iter(part))].new_ones(part.n_events) if part.weights is None else part.weights for part in parts]
    return Events(momenta, torch.cat(weights), rows=rows)
