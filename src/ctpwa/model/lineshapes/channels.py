"""Decay channels of a resonance, as the ``channels`` option of several lineshapes gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.barrier import breakup_q2, effective_q2
from ctpwa.model.lineshapes.formula import OtherChannel, Vertex, q2, s
from ctpwa.model.lineshapes.phase_space import own_rho, rho

MAX_CHANNELS = 20
_LABEL = re.compile(r"[A-Za-z0-9_]+")
_FORM = "give {label: own} for the channel of the vertex itself and {label: [m1, m2]} or {label: [m1, m2, L]} for others, e.g. " + (
    "{pipi: own, KK: [0.493677, 0.493677]}"
)


@dataclass(frozen=True)
class DecayChannel:
    """One two-body channel.

    Attributes:
        label:   name in parameters, e.g. ``KK``
        m1, m2:  masses of its particles, GeV
        L:       orbital angular momentum
        own:     whether it is the channel of the vertex, whose break-up momentum comes from the event
    """

    label: str
    m1: float
    m2: float
    L: int
    own: bool = False

    @property
    def q2(self) -> sp.Expr:
        """q² at the mass of the event; negative below threshold, never for the own channel."""
        return q2 if self.own else breakup_q2(s, self.m1, self.m2)

    @property
    def rho(self) -> sp.Expr:
        """Phase space 2q/√s, continued below threshold."""
        return own_rho() if self.own else rho(s, self.m1, self.m2)

    def nominal_q2(self, m0: sp.Expr) -> sp.Expr:
        """Effective q0² at the nominal mass."""
        return effective_q2(breakup_q2(m0**2, self.m1, self.m2))

    def symbol(self, quantity: str, index: str = "") -> sp.Symbol:
        """A symbol for a quantity of this channel, for print."""
        label = self.label.replace("_", r"\_")
        return sp.Symbol(rf"{quantity}_{{{index}\mathrm{{{label}}}}}", positive=True)


def read_channels(channels: Any, vertex: Vertex, lineshape: str) -> tuple[DecayChannel, ...]:
    """Channels from the option of a model file, checked."""

    def fail(what: str) -> PhysicsError:
        return PhysicsError(f"option 'channels' of lineshape {lineshape!r}: {what}", _FORM)

    if isinstance(channels, Sequence) and not isinstance(channels, str):
        channels = {str(number): channel for number, channel in enumerate(channels, start=1)}
    if not isinstance(channels, Mapping) or not channels:
        raise fail("no channels given" if not channels else f"{channels!r} is not a table of channels")
    if len(channels) > MAX_CHANNELS:
        raise fail(f"there are {len(channels)} of them, and at most {MAX_CHANNELS} are allowed")
    found = []
    for label, given in channels.items():
        if not _LABEL.fullmatch(str(label)):
            raise fail(f"label {label!r} holds more than letters, digits and underscores")
        if isinstance(given, str) and given == "own":
            found.append(DecayChannel(str(label), vertex.m1, vertex.m2, vertex.L, own=True))
            continue
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) not in (2, 3):
            raise fail(f"{given!r} of {label!r} is not a pair of masses")
        numbers_only = all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)
        if not numbers_only or not all(0 <= mass < float("inf") for mass in given[:2]) or sum(given[:2]) <= 0:
            raise fail(f"masses {given!r} of {label!r} are not positive numbers")
        L = given[2] if len(given) == 3 else 0
        if L % 1 != 0 or not 0 <= L <= 20:
            raise fail(f"L = {L!r} of {label!r} is not an integer from 0 to 20")
        found.append(DecayChannel(str(label), float(given[0]), float(given[1]), int(L)))
    if sum(channel.own for channel in found) > 1:
        raise fail("more than one channel is 'own'")
    return tuple(found)


def besides_own(channels: Sequence[DecayChannel]) -> tuple[OtherChannel, ...]:
    """The channels that are not that of the vertex."""
    return tuple(OtherChannel(channel.label, channel.m1, channel.m2) for channel in channels if not channel.own)
