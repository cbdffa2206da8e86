"""The result of the spin stage: K, once per wave structure, and how waves are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ctpwa.decay.structure import Structure
from ctpwa.spin.production import Rows


@dataclass(frozen=True)
class WaveTerm:
    """One term of a wave: which K it uses and which masses its propagators see.

    Attributes:
        structure:  index into ``SpinAmplitudes.structures``
        factor:     integer in front of it
        systems:    final particles of each resonance, in the order of ``Wave.resonances``
    """

    structure: int
    factor: int
    systems: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SpinAmplitudes:
    """Spin amplitudes of all waves for one sample.

    K holds every wave structure once for each feed of the production. If ``real``, its rows are pairs of √2 Re and √2 Im parts of
    Ã = i^ΣL A, a unitary change of the basis of rows that is the same for all waves. A wave is then Σ_terms factor · (−i)^ΣL · K, and an
    intensity computed from K equals the one computed from ``values``.

    Attributes:
        K:           [structure · feed, row, event], float64 if ``real``, else complex128; event is contiguous
        structures:  what each K is: structures with integer coefficients
        terms:       for each wave, its terms
        waves:       the waves
        rows:        meaning of the axis of rows
    """

    K: Tensor
    structures: tuple[tuple[tuple[Structure, int], ...], ...]
    terms: tuple[tuple[WaveTerm, ...], ...]
    waves: tuple[Any, ...]
    rows: Rows

    @property
    def real(self) -> bool:
        """Whether K is stored as real numbers."""
        return self.rows.real

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.K.shape[-1]

    @property
    def polarisations(self) -> tuple[str, ...]:
        """What each row of ``values`` stands for."""
        return self.rows.labels

    def phase(self, structure: int) -> complex:
        """The factor between K of a structure and its amplitude, (−i)^ΣL if K is real."""
        return self.rows.phase(self.structures[structure][0][0].total_L)

    @property
    def values(self) -> Tensor:
        """Complex amplitudes [wave · feed, polarisation, event], identical particles summed over, without propagators."""
        shape = (len(self.waves), len(self.rows.feeds), len(self.polarisations), self.n_events)
        result = torch.zeros(shape, dtype=torch.complex128, device=self.K.device)
        K = self.K.unflatten(0, (-1, len(self.rows.feeds)))
        restored: dict[int, Tensor] = {}
        for row, terms in enumerate(self.terms):
            for term in terms:
                if term.structure not in restored:
                    total_L = self.structures[term.structure][0][0].total_L
                    restored[term.structure] = self.rows.restore(K[term.structure], total_L)
                result[row].add_(restored[term.structure], alpha=term.factor)
        return result.flatten(0, 1)
