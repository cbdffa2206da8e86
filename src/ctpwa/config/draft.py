"""A model while it is being built: what the user says about each resonance and vertex, and what is wrong so far."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ctpwa.base.errors import Path, PhysicsError, shortened, suggest
from ctpwa.config.chains import FoundChain, VertexRules
from ctpwa.config.limits import USUAL, ModelLimits
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.production import ProducedStates
from ctpwa.config.propagators import build_resonance, check_on_shell
from ctpwa.config.schema import BarrierSpec, ModelSpec, ResonanceSpec
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.barrier import Barrier
from ctpwa.decay.chain import Chain, Decay, Held, Node
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, normalise, split_charge
from ctpwa.decay.spin import LS, format_spin
from ctpwa.decay.waves import vertex_ls
from ctpwa.model.parameter import Parameter
from ctpwa.model.resonance import Resonance

_WHOLE = re.compile(r"[0-9]{1,3}(\.0*)?")
_SPIN = re.compile(r"[0-9]{1,3}(/[12]|\.[05]?0*)?")


class Draft:
    """Collects resonances, notes and problems, and answers what holds at a vertex.

    Args:
        spec:      the model description
        decay:     the decay
        table:     the PDG and the user's own particles
        problems:  where problems are collected
        columns:   event columns of the model
        limits:    how large the model may be
        states:    the states of the parent, if a beam made it
    """

    def __init__(
        self,
        spec: ModelSpec,
        decay: Decay,
        table: ParticleTable,
        problems: Problems,
        columns: Sequence[EventColumn] = (),
        limits: ModelLimits = USUAL,
        states: ProducedStates | None = None,
    ) -> None:
        self.spec, self.decay, self.table, self.problems, self.columns = spec, decay, table, problems, tuple(columns)
        self.limits, self.states = limits, states
        self.notes: list[str] = []
        self.resonances: dict[str, Resonance] = {}
        self.ranges: dict[str, tuple[float, float]] = {}  # of lineshape parameters, by name
        self.seen: list[tuple[str, ResonanceSpec, tuple[int, ...]]] = []  # in which systems
        self.parameters: tuple[Parameter, ...] = ()  # of no resonance
        self.undeclared: dict[str, ResonanceSpec] = {}  # resonances that only occur in chains
        self.rules = VertexRules(self._weak, self._radius, self._barrier, self._chosen)

    def add_resonance(self, name: str, spec: ResonanceSpec, state: Particle, leaves: tuple[int, ...]) -> None:
        """Check a resonance in a system and keep its propagator."""
        scalars = tuple(column.name for column in self.columns if column.size == 1)
        resonance, known = build_resonance(name, spec, state, self.decay, leaves, self.spec.radius, scalars)
        check_on_shell(resonance, spec, self.decay, leaves)
        self.resonances.setdefault(name, resonance)
        self.seen.append((name, spec, leaves))
        self.ranges |= {f"{name}.{p.name}": (_or(p.lower, -math.inf), _or(p.upper, math.inf)) for p in known}

    def add_held(self) -> None:
        """Keep the states on their mass shell, whose propagators are 1."""
        for state in self.decay.held:
            name = self.held_name(state)
            spec = self.spec_of(name)
            for key in ("in_", "particle", "JP", "mass", "width", "lineshape", "parameters", "options", "float_", "off_shell"):
                if spec is not None and key in spec.model_fields_set:
                    written = key.removesuffix("_")
                    error = SpecError(
                        f"{name!r} is held at its mass by the decay line, and {written!r} does not apply to it",
                        "remove it; what holds for the particle itself goes under 'particles'",
                        key=(written,),
                    )
                    self.problems.add(error, ("resonances", name))
            radius = self._radius(name)
            latex = state.particle.latex if spec is None or spec.latex is None else spec.latex
            self.resonances.setdefault(name, Resonance(name, "constant", {}, (), radius, latex))

    def held_name(self, state: Held) -> str:
        """The name of the propagator of a state on its mass shell."""
        own = state.particle
        known = ((key, self.table.find(key)) for key in self.spec.resonances)
        spelled = next((key for key, particle in known if particle is not None and particle.name in (own.name, own.antiparticle)), None)
        return self.declared(own.name) or spelled or own.name

    def declared(self, name: str) -> str | None:
        """The key under ``resonances`` that a name in a chain means, with or without its charge."""
        bare = split_charge(name)[0]
        for spelling in (normalise(name), normalise(bare), normalise(bare.removesuffix("~"))):
            for key in self.spec.resonances:
                if normalise(key) == spelling:
                    return key
        return None

    def spec_of(self, name: str) -> ResonanceSpec | None:
        """What the user says about a resonance."""
        return self.spec.resonances.get(name) or self.undeclared.get(name)

    def tied(self, name: str) -> bool:
        """Whether the couplings of charge-conjugate chains with this resonance are tied."""
        spec = self.spec_of(name)
        return spec.tie if spec is not None and spec.tie is not None else self.spec.tie_conjugates

    def title(self, node: Node) -> str:
        """What a state is called in the names of waves: its particle, or its key if the user gave it one of its own.

        A structure outside the PDG without a mass, such as ``NR``, keeps its key in systems of any charge.
        """
        spec = self.spec_of(node.resonance)
        structure = self.resonances[node.resonance].mass is None and self.table.find(node.particle.name) is None
        return node.resonance if structure or (spec is not None and spec.particle is not None) else node.particle.name

    def wave_name(self, chain: Chain, ls: Sequence[LS]) -> str:
        """``phi(1020)[K+ K-] (1,1)(1,0)``; states on their mass shell, which all waves have, are not in it."""
        root, made = chain.root, chain.root.made
        below = [node for node in chain.shown if node is not root]
        parts = [f"{self.title(node)}[{' '.join(chain.decay.words(node.leaves))}]" for node in below]
        jp = "" if made is None else f"{format_spin(root.particle.two_J)}{'+-'[root.particle.P == -1]}"
        start = self.title(root) if root.resonance else jp
        return " ".join([*([start] if start else []), *parts, chain.ls_text(ls), *([] if made is None else [str(made)])])

    def starts(self, chain: Chain) -> list[Chain]:
        """A chain from the parent, or one from X of every J^P that a beam makes, and from every resonance that X is."""
        if self.states is None:
            return [chain]
        root = chain.root
        return [
            Chain(chain.decay, self.rules.node(chain.decay, name, state, root.daughters) if name else replace(root, particle=state))
            for name, state in self.states.roots()
        ]

    def produced(self, found: FoundChain) -> list[FoundChain]:
        """A chain with X in every state in which it is produced; that of a decay as it is."""
        return [found] if self.states is None else [found._replace(chain=chain) for chain in self.states.made(found.chain)]

    def vertex_choice(self, chain: Chain, node: Node, only: Sequence[LS] | None = None, max_L: int | None = None) -> list[LS]:
        """The (L, S) pairs of a vertex under the limits of the model, the chain and the resonances at it."""
        limits = [self.spec.max_L, max_L]
        choices: list[tuple[Path | None, Sequence[LS]]] = [] if only is None else [(None, only)]
        own = self.spec_of(node.resonance)
        if own is not None:
            limits.append(None if own.max_L is None else own.max_L.decay)
            choices += [] if own.decay_ls is None else [(("decay_ls",), read_ls(own.decay_ls, "decay_ls"))]
        for daughter in node.daughters:
            spec = self.spec_of(daughter.resonance) if isinstance(daughter, Node) else None
            if spec is not None:
                limits.append(None if spec.max_L is None else spec.max_L.production)
                choices += [] if spec.production_ls is None else [(("production_ls",), read_ls(spec.production_ls, "production_ls"))]
        limit = min((value for value in limits if value is not None), default=None)
        return _choose(chain, node, choices, limit)

    def _weak(self, name: str) -> bool | None:
        if not name:
            return self.spec.weak
        spec = self.spec_of(name)
        return None if spec is None else spec.weak

    def _chosen(self, name: str, daughters: Sequence[Node | int]) -> bool:
        own = self.spec_of(name)
        below = [self.spec_of(daughter.resonance) for daughter in daughters if isinstance(daughter, Node)]
        return (own is not None and own.decay_ls is not None) or any(s is not None and s.production_ls is not None for s in below)

    def _radius(self, name: str) -> float:
        spec = self.spec_of(name)
        return spec.radius if spec is not None and spec.radius is not None else self.spec.radius

    def _barrier(self, name: str, daughters: Sequence[Node | int]) -> Barrier | None:
        """The barrier of a vertex as its resonances say, or the model."""
        own = self.spec_of(name)
        below = [self.spec_of(daughter.resonance) for daughter in daughters if isinstance(daughter, Node)]
        given = [spec.production_barrier for spec in below if spec is not None and spec.production_barrier is not None]
        given += [own.barrier] if own is not None and own.barrier is not None else []
        if any(barrier != given[0] for barrier in given[1:]):
            where = f"the vertex of {name}" if name else f"the vertex of {self.decay.parent.name}"
            raise PhysicsError(
                f"the resonances at {where} want different barriers", "say it once: under 'barriers' of a chain, or at one of them"
            )
        spec = given[0] if given else self.spec.barrier
        floats = name in self.resonances and self.resonances[name].own_radius
        if spec is None and not floats:
            return None
        return self.barrier_of(spec or BarrierSpec.model_validate({}), name)

    def barrier_of(self, spec: BarrierSpec, name: str) -> Barrier:
        """The barrier that a description means at the vertex of a state; its radius is the state's unless it has one of its own."""
        radius, parameter = self._radius(name), ""
        if isinstance(spec.radius, str):
            own = {p.name: p for p in self.parameters}
            if spec.radius not in own:
                raise SpecError(
                    f"the radius of a barrier is {spec.radius!r}, which is no parameter",
                    suggest(spec.radius, own) or f"write a number in GeV^-1, or add {spec.radius} under 'parameters'",
                    key=("barrier", "radius"),
                )
            radius, parameter = own[spec.radius].value, spec.radius
        elif spec.radius is not None:
            radius = spec.radius
        elif name in self.resonances and self.resonances[name].own_radius:
            parameter = f"{name}.radius"
        return Barrier(spec.form, radius, spec.l, parameter, spec.normalised)


