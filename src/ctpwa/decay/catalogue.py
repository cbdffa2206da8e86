"""All hadrons of the PDG tables, by isospin multiplet, with what only a search for candidates needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ctpwa.decay.isospin import Hadron, Isospin
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, normalise, pdg_index

if TYPE_CHECKING:
    from particle import Particle as PdgEntry

STARS = 4  # of a light baryon that is certain
HEAVY_STARS = 3  # of one with c or b: few have more, because spins and parities of most are not measured; that they exist is not in doubt
# What the tables of ``particle`` call uncertain, whose status dates from 2008, and the Meson and Baryon Summary Tables of the PDG do not.
# The heavy ones are marked as established in the lists of pdglive.
ESTABLISHED = {
    "K(0)*(700)": "in the Meson Summary Table since its pole was found by dispersion relations",
    "K(1460)": "marked as established in pdglive: its phase motion was seen by LHCb in D0 -> K- pi+ pi+ pi-",
    "K(1)(1650)": "in the Meson Summary Table: seen in K phi by LHCb in B+ -> J/psi phi K+",
    "a(1)(1640)": "in the Meson Summary Table",
    "a(2)(1700)": "in the Meson Summary Table: seen by COMPASS in eta pi and eta' pi",
    "D(0)*(2300)": "in the Meson Summary Table: seen in B -> D pi pi and D K pi",
    "T(cc1)(3900)": "in the Meson Summary Table as Z(c)(3900): seen by BESIII and Belle",
    "chi(c2)(3930)": "in the Meson Summary Table",
    "T(cc1)(4430)": "in the Meson Summary Table as Z(c)(4430): spin and parity measured by LHCb",
    "eta(b)(1S)": "in the Meson Summary Table",
    "T(bb1)(10610)": "in the Meson Summary Table as Z(b)(10610)",
    "T(bb1)(10650)": "in the Meson Summary Table as Z(b)(10650)",
    "N(1710)": "four stars: seen in eta photoproduction",
    "Delta(1600)": "four stars: seen in pi N and in photoproduction",
    "Lambda(1600)": "four stars: seen in coupled-channel analyses of K- p",
}
# what these tables call established, and the PDG does not any more
DOUBTED = {"pi(1)(1400)": "one pole with pi(1)(1600)"}
# multiplets whose members have names of their own
ONE_MULTIPLET = {"p": "N", "n": "N", "K(S)": "K", "K(L)": "K", "D*(2007)": "D*", "D*(2010)": "D*"}
_NOMINAL = re.compile(r"\((\d{3,5})\)")


@dataclass(frozen=True)
class Multiplet:
    """An isospin multiplet of the PDG.

    Attributes:
        name:         its name without charges
        states:       its charge states and their antiparticles
        doubt:        why it is not established, such as ``three stars``; empty if it is
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
    """What the PDG says against a multiplet: stars of a baryon; a meson is established if one of its charge states is."""
    first = entries[0]
    if first.pdg_name in ESTABLISHED or first.pdg_name in DOUBTED:
        return DOUBTED.get(first.pdg_name, "")
    if first.pdgid.is_baryon:
        stars, heavy = max(int(entry.rank) for entry in entries), set("cb") & set((first.quarks or "").lower())
        return "" if stars >= (HEAVY_STARS if heavy else STARS) else f"{stars} of {STARS} stars"
    return "" if any(entry.status.name in ("Common", "Rare") for entry in entries) else "not established"


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
