"""States of the PDG that a model may get besides its own: what ``ctpwa init`` lists for a decay, as entries of a model file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ctpwa.config.propose.resonances import ModelProposal, Proposed, propose_resonances
from ctpwa.config.propose.shapes import shape_of
from ctpwa.config.source import Source
from ctpwa.decay.pdg import normalise


@dataclass(frozen=True)
class Addable:
    """A state that can be added to a model.

    Attributes:
        name:       its key under ``resonances``
        resonance:  what stands there
        chains:     what stands under ``chains`` besides; empty if its systems are enough
        remark:     why a first model would not use it; empty if it would
    """

    name: str
    resonance: Mapping[str, Any]
    chains: tuple[str, ...] = ()
    remark: str = ""


def addable_states(decay_text: str, present: Collection[str]) -> tuple[list[Addable], dict[str, str]]:
    """All states that quantum numbers and masses allow in a decay, and that a model does not have.

    Args:
        decay_text:  the decay, of particles of the PDG
        present:     resonances that the model has

    Returns:
        the states, and those that cannot be added to this model with the reason why
    """
    proposal = _proposal(decay_text)
    known = {normalise(name) for name in present}
    found, refused = [], {}
    for resonance in proposal.resonances:
        if normalise(resonance.name) in known:
            continue
        chains = _chains(proposal, resonance.name, known)
        if proposal.chains and not chains:
            refused[resonance.name] = "all of its chains have states that the model does not have"
            continue
        found.append(Addable(resonance.name, _entry(resonance, not proposal.chains), chains, ", ".join(resonance.reasons)))
    return found, refused


_proposal = cache(propose_resonances)  # the same for every model of a decay


def _chains(proposal: ModelProposal, name: str, known: Collection[str]) -> tuple[str, ...]:
    """Chains of a state with states of the model alone, in decays to four or more particles."""
    others = [(chain, {normalise(own) for own in chain.names if own != name}) for chain in proposal.chains if name in chain.names]
    return tuple(chain.text for chain, rest in others if rest <= set(known))


def _entry(resonance: Proposed, in_systems: bool) -> dict[str, Any]:
    """What a model file says about a state."""
    shape = Source("{" + shape_of(resonance.multiplet, resonance.regions, resonance.state) + "}", resonance.name).data
    return ({"in": [region.text for region in resonance.regions]} if in_systems else {}) | shape