def _or(limit: float | None, otherwise: float) -> float:
    return otherwise if limit is None else limit


def _choose(chain: Chain, node: Node, choices: Sequence[tuple[Path | None, Sequence[LS]]], limit: int | None) -> list[LS]:
    """The pairs that all lists have in common, or all that are allowed; ``choices`` come with the keys they stand at."""
    key = choices[0][0] if len(choices) == 1 else None
    lists = [pairs for _, pairs in choices]
    common = None if not lists else [ls for ls in lists[0] if all(ls in other for other in lists[1:])]
    if common == []:
        raise PhysicsError(f"the (L, S) lists for {chain.vertex(node)} have nothing in common", "make the lists of its resonances agree")
    try:
        return vertex_ls(chain, node, only=common, max_L=limit)
    except PhysicsError as error:
        fix = f"raise max_L (it is {limit} here), remove the resonance, or correct its JP" if limit is not None else ""
        raise SpecError(error.what, error.fix or fix, key=key) from None


def read_ls(pairs: Sequence[Sequence[Any]], *key: str | int) -> list[LS]:
    """(L, S) pairs from numbers or text such as ``1/2``; ``key`` is where they are."""
    result = []
    for L, S in pairs:
        pair = LS(int(float(L)), Fraction(str(S))) if _WHOLE.fullmatch(str(L)) and _SPIN.fullmatch(str(S)) else None
        if pair is None or (2 * pair.S).denominator != 1:
            raise SpecError(
                f"{shortened(f'[{L}, {S}]', 80)} is not an (L, S) pair",
                "write pairs such as [1, 1] or [0, 1/2]",
                key=key,
            )
        result.append(pair)
    return result
