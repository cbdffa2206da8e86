"""Particles of the PDG by name or common spelling, through the ``particle`` package and what its tables lack."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.decay.listings import antiparticle_entry, with_listings
from ctpwa.decay.particle import Flavour, Particle, charge_suffix, combined_flavours

if TYPE_CHECKING:
    from particle import Particle as PdgEntry

NEUTRAL_KAONS = {130, 310}  # K_L and K_S are mixtures of both strangeness values
# parities that entries of the tables lack or have wrong: a(2)(1700)+ and D(1)(2420)+ disagree with their neutral partners; D(s)*+ is 1-
# (BESIII, 2023), and D(s2)*(2573)+, of spin 2, decays to D K
MULTIPLET_PARITY = {9000215: 1, 10413: 1, 433: -1, 435: 1}
# doubled spins where the last digit of an identifier is wrong: Lambda(c)(2625) and Xi(c)(2815) are 3/2-, Xi(c)(2790) is 1/2-
DOUBLED_SPIN = {104122: 3, 104312: 3, 104322: 3, 104314: 1, 104324: 1}
TETRAQUARKS = 100_000_000  # from here on the digits of an identifier are those of four quarks
NUCLEI = 1_000_000_000  # from here on those of a nucleus
CHARGED_LEPTONS = {11, 13, 15}
# other names of particles and multiplets: by mass, of earlier editions of the PDG, in words, without their prime
ALIASES = {
    "psi(3686)": "psi(2S)",
    "psi'": "psi(2S)",
    "psi(3097)": "J/psi(1S)",
    "jpsi": "J/psi(1S)",
    "JPsi": "J/psi(1S)",
    "psi''": "psi(3770)",
    "psi(4260)": "psi(4230)",
    "Y(4260)": "psi(4230)",
    "X(3872)": "chi(c1)(3872)",
    "Z(c)(3900)": "T(cc1)(3900)",
    "eta(c)(2980)": "eta(c)(1S)",
    "etap": "eta'(958)",
    "etaprime": "eta'(958)",
    "eta'(960)": "eta'(958)",
    "f(2)prime(1525)": "f(2)'(1525)",
    "f(2)p(1525)": "f(2)'(1525)",
    "sigma": "f(0)(500)",
    "f(0)(600)": "f(0)(500)",
    "kappa": "K(0)*(700)",
    "K(0)*(800)": "K(0)*(700)",
    "h(1)(1380)": "h(1)(1415)",
    "a(4)(2040)": "a(4)(1970)",
    "f(0)(1770)": "f(0)(1810)",
    "D(0)*(2400)": "D(0)*(2300)",
    "Ks": "K(S)0",
    "Ks0": "K(S)0",
    "K0s": "K(S)0",
    "Kl": "K(L)0",
    "Kl0": "K(L)0",
    "K0l": "K(L)0",
    "B0s": "B(s)0",
    "B0sbar": "B(s)~0",
    "K*bar0": "K*(892)~0",
    "K*0bar": "K*(892)~0",
    "Lambdabar0": "Lambda~",
    "p+": "p",
    "p-": "p~",
    "proton": "p",
    "antiproton": "p~",
    "neutron": "n",
    "antineutron": "n~",
    "electron": "e-",
    "positron": "e+",
    "photon": "gamma",
}
GREEK = {
    "π": "pi", "η": "eta", "ρ": "rho", "ω": "omega", "φ": "phi", "ϕ": "phi", "ψ": "psi", "χ": "chi", "γ": "gamma", "μ": "mu", "τ": "tau",
    "σ": "sigma", "κ": "kappa", "ν": "nu", "Λ": "Lambda", "Σ": "Sigma", "Ξ": "Xi", "Ω": "Omega", "Δ": "Delta", "Υ": "Upsilon",
    "⁺": "+", "⁻": "-", "⁰": "0", "′": "'", "−": "-", "\\": "",
}  # fmt: skip
_GREEK = str.maketrans(GREEK)
_STAR_OR_PRIME = re.compile(r"(\([^()]*\))(['*])")
_SUBSCRIPT = re.compile(r"\((\d{1,2}[A-Za-z]*|[A-Za-z]{1,2}\d?)\)")
_BAR = re.compile(r"[\u0304\u0305]|(?:over(?:line|bar)|bar)(?=\{)")  # D̄⁰, and \bar{D}^0 without its backslash
_NUCLEON = re.compile(r"^N\*(?=\()")


def normalise(name: str) -> str:
    """One spelling for all: ``f(0)(980)``, ``f_0(980)`` and ``f0(980)`` become ``f0(980)``, ``π⁺`` becomes ``pi+``, ``D̄⁰`` ``antiD0``."""
    text = name.translate(_GREEK).replace(" ", "").replace("_", "")
    if _BAR.search(text):
        text = "anti" + _BAR.sub("", text)
    text = _SUBSCRIPT.sub(r"\1", _NUCLEON.sub("N", text))
    return text.replace("anti-", "anti").replace("{", "").replace("}", "").replace("^", "")


@dataclass(frozen=True)
class PdgIndex:
    """Entries of the PDG tables by spelling and by name of the multiplet, and all names."""

    by_spelling: dict[str, PdgEntry]
    multiplets: dict[str, list[PdgEntry]]
    names: list[str]


@cache
def pdg_index() -> PdgIndex:
    """The PDG tables, read when they are first needed."""
    from particle import Particle as Pdg

    spellings: dict[str, PdgEntry] = {}
    multiplets: dict[str, list[PdgEntry]] = defaultdict(list)
    entries = [p for p in Pdg.all() if abs(p.pdgid) < NUCLEI and (p.pdgid.is_hadron or p.pdgid.is_lepton or int(p.pdgid) == 22)]
    entries = with_listings(p for p in entries if p.J is not None)
    entries.sort(key=lambda entry: entry.mass is None)  # some states are there twice, once without a mass
    for entry in entries:
        spellings.setdefault(normalise(entry.name), entry)
    for entry in entries:
        for family in {normalise(spelling) for spelling in _sign_first(entry.pdg_name)}:
            multiplets[family].append(entry)
        for extra in _other_spellings(entry):
            spellings.setdefault(normalise(extra), entry)
    for alias, name in ALIASES.items():
        _add_alias(normalise(alias), normalise(name), spellings, multiplets)
    return PdgIndex(spellings, dict(multiplets), sorted(entry.name for entry in entries))


def _add_alias(alias: str, name: str, spellings: dict[str, PdgEntry], multiplets: dict[str, list[PdgEntry]]) -> None:
    """Another name of a particle, or of a multiplet and its charge states."""
    if name in spellings:
        spellings.setdefault(alias, spellings[name])
    for entry in multiplets.get(name, []):
        if entry not in multiplets[alias]:
            multiplets[alias].append(entry)
        own = normalise(entry.name)
        if own != name and own.startswith(name):
            spellings.setdefault(alias + own.removeprefix(name), entry)


def _other_spellings(entry: PdgEntry) -> list[str]:
    from particle.exceptions import MatchingIDNotFound

    extra = [entry.name.replace("~", "bar")]
    with suppress(MatchingIDNotFound):
        extra.append(entry.evtgen_name)
    extra += [entry.name.removesuffix(ending) for ending in ("(1S)", "(1P)") if entry.name.endswith(ending)]
    extra += _sign_first(entry.name)
    if int(entry.pdgid) in NEUTRAL_KAONS:
        extra.append("K0" + entry.name[2])  # K(S)0 as K0S
    if "~" in entry.name:
        plain = entry.name.replace("~", "")
        extra.append(f"anti-{plain}")
        if entry.charge == 0:  # the bar of Sigma-bar would leave the charge open
            extra += [f"{plain}bar", f"{plain}~"]
    return extra + [spelling.replace("/", "") for spelling in extra if "/" in spelling] + [entry.name.replace("/", "")]


def _sign_first(name: str) -> list[str]:
    """``f(2)'(1525)`` and ``K(2)*(1430)`` also with the prime or star before the subscript."""
    return [name, _STAR_OR_PRIME.sub(r"\2\1", name)]


