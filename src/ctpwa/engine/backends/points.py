"""Events that are several points of phase space.

    V = Σ_e w ln T,    T = Σ_k v_k (I_k + Σ β b_k)

    ∂V = Σ_e Σ_k ω_k ∂(I_k + Σ β b_k),    ω_k = w v_k / T
    ∂²V = Σ_e Σ_k ω_k ∂²I_k − 4 Σ_e (w/T²) y y,    y = Σ_k v_k Re ψ̄_k ∂ψ_k  (b/2 for β)

An engine whose kernels know points only needs one pass for T, and a second one for Σ ω I.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ctpwa.engine.backends.gram import ChunkColumns
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import Tables
from ctpwa.engine.samples.sample import Sample


class PointEngine(Protocol):
    """What is needed of an engine; all of it for the present numbers."""

    plan: Plan
    tables: Tables
    device: torch.device

    def intensities(self, sample: Sample) -> Tensor:
        """I of every point."""

    def point_sums(self, sample: Sample, order: int) -> Tensor:
        """Sums of every channel for Σ w ln T."""

    def plain_row(self, sample: Sample, order: int) -> Tensor:
        """Sums of every channel for Σ w I."""

    def plain_columns(self, sample: Sample, start: int, n: int) -> Tensor:
        """∂ψ times √|w| of some points [re | im · column, row · point]."""

    def present(self) -> tuple[Tensor, Tensor]:
        """Couplings, complex, and β, on the device."""

    def gram_chunk(self, mode: int) -> int:
        """How many points a matrix product takes at a time."""

    def add_gram(self, sample: Sample, size: int, columns: ChunkColumns) -> Tensor:
        """Sums over chunks of at most ``size`` events, as ``gram.add_gram`` has them."""


def event_intensities(engine: PointEngine, sample: Sample) -> tuple[Tensor, Tensor]:
    """T of every event, and Σ_k v_k b_k of every added density [density, event]."""
    assert sample.v is not None
    plan = engine.plan
    smeared = (engine.intensities(sample).view(sample.v.shape) * sample.v).sum(dim=1)
    densities = sample.E[plan.added_row : plan.added_row + plan.n_added].view(plan.n_added, *sample.v.shape)
    b = (densities * sample.v).sum(dim=2)
    _, beta = engine.present()
    return smeared + beta @ b, b


def log_row(engine: PointEngine, sample: Sample, order: int) -> Tensor:
    """Sums of every channel for Σ w ln T, and to second order the Gram matrices after them."""
    row = engine.point_sums(sample, order)
    return torch.cat([row, log_gram_row(engine, sample)]) if order >= 2 else row


def two_passes(engine: PointEngine, sample: Sample, order: int) -> Tensor:
    """Sums of every channel for Σ w ln T, by kernels for Σ w I."""
    T, b = event_intensities(engine, sample)
    plan, layout = engine.plan, engine.tables.layouts[order]
    if order == 0:
        return (sample.w @ T.log())[None]
    row = engine.plain_row(_weighted(sample, T), order)
    row[0] = sample.w @ T.log()
    row[layout.added : layout.added + plan.n_added] = b @ (sample.w / T)
    return row


def _weighted(sample: Sample, T: Tensor) -> Sample:
    """The points with ω."""
    assert sample.v is not None
    return sample.at_points(((sample.w / T)[:, None] * sample.v).flatten())


def log_gram_row(engine: PointEngine, sample: Sample) -> Tensor:
    """Gram matrices of Σ w ln T, as a row of numbers."""
    T, b = event_intensities(engine, sample)
    plan, k = engine.plan, sample.points_per_event
    points = _weighted(sample, T)
    c, _ = engine.present()
    ones = c.real.new_ones(k)
    mix = torch.stack([torch.cat([c.real, -c.imag]), torch.cat([c.imag, c.real])])  # (Re D, Im D) → (Re ψ, Im ψ)

    def columns(start: int, stop: int) -> tuple[Tensor, Tensor]:
        D = engine.plain_columns(points, start * k, (stop - start) * k)
        re, im = D.view(2, plan.n_columns, plan.n_rows, -1)
        psi = (mix @ torch.cat([part[: plan.n_couplings].flatten(1) for part in (re, im)])).view(2, plan.n_rows, -1)
        at_points = D.new_zeros(2, plan.n_columns, (stop - start) * k)  # |ω| ψ̄ ∂ψ of all rows
        for row in range(plan.n_rows):
            at_points[0].addcmul_(psi[0, row], re[:, row]).addcmul_(psi[1, row], im[:, row])
            at_points[1].addcmul_(psi[0, row], im[:, row]).addcmul_(psi[1, row], re[:, row], value=-1)
        z = (at_points.view(-1, k) @ ones).view(2, plan.n_columns, -1)  # |w|/T times ψ̄ ∂ψ of the event
        w = sample.w[start:stop].abs()
        if plan.n_added:
            z[0, plan.n_columns - plan.n_added :] = b[:, start:stop] * (w / T[start:stop] / 2)
            z[1, plan.n_columns - plan.n_added :] = 0.0
        z *= torch.where(w > 0, w, 1.0).rsqrt()
        return D, z.flatten(0, 1)

    return engine.add_gram(sample, max(engine.gram_chunk(0) // k, 1), columns)
