"""Couplings that give waves a stated size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from ctpwa.base.errors import GenerationError, PhysicsError, suggest
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.generate.proposal import EventProposal
from ctpwa.model.couplings import coupling_names
from ctpwa.model.model import Model


def couplings_for_fractions(
    model: Model,
    fractions: Mapping[str, float],
    phases: Mapping[str, float] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    n: int = 50_000,
    seed: int = 0,
) -> dict[str, complex]:
    """Couplings c = √(f/M) e^{iφ}, where M is the integral of |ψ|² over phase space at c = 1.

    The waves of one coupling alone then have integrals in the ratio of ``fractions``. Interference makes their sum differ from the
    integral of the whole, so fit fractions are these numbers up to a common factor.

    Args:
        model:       the model
        fractions:   coupling → size; couplings left out are 0
        phases:      coupling → phase in radians; 0 if left out
        parameters:  lineshape parameters by name, where they are not the model's
        n:           events for the integrals
        seed:        seed of the random numbers
    """
    names, phases = coupling_names(model.waves), phases or {}
    for name in [*fractions, *phases]:
        if name not in names:
            raise PhysicsError(f"no coupling is called {name!r}", suggest(name, names))
    for name, fraction in fractions.items():
        if not (np.isfinite(fraction) and fraction >= 0):
            raise PhysicsError(f"the fraction of {name!r} is {fraction}", "give a number that is not negative")
    model = replace(model, asymmetries={})
    integrals = _integrals(ModelIntensity(model, couplings=dict.fromkeys(names, 1.0), parameters=parameters, device="cpu"), n, seed)
    for name in fractions:
        if integrals[name] == 0:
            raise GenerationError(f"the wave {name!r} vanishes everywhere")
    sizes = {name: np.sqrt(fractions.get(name, 0.0) / integrals[name]) if name in fractions else 0.0 for name in names}
    return {name: complex(size * np.exp(1j * phases.get(name, 0.0))) for name, size in sizes.items()}


def _integrals(intensity: ModelIntensity, n: int, seed: int) -> dict[str, float]:
    """∫ |ψ|² dΦ of the waves of each coupling, up to a common constant."""
    proposal = EventProposal(intensity.model, intensity.parameters, torch.device("cpu"))
    random = torch.Generator().manual_seed(seed)
    p4 = proposal.draw(torch.rand(n, proposal.n_uniform, generator=random, dtype=torch.float64).T.contiguous())
    weight = 1 / proposal.density(proposal.densities(p4))
    events = Events({name: p4[i].T.contiguous() for i, name in enumerate(intensity.model.final_names)})
    groups = {name: intensity.waves_of(name) for name in intensity.couplings}
    return {name: float((weight * I).mean() / weight.mean()) for name, I in intensity.components(events, groups).items()}
