"""Vertices with leptons whose amplitude is that of a current: one coupling, and nothing else to fit (F5.3)."""

from __future__ import annotations

from ctpwa.decay.particle import Particle

VECTOR, LEFT = "vector", "V-A"


def lepton_current(parent: Particle, first: Particle, second: Particle, weak: bool) -> str:
    """The current of a vertex: ``vector`` for ℓ⁺ℓ⁻ from a vector, ``V-A`` for ℓν from a vector and for a vector and ν from ℓ; or empty.

    Args:
        parent:         what decays
        first, second:  what it decays to
        weak:           whether parity may be violated
    """
    pair = (first, second)
    charged = [particle for particle in pair if particle.lepton and particle.charge]
    if parent.two_J == 2 and not weak and len(charged) == 2 and first.antiparticle == second.name:
        return VECTOR if parent.P == -1 and parent.C in (-1, None) else ""
    neutrinos = [particle for particle in pair if particle.one_handed]
    if not weak or len(neutrinos) != 1:
        return ""
    if parent.two_J == 2 and len(charged) == 1 and charged[0].lepton == -neutrinos[0].lepton:
        return LEFT
    other = first if second is neutrinos[0] else second
    if parent.lepton and parent.charge and parent.lepton == neutrinos[0].lepton and other.two_J == 2 and not other.massless:
        return LEFT
    return ""


def current_L(current: str) -> tuple[int, ...]:
    """The L that a current is made of."""
    return {VECTOR: (0, 2), LEFT: (0, 1, 2)}.get(current, ())
