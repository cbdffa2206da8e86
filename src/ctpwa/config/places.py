"""Lineshapes at the vertices of chains: those that need the mass of a daughter must find it, and a mass that nothing needs is a mistake."""

from __future__ import annotations

from collections.abc import Sequence

from ctpwa.base.errors import PhysicsError
from ctpwa.config.chains import FoundChain
from ctpwa.config.draft import Draft
from ctpwa.config.problems import SpecError
from ctpwa.config.propagators import no_parameter
from ctpwa.decay.chain import Node
from ctpwa.model.placing import Places, UnknownMassError, uses_masses
from ctpwa.model.vertex_factor import VertexFactors


def check_places(draft: Draft, found: Sequence[FoundChain]) -> None:
    """Every resonance that decays to another one is put at its vertex; what is wrong there becomes a problem of a resonance."""
    places = Places(draft.resonances, draft.columns)
    needed: set[str] = set()
    for each in found:
        _check_barriers(draft, places, each, needed)
        for node in each.chain.carriers:
            below = [daughter.resonance for daughter in node.daughters if isinstance(daughter, Node)]
            if not below:
                continue  # two final particles: the lineshape was tried when the resonance was read
            try:
                placed = places.place(each.chain, node, draft.resonances[node.resonance])
            except UnknownMassError as error:
                if not draft.problems.at("resonances", error.resonance):  # once is enough, however many decay to it
                    _add(draft, SpecError(error.what, error.fix, key=()), error.resonance)
                needed.update(below)
            except PhysicsError as error:
                _add(draft, SpecError(f"{node.resonance!r}: {error.what}", error.fix, key=("lineshape",)), node.resonance)
                needed.update(below)
            else:
                without = [name for name in below if draft.resonances[name].nominal_mass is not None and name not in needed]
                if without and uses_masses(placed):
                    needed.update(without)
    _check_needed(draft, needed)


def _check_barriers(draft: Draft, places: Places, found: FoundChain, needed: set[str]) -> None:
    """Barriers that are normalised at nominal masses find them."""
    factors = VertexFactors(places)
    for position, node in enumerate(found.chain.nodes):
        if node.growth.normalised == "no":
            continue
        states = [state.resonance for state in (node, *node.daughters) if isinstance(state, Node)]
        needed.update(states)
        try:
            for ls in {choice[position] for choice in found.choices}:
                factors.of(found.chain, node, ls)
        except UnknownMassError as error:
            if not draft.problems.at("resonances", error.resonance):
                _add(draft, SpecError(error.what, error.fix, key=()), error.resonance)


def _check_needed(draft: Draft, needed: set[str]) -> None:
    for name, resonance in draft.resonances.items():
        if resonance.nominal_mass is not None and name not in needed:
            spec = draft.spec_of(name)
            if spec is not None and spec.nominal_mass is not None:
                error = SpecError(f"nothing uses the nominal mass of {name!r}", "remove it", key=("nominal_mass",))
            else:
                error = no_parameter(name, str(resonance.lineshape), "mass", list(resonance.parameters), ("mass",))
            _add(draft, error, name)


def _add(draft: Draft, error: SpecError, resonance: str) -> None:
    draft.problems.add(error, ("resonances", resonance), fix="correct its lineshape")
