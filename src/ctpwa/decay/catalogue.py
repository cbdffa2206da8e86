"""All hadrons of the PDG tables, by isospin multiplet, with what only a search for candidates needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ctpwa.decay.isospin import Hadron, Isospin
from ctpwa.decay.listings import DOUBTED, ESTABLISHED, STARS
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, normalise, pdg_index

if TYPE_CHECKING:
    from particle import Particle as PdgEntry

FULL_STARS = 4  # of N, Delta, Lambda and Sigma that are certain
# of baryons with c or b, or two strange quarks: few have more, as their spins are hard to measure; that they exist is not in doubt
FEWER_STARS = 3
# multiplets whose members have names of their own
ONE_MULTIPLET = {"p": "N", "n": "N", "K(S)": "K", "K(L)": "K", "D*(2007)": "D*", "D*(2010)": "D*"}
_NOMINAL = re.compile(r"\((\d{3,5})\)")


@dataclass(frozen=True)
class Multiplet:
    """An isospin multiplet of the PDG.

    Attributes:
        name:         its name without charges
        states:       its charge states and their antiparticles
        doubt:        why it is not established, such as ``3 of 4 stars``; empty if it is
        heavy:        c or b if it is made of a heavy quark and its antiquark
    """

    name: str
    states: tuple[Particle, ...]
    doubt: str
    heavy: str

    @property
    def nominal_mass(self) -> float | None:
        """GeV, from the table or else from the number in its name."""
        known = [state.mass for state in self.states if state.mass is not None]
        written = _NOMINAL.search(self.name)
        return known[0] if known else (None if written is None else int(written[1]) / 1000)


@cache
def multiplets() -> tuple[Multiplet, ...]:
    """All hadrons, by mass."""
    by_name: dict[str, dict[str, PdgEntry]] = {}
    for entries in pdg_index().multiplets.values():
        for entry in entries:
            if entry.pdgid.is_hadron:
                by_name.setdefault(entry.pdg_name, {}).setdefault(entry.name, entry)
    found = [_multiplet(name, list(entries.values())) for name, entries in by_name.items()]
    return tuple(sorted(found, key=lambda multiplet: (multiplet.nominal_mass or 0.0, multiplet.name)))


def _multiplet(name: str, entries: list[PdgEntry]) -> Multiplet:
    table = ParticleTable()
    states = [table.get(entry.name) for entry in sorted(entries, key=lambda entry: int(entry.pdgid) < 0)]
    states += [state.conjugate() for state in states if state.antiparticle not in {other.name for other in states}]
    return Multiplet(name, tuple(states), _doubt(entries), _hidden(entries[0]))


def _doubt(entries: list[PdgEntry]) -> str:
    """What the PDG says against a multiplet: stars of a baryon; a meson is established if it is in the Summary Table.

    Those with a mass are: the PDG gives masses for simulations to states of the Summary Tables only.
    """
    first = entries[0]
    if first.pdgid.is_baryon:
        stars = STARS.get(first.pdg_name, max(int(entry.rank) for entry in entries))
        return "" if stars >= _stars_needed(first) else f"{stars} of {FULL_STARS} stars"
    if first.pdg_name in DOUBTED:
        return DOUBTED[first.pdg_name]
    listed = first.pdg_name in ESTABLISHED or any(entry.mass is not None or entry.status.name in ("Common", "Rare") for entry in entries)
    return "" if listed else "not established"


def _stars_needed(entry: PdgEntry) -> int:
    quarks = (entry.quarks or "").lower()
    return FEWER_STARS if set("cb") & set(quarks) or quarks.count("s") > 1 else FULL_STARS


def _hidden(entry: PdgEntry) -> str:
    return next((quark for quark in "cb" if quark in entry.quarks and quark.upper() in entry.quarks), "")


def has_heavy_quark(particle: Particle, quark: str) -> bool:
    """Whether a particle of the PDG contains a charm (c) or bottom (b) quark or antiquark."""
    entry = pdg_index().by_spelling.get(normalise(particle.name))
    return entry is not None and quark in (entry.quarks or "").lower()


def hadron(particle: Particle) -> Hadron | None:
    """A particle of the PDG with its isospin; None for photons, leptons and the user's own particles."""
    entry = pdg_index().by_spelling.get(normalise(particle.name))
    if entry is None or not entry.pdgid.is_hadron or entry.I is None:
        return None
    G = int(entry.G) if entry.G in (1, -1) else None
    return Hadron(particle, Isospin(round(2 * float(entry.I)), G, ONE_MULTIPLET.get(entry.pdg_name, entry.pdg_name)))