def _net_flavours(pdgid: int) -> frozenset[Flavour]:
    """Net (strangeness, charm, bottomness) from the quark digits of a PDG identifier."""
    if abs(pdgid) in NEUTRAL_KAONS:
        return frozenset({(1, 0, 0), (-1, 0, 0)})
    digits = abs(pdgid) // 10 % 1000
    q1, q2, q3 = digits // 100, digits // 10 % 10, digits % 10
    sign = 1 if pdgid > 0 else -1
    if abs(pdgid) < 100 or q2 == 0:
        return frozenset({(0, 0, 0)})
    # a meson is quark–antiquark; a heavier down-type quark is the antiquark of the positive code
    meson = [(q2, 1), (q3, -1)] if q2 % 2 == 0 else [(q2, -1), (q3, 1)]
    quarks = meson if q1 == 0 else [(q1, 1), (q2, 1), (q3, 1)]
    strange = -sum(n for q, n in quarks if q == 3)
    charm = sum(n for q, n in quarks if q == 4)
    bottom = -sum(n for q, n in quarks if q == 5)
    return frozenset({(sign * strange, sign * charm, sign * bottom)})


def _flavours_of_quarks(quarks: str) -> frozenset[Flavour]:
    """Net flavours of quarks written as letters, antiquarks in capitals: ``cCuD``."""
    strange, charm, bottom = (quarks.count(quark) - quarks.count(quark.upper()) for quark in "scb")
    return frozenset({(-strange, charm, -bottom)})


