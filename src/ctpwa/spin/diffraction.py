"""Production by a beam without polarisation: one row for each sector, and states of X of definite reflectivity ε, made of M and −M.

They are

    |J^P M ε⟩ = θ_M [ |J M⟩ − ε P (−1)^{J−M} |J −M⟩ ],   θ_M = 1/√2 (M > 0), 1/2 (M = 0)                 (F13.7)
    K = θ_M (X_M − ε X̄_M)

M = 0 exists only for ε = −P (−1)^J.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt

from torch import Tensor

from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Decay
from ctpwa.decay.made import Made, Sector
from ctpwa.spin.exposure import Exposure
from ctpwa.spin.produced_rows import ProducedBy, ProducedRows
from ctpwa.spin.production import Production
from ctpwa.spin.reaction import Reaction


@dataclass(frozen=True)
class Diffraction(ProducedBy):
    """X made by a spinless beam, or by photons without polarisation.

    Attributes:
        reaction:  beam, target and frame
        sectors:   reflectivity and rank of each
        name:      what it is called
        exposure:  what events are generated with; None: they are not
    """

    reaction: Reaction
    sectors: tuple[Sector, ...]
    name: str = "diffraction"
    exposure: Exposure | None = None

    folded = True

    def rows(self, decay: Decay) -> DiffractionRows:
        """See ``Production``."""
        return DiffractionRows(decay, self.reaction, self.sectors)

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """See ``ProducedBy``."""
        return self.reaction.columns

    def probed(self, n_events: int) -> tuple[Production, dict[EventColumn, Tensor]]:
        """See ``Production``."""
        reaction, columns = self.reaction.probed(n_events)
        return replace(self, reaction=reaction), columns

    def __str__(self) -> str:
        return f"{self.name} in the {self.reaction.frame} frame"


@dataclass(frozen=True)
class DiffractionRows(ProducedRows):
    """One row for each sector and final spin state."""

    def rows_of(self, X: Tensor, made: Made, columns: Mapping[str, Tensor]) -> Iterator[Tensor]:
        """See ``ProducedRows``."""
        return self.reflected(X, -made.reflectivity, 1 / sqrt(2) if made.two_m else 0.5)
