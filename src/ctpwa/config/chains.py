"""Chains made from resonances in systems: every tree whose inner systems all carry one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ctpwa.base.errors import Path, PhysicsError
from ctpwa.config.limits import USUAL
from ctpwa.config.systems import Place, System
from ctpwa.decay.barrier import Barrier
from ctpwa.decay.chain import Chain, Decay, Node, changes_flavour
from ctpwa.decay.currents import lepton_current
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import LS
from ctpwa.decay.symmetry import exchange_permutations
from ctpwa.decay.topology import Tree, binary_trees, tree_leaves


class FoundChain(NamedTuple):
    """A chain of the model.

    Attributes:
        chain:    the chain
        choices:  its waves: one (L, S) for every vertex
        tied:     whether couplings are tied to those of the charge-conjugate chain
        path:     where the model description says so
    """

    chain: Chain
    choices: list[tuple[LS, ...]]
    tied: bool
    path: Path


class Carrier(NamedTuple):
    """A resonance in a system: one entry of ``in``.

    Attributes:
        name:    key of the resonance
        state:   its charge state that decays to the system
        system:  the final particles
        path:    where the model description says so
    """

    name: str
    state: Particle
    system: System
    path: Path


@dataclass(frozen=True)
class VertexRules:
    """How vertices are made: whether they are weak, which barriers they have, and whether the user has chosen their (L, S)."""

    weak: Callable[[str], bool | None]
    radius: Callable[[str], float]
    barrier: Callable[[str, Sequence[Node | int]], Barrier | None] = lambda name, daughters: None
    chosen: Callable[[str, Sequence[Node | int]], bool] = lambda name, daughters: False

    def node(self, decay: Decay, name: str, state: Particle, daughters: tuple[Node | int, Node | int]) -> Node:
        """A vertex; it is weak if the user says so, or if it changes flavour and the user says nothing. Leptons come from a current unless
        the user has chosen (L, S).
        """
        first, second = (d.particle if isinstance(d, Node) else decay.final[d] for d in daughters)
        said = self.weak(name)
        weak = changes_flavour(state, (first, second)) if said is None else said
        current = "" if self.chosen(name, daughters) else lepton_current(state, first, second, weak)
        return Node(state, daughters, name, weak, self.radius(name), current, self.barrier(name, daughters))


def generate_chains(decay: Decay, carriers: Sequence[Carrier], rules: VertexRules, most: int = USUAL.chains) -> list[Chain]:
    """All chains in which every inner system carries one of the resonances given for it, in the order of the model file.

    A chain none of whose systems tears a state on its mass shell apart contains that state.

    Args:
        decay:     the decay
        carriers:  the resonances of every system
        rules:     how vertices are made
        most:      more chains are an error
    """
    by_system: dict[Place, list[tuple[Carrier, Place]]] = {}
    for carrier in carriers:
        for place in carrier.system.places:
            entries = by_system.setdefault(tuple(sorted(place)), [])
            if not any((known.name, known.state) == (carrier.name, carrier.state) for known, _ in entries):
                entries.append((carrier, place))

    @cache  # trees share their branches, and so do their chains
    def build(tree: Tree) -> list[Node | int]:
        if isinstance(tree, int):
            return [tree]
        carried, below = by_system[tuple(sorted(tree_leaves(tree)))], (build(tree[0]), build(tree[1]))
        _check_number(len(carried) * len(below[0]) * len(below[1]), most)
        return [
            rules.node(decay, carrier.name, carrier.state, _in_order(pair, place)) for carrier, place in carried for pair in product(*below)
        ]

    keys = _Keys(decay)
    chains: dict[tuple[Any, ...], Chain] = {}
    for top in binary_trees(tuple(range(len(decay.final))), lambda leaves: leaves in by_system and decay.torn(leaves) is None):
        assert isinstance(top, tuple)
        _check_number(len(chains) + len(build(top[0])) * len(build(top[1])), most)
        for pair in product(build(top[0]), build(top[1])):
            chain = Chain(decay, rules.node(decay, "", decay.parent, pair))
            key = keys.of(chain)
            known = chains.setdefault(key, chain)
            if chain.root.leaves < known.root.leaves:  # of chains that differ by an exchange, the one in the order of the final state
                chains[key] = chain
    return sorted(chains.values(), key=lambda chain: _file_order(chain, carriers))


def _check_number(n: int, most: int) -> None:
    if n > most:
        raise PhysicsError(
            f"the resonances make more than {most} chains",
            "remove some of them, or spell out the chains that matter under 'chains'",
        )


def _in_order(pair: tuple[Node | int, Node | int], place: Place) -> tuple[Node | int, Node | int]:
    """Two final particles keep the order in which the user wrote them; a resonance comes before a final particle."""
    first, second = pair
    if isinstance(first, int) and isinstance(second, int) and place.index(first) > place.index(second):
        return second, first
    return first, second


class _Keys:
    """Keys that are the same for chains that differ by daughter order and exchange of identical particles.

    Args:
        decay:  what they are chains of
    """

    def __init__(self, decay: Decay) -> None:
        self._exchanges = [new for new, _ in exchange_permutations(decay)]
        self._of_node: dict[int, tuple[Node, list[tuple[Any, ...]]]] = {}  # by identity: chains share their branches

    def of(self, chain: Chain) -> tuple[Any, ...]:
        """The key of a chain."""
        return min(self._all(chain.root))

    def _all(self, node: Node) -> list[tuple[Any, ...]]:
        """A key for every exchange."""
        first, second = (self._daughter(d) for d in node.daughters)
        own = (1, node.resonance, node.particle.name)
        return [(*own, a, b) if a <= b else (*own, b, a) for a, b in zip(first, second, strict=True)]

    def _daughter(self, daughter: Node | int) -> list[tuple[Any, ...]]:
        if isinstance(daughter, int):
            return [(0, new[daughter]) for new in self._exchanges]
        if id(daughter) not in self._of_node:
            self._of_node[id(daughter)] = (daughter, self._all(daughter))
        return self._of_node[id(daughter)][1]


def _file_order(chain: Chain, carriers: Sequence[Carrier]) -> list[int]:
    """Where the model file declares the states of a chain."""
    declared = [(carrier.name, carrier.state.name) for carrier in carriers]
    return [declared.index((node.resonance, node.particle.name)) for node in (*chain.shown, *chain.nodes[1:])]