def from_entry(entry: PdgEntry) -> Particle:
    """A particle of the PDG tables in our units and conventions."""
    pdgid = int(entry.pdgid)
    two_J = DOUBLED_SPIN.get(abs(pdgid), round(2 * float(entry.J or 0)))
    antiparticle = entry.name if entry.is_self_conjugate else antiparticle_entry(entry).name
    if antiparticle == entry.name and (entry.charge or 0) > 0:  # pi(2)(1880)+, whose antiparticle the tables have forgotten
        antiparticle = entry.name.removesuffix("+") + "-"
    baryon = (1 if pdgid > 0 else -1) if entry.pdgid.is_baryon else 0
    return Particle(
        name=entry.name,
        two_J=two_J,
        P=_parity(entry, pdgid, two_J),
        C=int(entry.C) if entry.C in (1, -1) else None,
        mass=None if entry.mass is None else round(entry.mass / 1000, 12),
        width=None if entry.width is None or entry.width < 0 else round(entry.width / 1000, 18),
        charge=round(entry.charge or 0),
        massless=entry.mass == 0 or (entry.mass is None and bool(entry.pdgid.is_lepton)),
        antiparticle=antiparticle,
        baryon=baryon,
        flavours=_net_flavours(pdgid) if abs(pdgid) < TETRAQUARKS else _flavours_of_quarks(entry.quarks),
        latex=entry.latex_name,
        lepton=(1 if pdgid > 0 else -1) if entry.pdgid.is_lepton else 0,
    )


def pdg_measured(name: str) -> dict[str, tuple[float, float]]:
    """``mass`` and ``width`` of a particle in GeV with their errors, the mean of upper and lower ones; what has none is left out."""
    entry = pdg_index().by_spelling.get(normalise(name))
    found = {}
    for key in () if entry is None else ("mass", "width"):
        value, errors = getattr(entry, key), [getattr(entry, f"{key}_{side}") for side in ("lower", "upper")]
        if value is not None and value > 0 and None not in errors and sum(errors) > 0 and min(errors) >= 0:
            found[key] = (round(value / 1000, 18), sum(errors) / 2000)
    return found


def _parity(entry: PdgEntry, pdgid: int, two_J: int) -> int | None:
    """Parity; an antifermion has the opposite parity of its particle (F2)."""
    if abs(pdgid) in CHARGED_LEPTONS:
        return 1 if pdgid > 0 else -1
    if abs(pdgid) in MULTIPLET_PARITY:
        return MULTIPLET_PARITY[abs(pdgid)]
    positive = entry if pdgid > 0 else antiparticle_entry(entry)
    if positive.P not in (1, -1):
        return None
    return -int(positive.P) if pdgid < 0 and two_J % 2 else int(positive.P)


