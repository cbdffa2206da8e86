"""The part of a batch between its two matrix products, on a GPU: one read and one write of ψ.

Reads   psi [re | im, vector, row, event], w [event] of step w_step
Writes  psi times ω = w/I in place; partial sums of w ln I [block, vector]
Parallel over blocks of events and vectors.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 512
FUSION = {"enable_fp_fusion": True}  # a product and a sum are one operation, rounded once: versions of Triton differ in what they take


@triton.jit
def _weigh_kernel(psi_ptr, w_ptr, w_step, partial_ptr, n_events, n_vectors, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    # which events and which vector are mine
    event = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    vector = tl.program_id(1).to(tl.int64)
    inside = event < n_events
    size = tl.cast(n_events, tl.int64)
    half = size * n_vectors * ROWS

    w = tl.load(w_ptr + event * w_step, mask=inside, other=0.0)
    if ROWS == 1:
        at = vector * size + event
        psi_re = tl.load(psi_ptr + at, mask=inside, other=1.0)
        psi_im = tl.load(psi_ptr + half + at, mask=inside, other=0.0)
        I = psi_re * psi_re + psi_im * psi_im
        omega = w / I
        tl.store(psi_ptr + at, omega * psi_re, mask=inside)
        tl.store(psi_ptr + half + at, omega * psi_im, mask=inside)
    else:
        I = tl.zeros((BLOCK,), tl.float64)
        for r in tl.static_range(ROWS):
            at = (vector * ROWS + r) * size + event
            psi_re = tl.load(psi_ptr + at, mask=inside, other=1.0)
            psi_im = tl.load(psi_ptr + half + at, mask=inside, other=0.0)
            I += psi_re * psi_re + psi_im * psi_im
        omega = w / I
        for r in tl.static_range(ROWS):
            at = (vector * ROWS + r) * size + event
            tl.store(psi_ptr + at, omega * tl.load(psi_ptr + at, mask=inside, other=0.0), mask=inside)
            tl.store(psi_ptr + half + at, omega * tl.load(psi_ptr + half + at, mask=inside, other=0.0), mask=inside)
    tl.store(partial_ptr + tl.program_id(0).to(tl.int64) * n_vectors + vector, tl.sum(w * tl.log(I), axis=0))


def weigh(psi: Tensor, w: Tensor) -> Tensor:
    """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""
    _, n_vectors, n_rows, n_events = psi.shape
    blocks = -(-n_events // BLOCK)
    partial = torch.empty(blocks, n_vectors, dtype=torch.float64, device=psi.device)
    _weigh_kernel[(blocks, n_vectors)](psi, w, w.stride(0), partial, n_events, n_vectors, ROWS=n_rows, BLOCK=BLOCK, **FUSION)
    return partial.sum(dim=0)
