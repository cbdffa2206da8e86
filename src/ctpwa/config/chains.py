"""The chains of a model: spelled out, or generated from resonances in subsystems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from ctpwa.config.particles import ARROW
from ctpwa.decay.chain import Chain, Decay, Node, changes_flavour
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import normalise
from ctpwa.decay.symmetry import exchange_permutations
from ctpwa.decay.topology import Tree, binary_trees, tree_leaves
from ctpwa.errors import PhysicsError, suggest

# (name as written, final particles below) → (name of the resonance, its charge state)
FindState = Callable[[str, tuple[int, ...]], tuple[str, Particle]]


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


@dataclass(frozen=True)
class System:
    """A group of final particles as written in ``in``: ``K+ K-``."""

    text: str
    names: tuple[str, ...]

    @classmethod
    def read(cls, text: str, decay: Decay) -> System:
        """Check the names of a system against the final state."""
        words = tuple(text.split())
        available = Counter(label for label in decay.labels) + Counter(p.name for p in decay.final if p.name not in decay.labels)
        known = {normalise(name): name for name in available}
        for word in words:
            if normalise(word) not in known:
                raise PhysicsError(f"{word!r} in {text!r} is not a final particle of {decay}", suggest(word, decay.labels))
        names = tuple(known[normalise(word)] for word in words)
        system = cls(text, names)
        if not 2 <= len(words) < len(decay.final) or not system.places(decay):
            raise PhysicsError(f"{text!r} is not a subsystem of {decay}", f"name 2 to {len(decay.final) - 1} of {' '.join(decay.labels)}")
        return system

    def places(self, decay: Decay) -> list[tuple[int, ...]]:
        """All choices of final particles for the names, each in the order of the names."""
        options = [[i for i, p in enumerate(decay.final) if name in (decay.labels[i], p.name)] for name in self.names]
        return [choice for choice in product(*options) if len(set(choice)) == len(choice)]


def generate_chains(decay: Decay, systems: Sequence[tuple[str, System, Particle]], rules: VertexRules) -> list[Chain]:
    """All chains in which every inner system carries one of the resonances given for it.

    Args:
        decay:    the decay
        systems:  (resonance, system, state) of every ``in`` entry
        rules:    how to make vertices
    """
    carriers: dict[tuple[int, ...], list[tuple[str, Particle, tuple[int, ...]]]] = {}
    for name, system, state in systems:
        for place in system.places(decay):
            entries = carriers.setdefault(tuple(sorted(place)), [])
            if not any(entry[:2] == (name, state) for entry in entries):
                entries.append((name, state, place))

    def build(tree: Tree) -> list[Node | int]:
        if isinstance(tree, int):
            return [tree]
        return [
            rules.node(decay, name, state, _in_order(pair, place))
            for name, state, place in carriers[tuple(sorted(tree_leaves(tree)))]
            for pair in product(build(tree[0]), build(tree[1]))
        ]

    chains: dict[tuple, Chain] = {}
    for top in binary_trees(tuple(range(len(decay.final))), lambda leaves: leaves in carriers):
        assert isinstance(top, tuple)
        for pair in product(build(top[0]), build(top[1])):
            chain = Chain(decay, rules.node(decay, "", decay.parent, (pair[0], pair[1])))
            chains.setdefault(_chain_key(chain), chain)
    return list(chains.values())


def _in_order(pair: tuple[Node | int, Node | int], place: tuple[int, ...]) -> tuple[Node | int, Node | int]:
    """Two final particles stand as the user wrote them; a resonance stands before a final particle."""
    first, second = pair
    if isinstance(first, int) and isinstance(second, int) and place.index(first) > place.index(second):
        return second, first
    return first, second


def _chain_key(chain: Chain) -> tuple:
    """The same for chains that differ by daughter order and exchange of identical particles."""

    def key(node: Node | int, new: Sequence[int]) -> tuple:
        if isinstance(node, int):
            return (0, new[node])
        return (1, node.resonance, node.particle.name, *sorted(key(d, new) for d in node.daughters))

    return min(key(chain.root, new) for new, _ in exchange_permutations(chain.decay))


class ChainReader:
    """Reads one chain written as text; final particles are handed out once each.

    Args:
        text:        vertices separated by ``;``, the parent's first
        decay:       the decay
        find_state:  finds the resonance behind a name
        rules:       how to make vertices
    """

    def __init__(self, text: str, decay: Decay, find_state: FindState, rules: VertexRules) -> None:
        self.text, self.decay, self.find_state, self.rules = text, decay, find_state, rules
        vertices = [_read_vertex(part) for part in text.split(";") if part.strip()]
        if not vertices:
            raise PhysicsError("the chain is empty", f"write {decay.parent.name} {ARROW} … ; … {ARROW} …")
        self.top = normalise(vertices[0][0])
        self.daughters: dict[str, list[tuple[str, str]]] = {}
        for name, pair in vertices:
            self.daughters.setdefault(normalise(name), []).append(pair)
        self.uses: Counter[str] = Counter()
        self.free = list(range(len(decay.final)))

    def read(self) -> Chain:
        """The chain, complete and with nothing left over."""
        root = self._expand(self.top, ())
        assert isinstance(root, Node)
        for name, pairs in self.daughters.items():
            if self.uses[name] < len(pairs):
                raise PhysicsError(f"a vertex of {name!r} in {self.text!r} is never reached")
        if self.free:
            left = " ".join(self.decay.labels[i] for i in self.free)
            raise PhysicsError(f"{self.text!r} does not contain {left}", f"the final state is {' '.join(self.decay.labels)}")
        return Chain(self.decay, root)

    def _expand(self, name: str, above: tuple[str, ...]) -> Node | int:
        key = normalise(name)
        if key not in self.daughters:
            return self._take(name)
        if key in above:
            raise PhysicsError(f"{name!r} decays into itself in {self.text!r}")
        pairs = self.daughters[key]
        first, second = pairs[min(self.uses[key], len(pairs) - 1)]
        self.uses[key] += 1
        pair = (self._expand(first, (*above, key)), self._expand(second, (*above, key)))
        if not above:
            return self.rules.node(self.decay, "", self.decay.parent, pair)
        leaves = tuple(leaf for d in pair for leaf in (d.leaves if isinstance(d, Node) else (d,)))
        return self.rules.node(self.decay, *self.find_state(name, leaves), pair)

    def _take(self, name: str) -> int:
        for index in self.free:
            if normalise(name) in (normalise(self.decay.labels[index]), normalise(self.decay.final[index].name)):
                self.free.remove(index)
                return index
        labels = " ".join(self.decay.labels)
        raise PhysicsError(
            f"{name!r} in {self.text!r} neither decays nor is a final particle still to be placed",
            f"add its vertex; the final particles are {labels}",
        )


def _read_vertex(text: str) -> tuple[str, tuple[str, str]]:
    left, arrow, right = text.partition(ARROW)
    words = right.split()
    if not arrow or len(left.split()) != 1:
        raise PhysicsError(f"cannot read {text.strip()!r} as a vertex", f"write it as mother {ARROW} daughter daughter")
    if len(words) != 2:
        raise PhysicsError(
            f"{text.strip()!r} has {len(words)} daughters", "every vertex has two; put a resonance or a constant structure in between"
        )
    return left.strip(), (words[0], words[1])
