"""The result of the spin stage: K, once per wave structure, and how waves are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ctpwa.decay.structure import Structure
from ctpwa.spin.polarisation_rows import PolarisationRows


@dataclass(frozen=True)
class WaveTerm:
    """One term of a wave: which K it uses and which masses its propagators see.

    Attributes:
        structure:  index into ``SpinAmplitudes.K``
        factor:     integer in front of it
        systems:    final particles of each resonance, in the order of ``Wave.resonances``
    """

    structure: int
    factor: int
    systems: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SpinAmplitudes:
    """Spin amplitudes of all waves for one sample.

    K holds every wave structure once. If ``real``, its rows are pairs of √2 Re and √2 Im parts of Ã = i^ΣL A, a unitary change of
    the polarisation basis that is the same for all waves. A wave is then Σ_terms factor · (−i)^ΣL · K, and an intensity
    computed from K equals the one computed from ``values``.

    Attributes:
        K:           [structure, row, event], float64 if ``real``, else complex128; event is contiguous
        structures:  what each K is: structures with integer coefficients
        terms:       for each wave, its terms
        waves:       the waves
        rows:        meaning of the polarisation axis
    """

    K: Tensor
    structures: tuple[tuple[tuple[Structure, int], ...], ...]
    terms: tuple[tuple[WaveTerm, ...], ...]
    waves: tuple[Any, ...]
    rows: PolarisationRows

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
        """What each polarisation row of ``values`` stands for."""
        return self.rows.labels

    def phase(self, structure: int) -> complex:
        """The factor (−i)^ΣL between a real K and the amplitude; 1 if K is complex."""
        return (-1j) ** self.structures[structure][0][0].total_L if self.real else 1.0 + 0j

    @property
    def values(self) -> Tensor:
        """Complex amplitudes [wave, polarisation, event], identical particles summed over, without propagators."""
        result = torch.zeros(len(self.waves), len(self.polarisations), self.n_events, dtype=torch.complex128, device=self.K.device)
        restored: dict[int, Tensor] = {}
        for row, terms in enumerate(self.terms):
            for term in terms:
                if term.structure not in restored:
                    total_L = self.structures[term.structure][0][0].total_L
                    restored[term.structure] = self.rows.restore(self.K[term.structure], total_L)
                result[row].add_(restored[term.structure], alpha=term.factor)
        return result
