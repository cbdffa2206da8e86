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


def check_places(draft: Draft, found: Sequence[FoundChain]) -> None:
    """Every resonance that decays to another one is put at its vertex; what is wrong there becomes a problem of a resonance."""
    places = Places(draft.resonances, draft.columns)
    needed: set[str] = set()
    for each in found:
        for node in each.chain.nodes[1:]:
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


def _check_needed(draft: Draft, needed: set[str]) -> None:
    for name, resonance in draft.resonances.items():
        if resonance.nominal_mass is not None and name not in needed:
            _add(draft, no_parameter(name, str(resonance.lineshape), "mass", list(resonance.parameters), ("mass",)), name)


def _add(draft: Draft, error: SpecError, resonance: str) -> None:
    draft.problems.add(error, ("resonances", resonance), fix="correct its lineshape")
