"""Helicity couplings and (L, S) couplings of a vertex: one is a linear map of the other, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.chain import Chain
from ctpwa.decay.particle import Particle
from ctpwa.decay.rules import RANK_TOLERANCE, angular_momentum_couplings, helicity_coupling, independent_subset
from ctpwa.decay.spin import LS

Helicities = tuple[tuple[int, int], ...]  # doubled, of the daughters of every vertex of a chain
CONTRADICTION = 1e-9  # relative: numbers that were printed with ten digits agree
NEGLIGIBLE = 1e-13  # relative to the largest coupling of a vertex: what is left where terms cancel


def helicity_pairs(two_J: int, first: Particle, second: Particle) -> list[tuple[int, int]]:
    """Doubled helicities (λ1, λ2) that a state of spin J can decay to."""
    return [(a, b) for a in first.two_helicities for b in second.two_helicities if abs(a - b) <= two_J]


def helicity_matrix(two_J: int, first: Particle, second: Particle, pairs: Sequence[LS]) -> np.ndarray:
    """H_λ1λ2 of every (L, S) with coupling 1, [helicity pair, (L, S)]                                (F6)"""
    rows = helicity_pairs(two_J, first, second)
    return np.array([[helicity_coupling(two_J, (first.two_J, a), (second.two_J, b), ls) for ls in pairs] for a, b in rows])


def to_ls(two_J: int, first: Particle, second: Particle, H: Mapping[tuple[int, int], complex]) -> dict[LS, complex]:
    """The couplings of all independent (L, S) that give helicity amplitudes; those that vanish are left out.

    Args:
        two_J:          doubled spin of the decaying state
        first, second:  its daughters
        H:              amplitudes by doubled helicities; those left out are 0
    """
    pairs = independent_subset(two_J, first, second, angular_momentum_couplings(two_J, first.two_J, second.two_J))
    rows = helicity_pairs(two_J, first, second)
    for key in H:
        if key not in rows:
            raise PhysicsError(f"helicities {key[0] / 2:g} and {key[1] / 2:g} cannot come from spin {two_J / 2:g}")
    target = np.array([H.get(row, 0.0) for row in rows], dtype=complex)
    M = helicity_matrix(two_J, first, second, pairs)
    found = np.linalg.lstsq(M, target, rcond=None)[0]
    size = np.abs(found).max(initial=0.0)
    return {ls: complex(c) for ls, c in zip(pairs, found, strict=True) if abs(c) > NEGLIGIBLE * size}


def helicity_text(two_lam: int) -> str:
    """``-1/2`` or ``1``."""
    return str(two_lam // 2) if two_lam % 2 == 0 else f"{two_lam}/2"


def helicities_text(row: Helicities) -> str:
    """``(1/2,0)(0,-1)``: a pair for every vertex."""
    return "".join(f"({helicity_text(a)},{helicity_text(b)})" for a, b in row)


def chain_matrix(chain: Chain, waves: Sequence[Sequence[LS]], rows: Sequence[Helicities]) -> np.ndarray:
    """Π_vertices H of every wave of a chain with coupling 1, [helicities, wave]."""
    pairs = [tuple(chain.particle(daughter) for daughter in node.daughters) for node in chain.nodes]
    result = np.ones((len(rows), len(waves)))
    for i, row in enumerate(rows):
        for j, wave in enumerate(waves):
            for node, (first, second), (a, b), ls in zip(chain.nodes, pairs, row, wave, strict=True):
                allowed = a in first.two_helicities and b in second.two_helicities and abs(a - b) <= node.particle.two_J
                result[i, j] *= helicity_coupling(node.particle.two_J, (first.two_J, a), (second.two_J, b), ls) if allowed else 0.0
    return result


def chain_to_ls(
    chain: Chain, waves: Sequence[Sequence[LS]], H: Mapping[Helicities, complex]
) -> tuple[list[complex], int, Helicities | None]:
    """Couplings of the waves of a chain that give products of helicity couplings.

    Args:
        chain:  the chain
        waves:  (L, S) of every vertex of each wave
        H:      product of the helicity couplings of all vertices, by doubled helicities of each; as many as determine the waves

    Returns:
        the couplings, how many more helicities would be needed, and which one contradicts the others
    """
    rows = list(H)
    M, target = chain_matrix(chain, waves, rows), np.array([H[row] for row in rows], dtype=complex)
    found, _, rank, _ = np.linalg.lstsq(M, target, rcond=RANK_TOLERANCE)
    if rank < len(waves):
        return [], len(waves) - int(rank), None
    left = np.abs(M @ found - target)
    size = np.abs(target).max(initial=0.0)
    worst = None if not len(left) or left.max() <= CONTRADICTION * size else rows[int(left.argmax())]
    return [complex(c) for c in found], 0, worst


def chain_helicities(chain: Chain) -> list[Helicities]:
    """All helicities of a chain: a pair for every vertex."""
    own = [helicity_pairs(node.particle.two_J, *(chain.particle(d) for d in node.daughters)) for node in chain.nodes]
    return [tuple(row) for row in product(*own)]
