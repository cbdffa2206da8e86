"""Masses that phase space needs, and devices that make it, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from ctpwa.base.errors import GenerationError
from ctpwa.base.words import counted
from ctpwa.decay.chain import Decay
from ctpwa.model.model import Model

MIN_BODIES, MAX_BODIES = 2, 6


def final_masses(decay: Decay) -> dict[str, float]:
    """Masses of the final particles by name, GeV."""
    return {label: 0.0 if p.massless else float(p.mass or 0.0) for label, p in zip(decay.labels, decay.final, strict=True)}


def particle_masses(source: Model | Mapping[str, float] | Sequence[float]) -> tuple[float, dict[str, float]]:
    """Mass of the parent, and masses of the final particles by name, checked."""
    if isinstance(source, Model):
        masses: dict[str, float | None] = {**final_masses(source.decay)}
        parent: float | None = source.decay.parent.mass
    else:
        named = dict(source) if isinstance(source, Mapping) else {f"p{i}" if i else "parent": m for i, m in enumerate(source)}
        names = list(named)
        parent = named[names[0]] if names else None
        masses = {name: named[name] for name in names[1:]}
    for name, mass in [("the parent", parent), *masses.items()]:
        if mass is None or not np.isfinite(mass) or mass < 0:
            raise GenerationError(f"the mass of {name} is {mass}\n fix: give a mass in GeV, 0 or more")
    if not MIN_BODIES <= len(masses) <= MAX_BODIES:
        raise GenerationError(
            f"phase space has {counted(len(masses), 'final particle')}\n"
            f" fix: give {MIN_BODIES} to {MAX_BODIES}, after the mass of the parent"
        )
    final = {name: float(mass) for name, mass in masses.items() if mass is not None}
    assert parent is not None
    if sum(final.values()) >= parent:
        raise GenerationError(f"below threshold: the final particles weigh {sum(final.values()):.6g} GeV, the parent {parent:.6g} GeV")
    return float(parent), final


def checked_device(device: str | torch.device) -> torch.device:
    """A device that exists."""
    try:
        found = torch.device(device)
    except RuntimeError:
        raise GenerationError(f"unknown device {device!r}\n fix: choose cpu or cuda") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise GenerationError(f"cannot generate on {str(found)!r}: torch sees no GPU\n fix: choose cpu")
    return found
