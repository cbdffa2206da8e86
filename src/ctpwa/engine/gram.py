"""Gram matrices of the columns ∂ψ_j: the part of a Hessian that is two tall-skinny products.

    G_jk = Σ_e ω Σ_r conj(∂_jψ_r) ∂_kψ_r,      Z_jk = Σ_e (w/I²) z_j z_k,   z_j = Σ_r conj(ψ_r) ∂_jψ_r  (real and imaginary parts)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.tables import LOG


@dataclass(frozen=True)
class Gram:
    """Sums over a sample.

    Attributes:
        re, im:  G, [column, column]
        outer:   Z, [2·column, 2·column], all real parts before all imaginary parts; zero for Σ w I
    """

    re: np.ndarray
    im: np.ndarray
    outer: np.ndarray


class ScaledGramAccumulator:
    """Adds up chunks of columns that are scaled by √|ω| already.

    Args:
        n_columns:  number of columns
        device:     where the chunks are
    """

    def __init__(self, n_columns: int, device: torch.device) -> None:
        self.re = torch.zeros(n_columns, n_columns, dtype=torch.float64, device=device)
        self.half_im = torch.zeros_like(self.re)
        self.outer = torch.zeros(2 * n_columns, 2 * n_columns, dtype=torch.float64, device=device)

    def add(self, D: Tensor, z: Tensor, *, negative: bool) -> None:
        """Add a chunk.

        Args:
            D:         columns [column, re | im · row · event], scaled
            z:         [re | im · column, event], scaled; no rows for Σ w I
            negative:  whether the weights are negative
        """
        sign = -1.0 if negative else 1.0
        half = D.shape[1] // 2
        self.re.addmm_(D, D.T, alpha=sign)
        self.half_im.addmm_(D[:, :half], D[:, half:].T, alpha=sign)
        if z.shape[0]:
            self.outer.addmm_(z, z.T, alpha=sign)

    def result(self) -> Gram:
        """The sums so far."""
        half = self.half_im.cpu().numpy()
        return Gram(self.re.cpu().numpy(), half - half.T, self.outer.cpu().numpy())


def scale_columns(D: Tensor, psi: Tensor, w: Tensor, mode: int) -> tuple[Tensor, Tensor]:
    """Columns times √|ω|, in place, and z.

    Args:
        D:     columns [column, re | im, row, event]
        psi:   amplitude [re | im, row, event]
        w:     weights [event]
        mode:  LOG or PLAIN
    """
    root = w.abs().sqrt()
    if mode != LOG:
        return (D * root).reshape(D.shape[0], -1), D.new_empty(0, D.shape[-1])
    I = psi.square().sum(dim=(0, 1))
    z_re = (D * psi).sum(dim=(1, 2))
    z_im = (D[:, 1] * psi[0] - D[:, 0] * psi[1]).sum(dim=1)
    return (D * (root / I.sqrt())).reshape(D.shape[0], -1), torch.cat([z_re, z_im]) * (root / I)
