"""Gram matrices of the columns ∂ψ_j: the part of a Hessian that is two tall-skinny products.

G_jk = Σ_e ω Σ_r conj(∂_jψ_r) ∂_kψ_r,      Z_jk = Σ_e (w/I²) z_j z_k,   z_j = Σ_r conj(ψ_r) ∂_jψ_r  (real and imaginary parts)

An added density b is a column without ∂ψ and with z = b/2: half of ∂I/∂β, as the others are half of ∂I. I is then I + Σ β b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


ChunkColumns = Callable[[int, int], tuple[Tensor, Tensor]]


def add_gram(n_columns: int, device: torch.device, n_positive: int, chunks: Iterable[tuple[int, int]], columns: ChunkColumns) -> Tensor:
    """Sums over chunks of columns that are scaled by √|ω| already, as one row of numbers.

    Args:
        n_columns:   number of columns
        device:      where the chunks are
        n_positive:  events with weight ≥ 0
        chunks:      first and last event of each; their weights have one sign
        columns:     of a chunk: D [re | im · column, row · event], which has no rows if there is one polarisation row and z is given, since
                     then conj(z_j) z_k = ω conj(D_j) D_k; and z [re | im · column, event], which has no rows for Σ w I
    """
    products = torch.zeros(2 * n_columns, 2 * n_columns, dtype=torch.float64, device=device)
    outer = torch.zeros_like(products)
    only_z = False
    for start, stop in chunks:
        D, z = columns(start, stop)
        sign = -1.0 if start >= n_positive else 1.0
        if D.shape[0]:
            products.addmm_(D, D.T, alpha=sign)
        if z.shape[0]:
            outer.addmm_(z, z.T, alpha=sign)
        only_z = not D.shape[0]
        del D, z  # before the next chunk takes as much again
    return torch.stack([outer if only_z else products, outer]).flatten()


def gram_from_row(row: np.ndarray) -> Gram:
    """Name the parts of what ``add_gram`` has added up."""
    size = isqrt(len(row) // 2)
    products, outer = row.reshape(2, size, size)
    n = len(products) // 2
    re_re, re_im, im_im = products[:n, :n], products[:n, n:], products[n:, n:]
    return Gram(re_re + im_im, re_im - re_im.T, outer)
