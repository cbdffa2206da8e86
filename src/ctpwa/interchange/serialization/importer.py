"""From a description to model files: chains with weights become waves with couplings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from ctpwa.base.errors import PhysicsError
from ctpwa.config.read import load_model
from ctpwa.decay.helicity_couplings import NEGLIGIBLE, to_ls
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.rules import angular_momentum_couplings, helicity_coupling
from ctpwa.decay.spin import LS, format_spin
from ctpwa.interchange.model_file import ImportedModel
from ctpwa.interchange.particles import spin_state
from ctpwa.interchange.serialization.description import (
    ChainDescription,
    Description,
    Distribution,
    Function,
    Node,
    State,
    VertexEntry,
    vertices_of,
)
from ctpwa.interchange.serialization.functions import barrier_of, lineshape_of

NO_BARRIER = (("form", "none"),)


def import_distribution(description: Description, distribution: Distribution) -> ImportedModel:
    """The model of one distribution."""
    return _Importer(description, distribution).imported()


@dataclass
class _Wave:
    """Waves of one chain with one set of barriers: the couplings of each choice of (L, S)."""

    chain: ChainDescription
    names: tuple[str, ...]
    couplings: dict[tuple[LS, ...], complex] = field(default_factory=dict)


class _Importer:
    def __init__(self, description: Description, distribution: Distribution) -> None:
        self.functions: Mapping[str, Function] = description.functions
        self.distribution = distribution
        self.waves: dict[tuple[Any, ...], _Wave] = {}
        self.notes = list(description.ignored)

    @cached_property
    def labels(self) -> dict[int, str]:
        """Names of the final particles, all different."""
        names = [_clean(state.name) for state in self.distribution.final.values()]
        return {
            index: name if names.count(name) == 1 else f"{name}_{index}"
            for (index, _), name in zip(self.distribution.final.items(), names, strict=True)
        }

    @cached_property
    def particles(self) -> dict[int, str]:
        """Names of all particles that no particle of the PDG has, 0 of the parent."""
        states = (self.distribution.parent, *self.distribution.final.values())
        return {state.index: f"{_clean(state.name)}_{state.index}" for state in states}

    def imported(self) -> ImportedModel:
        for chain in self.distribution.chains:
            self._add(chain)
        chains, couplings = self._chains()
        content: dict[str, Any] = {
            "decay": f"{self.particles[0]} -> " + " ".join(f"{self.labels[i]}:{self.particles[i]}" for i in self.distribution.final),
            "weak": True,
            "barrier": "none",
            "tie_conjugates": False,
            "particles": {
                self.particles[s.index]: self._particle(s) for s in (self.distribution.parent, *self.distribution.final.values())
            },
            "resonances": self._resonances(),
            "chains": chains,
        }
        content |= self._polarisation()
        model = load_model(content)
        names = [wave.name for wave in model.waves]
        content["couplings"] = {name: [c.real, c.imag] for name, c in zip(names, couplings, strict=True)}
        return ImportedModel(self.distribution.name, content, tuple(self.notes))

    def _particle(self, state: State) -> dict[str, Any]:
        return {"JP": format_spin(state.two_J), "mass": state.mass, "charge": 0}

    def _polarisation(self) -> dict[str, Any]:
        if not self.distribution.polarised:
            return {}
        matrix = self.distribution.appendix.get("polarisation")
        if not isinstance(matrix, str | list):
            raise self.distribution.entry["type"].error(
                "the format has no place for the spin density matrix of the parent",
                "write it as 'polarisation' into 'appendix' of the decay_description, rows and columns m = +J … -J, or import the model as "
                "HadronicUnpolarizedIntensity",
            )
        return {"polarisation": matrix}

    def _add(self, chain: ChainDescription) -> None:
        """The waves of one chain; chains that differ only in helicities add up."""
        barriers: list[tuple[tuple[str, Any], ...]] = []
        choices: list[dict[LS, complex]] = []
        for node in vertices_of(chain.topology):
            barrier, factor = self._barrier(chain.vertices[node])
            found = self._ls(chain, node)
            if barrier and all(dict(barrier).get("l") == ls.L for ls in found):
                barrier = tuple(pair for pair in barrier if pair[0] != "l")
            barriers.append(barrier)
            choices.append({ls: factor * c for ls, c in found.items()})
        names = tuple(f"{p.function}|{p.two_J}" for p in (chain.propagators[node] for node in list(vertices_of(chain.topology))[1:]))
        wave = self.waves.setdefault((chain.topology, names, tuple(barriers)), _Wave(chain, names))
        for ls in product(*choices):
            c = chain.weight * math.prod(choice[pair] for choice, pair in zip(choices, ls, strict=True))
            wave.couplings[ls] = wave.couplings.get(ls, 0.0) + c

    def _barrier(self, vertex: VertexEntry) -> tuple[tuple[tuple[str, Any], ...], float]:
        if not vertex.form_factor:
            return NO_BARRIER, 1.0
        if vertex.form_factor not in self.functions:
            raise vertex.entry["formfactor"].error(f"there is no function {vertex.form_factor!r}", "add it to 'functions'")
        barrier, factor = barrier_of(self.functions[vertex.form_factor])
        return tuple(barrier.items()), factor

    def _ls(self, chain: ChainDescription, node: tuple[Node, Node]) -> dict[LS, complex]:
        """The couplings of a vertex by (L, S)."""
        vertex = chain.vertices[node]
        top = node == chain.topology
        two_J = self.distribution.parent.two_J if top else chain.propagators[node].two_J
        norm = 1.0 if top else math.sqrt(two_J + 1)  # of the D function; the format has none for the parent
        first, second = (self._daughter(chain, part) for part in node)
        allowed = angular_momentum_couplings(two_J, first.two_J, second.two_J)
        if vertex.ls is not None and vertex.ls not in allowed:
            raise vertex.entry.error(
                f"(l,s) = {vertex.ls} cannot make spin {format_spin(two_J)} of {format_spin(first.two_J)} and {format_spin(second.two_J)}",
                f"possible are {' '.join(map(str, allowed)) or 'none'}",
            )
        unit = norm * math.sqrt(4 * math.pi / (two_J + 1))  # of an (L, S) amplitude of ctpwa
        if vertex.ls is not None and not (first.massless or second.massless):
            return {vertex.ls: unit}
        if vertex.ls is not None:
            pairs = [(a, b) for a in first.two_helicities for b in second.two_helicities if abs(a - b) <= two_J]
            H = {p: unit * helicity_coupling(two_J, (first.two_J, p[0]), (second.two_J, p[1]), vertex.ls) for p in pairs}
        else:
            a, b = vertex.helicities
            for two_lam, daughter in ((a, first), (b, second)):
                if two_lam not in daughter.two_helicities:
                    raise vertex.entry["helicities"].error(
                        f"{two_lam / 2:g} is not a helicity of a {'massless ' if daughter.massless else ''}particle of spin "
                        f"{format_spin(daughter.two_J)}",
                        "correct it",
                    )
            values = ({(-a, -b): float(vertex.parity)} if vertex.parity else {}) | {(a, b): 1.0}
            H = {(x, y): norm * (-1) ** ((second.two_J - y) // 2) * value for (x, y), value in values.items()}
        try:
            return to_ls(two_J, first, second, H)
        except PhysicsError as error:
            raise vertex.entry.error(error.what, "correct helicities or spins") from None

    def _daughter(self, chain: ChainDescription, node: Node) -> Particle:
        if isinstance(node, int):
            state = self.distribution.final[node]
            two_J, massless = state.two_J, state.mass == 0
        else:
            two_J, massless = chain.propagators[node].two_J, False
        return spin_state(two_J, massless)

    @cached_property
    def _titles(self) -> dict[str, str]:
        """Names of resonances by lineshape and spin; none is that of a particle of the PDG."""
        table = ParticleTable()
        titles: dict[str, str] = {}
        for name in (name for wave in self.waves.values() for name in wave.names):
            function = _clean(name.rpartition("|")[0])
            title, number = function, 1
            while title in titles.values() or _is_particle(table, title):
                number += 1
                title = f"{function}_{number}"
            titles.setdefault(name, title)
        return titles

    def _resonances(self) -> dict[str, Any]:
        result = {}
        places: dict[str, set[tuple[float, float]]] = {}
        for wave in self.waves.values():
            for node, name in zip(list(vertices_of(wave.chain.topology))[1:], wave.names, strict=True):
                places.setdefault(name, set()).add(tuple(self._mass(part) for part in node))  # type: ignore[arg-type]
        for name, title in self._titles.items():
            function, _, two_J = name.rpartition("|")
            if function not in self.functions:
                entry = next(p.entry for c in self.distribution.chains for p in c.propagators.values() if p.function == function)
                raise entry["parametrization"].error(f"there is no function {function!r}", "add it to 'functions'")
            result[title] = {
                "JP": format_spin(int(two_J)),
                "weak": True,
                "off_shell": True,
                **lineshape_of(self.functions[function], places[name]),
            }
        return result

    def _mass(self, node: Node) -> float:
        """Mass of a final particle; one that no pair has for a system whose mass differs from event to event."""
        return self.distribution.final[node].mass if isinstance(node, int) else -1.0

    def _chains(self) -> tuple[list[dict[str, Any]], list[complex]]:
        """Entries of ``chains``, and the couplings of their waves in the order in which these are made."""
        entries, couplings = [], []
        seen: dict[tuple[Any, ...], Any] = {}
        for (topology, names, barriers), wave in self.waves.items():
            if not wave.couplings:
                raise wave.chain.entry.error(f"spins and helicities of {wave.chain.name!r} allow no (L, S)", "correct them")
            size = max(map(abs, wave.couplings.values()))
            kept = {ls: c for ls, c in wave.couplings.items() if abs(c) > NEGLIGIBLE * size}
            if not kept:
                self.notes.append(f"{wave.chain.entry.path}: {wave.chain.name!r} adds up to nothing")
            titles = iter([self._titles[name] for name in names])
            text = " ; ".join(self._vertex_text(topology, titles))
            for ls in kept:
                if seen.setdefault((topology, names, ls), barriers) != barriers:
                    raise wave.chain.entry.error(
                        f"{wave.chain.name!r} repeats (L,S) = {' '.join(map(str, ls))} of another chain with other form factors",
                        "give its lineshape a name of its own under 'functions'",
                    )
            own = [None if barrier == NO_BARRIER else dict(barrier) for barrier in barriers]
            for group in _rectangles(sorted(kept)):
                entry: dict[str, Any] = {"decay": text, "ls": [[[ls.L, str(ls.S)] for ls in pairs] for pairs in group]}
                if any(own):
                    entry["barriers"] = own
                entries.append(entry)
                couplings += [kept[ls] for ls in product(*group)]
        if not entries:
            raise self.distribution.entry.error("the model has no wave", "give chains with weights that are not 0")
        return entries, couplings

    def _vertex_text(self, node: Node, titles: Any, own: str | None = None) -> list[str]:
        """``mother -> first second`` of a vertex and all below it."""
        assert not isinstance(node, int)
        below: list[str] = []
        names = []
        for part in node:
            if isinstance(part, int):
                names.append(self.labels[part])
            else:
                name = next(titles)
                names.append(name)
                below += self._vertex_text(part, titles, name)
        return [f"{own or self.particles[0]} -> {' '.join(names)}", *below]


def _rectangles(choices: list[tuple[LS, ...]]) -> list[list[list[LS]]]:
    """Choices of (L, S) as products of lists: one if they are a product, else one for each."""
    lists = [sorted({choice[i] for choice in choices}) for i in range(len(choices[0]))] if choices else []
    if not choices:
        return []
    if sorted(product(*lists)) == sorted(choices):
        return [lists]
    return [[[ls] for ls in choice] for choice in choices]


def _clean(name: str) -> str:
    """A name that can stand in a chain: without blanks, colons, semicolons and arrows."""
    cleaned = "".join("_" if letter.isspace() or letter in ":;,[]{}'\"" else letter for letter in name).replace("->", "_to_")
    return cleaned[:60] or "x"


def _is_particle(table: ParticleTable, name: str) -> bool:
    return any(table.find(name + charge) is not None for charge in ("", "0", "+", "-"))
