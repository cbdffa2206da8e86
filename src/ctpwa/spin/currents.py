"""The amplitude of a current as a sum over (L, S): what a lepton pair, or a lepton and its neutrino, couple to (F5.3).

A current gives every pair of helicities an amplitude h, up to one common factor. With the helicity couplings H of (L, S) at |q| = 1 (F6),

    V = Σ_LS c_LS V_LS / |q|^L,     c_LS = 4π/(2J+1) Σ_{λ1 λ2} h_{λ1 λ2} H^{LS}_{λ1 λ2}
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import pi, sqrt

import torch
from torch import Tensor

from ctpwa.decay.currents import VECTOR
from ctpwa.decay.particle import Particle
from ctpwa.decay.rules import angular_momentum_couplings, helicity_coupling
from ctpwa.decay.spin import LS
from ctpwa.decay.structure import Structure, exchange_sign

TINY = 1e-150  # of |q|, GeV: where there is no phase space there are no events


def current_coefficients(
    structure: Structure, particles: Sequence[Particle | None], masses: Sequence[Tensor], M: Tensor, q: Tensor
) -> dict[LS, Tensor]:
    """Coefficients [event] of the vertices V_LS, which contain |q|^L.

    Args:
        structure:  the vertex
        particles:  its daughters; None for one that is no final particle
        masses:     their masses, each [event]
        M:          mass of the decaying state, [event]
        q:          break-up momentum, [event]
    """
    if structure.current == VECTOR:
        return _vector(masses[0], M)
    swapped = particles[0] is not None and particles[0].one_handed
    if swapped:
        particles, masses = particles[::-1], masses[::-1]
    assert particles[1] is not None
    two_spins = (2 if particles[0] is None else particles[0].two_J, 1)
    amplitudes = _left(structure.two_J, particles[1].two_helicities[0], masses[0], M)
    result = {}
    for ls in angular_momentum_couplings(structure.two_J, *two_spins):
        parts = [
            h * helicity_coupling(structure.two_J, (two_spins[0], two_lam), (1, particles[1].two_helicities[0]), ls)
            for two_lam, h in amplitudes.items()
        ]
        sign = exchange_sign(ls, *two_spins) * exchange_sign(structure.ls, *two_spins) if swapped else 1
        scale = sign * 4 * pi / (structure.two_J + 1)
        result[ls] = scale * torch.stack(parts).sum(dim=0) * (2 * M * q).sqrt() / q.clamp(min=TINY) ** ls.L
    return result


def _vector(m: Tensor, M: Tensor) -> dict[LS, Tensor]:
    """ū γ^μ v of two leptons of mass m.

    In the rest frame it is M across their direction, for opposite spins along it, and 2m along it:

        c_01 + c_21 q²/√2 = M,   c_01 − √2 c_21 q² = 2m      →      c_01 = 2(M + m)/3,   c_21 = 4√2 / 3(M + 2m)
    """
    one = Fraction(1)
    return {LS(0, one): 2 / 3 * (M + m), LS(2, one): 4 * sqrt(2) / 3 / (M + 2 * m)}


def _left(two_J: int, two_lam_nu: int, m: Tensor, M: Tensor) -> dict[int, Tensor]:
    """Amplitudes h by 2λ of the daughter that is no neutrino, without the common factor √(2Mq).

    A vector of mass M to a lepton of mass m and a neutrino, and a lepton of mass M to a vector of mass m and a neutrino:

        h(λ = −λ_ν) : h(λ = λ_ν) = √2 : m/M,          h(λ = 2λ_ν) : h(λ = 0) = √2 : M/m
    """
    across = torch.full_like(M, sqrt(2))
    if two_J == 2:
        return {-two_lam_nu: across, two_lam_nu: m / M}
    return {2 * two_lam_nu: across, 0: M / m}
