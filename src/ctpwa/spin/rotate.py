"""Fewer polarisation rows: an orthogonal change of the row basis, event by event, that leaves every intensity as it is.

I = Σ_r |ψ_r|² does not change when the rows of all waves are rotated together, in each event by another rotation. If the amplitudes of
all wave structures span fewer dimensions than there are rows, the rest can be rotated to zero and dropped: in a parity-conserving decay to
three particles reflection in the decay plane leaves half of the rows, and J/ψ → K⁺K⁻η needs one instead of two (F10).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

TOLERANCE = 1e-11  # of the typical size of a structure; over 10⁵ events what is really zero stays below 1e-14 of it


@dataclass(frozen=True)
class RowRotation:
    """How many rows are needed.

    Attributes:
        n_rows:  dimensions that the rows span
        scale:   typical size of every structure, [structure]
    """

    n_rows: int
    scale: Tensor

    @classmethod
    def of(cls, K: Tensor) -> RowRotation:
        """From the spin amplitudes [structure, row, event] of some events."""
        rms = K.abs().square().sum(dim=1).mean(dim=1).sqrt()
        scale = torch.where(rms > 0, rms, 1.0)
        rotated = K.clone()
        for k in range(K.shape[1]):
            if k and not _more_than_rounding(_largest(rotated, k), scale):
                return cls(k, scale)
            _householder(rotated, scale, k)
        return cls(K.shape[1], scale)

    def to(self, device: torch.device) -> RowRotation:
        """The same on another device."""
        return RowRotation(self.n_rows, self.scale.to(device))

    def rotate_(self, K: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate K in place: the rows that are kept, [structure, n_rows, event], and the largest number of each structure in the others."""
        for k in range(self.n_rows):
            _householder(K, self.scale, k)
        return K[:, : self.n_rows], _largest(K, self.n_rows)

    def check(self, left: Tensor) -> None:
        """Refuse numbers in the rows left out that are larger than rounding."""
        if _more_than_rounding(left, self.scale):
            raise RowsNeeded


class RowsNeeded(Exception):
    """Some event needs more rows than were found before."""


def _largest(rotated: Tensor, k: int) -> Tensor:
    """The largest number of each structure in rows k and beyond."""
    rest = rotated[:, k:]
    return rest.abs().amax(dim=(1, 2)) if rest.numel() else rotated.new_zeros(rotated.shape[0]).abs()


def _more_than_rounding(largest: Tensor, scale: Tensor) -> bool:
    return bool((largest > TOLERANCE * scale).any())


def _householder(rotated: Tensor, scale: Tensor, k: int) -> None:
    """Reflect rows k and beyond so that the largest structure of each event points along row k."""
    rest = rotated[:, k:]
    size = rest.abs().square().sum(dim=1) / scale.square()[:, None]
    pivot = size.argmax(dim=0)
    v = rest.gather(0, pivot[None, None].expand(1, *rest.shape[1:]))[0]
    norm = v.abs().square().sum(dim=0).sqrt()
    head = v[0].abs()
    turn = torch.where(head > 0, v[0] / head.clamp(min=1e-300), torch.ones_like(v[0]))
    u = v.clone()
    u[0] += turn * norm
    length = u.abs().square().sum(dim=0).sqrt()
    u = torch.where(length > 0, u / length.clamp(min=1e-300), torch.zeros_like(u))
    rest -= 2 * (rest * u.conj()).sum(dim=1, keepdim=True) * u
