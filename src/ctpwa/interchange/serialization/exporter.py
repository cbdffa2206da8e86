"""From a model to a description in the format: every term of every wave becomes a chain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.barrier import BLATT_WEISSKOPF, EXPONENTIAL
from ctpwa.decay.chain import Node
from ctpwa.decay.helicity_couplings import NEGLIGIBLE, helicity_pairs, helicity_text
from ctpwa.decay.particle import Particle
from ctpwa.decay.rules import helicity_coupling
from ctpwa.decay.spin import format_spin
from ctpwa.decay.structure import Structure
from ctpwa.decay.symmetry import Term
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.plan.channels import model_channels
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.interchange.particles import spin_state
from ctpwa.interchange.serialization.description import POLARISED, UNPOLARISED
from ctpwa.kinematics.decay_angles import angles_at, momenta_at
from ctpwa.kinematics.lorentz import mass_squared, to_rest_frame
from ctpwa.model.lineshapes.expression_text import breakup_text, expression_text
from ctpwa.model.lineshapes.formula import Basis, Callback, Formula
from ctpwa.model.model import Model, Wave
from ctpwa.model.placing import PlacedLineshape
from ctpwa.spin.formalism import CANONICAL
from ctpwa.spin.polarisation import DENSITY_MATRIX, Polarisation
from ctpwa.spin.polarisation import UNPOLARISED as NO_POLARISATION

POINTS = 3  # for which checksums are written
OWN_MOMENTUM = "q_sq"  # q² of the daughters in the event, which the format does not have: ``momentum`` of a function names it
SMALLEST_Q0 = 0.0501  # GeV; below the width is continued, which the format cannot say


class NotExpressible(PhysicsError):
    """What a model has, and the format has not."""


def describe(intensity: ModelIntensity, name: str = "model", points: int = POINTS) -> dict[str, Any]:
    """The content of a file for a model at its couplings and parameters, with checksums.

    Args:
        intensity:  the model with the values of its couplings and parameters
        name:       of the distribution
        points:     for how many points checksums are written

    Raises:
        NotExpressible: names what the format cannot say
    """
    return _Exporter(intensity, name).content(points)


@dataclass(frozen=True)
class _Choice:
    """A vertex of the file, and what the weight of its chain is multiplied by."""

    entry: dict[str, Any]
    factor: complex


class _Exporter:
    def __init__(self, intensity: ModelIntensity, name: str) -> None:
        self.intensity, self.model, self.name = intensity, intensity.model, name
        self.functions: dict[str, dict[str, Any]] = {}
        self.everything = tuple(range(len(self.model.decay.final)))
        self._refuse(self.model)

    def _refuse(self, model: Model) -> None:
        if model.formalism != CANONICAL:
            raise NotExpressible(f"formalism {model.formalism}: the format has canonical amplitudes only", "say  formalism: canonical")
        if not isinstance(model.production, Polarisation):
            raise NotExpressible("a polarisation with parameters: the format has no place for them", "fix the spin density matrix")
        for wave in model.waves:
            for node in wave.chain.nodes:
                if node.current:
                    raise NotExpressible(
                        f"{wave.chain.vertex(node)} is a {node.current} current, which the format does not have", "leave it out"
                    )
        for resonance in model.resonances.values():
            if resonance.labels:
                raise NotExpressible(
                    f"the lineshape {str(resonance.lineshape)!r} of {resonance.name!r} is a table or a K-matrix, which the format has not",
                    "replace it by a formula",
                )
        if model.asymmetries:
            raise NotExpressible("couplings with CP asymmetries: the format has one decay only", "remove  cp")

    def content(self, points: int) -> dict[str, Any]:
        """The whole file."""
        decay = self.model.decay
        chains = [
            entry
            for wave, placed in zip(self.model.waves, model_channels(self.model).placed, strict=True)
            for entry in self._wave(wave, placed)
        ]
        topology = _nested(self.model.waves[0].terms[0].parts[0][0])
        states = [
            {"index": i, "name": label, "spin": format_spin(p.two_J), "mass": 0.0 if p.massless else p.mass}
            for i, (label, p) in enumerate(zip(decay.labels, decay.final, strict=True), start=1)
        ]
        initial = {"index": 0, "name": decay.parent.name, "spin": format_spin(decay.parent.two_J), "mass": decay.parent.mass}
        production = self.model.production
        assert isinstance(production, Polarisation)
        polarised = production.kind != NO_POLARISATION
        matrix: Any = production.kind
        if production.kind == DENSITY_MATRIX:
            matrix = [[str(value).strip("()") for value in row] for row in production.matrix]
        variables = [{"node": _listed(node), "mass_phi_costheta": list(_names(node))} for node in _pairs(topology)]
        distribution = {
            "name": self.name,
            "type": POLARISED if polarised else UNPOLARISED,
            "decay_description": {
                "kinematics": {"initial_state": initial, "final_state": states},
                "reference_topology": _listed(topology),
                "chains": chains,
                "appendix": {"polarisation": matrix} if polarised else {},
            },
            "variables": variables,
            "parameters": [],
        }
        listed, checksums = self._checksums(topology, points)
        return {
            "distributions": [distribution],
            "functions": list(self.functions.values()),
            "domains": [],
            "misc": {"amplitude_model_checksums": checksums},
            "parameter_points": listed,
        }

    def _wave(self, wave: Wave, placed: tuple[PlacedLineshape, ...]) -> Iterator[dict[str, Any]]:
        """The chains of one wave: one for each exchange of identical particles, and for each helicity where a photon is."""
        coupling = self.intensity.couplings[wave.coupling] * wave.factor
        names = [self._function(entry) for entry in placed]
        for term in wave.terms:
            for structure, count in term.parts:
                weight = coupling * term.factor * count
                for choices in product(*(self._vertex(wave, term, vertex, vertex is structure) for vertex in structure.walk())):
                    total = weight * math.prod(choice.factor for choice in choices)
                    yield {
                        "name": wave.name,
                        "topology": _listed(_nested(structure)),
                        "weight": f"{total.real!r} {'-' if total.imag < 0 else '+'} {abs(total.imag)!r}i",
                        "vertices": [choice.entry for choice in choices],
                        "propagators": self._propagators(wave, term, structure, names),
                    }

    def _propagators(self, wave: Wave, term: Term, structure: Structure, names: list[str]) -> list[dict[str, Any]]:
        by_system: dict[tuple[int, ...], list[tuple[int, str]]] = {}
        for node, system, name in zip(wave.chain.nodes[1:], term.systems, names, strict=True):
            by_system.setdefault(tuple(sorted(system)), []).append((node.particle.two_J, name))
        result = []
        for vertex in list(structure.walk())[1:]:
            two_J, name = by_system[vertex.system][0]
            result.append({"spin": format_spin(two_J), "node": _listed(_nested(vertex)), "parametrization": name})
        return result

    def _node_of(self, wave: Wave, term: Term, vertex: Structure) -> Node:
        """The vertex of the chain that a vertex of a structure is."""
        systems = (self.everything, *(tuple(sorted(system)) for system in term.systems))
        return next(node for node, system in zip(wave.chain.nodes, systems, strict=True) if system == vertex.system)

    def _vertex(self, wave: Wave, term: Term, vertex: Structure, top: bool) -> list[_Choice]:
        node = self._node_of(wave, term, vertex)
        form, factor = self._form_factor(wave, node, vertex)
        base = {"node": _listed(_nested(vertex)), "formfactor": form}
        unit = math.sqrt(4 * math.pi / (vertex.two_J + 1)) if top else math.sqrt(4 * math.pi)
        first, second = (self._particle(daughter) for daughter in vertex.daughters)
        if not (first.massless or second.massless):
            entry = {"type": "ls", "l": vertex.ls.L, "s": format_spin(vertex.ls.two_S), **base}
            return [_Choice(entry, factor / unit)]
        norm = 1.0 if top else math.sqrt(vertex.two_J + 1)
        choices = []
        for a, b in helicity_pairs(vertex.two_J, first, second):
            H = helicity_coupling(vertex.two_J, (first.two_J, a), (second.two_J, b), vertex.ls)
            if abs(H) > NEGLIGIBLE:
                entry = {"type": "helicity", "helicities": [helicity_text(a), helicity_text(b)], **base}
                choices.append(_Choice(entry, factor * H / norm * (-1) ** ((second.two_J - b) // 2)))
        return choices

    def _particle(self, daughter: Structure | int) -> Particle:
        if isinstance(daughter, int):
            return self.model.decay.final[daughter]
        return spin_state(daughter.two_J)

    def _form_factor(self, wave: Wave, node: Node, vertex: Structure) -> tuple[str, float]:
        """Name of the form factor of a vertex, and the number between it and the barrier of ctpwa."""
        barrier = node.growth
        l = barrier.of(vertex.ls.L)
        if barrier.normalised != "no":
            raise NotExpressible(
                f"the barrier of {wave.chain.vertex(node)} is normalised at nominal masses, which the format has not",
                "say  normalised: no  and change the couplings",
            )
        if barrier.form == EXPONENTIAL:
            raise NotExpressible(
                f"the barrier of {wave.chain.vertex(node)} is exponential, which the format has not", "choose another form"
            )
        if l == 0:
            return "", 1.0
        if barrier.form != BLATT_WEISSKOPF:
            name = f"MomentumPower_l{l}"
            self.functions.setdefault(name, {"name": name, "type": "MomentumPower", "l": l})
            return name, 1.0
        radius = self.intensity.parameters[barrier.parameter] if barrier.parameter else barrier.radius
        name = f"BlattWeisskopf_l{l}_d{radius!r}"
        self.functions.setdefault(name, {"name": name, "type": "BlattWeisskopf", "l": l, "radius": radius})
        return name, radius**-l

    def _function(self, placed: PlacedLineshape) -> str:
        """The name of the function that a lineshape is; it is added to those of the file."""
        resonance, lineshape, vertex = placed.resonance, placed.lineshape, placed.vertex
        assert not isinstance(lineshape, Basis)
        if isinstance(lineshape, Callback):
            raise NotExpressible(f"the lineshape of {resonance.name!r} is a Python function", "write it as a formula")
        inner = any(isinstance(daughter, Node) for daughter in placed.node.daughters)
        momentum = OWN_MOMENTUM if inner else breakup_text(vertex.m1, vertex.m2)
        values = {p.name: self.intensity.parameters[f"{resonance.name}.{p.name}"] for p in lineshape.parameters}
        content = self._breit_wigner(placed, values, inner)
        if content is None:
            text = self._expression(resonance.name, lineshape, values, momentum)
            content = {"type": "generic_function", "expression": text} | ({"momentum": OWN_MOMENTUM} if OWN_MOMENTUM in text else {})
        number, name = 1, resonance.name
        while name in self.functions and {**content, "name": name} != self.functions[name]:
            number += 1
            name = f"{resonance.name}_{number}"
        self.functions.setdefault(name, {"name": name, **content})
        return name

    def _breit_wigner(self, placed: PlacedLineshape, values: Mapping[str, float], inner: bool) -> dict[str, Any] | None:
        vertex = placed.vertex
        if placed.lineshape.name != "breit_wigner" or inner:
            return None
        mass, m1, m2 = values["mass"], vertex.m1, vertex.m2
        if mass <= m1 + m2 or (mass**2 - (m1 + m2) ** 2) * (mass**2 - (m1 - m2) ** 2) < (2 * mass * SMALLEST_Q0) ** 2:
            return None
        d = values.get("radius", vertex.d)
        return {"type": "BreitWigner", "x": "m_sq", "mass": mass, "width": values["width"], "ma": m1, "mb": m2, "l": vertex.L, "d": d}

    def _expression(self, name: str, formula: Formula, values: Mapping[str, float], momentum: str) -> str:
        try:
            return expression_text(formula, values, momentum).replace("**", "^")
        except PhysicsError as error:
            raise NotExpressible(f"the lineshape of {name!r} cannot be a function of the format: {error.what}", error.fix) from None

    def _checksums(self, topology: Any, points: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Points of phase space in the variables of the reference topology, and the intensities there."""
        decay = self.model.decay
        events = generate_phase_space(self.model, points, seed=1)
        p4 = [events[label].double() for label in decay.labels]
        P = torch.stack(p4).sum(dim=0).T
        M = mass_squared(P).sqrt()
        momenta = {i + 1: to_rest_frame(p.T, P, M).T for i, p in enumerate(p4)}
        masses, angles = angles_at(topology, momenta)
        for i, particle in enumerate(decay.final, start=1):
            masses[i] = torch.full((points,), 0.0 if particle.massless else float(particle.mass or 0.0), dtype=torch.float64)
        again = momenta_at(topology, masses, angles)
        I = self.intensity({label: again[i + 1] for i, label in enumerate(decay.labels)})
        listed, checksums = [], []
        for event in range(points):
            own = []
            for node in _pairs(topology):
                numbers = (masses[node][event], angles[node][1][event], angles[node][0][event])
                own += [{"name": name, "value": float(number)} for name, number in zip(_names(node), numbers, strict=True)]
            listed.append({"name": f"point_{event + 1}", "parameters": own})
            checksums.append({"distribution": self.name, "point": f"point_{event + 1}", "value": float(I[event])})
        return listed, checksums


def _nested(structure: Structure | int) -> Any:
    """The topology of a structure, with indices from 1."""
    return structure + 1 if isinstance(structure, int) else tuple(_nested(daughter) for daughter in structure.daughters)


def _listed(node: Any) -> Any:
    return [_listed(part) for part in node] if isinstance(node, tuple) else node


def _pairs(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        yield node
        for part in node:
            yield from _pairs(part)


def _names(node: Any) -> tuple[str, str, str]:
    text = str(_listed(node)).replace(" ", "").replace("[", "").replace("]", "").replace(",", "_")
    return f"m_{text}", f"phi_{text}", f"cos_theta_{text}"
