"""Events: momenta of all final particles and a weight for each event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Events(Mapping[str, Tensor]):
    """A sample. It is a mapping from final-particle names to momenta, so it can be passed wherever momenta are wanted.

    Attributes:
        momenta:  name → [event, 4], (E, px, py, pz) in GeV
        weights:  [event]; None if all are 1
    """

    momenta: Mapping[str, Tensor]
    weights: Tensor | None = None

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
