"""Wave structures: what a spin amplitude depends on, and nothing else.

A structure is a tree of spins and (L, S) pairs over final-particle indices. Names, parities and lineshapes are not in it,
so resonances with equal quantum numbers share one structure, and its spin amplitude is computed and stored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ctpwa.base.trees import walk
from ctpwa.decay.barrier import BLATT_WEISSKOPF, DAMPED, MOMENTUM, NO_BARRIER
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.made import Made
from ctpwa.decay.spin import LS


@dataclass(frozen=True)
class Structure:
    """One vertex of a wave structure.

    Attributes:
        two_J:      doubled spin of the decaying state
        ls:         L and S of the vertex
        daughters:  each a Structure, or the index of a final particle
        radius:     barrier radius d of the vertex, GeV⁻¹
        current:    the current that fixes the amplitude of the vertex, in place of (L, S); empty if there is none
        form:       form of the barrier: q^l/√N_l(q d), q^l or 1
        l:          its l; None: L
        made:       the state in which the system was produced; None if its rows hold all states, and for all vertices below
    """

    two_J: int
    ls: LS
    daughters: tuple[Structure | int, Structure | int]
    radius: float
    current: str = ""
    form: str = BLATT_WEISSKOPF
    l: int | None = None
    made: Made | None = None

    @cached_property
    def _hash(self) -> int:
        return hash((self.two_J, self.ls, self.daughters, self.radius, self.current, self.form, self.l, self.made))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Indices of the final particles below, in daughter order."""
        first, second = (leaves_of(daughter) for daughter in self.daughters)
        return first + second

    @cached_property
    def system(self) -> tuple[int, ...]:
        """The same indices, sorted: which particles add up to this state."""
        return tuple(sorted(self.leaves))

    @cached_property
    def total_L(self) -> int:
        """Σ L over this vertex and all below."""
        return self.ls.L + sum(d.total_L for d in self.daughters if isinstance(d, Structure))

    @property
    def power(self) -> int:
        """The power of q in the amplitude of the vertex."""
        return 0 if self.form == NO_BARRIER else self.ls.L if self.l is None else self.l

    def walk(self) -> Iterator[Structure]:
        """This vertex and all below it, in the order of ``Chain.nodes``."""
        return walk(self, lambda own: own.daughters)


def leaves_of(daughter: Structure | int) -> tuple[int, ...]:
    """Indices of the final particles below a daughter, in daughter order."""
    return daughter.leaves if isinstance(daughter, Structure) else (daughter,)


def build_structure(chain: Chain, ls: Sequence[LS]) -> Structure:
    """The structure of a chain with one (L, S) for each of ``chain.nodes``."""
    by_node = iter(ls)

    def build(node: Node) -> Structure:
        own = next(by_node)
        first, second = (build(d) if isinstance(d, Node) else d for d in node.daughters)
        barrier = node.growth
        # a radius that is a parameter is in a factor of the propagators
        form, radius = (MOMENTUM, 0.0) if barrier.parameter and barrier.form in DAMPED else (barrier.form, barrier.radius)
        return Structure(node.particle.two_J, own, (first, second), radius, node.current, form, barrier.l, node.made)

    return build(chain.root)


def relabel(structure: Structure, new: Sequence[int]) -> Structure:
    """The same structure with final particle i replaced by ``new[i]``."""
    first, second = (relabel(d, new) if isinstance(d, Structure) else new[d] for d in structure.daughters)
    return replace(structure, daughters=(first, second))


def put_in_order(structure: Structure, two_spins: Sequence[int]) -> tuple[Structure, int]:
    """The structure with daughters ordered by their lowest final particle, and the sign this costs.

    Exchanging the daughters of a vertex multiplies it by (−1)^(L+s1+s2−S)                       (F4)

    Args:
        structure:  any daughter order
        two_spins:  doubled spins of the final particles
    """
    sign = 1
    parts: list[Structure | int] = []
    for daughter in structure.daughters:
        if isinstance(daughter, Structure):
            ordered, own_sign = put_in_order(daughter, two_spins)
            sign *= own_sign
            parts.append(ordered)
        else:
            parts.append(daughter)
    first, second = parts
    if min(leaves_of(first)) > min(leaves_of(second)):
        sign *= exchange_sign(structure.ls, spin_of(first, two_spins), spin_of(second, two_spins))
        first, second = second, first
    return replace(structure, daughters=(first, second)), sign


def spin_of(daughter: Structure | int, two_spins: Sequence[int]) -> int:
    """Doubled spin of a daughter."""
    return daughter.two_J if isinstance(daughter, Structure) else two_spins[daughter]


def exchange_sign(ls: LS, two_s1: int, two_s2: int) -> int:
    """(−1)^(L+s1+s2−S)."""
    return (-1) ** (ls.L + (two_s1 + two_s2 - ls.two_S) // 2)
