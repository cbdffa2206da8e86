"""Many parameter vectors at once, for fixed propagators: two matrix products per chunk of events share one pass over them.

ψ = C D,   G = (ω ψ̄) Dᵀ,    D_a = ∂ψ/∂c_a
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.sample import Sample


class ColumnSource(Protocol):
    """An engine that can write out ∂ψ/∂c."""

    device: torch.device

    def raw_columns(self, sample: Sample, p: np.ndarray, n_vectors: int) -> Iterator[tuple[int, int, Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂c of it [re | im · coupling, row · event]."""

    def weigh(self, psi: Tensor, w: Tensor) -> Tensor:
        """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""


def weigh(psi: Tensor, w: Tensor) -> Tensor:
    """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""
    I = psi.square().sum(dim=(0, 2))
    psi *= (w / I)[None, :, None]
    return I.log() @ w


def log_sums(engine: ColumnSource, sample: Sample, c: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ w ln I and its gradient over (Re c, Im c) for many coupling vectors.

    Args:
        engine:  writes the columns
        sample:  the events
        c:       couplings [vector, coupling]
        p:       iteration numbers, the same for all
    """
    n_vectors, n_c = c.shape
    re, im = (torch.as_tensor(np.ascontiguousarray(part), device=engine.device) for part in (c.real, c.imag))
    mix = torch.cat([torch.cat([re, -im], dim=1), torch.cat([im, re], dim=1)])
    values = torch.zeros(n_vectors, dtype=torch.float64, device=engine.device)
    products = torch.zeros(2 * n_vectors, 2 * n_c, dtype=torch.float64, device=engine.device)
    for start, stop, D in engine.raw_columns(sample, p, n_vectors):
        w = sample.w[start:stop]
        psi = (mix @ D).view(2, n_vectors, -1, stop - start)
        values += engine.weigh(psi, w)
        products.addmm_(psi.view(2 * n_vectors, -1), D.T)
    re_part, im_part = products[:n_vectors], products[n_vectors:]
    G_re = re_part[:, :n_c] + im_part[:, n_c:]
    G_im = re_part[:, n_c:] - im_part[:, :n_c]
    return values.cpu().numpy(), 2 * torch.cat([G_re, -G_im], dim=1).cpu().numpy()