class ParticleTable:
    """The PDG, with the user's own particles and changes on top.

    Args:
        own:  particles that shadow the PDG, by name
    """

    def __init__(self, own: dict[str, Particle] | None = None) -> None:
        self._own = {normalise(name): particle for name, particle in (own or {}).items()}
        for particle in list(self._own.values()):
            self._own.setdefault(normalise(particle.name), particle)
            self._own.setdefault(normalise(particle.antiparticle), particle.conjugate())

    def find(self, name: str) -> Particle | None:
        """The particle of exactly this name or spelling, or None."""
        key = normalise(name)
        if key in self._own:
            return self._own[key]
        entry = pdg_index().by_spelling.get(key)
        if entry is None and len(states := pdg_index().multiplets.get(key, [])) == 1:
            entry = states[0]
        return None if entry is None else self._own.get(normalise(entry.name)) or from_entry(entry)

    def get(self, name: str) -> Particle:
        """The particle of this name; an error with near names if there is none."""
        particle = self.find(name)
        if particle is None:
            raise unknown_particle(name, self._own_names())
        return particle

    def get_state(self, name: str, system: tuple[Particle, ...]) -> Particle | None:
        """The charge state of a multiplet that can turn into ``system``, or None if the name is unknown.

        ``K(2)*(1430)`` in K⁺η is K(2)*(1430)+, and ``N(1535)`` in p̄η is the antiparticle of N(1535)+.
        """
        exact = self.find(name)
        states = [exact, exact.conjugate()] if exact else []
        members = [from_entry(entry) for entry in pdg_index().multiplets.get(normalise(name), [])]
        states += members + [member.conjugate() for member in members if member.antiparticle not in {m.name for m in members}]
        if not states:
            return None
        charge = sum(particle.charge for particle in system)
        baryon = sum(particle.baryon for particle in system)
        fitting = {s.name: s for s in reversed(states) if s.charge == charge and s.baryon == baryon}  # psi(4040) is there twice
        if not fitting:
            known = ", ".join(sorted({f"{s.name} (charge {s.charge:+d})" for s in states}))
            final = " ".join(particle.name for particle in system)
            raise PhysicsError(
                f"{name!r} cannot decay to {final}: charge {charge:+d} and baryon number {baryon:+d} fit none of its states",
                f"its states are {known}",
            )
        flavoured = {n: s for n, s in fitting.items() if s.flavours & combined_flavours(system)}
        if not flavoured and len(fitting) > 1:
            final = " ".join(particle.name for particle in system)
            raise PhysicsError(
                f"{name!r} cannot decay strongly to {final}: {' and '.join(sorted(fitting))} have a different flavour",
                "correct the system, or name the charge state in full and set weak: true",
            )
        if len(flavoured or fitting) > 1:
            raise PhysicsError(f"{name!r} could be any of {', '.join(sorted(flavoured or fitting))}", "name the charge state in full")
        return next(iter((flavoured or fitting).values()))

    def _own_names(self) -> list[str]:
        return [particle.name for particle in self._own.values()]


def unknown_particle(name: str, also_known: list[str]) -> PhysicsError:
    """The error for a name that neither the PDG nor the user knows."""
    return PhysicsError(
        f"unknown particle {name!r}", f"{near_names(name, also_known)} A resonance outside the PDG needs JP, mass and width."
    )


def near_names(name: str, also_known: list[str]) -> str:
    """Names that ``name`` may have been meant to be."""
    return suggest(name, pdg_index().names + also_known) or "write PDG names such as K(2)*(1430)+ or J/psi(1S)."


def split_charge(name: str) -> tuple[str, int | None]:
    """``a(1)(1260)+`` as ``('a(1)(1260)', 1)``; a name without a charge at its end gives None."""
    for charge in (2, -2, 1, -1):
        if name.endswith(suffix := charge_suffix(charge)) and len(name) > len(suffix):
            return name[: -len(suffix)], charge
    return (name[:-1], 0) if len(name) > 1 and name.endswith("0") and not name[-2].isdigit() else (name, None)
