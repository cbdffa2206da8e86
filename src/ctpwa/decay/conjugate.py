"""The charge-conjugate decay: every particle replaced by its antiparticle, in the same order."""

from __future__ import annotations

from dataclasses import replace

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable


def conjugate_decay(decay: Decay) -> Decay:
    """D0 → K_S0 π+ π− becomes D̄0 → K_S0 π− π+: the particle at each place becomes its antiparticle.

    Labels that are names of particles become those of their antiparticles; names that the user gave stay.

    Raises:
        PhysicsError: if the decay is its own conjugate
    """
    final = tuple(particle.conjugate() for particle in decay.final)
    parent = decay.parent.conjugate()
    if parent.name == decay.parent.name and sorted(p.name for p in final) == sorted(p.name for p in decay.final):
        raise PhysicsError(f"{decay} is its own charge conjugate", "leave 'conjugate' out: its events are all of one kind")
    labels = tuple(_label(*own) for own in zip(decay.labels, decay.final, final, strict=True))
    held = tuple(replace(s, particle=s.particle.conjugate(), label=_label(s.label, s.particle, s.particle.conjugate())) for s in decay.held)
    return Decay(parent, final, labels, held)


def _label(label: str, particle: Particle, anti: Particle) -> str:
    """``pi+_2`` becomes ``pi-_2``; what is no name of the particle stays."""
    if particle.self_conjugate:
        return label
    start, _, end = label.rpartition("_")
    name, index = (start, f"_{end}") if start and end.isdigit() else (label, "")
    known = ParticleTable().find(name)
    return anti.name + index if particle.name in (name, "" if known is None else known.name) else label
