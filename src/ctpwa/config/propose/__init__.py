"""A first model of a decay: which resonances of the PDG may be in it."""

from ctpwa.config.propose.resonances import ModelProposal, Proposed, propose_resonances

__all__ = ["ModelProposal", "Proposed", "propose_resonances"]
