"""Toy data picked from a phase-space sample, whose events know what a formula does not: their efficiency, and numbers in columns."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ctpwa.base.errors import GenerationError
from ctpwa.base.words import counted
from ctpwa.data.events import Events


def pick_toy(phase_space: Events, densities: Sequence[Tensor], fractions: Sequence[float], n: int, seed: int = 0) -> tuple[Events, Tensor]:
    """Events of a phase-space sample, each picked at most once, with probability ∝ v p, and the component that each belongs to.

        p = Σ_k f_k y_k/⟨y_k⟩,    ⟨y⟩ = Σ v y/Σ v

    Args:
        phase_space:  the sample, with weights v
        densities:    y of every component at its events: the intensity of signal first, then backgrounds
        fractions:    f of every component, which add up to 1
        n:            number of events
        seed:         seed of the random numbers
    """
    v = torch.ones(phase_space.n_events, dtype=torch.float64) if phase_space.weights is None else phase_space.weights.cpu()
    if bool((v < 0).any()):
        raise GenerationError("phase space: toy events cannot be picked in proportion to negative weights\n fix: use another sample")
    parts = [fraction * y.cpu() / ((v @ y.cpu()) / v.sum()) for y, fraction in zip(densities, fractions, strict=True)]
    p = torch.stack(parts)
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(v), generator=random)
    uniform = torch.rand(2, len(v), generator=random, dtype=torch.float64)
    w = v * p.sum(0)
    passed = order[(uniform[0] * w.max() < w)[order]]
    if len(passed) < n:
        raise GenerationError(
            f"only {counted(len(passed), 'event')} of {counted(len(v), 'phase-space event')} can be picked for a toy\n"
            " fix: use a larger phase-space sample, or ask for fewer events"
        )
    picked = passed[:n]
    shares = (p[:, picked] / p[:, picked].sum(0)).cumsum(0)
    components = (uniform[1][picked] > shares[:-1]).sum(0)
    events = phase_space.picked(picked)
    return Events(events.momenta, None, events.columns), components
