"""A decay and its chains: trees of two-body vertices over one fixed order of final particles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ctpwa.base.errors import PhysicsError
from ctpwa.base.trees import walk
from ctpwa.base.words import counted
from ctpwa.decay.barrier import Barrier
from ctpwa.decay.made import Made
from ctpwa.decay.particle import Particle, combined_flavours
from ctpwa.decay.spin import LS

MIN_FINAL, MAX_FINAL = 2, 6


@dataclass(frozen=True)
class Held:
    """A state that is held at its mass: what it decays to is part of the decay line.

    Attributes:
        particle:  the state
        place:     indices of the final particles it decays to, in order
        label:     its name in systems and messages
    """

    particle: Particle
    place: tuple[int, ...]
    label: str

    @property
    def mass(self) -> float:
        """GeV."""
        return float(self.particle.mass or 0.0)


@dataclass(frozen=True)
class Decay:
    """What decays into what; the order of ``final`` is the order of all spin axes.

    Attributes:
        parent:  the decaying particle
        final:   the final particles
        labels:  their names in momenta and in model files, all different
        held:    states on their mass shell, each before those inside it
    """

    parent: Particle
    final: tuple[Particle, ...]
    labels: tuple[str, ...]
    held: tuple[Held, ...] = ()

    def __post_init__(self) -> None:
        if not MIN_FINAL <= len(self.final) <= MAX_FINAL:
            raise PhysicsError(f"{self} has {counted(len(self.final), 'final particle')}", f"ctpwa handles {MIN_FINAL} to {MAX_FINAL}")
        everything = range(len(self.final))
        for particle, place in [(self.parent, tuple(everything)), *((state.particle, state.place) for state in self.held)]:
            parts = self.parts(place)
            check_charge(particle, tuple(map(self.particle, parts)))
            masses = [self.particle(part).mass for part in parts]
            if particle.mass is not None and None not in masses:
                total = sum(mass for mass in masses if mass is not None)
                if total >= particle.mass:
                    what = "final particles" if not self.held else "particles it decays to"
                    raise PhysicsError(
                        f"{self._step(particle, parts)} is below threshold: the {what} weigh {total:.6g} GeV, {particle.name} only "
                        f"{particle.mass:.6g} GeV"
                    )

    def __str__(self) -> str:
        steps = [self._step(self.parent, self.parts(range(len(self.final))))]
        return "; ".join(dict.fromkeys([*steps, *(self._step(state.particle, self.parts(state.place)) for state in self.held)]))

    def _step(self, particle: Particle, parts: Collection[Held | int]) -> str:
        return f"{particle.name} -> {' '.join(self.particle(part).name for part in parts)}"

    def particle(self, part: Held | int) -> Particle:
        """The particle of a state on its mass shell, or of a final particle."""
        return part.particle if isinstance(part, Held) else self.final[part]

    def parts(self, system: Collection[int]) -> tuple[Held | int, ...]:
        """A system as the largest states on their mass shell that are smaller than it, and the final particles that are in none of them."""
        left, found = set(system), list[Held | int]()
        for state in self.held:
            if set(state.place) < set(system) and set(state.place) <= left:
                left -= set(state.place)
                found.append(state)
        return tuple(sorted([*found, *left], key=lambda part: part.place[0] if isinstance(part, Held) else part))

    def held_at(self, system: Collection[int]) -> Held | None:
        """The state on its mass shell that decays to exactly this system."""
        return next((state for state in self.held if set(state.place) == set(system)), None)

    def torn(self, system: Collection[int]) -> Held | None:
        """A state on its mass shell of which a system holds a part, and something else besides."""
        own = set(system)
        return next((state for state in self.held if own & set(state.place) and own - set(state.place) and set(state.place) - own), None)

    def particles(self, system: Sequence[int]) -> tuple[Particle, ...]:
        """The particles that a system consists of, states on their mass shell among them, in its order."""
        return tuple(map(self.particle, self._ordered_parts(system)))

    def words(self, system: Sequence[int]) -> list[str]:
        """Their names."""
        return [part.label if isinstance(part, Held) else self.labels[part] for part in self._ordered_parts(system)]

    def _ordered_parts(self, system: Sequence[int]) -> list[Held | int]:
        def position(part: Held | int) -> int:
            return min(map(system.index, part.place)) if isinstance(part, Held) else system.index(part)

        return sorted(self.parts(system), key=position)

    def lowest_mass(self, system: Collection[int]) -> float:
        """The smallest mass of a system, GeV: that of a state on its mass shell, or the sum over its parts."""
        if (state := self.held_at(system)) is not None:
            return state.mass
        return sum(float(self.particle(part).mass or 0.0) for part in self.parts(system))

    def mass_range(self, system: Collection[int]) -> tuple[float, float]:
        """The masses that a system can have, GeV; without a mass of the parent there is no upper limit."""
        if (own := self.held_at(system)) is not None:
            return own.mass, own.mass
        around = [state for state in self.held if set(system) < set(state.place)]
        whole = around[-1].place if around else range(len(self.final))
        mass = around[-1].mass if around else self.parent.mass
        rest = [i for i in whole if i not in system]
        high = float("inf") if mass is None else mass - self._rest_mass(rest, whole)
        return self.lowest_mass(system), high

    def _rest_mass(self, rest: Collection[int], whole: Collection[int]) -> float:
        """Of what is left of a state: at least one part of it, which may be held itself."""
        inner = [part for part in self.parts(whole) if isinstance(part, Held) and set(part.place) <= set(rest)]
        taken = {i for part in inner for i in part.place}
        return sum(part.mass for part in inner) + sum(float(self.final[i].mass or 0.0) for i in rest if i not in taken)

    @cached_property
    def outer(self) -> Decay:
        """The decay as if states on their mass shell were final particles."""
        parts = self.parts(range(len(self.final)))
        labels = tuple(part.label if isinstance(part, Held) else self.labels[part] for part in parts)
        return Decay(self.parent, tuple(map(self.particle, parts)), labels)

    @cached_property
    def same_names(self) -> tuple[tuple[int, ...], ...]:
        """Indices of final particles of one kind, groups of two or more."""
        groups: dict[str, list[int]] = {}
        for index, particle in enumerate(self.final):
            groups.setdefault(particle.name, []).append(index)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    @cached_property
    def identical_groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of final particles that are indistinguishable, groups of two or more: those of one kind that come from the same states
        on their mass shell.
        """
        groups: dict[tuple[str, frozenset[Held]], list[int]] = {}
        for index, particle in enumerate(self.final):
            groups.setdefault((particle.name, frozenset(state for state in self.held if index in state.place)), []).append(index)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)


