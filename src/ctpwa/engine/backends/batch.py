"""Many coupling vectors at once, for fixed propagators: a few matrix products per chunk of events share one pass over them.

To first order    ψ = C D,   G = (ω ψ̄) Dᵀ,    D_a = ∂ψ/∂c_a
To second order   y_j = Re Σ_r ψ̄_r ∂_jψ_r / I,   ∂² Σ w ln I = 2 Re Σ (w/I) Σ_r ∂ψ̄_r ∂ψ_r − 4 Σ w y yᵀ
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.backends.kept_columns import Columns
from ctpwa.engine.samples.sample import Sample

PIECE = 4096  # numbers in a row of one matrix product: many products at once keep a GPU busy


class ColumnSource(Protocol):
    """An engine that can write out ∂ψ/∂c."""

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event].

        Args:
            sample:  the events
            p:       iteration numbers
            beside:  how many numbers per event the caller holds besides: chunks are shorter then
        """

    def weigh(self, psi: Tensor, w: Tensor) -> Tensor:
        """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""


class BatchEngine(ColumnSource, Protocol):
    """An engine that evaluates many coupling vectors in one pass."""

    def set_batch(self, mix: np.ndarray, p: np.ndarray) -> Tensor:
        """Couplings as ``coupling_mix`` arranges them, on the device, perhaps with vectors that fill them up; and the iteration numbers."""

    def begin_batch(self, sample: Sample, mix: np.ndarray, p: np.ndarray, order: int) -> Callable[[], np.ndarray]:
        """Begin ``batch_sums``; what is returned waits for the result."""

    def batch_rows(self, sample: Sample, mix: Tensor, p: np.ndarray, order: int) -> Tensor:
        """``batch_sums`` with what ``set_batch`` gave, on the device."""


def weigh(psi: Tensor, w: Tensor) -> Tensor:
    """Σ w ln I of every vector; ``psi`` [re | im, vector, row, event] is multiplied by w/I."""
    I = added_squares(psi)
    psi *= (w / I)[None, :, None]
    return I.log() @ w


def added_squares(psi: Tensor) -> Tensor:
    """Σ |ψ|² over rows, [vector, event], of ``psi`` [re | im, vector, row, event]; ``sum`` over axes between others is slow on a CPU."""
    first, *others = (row for part in psi for row in part.unbind(dim=1))
    I = first.square()
    for row in others:
        I.addcmul_(row, row)
    return I


def batch_sums(engine: ColumnSource, sample: Sample, mix: Tensor, p: np.ndarray, order: int, kept: Columns | None = None) -> Tensor:
    """Σ w ln I of every vector, its gradient over (Re c, Im c) and, to second order, its Hessian: one row of numbers for each.

    Args:
        engine:  writes the columns
        sample:  the events
        mix:     couplings as ``coupling_mix`` arranges them, on the device
        p:       iteration numbers, the same for all
        order:   1 or 2
        kept:    columns of the sample, to first order; default: they are computed again
    """
    return _first_order(engine, sample, mix, p, kept) if order == 1 else _second_order(engine, sample, mix, p)


def batch_sums_of_chunks(engine: BatchEngine, samples: Iterable[Sample], mix: np.ndarray, p: np.ndarray, order: int) -> Tensor | None:
    """``batch_sums`` of a sample in chunks that pass through the device, added up there; None if there are none."""
    on_device: Tensor | None = None
    total: Tensor | None = None
    for sample in samples:
        on_device = engine.set_batch(mix, p) if on_device is None else on_device
        sums = engine.batch_rows(sample, on_device, p, order)
        total = sums if total is None else total.add_(sums)
    return total


def _first_order(engine: ColumnSource, sample: Sample, mix: Tensor, p: np.ndarray, kept: Columns | None) -> Tensor:
    n_vectors, n_c = len(mix) // 2, mix.shape[1] // 2
    values = mix.new_zeros(n_vectors)
    G = mix.new_zeros(2 * n_vectors, 2 * n_c)
    if kept is None:
        for start, stop, columns in engine.raw_columns(sample, p, 2 * n_vectors * _rows(sample)):
            D = columns.view(2, -1, columns.shape[1])[:, :n_c].reshape(2 * n_c, -1)  # without those of floating numbers
            _add_first_order(engine, sample.w[start:stop], mix, D, values, G)
    else:
        some, of_some = mix[:, kept.parts], G[:, kept.parts]
        for start, stop, D in kept.chunks:
            _add_first_order(engine, sample.w[start:stop], some, D, values, of_some)
        G[:, kept.parts] = of_some
    of_re, of_im = G.view(2, n_vectors, 2, n_c).unbind()  # Re ψ and Im ψ, each with Re D and Im D
    over_re, over_im = of_re[:, 0] + of_im[:, 1], of_im[:, 0] - of_re[:, 1]
    return torch.cat([values[:, None], 2 * over_re, 2 * over_im], dim=1)


def _add_first_order(engine: ColumnSource, w: Tensor, mix: Tensor, D: Tensor, values: Tensor, G: Tensor) -> None:
    """Add Σ w ln I and (ω ψ̄) Dᵀ of a chunk with columns D [part, row · event]."""
    psi = (mix @ D).view(2, len(values), -1, len(w))
    values += engine.weigh(psi, w)
    G += _product(psi.view(len(mix), -1), D)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """``a bᵀ`` of long rows, in pieces of them: a GPU has too little to do with a few rows otherwise."""
    total = a.new_zeros(len(a), len(b))
    for first, last in _pieces(a.shape[1]):
        size = min(PIECE, last - first)
        x, y = (m[:, first:last].unflatten(1, (-1, size)).transpose(0, 1) for m in (a, b))
        total += torch.bmm(x, y.mT).sum(dim=0) if last > first + size else x[0] @ y[0].T
    return total


def _second_order(engine: ColumnSource, sample: Sample, mix: Tensor, p: np.ndarray) -> Tensor:
    n_vectors, n_c, n_rows = len(mix) // 2, mix.shape[1] // 2, _rows(sample)
    values, slopes = mix.new_zeros(n_vectors), mix.new_zeros(n_vectors, 2 * n_c)
    outer = mix.new_zeros(n_vectors, 2 * n_c, 2 * n_c)
    j, k = torch.triu_indices(n_c, n_c, device=mix.device)
    products = mix.new_zeros(n_vectors, 2 * len(j))
    beside = 4 * n_vectors * (n_rows + n_c) + (4 * n_rows * len(j) if n_rows > 1 else 0)
    for start, stop, columns in engine.raw_columns(sample, p, beside):
        w = sample.w[start:stop]
        D = columns.view(2, -1, n_rows, stop - start)[:, :n_c]
        psi = (mix @ D.reshape(2 * n_c, -1)).view(2, n_vectors, n_rows, -1)
        I = psi.square().sum(dim=(0, 2))
        values += I.log() @ w
        if n_rows > 1:
            products += (w / I) @ _pair_products(D, j, k).T
        psi /= I[None, :, None]
        for first, last in _pieces(stop - start):
            size = min(PIECE, last - first)
            y = _relative_slopes(_cut(psi, first, last, size), _cut(D, first, last, size))
            weighted = y * w[first:last].view(-1, 1, 1, size)
            slopes += weighted.sum(dim=(0, 3))
            outer += torch.bmm(weighted.flatten(0, 1), y.flatten(0, 1).mT).view(-1, *outer.shape).sum(dim=0)
    if n_rows == 1:  # I = |ψ|², so that yyᵀ holds all products of columns as well
        re_re, re_im, im_re, im_im = outer.view(n_vectors, 2, n_c, 2, n_c).transpose(2, 3).reshape(n_vectors, 4, n_c, n_c).unbind(dim=1)
        gram = re_re + im_im, im_re - re_im
    else:
        re, im = products.view(n_vectors, 2, -1).unbind(dim=1)
        gram = _symmetric(re, j, k, n_c, 1.0), _symmetric(im, j, k, n_c, -1.0)
    H = 2 * torch.cat([torch.cat([gram[0], -gram[1]], dim=2), torch.cat([gram[1], gram[0]], dim=2)], dim=1) - 4 * outer
    return torch.cat([values[:, None], 2 * slopes, ((H + H.mT) / 2).flatten(1)], dim=1)


def _rows(sample: Sample) -> int:
    return sample.K.shape[1]


def _pieces(n: int) -> list[tuple[int, int]]:
    """The part of a chunk that is made of whole pieces, and the rest."""
    whole = n // PIECE * PIECE
    return [(first, last) for first, last in ((0, whole), (whole, n)) if last > first]


def _cut(x: Tensor, first: int, last: int, size: int) -> Tensor:
    """[re | im, number, row, event] in pieces: [re | im, piece, number, row, event]."""
    return x[..., first:last].unflatten(-1, (-1, size)).movedim(-2, 1)


def _relative_slopes(psi: Tensor, D: Tensor) -> Tensor:
    """Re Σ_r ψ̄_r ∂ψ_r over (Re c, Im c), [piece, vector, re | im · coupling, event], of pieces of ψ/I and D."""
    n_pieces, n_vectors, n_rows, size = psi.shape[1:]
    y = psi.new_empty(n_pieces, n_vectors, 2, D.shape[2], size)
    over_re, over_im = y[:, :, 0], y[:, :, 1]
    for r in range(n_rows):
        psi_re, psi_im = psi[:, :, :, None, r]
        D_re, D_im = D[:, :, None, :, r]
        if r == 0:
            torch.mul(psi_re, D_re, out=over_re)
            torch.mul(psi_im, D_re, out=over_im)
        else:
            over_re.addcmul_(psi_re, D_re)
            over_im.addcmul_(psi_im, D_re)
        over_re.addcmul_(psi_im, D_im)
        over_im.addcmul_(psi_re, D_im, value=-1)
    return y.flatten(2, 3)


def _pair_products(D: Tensor, j: Tensor, k: Tensor) -> Tensor:
    """Σ_r conj(D_j) D_k, [re | im · pair, event]."""
    re, im = D
    real = (re[j] * re[k] + im[j] * im[k]).sum(dim=1)
    return torch.cat([real, (re[j] * im[k] - im[j] * re[k]).sum(dim=1)])


def _symmetric(half: Tensor, j: Tensor, k: Tensor, n: int, sign: float) -> Tensor:
    """Matrices [vector, n, n] from their upper halves [vector, pair]; the lower halves are ``sign`` times those."""
    whole = half.new_empty(len(half), n, n)
    whole[:, k, j] = sign * half
    whole[:, j, k] = half
    return whole


def coupling_mix(c: np.ndarray) -> np.ndarray:
    """The real matrix that takes (Re D, Im D) to (Re ψ, Im ψ) of every vector; c is [vector, coupling]."""
    n, n_c = c.shape
    mix = np.empty((2 * n, 2 * n_c))
    mix[:n, :n_c], mix[:n, n_c:] = c.real, -c.imag
    mix[n:, :n_c], mix[n:, n_c:] = c.imag, c.real
    return mix
