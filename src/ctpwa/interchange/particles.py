"""Particles of which only the spin matters."""

from __future__ import annotations

from ctpwa.decay.particle import Particle


def spin_state(two_J: int, massless: bool = False) -> Particle:
    """A particle with a spin and nothing else."""
    return Particle(
        name="x", two_J=two_J, P=None, C=None, mass=0.0 if massless else 1.0, width=None, charge=0, massless=massless, antiparticle="x",
        baryon=0, flavours=frozenset({(0, 0, 0)}), latex="",
    )  # fmt: skip
