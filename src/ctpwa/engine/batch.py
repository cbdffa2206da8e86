"""Many parameter vectors at once, for fixed propagators: two matrix products per chunk of events share one pass over them.

ψ = C D,   G = (ω ψ̄) Dᵀ,    D_a = ∂ψ/∂c_a
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.sample import Sample


class ColumnSource(Protocol):
    """An engine that can write out ∂ψ/∂c."""

    device: torch.device

    def raw_columns(self, sample: Sample, p: np.ndarray, n_vectors: int) -> Iterator[tuple[int, int, Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event]."""

    def weigh(self, psi: Tensor, w: Tensor) -> Tensor:
        """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""


class BatchEngine(Protocol):
    """An engine that evaluates many coupling vectors in one pass."""

    def begin_batch(self, sample: Sample, mix: np.ndarray, p: np.ndarray) -> Callable[[], np.ndarray]:
        """Begin Σ w ln I and Σ (ω ψ̄) Dᵀ of every vector, see ``batch_sums``; what is returned waits for the result."""


def weigh(psi: Tensor, w: Tensor) -> Tensor:
    """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""
    I = psi.square().sum(dim=(0, 2))
    psi *= (w / I)[None, :, None]
    return I.log() @ w


def batch_sums(engine: ColumnSource, sample: Sample, mix: Tensor, p: np.ndarray) -> Tensor:
    """Σ w ln I and Σ (ω ψ̄) Dᵀ of every vector, one row for each: [re | im · vector, 1 + re | im · coupling].

    Args:
        engine:  writes the columns
        sample:  the events
        mix:     couplings as ``coupling_mix`` arranges them, on the device
        p:       iteration numbers, the same for all
    """
    n_vectors = len(mix) // 2
    sums = torch.zeros(len(mix), 1 + mix.shape[1], dtype=torch.float64, device=mix.device)
    n_c = mix.shape[1] // 2
    for start, stop, columns in engine.raw_columns(sample, p, n_vectors):
        D = columns.view(2, -1, columns.shape[1])[:, :n_c].reshape(2 * n_c, -1)  # without those of floating numbers
        psi = (mix @ D).view(2, n_vectors, -1, stop - start)
        sums[:n_vectors, 0] += engine.weigh(psi, sample.w[start:stop])
        sums[:, 1:] += psi.view(2 * n_vectors, -1) @ D.T
    return sums


def coupling_mix(c: np.ndarray) -> np.ndarray:
    """The real matrix that takes (Re D, Im D) to (Re ψ, Im ψ) of every vector; c is [vector, coupling]."""
    n, n_c = c.shape
    mix = np.empty((2 * n, 2 * n_c))
    mix[:n, :n_c], mix[:n, n_c:] = c.real, -c.imag
    mix[n:, :n_c], mix[n:, n_c:] = c.imag, c.real
    return mix


def begin_log_sums(engine: BatchEngine, sample: Sample, c: np.ndarray, p: np.ndarray) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Begin Σ w ln I and its gradient over (Re c, Im c) for many coupling vectors; what is returned waits for the result.

    Args:
        engine:  computes the sums
        sample:  the events
        c:       couplings [vector, coupling]
        p:       iteration numbers, the same for all
    """
    n_vectors, n_c = c.shape
    wait = engine.begin_batch(sample, coupling_mix(c), p)

    def result() -> tuple[np.ndarray, np.ndarray]:
        sums = wait()
        re_part, im_part = sums[:n_vectors, 1:], sums[n_vectors:, 1:]
        G_re = re_part[:, :n_c] + im_part[:, n_c:]
        G_im = re_part[:, n_c:] - im_part[:, :n_c]
        return sums[:n_vectors, 0], 2 * np.concatenate([G_re, -G_im], axis=1)

    return result
