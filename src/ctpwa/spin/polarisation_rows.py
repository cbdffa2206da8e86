"""Rows of a parent with one density matrix: its spin state and all final spins, and how K is made real.

Conjugating a vertex turns all projections around. With Ã = i^ΣL A this reads, for every wave alike,

    conj Ã[m; σ] = η Ã[−m; −σ],     η = (−1)^{(J−m) + Σ(s−σ)} · Π_photons (−1)                    (F10)

(photon rows are linear polarisations and stay). If the parent's density matrix is diagonal and even in m, a pair of rows
(λ, −λ) can be replaced by √2 Re Ã[λ] and √2 Im Ã[λ]: a unitary change of basis, the same for all waves, after which K is
real. It takes half the memory, and only one row of each pair has to be computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt

import torch
from torch import Tensor

from ctpwa.decay.chain import Decay
from ctpwa.decay.spin import projections
from ctpwa.decay.structure import Structure
from ctpwa.kinematics.constants import constants
from ctpwa.spin.final_spins import FinalSpins, signed
from ctpwa.spin.production import Rows

Row = tuple[int, tuple[int, ...]]  # doubled m, index of every final spin state


@dataclass(frozen=True)
class PolarisationRows(Rows):
    """The rows of a parent with one density matrix ρ = Σ_states V V†.

    Attributes:
        decay:    parent and final particles
        weights:  ρ_mm if ρ is diagonal and even in m, for m = +J, …, −J; else None
        states:   V [state][m]
    """

    decay: Decay
    weights: tuple[float, ...] | None
    states: tuple[tuple[complex, ...], ...]

    @property
    def real(self) -> bool:
        """Whether K can be made real."""
        return self.weights is not None

    @cached_property
    def final(self) -> FinalSpins:
        """The spin states of the final particles."""
        return FinalSpins(self.decay)

    @property
    def spins(self) -> tuple[tuple[int, ...], ...]:
        """All combinations of final spin states, last particle fastest."""
        return self.final.states

    @cached_property
    def two_ms(self) -> tuple[int, ...]:
        """2m of the parent states that must be computed."""
        if self.weights is None:
            return tuple(projections(self.decay.parent.two_J))
        return tuple(m for m, weight in zip(projections(self.decay.parent.two_J), self.weights, strict=True) if m >= 0 and weight > 0)

    @cached_property
    def _pairs(self) -> tuple[tuple[Row, Row], ...]:
        """One computed row and its mirror image, for every pair of rows."""
        pairs: list[tuple[Row, Row]] = []
        seen: set[Row] = set()
        for row in product(self.two_ms, self.spins):
            if row not in seen:
                mirrored = self._mirror(row)
                pairs.append((row, mirrored))
                seen |= {row, mirrored}
        return tuple(pairs)

    def _mirror(self, row: Row) -> Row:
        return -row[0], self.final.mirror(row[1])

    def _eta(self, row: Row) -> int:
        return (-1) ** ((self.decay.parent.two_J - row[0]) // 2 + self.final.odd(row[1]))

    @cached_property
    def n_rows(self) -> int:
        """Length of the polarisation axis."""
        if not self.real:
            return len(self.states) * len(self.spins)
        return sum(1 if row == mirrored else 2 for row, mirrored in self._pairs)

    @cached_property
    def two_m_of_rows(self) -> tuple[int, ...]:
        """2|m| of every stored row, if K is real."""
        return tuple(abs(row[0]) for row, mirrored in self._pairs for _ in range(1 if row == mirrored else 2))

    def store(self, A: Tensor, structure: Structure, columns: Mapping[str, Tensor], out: Tensor) -> None:
        """See ``Rows``."""
        (out,) = out  # there is one feed
        if not self.real:
            V = constants(tuple(entry for state in self.states for entry in state), A.dtype, A.device).view(len(self.states), -1)
            out.copy_(torch.einsum("km,mse->kse", V, A).reshape(self.n_rows, -1))
            return
        position, total_L = 0, structure.total_L
        for row, mirrored in self._pairs:
            value = A[self.two_ms.index(row[0]), self.spins.index(row[1])]
            if row == mirrored:
                part = 0 if self._eta(row) == 1 else 1
                _part_of_phase_times(value, total_L, part, self._scale(row), out[position])
                position += 1
            else:
                for part in (0, 1):
                    _part_of_phase_times(value, total_L, part, sqrt(2) * self._scale(row), out[position + part])
                position += 2

    def _scale(self, row: Row) -> float:
        assert self.weights is not None
        return sqrt(self.weights[(self.decay.parent.two_J - row[0]) // 2])

    def phase(self, total_L: int) -> complex:
        """(−i)^ΣL between Ã and the amplitude, if K is real."""
        return (-1j) ** total_L if self.real else 1.0

    def restore(self, K: Tensor, total_L: int) -> Tensor:
        """See ``Rows``."""
        if not self.real:
            return K
        (K,) = K
        rows: dict[Row, Tensor] = {}
        position = 0
        phase = self.phase(total_L)
        for row, mirrored in self._pairs:
            if row == mirrored:
                rows[row] = phase * (K[position] if self._eta(row) == 1 else 1j * K[position])
                position += 1
            else:
                pair = torch.complex(K[position], K[position + 1]) / sqrt(2)
                rows[row] = phase * pair
                rows[mirrored] = phase * self._eta(row) * pair.conj()
                position += 2
        return torch.stack([rows[row] for row in self._all_rows])[None]

    @cached_property
    def _all_rows(self) -> tuple[Row, ...]:
        ms = sorted({m for m in self.two_ms} | {-m for m in self.two_ms}, reverse=True)
        return tuple(product(ms, self.spins))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each row of ``SpinAmplitudes.values`` stands for, e.g. ``m=+1, p:+1/2, p~:-1/2``."""
        if self.real:
            initial = [f"m={signed(m)}" for m in dict.fromkeys(row[0] for row in self._all_rows)]
        else:
            initial = [f"state {k}" for k in range(len(self.states))]
        return tuple(", ".join(part for part in pair if part) for pair in product(initial, self.final.labels))


def _part_of_phase_times(value: Tensor, total_L: int, part: int, scale: float, out: Tensor) -> None:
    """Out = scale · Re or Im (part 0 or 1) of i^total_L · value."""
    # i^n (x + iy): n=0 (x, y), n=1 (−y, x), n=2 (−x, −y), n=3 (y, −x)
    quarter = total_L % 4
    source = value.real if (quarter + part) % 2 == 0 else value.imag
    negative = (quarter, part) in {(1, 0), (2, 0), (2, 1), (3, 1)}
    torch.mul(source, -scale if negative else scale, out=out)
