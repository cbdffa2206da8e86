"""Couplings with which all waves of a model are about equally strong: where toys and fits of a first model start.

With the integrals M_jk = ⟨conj(A_j) A_k⟩ of all couplings over phase space, |c_j| = 1/√M_jj gives every coupling the same fraction.
Phases are the ones, of a number of random sets, with which the sum of fractions Σ_j |c_j|² M_jj / Σ_jk conj(c_j) M_jk c_k is nearest to 1.
Couplings that are tied to another one count together with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.generate.proposal import EventProposal
from ctpwa.generate.reactions import generated_events
from ctpwa.model.model import Model

EVENTS = 3000
TRIALS = 200
DIGITS = 3  # of magnitudes; phases have one after the point


def start_couplings(
    model: Model, ties: Mapping[str, tuple[str, float]] | None = None, n_events: int = EVENTS, seed: int = 0
) -> dict[str, complex]:
    """Rounded couplings of comparable fractions, relative to the first, which is 1 and not among them; tied ones are not either.

    Args:
        model:     the model
        ties:      coupling → (untied coupling, factor)
        n_events:  size of the phase-space sample
        seed:      of the sample and of the phases
    """
    intensity = ModelIntensity(model, engine="reference")
    ties, couplings = ties or {}, list(intensity.couplings)
    names = [name for name in couplings if name not in ties]
    if len(names) < 2:
        return {}
    free = np.zeros((len(couplings), len(names)))
    for i, name in enumerate(couplings):
        source, factor = ties.get(name, (name, 1.0))
        free[i, names.index(source)] = factor
    matrix = free.T @ _integrals(model, intensity, couplings, n_events, seed) @ free
    typical = 1 / np.sqrt(np.diag(matrix).real)
    size = np.array([float(f"{value:.{DIGITS}g}") for value in typical / typical[0]])
    rng = np.random.default_rng(seed)
    phases = np.round(rng.uniform(-np.pi, np.pi, (TRIALS, len(names))), 1)
    phases[:, 0] = 0
    trials = size * np.exp(1j * phases)
    totals = np.einsum("tj,jk,tk->t", trials.conj(), matrix, trials).real
    sums = (size**2 * np.diag(matrix).real).sum() / totals
    best = trials[np.argmin(np.abs(np.log(sums)))]
    return dict(zip(names[1:], best[1:].tolist(), strict=True))


def _integrals(model: Model, intensity: ModelIntensity, names: list[str], n_events: int, seed: int) -> np.ndarray:
    """M [coupling, coupling] with all couplings 1, up to a common factor, from events along the chains of the model."""
    proposal = EventProposal(model, {}, torch.device("cpu"))
    random = torch.Generator().manual_seed(seed)
    p4 = proposal.draw(torch.rand(proposal.n_uniform, n_events, generator=random, dtype=torch.float64))
    weights = 1 / proposal.density(proposal.densities(p4))
    events = generated_events(model, p4, {}, proposal.reactions)
    total = torch.zeros((len(names), len(names)), dtype=torch.complex128)
    for part in intensity.sums(events, {name: intensity.waves_of(name) for name in names}):
        total += torch.einsum("jre,kre,e->jk", part.psi.conj(), part.psi, weights[part.start : part.stop].to(part.psi.dtype))
    return (total / weights.sum()).numpy()
