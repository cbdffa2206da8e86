"""What isospin and G parity leave of a strong two-body vertex.

Amplitudes do not use isospin: small violations are real, and momenta do not show it. It only decides what is worth proposing.
"""

from __future__ import annotations

from typing import NamedTuple

from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.particle import Particle, combined_flavours
from ctpwa.decay.spin import LS


class Isospin(NamedTuple):
    """Isospin of a hadron.

    Attributes:
        two_I:      doubled isospin
        G:          G parity, +1 or −1; None where it is not defined
        multiplet:  name of the isospin multiplet
    """

    two_I: int
    G: int | None
    multiplet: str


class Hadron(NamedTuple):
    """A hadron with its isospin."""

    particle: Particle
    isospin: Isospin


def two_I3(particle: Particle) -> set[int]:
    """Doubled third component, I3 = Q − (B + S + C + B')/2; two values for K_S and K_L, which are mixtures."""
    return {2 * particle.charge - particle.baryon - sum(flavour) for flavour in particle.flavours}


def isospin_couples(parent: Hadron, first: Hadron, second: Hadron) -> bool:
    """⟨I1 I3_1; I2 I3_2 | I I3⟩ ≠ 0."""
    I, I1, I2 = (hadron.isospin.two_I for hadron in (parent, first, second))
    return any(
        clebsch_gordan(I1, m1, I2, m2, I, m1 + m2) != 0
        for m1 in two_I3(first.particle)
        for m2 in two_I3(second.particle)
        if m1 + m2 in two_I3(parent.particle)
    )


def conjugate_pair(first: Hadron, second: Hadron) -> bool:
    """Whether two hadrons are of one multiplet and of its antimultiplet: π⁺π⁰, K⁺K̄⁰, p n̄."""
    if first.isospin.multiplet != second.isospin.multiplet or first.particle.baryon + second.particle.baryon != 0:
        return False
    return (0, 0, 0) in combined_flavours((first.particle, second.particle))


def pair_g_parity(ls: LS, two_I: int) -> int:
    """G of a pair from a multiplet and its antimultiplet: (−1)^(L+S+I)."""
    return -1 if (ls.L + ls.S + two_I // 2) % 2 else 1


def isospin_conserving(parent: Hadron, first: Hadron, second: Hadron, pairs: list[LS]) -> list[LS]:
    """The (L, S) pairs that isospin and G parity leave; none if the decay violates them."""
    if not isospin_couples(parent, first, second):
        return []
    G, G1, G2 = (hadron.isospin.G for hadron in (parent, first, second))
    if G is None:
        return pairs
    if G1 is not None and G2 is not None and G != G1 * G2:
        return []
    if conjugate_pair(first, second):
        return [ls for ls in pairs if pair_g_parity(ls, parent.isospin.two_I) == G]
    return pairs
