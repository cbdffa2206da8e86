"""How large a model may be: what is larger is refused before it takes time and memory."""

from __future__ import annotations

from dataclasses import dataclass

from ctpwa.decay.waves import MAX_WAVES


@dataclass(frozen=True)
class ModelLimits:
    """The largest model that is built.

    Attributes:
        names:      particles, or resonances
        chains:     that resonances in systems make
        waves:      of one chain
        couplings:  of all chains together
    """

    names: int = 500
    chains: int = 5000
    waves: int = MAX_WAVES
    couplings: int = 10_000


USUAL = ModelLimits()
