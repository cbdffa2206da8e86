"""Waves of a chain: one allowed (L, S) at every vertex."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.chain import Chain, Node, check_charge
from ctpwa.decay.rules import allowed_ls, independent_subset
from ctpwa.decay.spin import LS
from ctpwa.decay.symmetry import Conjugation, symmetrised_terms, wave_key

MAX_WAVES = 2000  # of one chain


def vertex_ls(chain: Chain, node: Node, *, only: Sequence[LS] | None = None, max_L: int | None = None) -> list[LS]:
    """The (L, S) pairs to use at one vertex.

    Args:
        chain:  the chain the vertex belongs to
        node:   the vertex
        only:   the user's choice; each must be allowed, and massless daughters must leave them independent
        max_L:  largest L to consider
    """
    first, second = (chain.particle(daughter) for daughter in node.daughters)
    check_charge(node.particle, (first, second))
    for particle in (first, second):
        if particle.massless and particle.two_J > 2:
            raise PhysicsError(
                f"{particle.label} is massless: only massless particles of spin 0, 1/2 and 1 have amplitudes here",
                "give it a mass under 'particles'",
            )
    if node.current:
        return [_current_ls(chain, node, only)]
    allowed = allowed_ls(node.particle, first, second, weak=node.weak, max_L=max_L)
    if only is None:
        return independent_subset(node.particle.two_J, first, second, allowed)
    for ls in only:
        if ls not in allowed:
            raise PhysicsError(f"(L,S) = {ls} is not allowed in {chain.vertex(node)}", f"allowed: {' '.join(map(str, allowed))}")
    chosen = sorted(set(only))
    independent = independent_subset(node.particle.two_J, first, second, chosen)
    if independent != chosen:
        raise PhysicsError(
            f"(L,S) = {' '.join(map(str, chosen))} are not independent in {chain.vertex(node)}: a massless daughter leaves "
            f"only {len(independent)} of them",
            f"for example keep {' '.join(map(str, independent))}",
        )
    return chosen


def _current_ls(chain: Chain, node: Node, only: Sequence[LS] | None) -> LS:
    """What stands for (L, S) at the vertex of a current, which is a fixed sum of them: the first."""
    if only is not None:
        raise PhysicsError(
            f"(L,S) of {chain.vertex(node)} cannot be chosen: its {node.current} current fixes them",
            "leave them out; decay_ls of the resonance gives every (L, S) a coupling of its own",
        )
    first, second = (chain.particle(daughter) for daughter in node.daughters)
    return allowed_ls(node.particle, first, second, weak=node.weak)[0]


def chain_waves(chain: Chain, choices: Sequence[Sequence[LS]], most: int = MAX_WAVES) -> list[tuple[LS, ...]]:
    """All products of per-vertex choices that survive exchange symmetry and C parity; an error if none does, or if there are too many."""
    conjugation = Conjugation.of(chain.decay)
    n_waves = prod(len(pairs) for pairs in choices)
    if n_waves > most:
        raise PhysicsError(f"{chain} has {n_waves} waves", f"keep a chain below {most} waves with max_L, or choose (L, S) pairs")
    kept = []
    reasons: list[str] = []
    for ls in product(*choices):
        try:
            symmetrised_terms(chain, ls)
            _check_c_parity(chain, ls, conjugation)
        except PhysicsError as error:
            reasons.append(error.what)
        else:
            kept.append(ls)
    if not kept:
        raise PhysicsError("; ".join(dict.fromkeys(reasons)))
    return kept


def smallest_L(chain: Chain) -> tuple[int, ...]:
    """Smallest L of every vertex among all waves that the laws allow, whichever of them a model uses; in the order of ``chain.nodes``."""
    choices = [vertex_ls(chain, node) for node in chain.nodes]
    return tuple(_smallest_L(chain, choices, position) for position in range(len(choices)))


def _smallest_L(chain: Chain, choices: Sequence[Sequence[LS]], position: int) -> int:
    for own in sorted(choices[position]):
        here = (tuple([own] if i == position else pairs) for i, pairs in enumerate(choices))
        if any(_survives(chain, ls) for ls in product(*here)):
            return own.L
    return min(own.L for own in choices[position])


def _survives(chain: Chain, ls: tuple[LS, ...]) -> bool:
    try:
        chain_waves(chain, [[pair] for pair in ls])
    except PhysicsError:
        return False
    return True


def _check_c_parity(chain: Chain, ls: Sequence[LS], conjugation: Conjugation | None) -> None:
    """A chain that is its own conjugate must be even: sign of the exchange = η."""
    if conjugation is None or not conjugation.applies_to(chain):
        return
    own_key, own_sign = wave_key(chain, ls)
    key, sign = conjugation.partner(chain, ls)
    if key == own_key and sign != own_sign:
        raise PhysicsError(
            f"{chain} with (L,S) = {' '.join(map(str, ls))} violates C parity: exchanging particles and antiparticles gives "
            f"{own_sign * sign * conjugation.eta:+d}, C of {chain.decay} needs {conjugation.eta:+d}"
        )
