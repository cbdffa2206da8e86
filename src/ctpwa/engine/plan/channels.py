"""From a model to channels: waves, their terms and lineshapes as the planner wants them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.decay.chain import Chain, Node
from ctpwa.engine.plan.plan import BasisMember, ChannelSpec, Plan, Propagator
from ctpwa.engine.plan.planner import build_plan
from ctpwa.model.fixing import own_parameters
from ctpwa.model.lineshapes.formula import RADIUS, Basis, Lineshape
from ctpwa.model.model import Model, Wave
from ctpwa.model.parameter import Parameter, relations_of, with_formulas
from ctpwa.model.placing import PlacedLineshape, Places
from ctpwa.model.resonance import Resonance
from ctpwa.model.vertex_factor import VertexFactors
from ctpwa.spin.build import collect_structures
from ctpwa.spin.production import Rows


@dataclass(frozen=True)
class ModelChannels:
    """A model ready to be planned.

    Attributes:
        couplings:  names of the complex couplings, each of which is one of the engine for every feed whose factors follow from parameters
        specs:      the channels
        theta:      every lineshape parameter, then those of no resonance; floating ones not fixed, formulas with their values
        placed:     the lineshapes of every wave, one for each of its ``chain.carriers``
    """

    couplings: tuple[str, ...]
    specs: tuple[ChannelSpec, ...]
    theta: tuple[Parameter, ...]
    placed: tuple[tuple[PlacedLineshape, ...], ...] = ()

    def plan(self, model: Model, n_rows: int | None = None) -> Plan:
        """The tables of these channels; ``n_rows`` if fewer rows of K are enough."""
        structures, _ = collect_structures(model.waves, barrier=True)
        rows = model.production.rows(model.decay)
        return build_plan(
            self.specs,
            n_couplings=len(self.couplings) * _n_factors(rows),
            n_structures=len(structures) * len(rows.feeds),
            n_rows=rows.n_rows if n_rows is None else n_rows,
            real=rows.real,
            values={p.name: p.value for p in self.theta},
            floating=self.floating,
        )

    @property
    def floating(self) -> list[str]:
        """Parameters of lineshapes that change during a fit: those that float, and formulas of them."""
        free = {p.name for p in self.theta if not p.fixed}
        moving = free | {relation.name for relation in relations_of(self.theta) if free & set(relation.arguments)}
        used = {name for spec in self.specs for propagator in spec.propagators for name in propagator.names}
        return [p.name for p in self.theta if p.name in moving and p.name in used]


def model_channels(model: Model) -> ModelChannels:
    """All channels of a model.

    A wave has one channel per term of its symmetrisation; for a lineshape that is a basis one per function of it, and for a production
    with several feeds one per feed, each with a coupling of its own, or with that of the wave times a factor of the feed.
    """
    return _Collector(model).collect()


def coupling_of(wave: Wave, feed: str) -> str:
    """Name of the coupling with which one feed of the production makes a wave."""
    return f"{wave.coupling}:{feed}" if feed else wave.coupling


def _n_factors(rows: Rows) -> int:
    """How many couplings of the engine every coupling makes."""
    return 1 if rows.factors is None else rows.factors.n_feeds


class _Collector:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.couplings: dict[str, int] = {}
        self.theta: dict[str, Parameter] = {}
        self.rows = model.production.rows(model.decay)
        self.places = Places(model.resonances, model.columns)
        self.factors = VertexFactors(self.places)

    def collect(self) -> ModelChannels:
        structures, terms = collect_structures(self.model.waves, barrier=True)
        specs: list[ChannelSpec] = []
        placed: list[tuple[PlacedLineshape, ...]] = []
        for number, (wave, wave_terms) in enumerate(zip(self.model.waves, terms, strict=True)):
            own = tuple(self._place(wave.chain, node, r) for node, r in zip(wave.chain.carriers, wave.resonances, strict=True))
            placed.append(own)
            lineshapes = [entry.lineshape for entry in own]
            for term in wave_terms:
                total_L = structures[term.structure][0][0].total_L
                factor = wave.factor * term.factor * self.rows.phase(total_L)
                for (label, propagators), (feed, way) in product(self._choices(wave, lineshapes, term.systems), enumerate(self.rows.feeds)):
                    if self.rows.factors is None:
                        coupling = self.couplings.setdefault(coupling_of(wave, way) + label, len(self.couplings))
                    else:
                        of_wave = self.couplings.setdefault(wave.coupling + label, len(self.couplings))
                        coupling = of_wave * len(self.rows.feeds) + feed
                    specs.append(ChannelSpec(coupling, factor, term.structure * len(self.rows.feeds) + feed, propagators, number))
        return ModelChannels(tuple(self.couplings), tuple(specs), self._all_parameters(), tuple(placed))

    def _all_parameters(self) -> tuple[Parameter, ...]:
        """Parameters of all waves, those of no resonance, and those of other resonances that formulas need."""
        formulas, own = self.model.relations, self.theta | {p.name: p for p in self.model.parameters}
        if not formulas:
            return tuple(own.values())
        known = own | {name: p for name, p in own_parameters(self.model.resonances).items() if name not in own}
        theta = {name: replace(p, fixed=True, formula=formulas[name]) if name in formulas else p for name, p in known.items()}
        needed = {name for relation in relations_of([*theta.values()]) for name in relation.arguments if relation.name in own}
        return with_formulas([p for name, p in theta.items() if name in own or name in needed])

    def _choices(
        self, wave: Wave, lineshapes: list[Lineshape], systems: tuple[tuple[int, ...], ...]
    ) -> list[tuple[str, tuple[Propagator, ...]]]:
        """The propagators of one term; one entry for every combination of basis functions."""
        options: list[list[tuple[str, Propagator]]] = []
        relabelled = _relabel(wave.chain, systems)
        for node, resonance, lineshape, system in zip(wave.chain.carriers, wave.resonances, lineshapes, systems, strict=True):
            daughters = relabelled[node]
            if isinstance(lineshape, Basis):
                members = [(f":{label}", BasisMember(lineshape, i)) for i, label in enumerate(lineshape.labels)]
                options.append([(label, Propagator(member, (), system, daughters)) for label, member in members])
            else:
                names = tuple(f"{resonance.name}.{p.name}" for p in lineshape.parameters)
                options.append([("", Propagator(lineshape, names, system, daughters))])
        of_node = _systems(wave.chain, systems)
        for node, ls in zip(wave.chain.nodes, wave.ls, strict=True):
            factor = self.factors.of(wave.chain, node, ls)
            if factor is not None:
                options.append([("", Propagator(factor.formula, factor.names, of_node[node], relabelled[node]))])
        return [("".join(label for label, _ in choice), tuple(p for _, p in choice)) for choice in product(*options)]

    def _place(self, chain: Chain, node: Node, resonance: Resonance) -> PlacedLineshape:
        placed = self.places.place(chain, node, resonance)
        lineshape = placed.lineshape
        known = [] if isinstance(lineshape, Basis) else list(lineshape.parameters)
        known += [RADIUS] if resonance.own_radius and RADIUS not in known else []
        for name in [*resonance.parameters, *resonance.floating]:
            if name not in {p.name for p in known} and name not in ("mass", "width"):
                raise PhysicsError(f"lineshape of {resonance.name!r} has no parameter {name!r}", suggest(name, [p.name for p in known]))
        for parameter in known:
            value = resonance.parameters.get(parameter.name, parameter.default)
            if value is None:
                raise PhysicsError(
                    f"{resonance.name!r} has no value for {parameter.name!r}", f"add it under 'parameters' of {resonance.name}"
                )
            name = f"{resonance.name}.{parameter.name}"
            lower = -float("inf") if parameter.lower is None else parameter.lower
            upper = float("inf") if parameter.upper is None else parameter.upper
            self.theta.setdefault(name, Parameter(name, value, parameter.name not in resonance.floating, lower, upper))
        return placed


def _systems(chain: Chain, systems: tuple[tuple[int, ...], ...]) -> dict[Node, tuple[int, ...]]:
    """Final particles of every vertex of a term, the parent's among them."""
    return {chain.root: tuple(range(len(chain.decay.final)))} | dict(zip(chain.carriers, systems, strict=True))


def _relabel(chain: Chain, systems: tuple[tuple[int, ...], ...]) -> dict[Node, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Final particles of the daughters of every vertex after an exchange of identical particles.

    A term knows which particles each resonance is made of; those of a final-state daughter are what its sister leaves over.
    """
    of_node = _systems(chain, systems)
    result = {}
    for node in chain.nodes:
        known = [of_node[d] if isinstance(d, Node) else None for d in node.daughters]
        whole = set(of_node[node])
        if None not in known:
            result[node] = (known[0], known[1])
        elif known[0] is None and known[1] is None:
            first, second = sorted(whole)
            result[node] = ((first,), (second,))
        else:
            left = tuple(sorted(whole - set(known[0] or known[1] or ())))
            result[node] = (known[0] or left, known[1] or left)
    return result  # type: ignore[return-value]
