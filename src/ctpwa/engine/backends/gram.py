"""Gram matrices of the columns ∂ψ_j: the part of a Hessian that is two tall-skinny products.

G_jk = Σ_e ω Σ_r conj(∂_jψ_r) ∂_kψ_r,      Z_jk = Σ_e (w/I²) z_j z_k,   z_j = Σ_r conj(ψ_r) ∂_jψ_r  (real and imaginary parts)

An added density b is a column without ∂ψ and with z = b/2: half of ∂I/∂β, as the others are half of ∂I. I is then I + Σ β b.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
import torch
from torch import Tensor


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
        self.products = torch.zeros(2 * n_columns, 2 * n_columns, dtype=torch.float64, device=device)
        self.outer = torch.zeros_like(self.products)
        self._only_z = False

    def add(self, D: Tensor, z: Tensor, *, negative: bool) -> None:
        """Add a chunk.

        Args:
            D:         columns [re | im · column, row · event], scaled; no rows if there is one polarisation row and z is given: then
                       conj(z_j) z_k = ω conj(D_j) D_k, and z is enough
            z:         [re | im · column, event], scaled; no rows for Σ w I
            negative:  whether the weights are negative
        """
        sign = -1.0 if negative else 1.0
        if D.shape[0]:
            self.products.addmm_(D, D.T, alpha=sign)
        if z.shape[0]:
            self.outer.addmm_(z, z.T, alpha=sign)
        self._only_z = not D.shape[0]

    @property
    def sums(self) -> Tensor:
        """The sums so far, [2, 2·column, 2·column]: of columns and of z."""
        return torch.stack([self.outer if self._only_z else self.products, self.outer])


def gram_from_row(row: np.ndarray) -> Gram:
    """Name the parts of what a ``ScaledGramAccumulator`` has added up, as one row of numbers."""
    size = isqrt(len(row) // 2)
    products, outer = row.reshape(2, size, size)
    n = len(products) // 2
    re_re, re_im, im_im = products[:n, :n], products[:n, n:], products[n:, n:]
    return Gram(re_re + im_im, re_im - re_im.T, outer)
