"""A parent whose spin density matrix has elements that are parameters of the model: its rows, and which feed reaches which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ctpwa.decay.chain import Decay
from ctpwa.decay.structure import Structure
from ctpwa.spin.density_matrix import DensityMatrix
from ctpwa.spin.polarisation_rows import PolarisationRows
from ctpwa.spin.production import FeedFactors, Production


@dataclass(frozen=True)
class FittedPolarisation(Production):
    """I = Σ ρ_mm' A_m conj(A_m') with ρ = Σ_k L_mk conj(L_m'k) of parameters: Σ_k |Σ_m L_mk A_m|²            (F9)

    Attributes:
        density:  ρ as a function of parameters
    """

    density: DensityMatrix

    def rows(self, decay: Decay) -> FittedRows:
        """See ``Production``."""
        return FittedRows.of(decay, self.density)

    def __str__(self) -> str:
        return f"density matrix of {', '.join(self.density.names)}"


@dataclass(frozen=True)
class FittedRows(PolarisationRows):
    """One block of rows for each pure state k of the parent, to which the feed (k, m) adds A_m.

    They are the rows of all parent states, none of which interfere. If ρ is diagonal and even in m there is one feed for each |m|, and K
    is real.

    Attributes:
        density:  the density matrix
    """

    density: DensityMatrix

    @classmethod
    def of(cls, decay: Decay, density: DensityMatrix) -> FittedRows:
        """The rows of a decay whose parent has this density matrix."""
        n = decay.parent.two_J + 1
        unit = tuple(tuple(complex(i == j) for j in range(n)) for i in range(n))
        return cls(decay, n * (1.0,) if density.even else None, unit, density)

    @property
    def factors(self) -> FeedFactors:  # type: ignore[override]
        """L_mk of every feed."""
        return self.density

    @property
    def feeds(self) -> tuple[str, ...]:  # type: ignore[override]
        """The pure state and m of every feed, by their place among the states."""
        return tuple(f"{k}<-{m}" for k, m in self.density.entries)

    def store(self, A: Tensor, structure: Structure, columns: Mapping[str, Tensor], out: Tensor) -> None:
        """See ``Rows``."""
        out.zero_()
        n = A.shape[1]
        if not self.real:
            for feed, (k, m) in enumerate(self.density.entries):
                out[feed, k * n : (k + 1) * n] = A[m]
            return
        every = out.new_empty(1, *out.shape[1:])
        super().store(A, structure, columns, every)
        for row, two_m in enumerate(self.two_m_of_rows):
            out[self.density.states.index(two_m), row] = every[0, row]

    def restore(self, K: Tensor, total_L: int) -> Tensor:
        """See ``Rows``."""
        of_feed = super().restore
        return torch.cat([of_feed(own[None], total_L) for own in K])
