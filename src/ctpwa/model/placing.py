"""What a lineshape knows of the vertex it stands at: nominal masses of the daughters, and the smallest L that the vertex allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.waves import smallest_L
from ctpwa.model.lineshapes.formula import RADIUS, Basis, Callback, Lineshape, Vertex, event_variables, q2
from ctpwa.model.lineshapes.registry import build_lineshape
from ctpwa.model.resonance import Resonance

OTHER_MASS = 1.25  # factor on the daughters' masses: a lineshape that does not change with them does not use them


class UnknownMassError(PhysicsError):
    """A daughter without a nominal mass, of a resonance whose lineshape needs one.

    Attributes:
        resonance:  name of the daughter
    """

    def __init__(self, resonance: str, vertex: str, lineshape: str) -> None:
        self.resonance = resonance
        super().__init__(
            f"{lineshape!r}, the lineshape of {vertex}, uses the mass of {resonance!r}, which has none",
            f"add  mass: …  (GeV) to {resonance!r}; its own lineshape stays as it is",
        )


@dataclass(frozen=True)
class PlacedLineshape:
    """A lineshape where it stands in a wave.

    Attributes:
        resonance:  whose propagator it is
        node:       the vertex where the resonance decays
        vertex:     what the lineshape knows of that vertex
        lineshape:  the lineshape
    """

    resonance: Resonance
    node: Node
    vertex: Vertex
    lineshape: Lineshape


class Places:
    """Lineshapes of a model at their vertices, each made once.

    Args:
        resonances:  the propagators by name
        columns:     event columns that the model declares
    """

    def __init__(self, resonances: Mapping[str, Resonance], columns: Sequence[EventColumn] = ()) -> None:
        self._resonances = resonances
        self._columns = tuple(column.name for column in columns if column.size == 1)
        self._smallest_L: dict[Chain, dict[Node, int]] = {}
        self._lineshapes: dict[tuple[str, Vertex], Lineshape] = {}

    def place(self, chain: Chain, node: Node, resonance: Resonance) -> PlacedLineshape:
        """The lineshape of a resonance at the vertex where it decays.

        Raises:
            UnknownMassError: if it uses the mass of a daughter that has none
        """
        masses = [self.nominal_mass(chain, daughter) for daughter in node.daughters]
        lowest = [_lowest_mass(chain, daughter) if mass is None else mass for daughter, mass in zip(node.daughters, masses, strict=True)]
        L = self._L(chain, node) if resonance.width_l is None else resonance.width_l
        first, second = (isinstance(daughter, Node) for daughter in node.daughters)
        radius = RADIUS.symbol if resonance.own_radius else node.radius
        vertex = Vertex(lowest[0], lowest[1], L, radius, self._columns, (first, second))
        if (resonance.name, vertex) not in self._lineshapes:
            self._lineshapes[resonance.name, vertex] = build_lineshape(resonance.lineshape, vertex, **resonance.options)
        placed = PlacedLineshape(resonance, node, vertex, self._lineshapes[resonance.name, vertex])
        if None in masses and uses_masses(placed):
            unknown = node.daughters[masses.index(None)]
            assert isinstance(unknown, Node)
            raise UnknownMassError(unknown.resonance, chain.vertex(node), placed.lineshape.name)
        return placed

    def nominal_mass(self, chain: Chain, daughter: Node | int) -> float | None:
        """Mass of a daughter, GeV: from the model, else from the PDG; None if neither has one."""
        particle = chain.particle(daughter)
        if isinstance(daughter, Node):
            resonance = self._resonances[daughter.resonance]
            known = resonance.mass if resonance.nominal_mass is None else resonance.nominal_mass
            return particle.mass if known is None else known
        return 0.0 if particle.massless else float(particle.mass or 0.0)

    def has_mass_parameter(self, name: str) -> bool:
        """Whether the nominal mass of a resonance is a parameter."""
        return self._resonances[name].nominal_mass is None and self._resonances[name].mass is not None

    def _L(self, chain: Chain, node: Node) -> int:
        if chain not in self._smallest_L:
            self._smallest_L[chain] = dict(zip(chain.nodes, smallest_L(chain), strict=True))
        return self._smallest_L[chain][node]


def uses_masses(placed: PlacedLineshape) -> bool:
    """Whether a lineshape depends on the break-up momentum, or on the masses of the daughters in any other way."""
    resonance, vertex, lineshape = placed.resonance, placed.vertex, placed.lineshape
    if isinstance(lineshape, Callback):
        return True  # what a function of the user does with q2 is not known
    if isinstance(lineshape, Basis):
        s = np.array([1.0, 4.0])
        return not np.array_equal(lineshape.values(s, np.array([0.1, 0.2])), lineshape.values(s, np.array([0.2, 0.1])))
    if q2 in event_variables(lineshape.expression):
        return True
    other = replace(vertex, m1=OTHER_MASS * vertex.m1, m2=OTHER_MASS * vertex.m2)
    rebuilt = build_lineshape(resonance.lineshape, other, **resonance.options)
    return getattr(rebuilt, "expression", None) != lineshape.expression


def _lowest_mass(chain: Chain, daughter: Node | int) -> float:
    """The smallest mass of what is below."""
    return chain.decay.lowest_mass(daughter.leaves if isinstance(daughter, Node) else (daughter,))
