"""Exchange of identical particles and charge conjugation: which terms a wave has, and how waves are tied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.chain import Chain, Decay, Node
from ctpwa.decay.spin import LS
from ctpwa.decay.structure import Structure, build_structure, exchange_sign, put_in_order, relabel

System = tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """A part of a wave whose propagators all see the same invariant masses.

    Attributes:
        parts:    structures and integer coefficients; their sum is the spin amplitude of the term
        factor:   integer in front of it
        systems:  for each resonance of the chain, the final particles whose mass its propagator sees
    """

    parts: tuple[tuple[Structure, int], ...]
    factor: int
    systems: tuple[System, ...]


def exchange_permutations(decay: Decay) -> tuple[tuple[tuple[int, ...], int], ...]:
    """All permutations of identical final particles, the full product over the groups, with their signs.

    An odd permutation of fermions has sign −1. Those that would tear a state on its mass shell apart are left out: it can only be
    exchanged as a whole                                                                            (F7)
    """
    groups = decay.same_names
    held = frozenset((state.particle.name, state.place) for state in decay.held)
    return _permutations(len(decay.final), groups, tuple(decay.final[group[0]].fermion for group in groups), held)


@cache
def _permutations(
    n_final: int, groups: tuple[tuple[int, ...], ...], fermions: tuple[bool, ...], held: frozenset[tuple[str, System]]
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """The same from what they depend on; asked for once per wave, and six particles can have hundreds."""
    result = []
    for choice in product(*(permutations(group) for group in groups)):
        new = list(range(n_final))
        sign = 1
        for group, images, fermion in zip(groups, choice, fermions, strict=True):
            for index, image in zip(group, images, strict=True):
                new[index] = image
            if fermion:
                sign *= permutation_sign([group.index(image) for image in images])
        if _moved(held, new) == held:
            result.append((tuple(new), sign))
    return tuple(result)


def _moved(held: frozenset[tuple[str, System]], images: Sequence[int]) -> frozenset[tuple[str, System]]:
    """States on their mass shell after every final particle has become another one."""
    return frozenset((name, tuple(sorted(images[i] for i in place))) for name, place in held)


def permutation_sign(images: Sequence[int]) -> int:
    """+1 for an even, −1 for an odd permutation of 0 … n−1."""
    inversions = sum(images[i] > images[j] for i in range(len(images)) for j in range(i + 1, len(images)))
    return -1 if inversions % 2 else 1


def symmetrised_terms(chain: Chain, ls: Sequence[LS]) -> tuple[Term, ...]:
    """A_sym = Σ_perm sgn · A(permuted momenta and spin axes), grouped by the masses the propagators see (F7)."""
    decay = chain.decay
    two_spins = [particle.two_J for particle in decay.final]
    structure = build_structure(chain, ls)
    names = [node.resonance for node in chain.carriers]
    groups: dict[tuple[tuple[str, System], ...], tuple[tuple[System, ...], dict[Structure, int]]] = {}
    for new, sign in exchange_permutations(decay):
        permuted = relabel(structure, new)
        systems = tuple(vertex.system for vertex in list(permuted.walk())[-len(names) :]) if names else ()
        ordered, order_sign = put_in_order(permuted, two_spins)
        key = tuple(sorted(zip(names, systems, strict=True)))
        parts = groups.setdefault(key, (systems, {}))[1]
        parts[ordered] = parts.get(ordered, 0) + sign * order_sign
    terms = [_term(systems, parts) for systems, parts in groups.values()]
    if not any(term.parts for term in terms):
        raise PhysicsError(f"{chain} with (L,S) = {' '.join(map(str, ls))} vanishes when identical particles are exchanged")
    return tuple(term for term in terms if term.parts)


def _term(systems: tuple[System, ...], parts: dict[Structure, int]) -> Term:
    kept = [(structure, count) for structure, count in parts.items() if count]
    if not kept:
        return Term((), 0, systems)
    factor = kept[0][1] if len({abs(count) for _, count in kept}) == 1 else 1
    return Term(tuple((structure, count // factor) for structure, count in kept), factor, systems)


def wave_key(chain: Chain, ls: Sequence[LS]) -> tuple[tuple, int]:
    """A key that is the same for all daughter orders and exchanges of identical particles, and the sign to reach it.

    Two waves with one key differ only by the product of their signs.
    """
    decay = chain.decay
    best: tuple[tuple, int] | None = None
    for new, sign in exchange_permutations(decay):
        key, order_sign = _ordered_key(chain, new, ls)
        if best is None or key < best[0]:
            best = (key, sign * order_sign)
    assert best is not None
    return best


def _ordered_key(chain: Chain, new: Sequence[int], ls: Sequence[LS]) -> tuple[tuple, int]:
    by_node = iter(ls)

    def visit(node: Node) -> tuple[tuple, int]:
        own = next(by_node)
        sign = 1
        keys: list[tuple] = []
        for daughter in node.daughters:
            if isinstance(daughter, Node):
                key, own_sign = visit(daughter)
                sign *= own_sign
            else:
                key = (0, new[daughter])
            keys.append(key)
        if keys[0] > keys[1]:
            keys.reverse()
            first, second = (chain.particle(d) for d in node.daughters)
            sign *= exchange_sign(own, first.two_J, second.two_J)
        return (1, node.particle.name, str(node.made or ""), own.L, own.two_S, *keys), sign

    return visit(chain.root)


def conjugation_map(decay: Decay) -> tuple[int, ...] | None:
    """Where each final particle goes under particle ↔ antiparticle; None if the final state is not self-conjugate."""
    choices = [[i for i, other in enumerate(decay.final) if other.name == particle.antiparticle] for particle in decay.final]
    held = frozenset((state.particle.name, state.place) for state in decay.held)
    conjugate = frozenset((state.particle.antiparticle, state.place) for state in decay.held)
    return next((images for images in product(*choices) if len(set(images)) == len(images) and _moved(conjugate, images) == held), None)


def conjugate_chain(chain: Chain, images: Sequence[int]) -> Chain:
    """The charge-conjugate chain with mirrored daughter order."""

    def conjugate(node: Node) -> Node:
        first, second = (conjugate(d) if isinstance(d, Node) else images[d] for d in node.daughters)
        return replace(node, particle=node.particle.conjugate(), daughters=(first, second))

    return Chain(chain.decay, conjugate(chain.root))


def conjugation_sign(decay: Decay, images: Sequence[int]) -> int | None:
    """η in A(particles ↔ antiparticles) = η A; None where C is not defined.

    η = C_parent · Π C(self-conjugate final particles) · (−1)^(number of fermion pairs)         (F4)
    """
    sign = decay.parent.C
    if sign is None:
        return None
    for index, (particle, image) in enumerate(zip(decay.final, images, strict=True)):
        if particle.self_conjugate:
            if particle.C is None:
                return None
            sign *= particle.C
        elif particle.fermion and index < image:
            sign = -sign
    return sign


@dataclass(frozen=True)
class Conjugation:
    """How C maps the waves of a decay onto each other.

    Attributes:
        images:  final particle → its antiparticle
        eta:     the sign of the whole amplitude
    """

    images: tuple[int, ...]
    eta: int

    @classmethod
    def of(cls, decay: Decay) -> Conjugation | None:
        """The conjugation of a decay, or None if C says nothing about it."""
        images = conjugation_map(decay)
        eta = None if images is None else conjugation_sign(decay, images)
        return None if images is None or eta is None else cls(images, eta)

    def applies_to(self, chain: Chain) -> bool:
        """Whether C is conserved at every vertex of the chain."""
        return not any(node.weak for node in chain.nodes)

    def partner(self, chain: Chain, ls: Sequence[LS]) -> tuple[tuple, int]:
        """Key of the conjugate wave, and the sign s in: amplitude of that wave = s · (this wave, conjugated)."""
        key, sign = wave_key(conjugate_chain(chain, self.images), ls)
        return key, self.eta * sign
