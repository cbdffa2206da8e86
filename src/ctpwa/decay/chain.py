"""A decay and its chains: trees of two-body vertices over one fixed order of final particles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ctpwa.base.errors import PhysicsError
from ctpwa.base.words import counted
from ctpwa.decay.particle import Particle, combined_flavours

MIN_FINAL, MAX_FINAL = 2, 6


@dataclass(frozen=True)
class Decay:
    """What decays into what; the order of ``final`` is the order of all spin axes.

    Attributes:
        parent:  the decaying particle
        final:   the final particles
        labels:  their names in momenta and in model files, all different
    """

    parent: Particle
    final: tuple[Particle, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not MIN_FINAL <= len(self.final) <= MAX_FINAL:
            raise PhysicsError(f"{self} has {counted(len(self.final), 'final particle')}", f"ctpwa handles {MIN_FINAL} to {MAX_FINAL}")
        check_charge(self.parent, self.final)
        masses = [particle.mass for particle in self.final]
        if self.parent.mass is not None and None not in masses:
            total = sum(mass for mass in masses if mass is not None)
            if total >= self.parent.mass:
                raise PhysicsError(
                    f"{self} is below threshold: the final particles weigh {total:.6g} GeV, {self.parent.name} only "
                    f"{self.parent.mass:.6g} GeV"
                )

    def __str__(self) -> str:
        return f"{self.parent.name} -> {' '.join(particle.name for particle in self.final)}"

    @cached_property
    def identical_groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of final particles that are indistinguishable, groups of two or more."""
        groups: dict[str, list[int]] = {}
        for index, particle in enumerate(self.final):
            groups.setdefault(particle.name, []).append(index)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)


@dataclass(frozen=True)
class Node:
    """One vertex of a chain: a state and its two daughters.

    Attributes:
        particle:   the decaying state
        daughters:  each a Node, or the index of a final particle
        resonance:  the name of the lineshape this state carries; empty for the parent
        weak:       whether parity and C may be violated here
        radius:     barrier radius d of this vertex, GeV⁻¹
    """

    particle: Particle
    daughters: tuple[Node | int, Node | int]
    resonance: str = ""
    weak: bool = False
    radius: float = 3.0

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents before daughters, first daughters first."""
        yield self
        for daughter in self.daughters:
            if isinstance(daughter, Node):
                yield from daughter.walk()

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
    """Whether strangeness, charm or bottomness changes: the vertex is weak and need not conserve parity."""
    return not parent.flavours & combined_flavours(daughters)
