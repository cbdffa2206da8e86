"""Chains that differ only in the charges of their states: isospin gives the ratios of their couplings.

At a strong vertex the coupling of charge states is g ⟨I1 I3_1; I2 I3_2 | I I3⟩, with the daughters in the order of the vertex. Two
daughters of one multiplet that are different particles stand for both of their orders, which give the same: a factor of 2. Two identical
ones are exchanged by the symmetrisation of the wave.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from ctpwa.decay.catalogue import hadron
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.isospin import two_I3
from ctpwa.decay.particle import Particle


class ChargeStates(NamedTuple):
    """A chain as one of several that differ in charges.

    Attributes:
        key:     the same for all of them
        factor:  its coupling relative to what they have in common
    """

    key: Hashable
    factor: float


class _Slot(NamedTuple):
    """A multiplet at a vertex: what it is, and the state in it."""

    key: Hashable
    factor: float
    two_I: int
    two_I3: int
    name: str


def charge_states(chain: Chain, conserved: bool) -> ChargeStates | None:
    """What isospin says about the coupling of a chain; None if it says nothing: photons, leptons, K_S and K_L, states outside the PDG.

    Args:
        chain:      the chain
        conserved:  whether the parent's decay conserves isospin; weak vertices never do
    """
    found = _slot(chain, chain.root, conserved)
    return None if found is None or found.factor == 0 else ChargeStates(found.key, found.factor)


def _slot(chain: Chain, node: Node | int, conserved: bool = True) -> _Slot | None:
    own = _isospin(chain.particle(node))
    if isinstance(node, int) or own is None:
        return own
    first, second = (_slot(chain, daughter) for daughter in node.daughters)
    if first is None or second is None:
        return None
    factor = first.factor * second.factor
    names: tuple[str, ...] = ()
    if conserved and not node.weak:
        factor *= clebsch_gordan(first.two_I, first.two_I3, second.two_I, second.two_I3, own.two_I, own.two_I3)
        factor *= 2 if first.key == second.key and first.name != second.name else 1
    else:
        names = (first.name, second.name)
    return _Slot((own.key, node.resonance, first.key, second.key, names), factor, own.two_I, own.two_I3, own.name)


def _isospin(particle: Particle) -> _Slot | None:
    own = hadron(particle)
    components = two_I3(particle)
    if own is None or len(components) != 1:
        return None
    return _Slot(
        (own.isospin.multiplet, tuple(sorted(particle.flavours)), particle.baryon), 1.0, own.isospin.two_I, components.pop(), particle.name
    )
