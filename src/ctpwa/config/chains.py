"""Chains made from resonances in systems: every tree whose inner systems all carry one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from ctpwa.config.systems import Place, System
from ctpwa.decay.chain import Chain, Decay, Node, changes_flavour
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import LS
from ctpwa.decay.symmetry import exchange_permutations
from ctpwa.decay.topology import Tree, binary_trees, tree_leaves
from ctpwa.errors import Path


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
    """How vertices are made: whether they are weak and which barrier radius they have."""

    weak: Callable[[str], bool | None]
    radius: Callable[[str], float]

    def node(self, decay: Decay, name: str, state: Particle, daughters: tuple[Node | int, Node | int]) -> Node:
        """A vertex; it is weak if the user says so, or if it changes flavour and the user says nothing."""
        particles = tuple(d.particle if isinstance(d, Node) else decay.final[d] for d in daughters)
        said = self.weak(name)
        return Node(state, daughters, name, changes_flavour(state, particles) if said is None else said, self.radius(name))


def generate_chains(decay: Decay, carriers: Sequence[Carrier], rules: VertexRules) -> list[Chain]:
    """All chains in which every inner system carries one of the resonances given for it, in the order of the model file."""
    by_system: dict[Place, list[tuple[Carrier, Place]]] = {}
    for carrier in carriers:
        for place in carrier.system.places:
            entries = by_system.setdefault(tuple(sorted(place)), [])
            if not any((known.name, known.state) == (carrier.name, carrier.state) for known, _ in entries):
                entries.append((carrier, place))

    def build(tree: Tree) -> list[Node | int]:
        if isinstance(tree, int):
            return [tree]
        return [
            rules.node(decay, carrier.name, carrier.state, _in_order(pair, place))
            for carrier, place in by_system[tuple(sorted(tree_leaves(tree)))]
            for pair in product(build(tree[0]), build(tree[1]))
        ]

    chains: dict[tuple[Any, ...], Chain] = {}
    for top in binary_trees(tuple(range(len(decay.final))), lambda leaves: leaves in by_system):
        assert isinstance(top, tuple)
        for pair in product(build(top[0]), build(top[1])):
            chain = Chain(decay, rules.node(decay, "", decay.parent, pair))
            known = chains.setdefault(_chain_key(chain), chain)
            if chain.root.leaves < known.root.leaves:  # of chains that differ by an exchange, the one in the order of the final state
                chains[_chain_key(chain)] = chain
    return sorted(chains.values(), key=lambda chain: _file_order(chain, carriers))


def _in_order(pair: tuple[Node | int, Node | int], place: Place) -> tuple[Node | int, Node | int]:
    """Two final particles stand as the user wrote them; a resonance stands before a final particle."""
    first, second = pair
    if isinstance(first, int) and isinstance(second, int) and place.index(first) > place.index(second):
        return second, first
    return first, second


def _chain_key(chain: Chain) -> tuple[Any, ...]:
    """The same for chains that differ by daughter order and exchange of identical particles."""

    def key(node: Node | int, new: Sequence[int]) -> tuple[Any, ...]:
        if isinstance(node, int):
            return (0, new[node])
        return (1, node.resonance, node.particle.name, *sorted(key(d, new) for d in node.daughters))

    return min(key(chain.root, new) for new, _ in exchange_permutations(chain.decay))


def _file_order(chain: Chain, carriers: Sequence[Carrier]) -> list[int]:
    """Where the model file declares the states of a chain."""
    declared = [(carrier.name, carrier.state.name) for carrier in carriers]
    return [declared.index((node.resonance, node.particle.name)) for node in chain.nodes[1:]]