@dataclass(frozen=True)
class Node:
    """One vertex of a chain: a state and its two daughters.

    Attributes:
        particle:   the decaying state
        daughters:  each a Node, or the index of a final particle
        resonance:  the name of the lineshape this state carries; empty for the parent, unless it is a resonance that a beam made
        weak:       whether parity and C may be violated here
        radius:     barrier radius d of the state, GeV⁻¹
        current:    the current that fixes its amplitude, such as ``vector``; empty if every (L, S) has a coupling of its own
        barrier:    how the vertex grows with momentum; None: as Blatt and Weisskopf with the radius of the state
        made:       the state in which the parent was produced; None if the production has all of them, and for all states below
    """

    particle: Particle
    daughters: tuple[Node | int, Node | int]
    resonance: str = ""
    weak: bool = False
    radius: float = 3.0
    current: str = ""
    barrier: Barrier | None = None
    made: Made | None = None

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents before daughters, first daughters first."""
        return walk(self, lambda own: own.daughters)

    @property
    def growth(self) -> Barrier:
        """How the vertex grows with momentum."""
        return Barrier(radius=self.radius) if self.barrier is None else self.barrier

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Indices of the final particles below, in daughter order."""
        first, second = (d.leaves if isinstance(d, Node) else (d,) for d in self.daughters)
        return first + second


@dataclass(frozen=True)
class Chain:
    """One way from the parent to the final state.

    Attributes:
        decay:  the decay this is a chain of
        root:   the vertex of the parent
    """

    decay: Decay
    root: Node

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All vertices, the parent's first; the order of every per-vertex list."""
        return tuple(self.root.walk())

    def particle(self, daughter: Node | int) -> Particle:
        """The particle of a daughter, be it a node or a final particle."""
        return daughter.particle if isinstance(daughter, Node) else self.decay.final[daughter]

    def __str__(self) -> str:
        return " ; ".join(self.vertex(node) for node in self.nodes)

    @cached_property
    def carriers(self) -> tuple[Node, ...]:
        """The vertices of all states that carry a lineshape: all but the parent's, and the parent's if it is a resonance itself."""
        return self.nodes if self.root.resonance else self.nodes[1:]

    def is_held(self, node: Node) -> bool:
        """Whether a state is on its mass shell in every chain."""
        return self.decay.held_at(node.leaves) is not None

    @cached_property
    def shown(self) -> tuple[Node, ...]:
        """Vertices of the states that make this chain different from others: those that are not on their mass shell."""
        return tuple(node for node in self.carriers if not self.is_held(node))

    def ls_text(self, ls: Sequence[LS]) -> str:
        """``(1,1)(0,1)``: (L, S) of every vertex, or its current; that of a state on its mass shell only if it could be another one."""
        shown = [(node, pair) for node, pair in zip(self.nodes, ls, strict=True) if not (node.current and self.is_held(node))]
        return "".join(f"({node.current})" if node.current else str(pair) for node, pair in shown)

    def vertex(self, node: Node) -> str:
        """``phi(1020) -> K+ K-`` with the labels of the final particles."""
        names = [d.particle.name if isinstance(d, Node) else self.decay.labels[d] for d in node.daughters]
        return f"{node.particle.name} -> {' '.join(names)}"


def check_charge(parent: Particle, daughters: tuple[Particle, ...]) -> None:
    """Σ charge of the daughters = charge of the parent."""
    total = sum(particle.charge for particle in daughters)
    if total != parent.charge:
        charges = " ".join(f"{particle.name}({particle.charge:+d})" for particle in daughters)
        raise PhysicsError(f"charge is not conserved in {parent.name}({parent.charge:+d}) -> {charges}: it becomes {total:+d}")


def changes_flavour(parent: Particle, daughters: tuple[Particle, ...]) -> bool:
    """Whether strangeness, charm or bottomness changes, or a neutrino takes part: the vertex is weak and need not conserve parity."""
    return any(particle.neutrino for particle in (parent, *daughters)) or not parent.flavours & combined_flavours(daughters)
