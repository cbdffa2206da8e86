"""Selection rules of a two-body vertex, one function per law (F4)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import pi, sqrt

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import LS, couplings, format_spin

RANK_TOLERANCE = 1e-9  # entries of H are products of Clebsch-Gordan coefficients, exact to 1e-15


def angular_momentum_couplings(two_J: int, two_s1: int, two_s2: int) -> list[LS]:
    """All (L, S) with S ∈ |s1−s2| … s1+s2 and L ∈ |J−S| … J+S, ordered by L, then S."""
    pairs = [
        LS(two_L // 2, Fraction(two_S, 2)) for two_S in couplings(two_s1, two_s2) for two_L in couplings(two_J, two_S) if two_L % 2 == 0
    ]
    return sorted(pairs)


def parity_conserved(P: int, P1: int, P2: int, L: int) -> bool:
    """P = P1 P2 (−1)^L."""
    return P == P1 * P2 * (-1) ** L


def pair_c_parity(ls: LS) -> int:
    """C of a particle–antiparticle pair, bosons and fermions alike: (−1)^(L+S)."""
    return -1 if (ls.L + ls.S) % 2 else 1


def weak_current_allowed(parent: Particle, first: Particle, second: Particle) -> bool:
    """What a lepton makes with its neutrino comes from a current of spin 1, which has spin 0 and 1."""
    others = [particle for particle in (first, second) if not particle.neutrino]
    return not (parent.lepton and len(others) == 1 and others[0].two_J > 2)


def identical_pair_allowed(ls: LS) -> bool:
    """Two identical particles, bosons or fermions: L + S even."""
    return (ls.L + ls.S) % 2 == 0


def helicity_coupling(two_J: int, s1: tuple[int, int], s2: tuple[int, int], ls: LS) -> float:
    """H^LS of one helicity pair; ``s1`` and ``s2`` are (2s, 2λ).

    H = √((2L+1)/4π) ⟨L 0; S λ|J λ⟩ ⟨s1 λ1; s2 −λ2|S λ⟩ (−1)^(s2−λ2),  λ = λ1 − λ2      (F6)
    """
    two_lam = s1[1] - s2[1]
    value = sqrt((2 * ls.L + 1) / (4 * pi)) * clebsch_gordan(2 * ls.L, 0, ls.two_S, two_lam, two_J, two_lam)
    return value * clebsch_gordan(*s1, s2[0], -s2[1], ls.two_S, two_lam) * (-1) ** ((s2[0] - s2[1]) // 2)


def independent_subset(two_J: int, first: Particle, second: Particle, pairs: list[LS]) -> list[LS]:
    """The first (L, S) pairs that are linearly independent once massless daughters have only |λ| = s.

    γf0, γf2, γf4 from a vector keep 1, 3 and 3 of their 2, 5 and 5 parity-allowed pairs.
    """
    if not (first.massless or second.massless):
        return pairs
    helicities = [(a, b) for a in first.two_helicities for b in second.two_helicities if abs(a - b) <= two_J]
    basis: list[list[float]] = []
    chosen = []
    for ls in pairs:
        row = [helicity_coupling(two_J, (first.two_J, a), (second.two_J, b), ls) for a, b in helicities]
        for unit in basis:
            overlap = sum(x * y for x, y in zip(row, unit, strict=True))
            row = [x - overlap * y for x, y in zip(row, unit, strict=True)]
        norm = sqrt(sum(x * x for x in row))
        if norm > RANK_TOLERANCE:
            basis.append([x / norm for x in row])
            chosen.append(ls)
    return chosen


def allowed_ls(parent: Particle, first: Particle, second: Particle, *, weak: bool = False, max_L: int | None = None) -> list[LS]:
    """Every (L, S) that the laws allow at the vertex parent → first second; an error that says why if there is none.

    With massless daughters these are not all independent: see ``independent_subset``.
    """
    vertex = f"{parent.label} -> {first.label} {second.label}"
    if (parent.two_J + first.two_J + second.two_J) % 2:
        J, s1, s2 = (format_spin(particle.two_J) for particle in (parent, first, second))
        raise PhysicsError(f"{vertex} cannot exist: spin {J} cannot come from spins {s1} and {s2}")
    pairs = angular_momentum_couplings(parent.two_J, first.two_J, second.two_J)
    steps = [f"angular momentum allows (L,S) = {_listed(pairs)}"]

    def keep(reason: str, remaining: list[LS]) -> list[LS]:
        if not remaining:
            raise PhysicsError(f"{vertex} cannot exist: " + "; ".join([*steps, reason]))
        if remaining != pairs:
            steps.append(f"{reason}, which leaves {_listed(remaining)}")
        return remaining

    if not weak:
        P, P1, P2 = (_known_parity(particle, vertex) for particle in (parent, first, second))
        parity = "even" if P == P1 * P2 else "odd"
        pairs = keep(
            f"parity needs P·P1·P2 = {P * P1 * P2:+d} = (-1)^L, so {parity} L", [ls for ls in pairs if parity_conserved(P, P1, P2, ls.L)]
        )
        pairs = _apply_c_parity(parent, first, second, pairs, keep)
    if not weak_current_allowed(parent, first, second):
        pairs = keep("what a lepton makes with its neutrino has spin 0 or 1", [])
    if first.name == second.name:
        pairs = keep("two identical particles need even L+S", [ls for ls in pairs if identical_pair_allowed(ls)])
    if max_L is not None:
        pairs = keep(f"L is limited to {max_L}", [ls for ls in pairs if max_L >= ls.L])
    return pairs


def _known_parity(particle: Particle, vertex: str) -> int:
    if particle.P is None:
        fix = f"give JP of {particle.name}, or mark the vertex as weak"
        raise PhysicsError(f"the parity of {particle.name} in {vertex} is not known", fix)
    return particle.P


def _apply_c_parity(
    parent: Particle, first: Particle, second: Particle, pairs: list[LS], keep: Callable[[str, list[LS]], list[LS]]
) -> list[LS]:
    if parent.C is None:
        return pairs
    sign = f"C = {parent.C:+d}"
    if first.antiparticle == second.name and not first.self_conjugate:
        return keep(f"{sign} of {parent.name} needs (-1)^(L+S) = {parent.C:+d}", [ls for ls in pairs if pair_c_parity(ls) == parent.C])
    if first.C is not None and second.C is not None:
        product = first.C * second.C
        return keep(f"C parity is not conserved: {sign} of {parent.name}, but C1·C2 = {product:+d}", pairs if product == parent.C else [])
    return pairs


def _listed(pairs: list[LS]) -> str:
    return " ".join(str(ls) for ls in pairs) or "nothing"
