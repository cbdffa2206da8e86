"""Which hadrons of the PDG can decay to a group of final particles: charge, flavour, mass, angular momentum and parity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from ctpwa.base.errors import PhysicsError
from ctpwa.config.propose.strong import K_PI, LASS, group_of, known_couplings
from ctpwa.decay.catalogue import Multiplet, hadron, has_heavy_quark, multiplets
from ctpwa.decay.chain import Decay
from ctpwa.decay.isospin import isospin_conserving
from ctpwa.decay.particle import Particle, combined_flavours
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.rules import allowed_ls

LISTED_REACH = 1.5  # widths outside the kinematic range up to which a resonance is listed
CURRENT = "W"  # of semileptonic decays, in which nothing decays to it and something else
LARGEST = 3  # particles in a system, in decays to four or more; of larger ones, only those with known couplings


@dataclass(frozen=True)
class Region:
    """A group of final particles in which a resonance may be.

    Attributes:
        text:       as written after ``in``
        place:      indices of the final particles; where some are identical, of one choice
        particles:  the final particles
        low, high:  the range of its invariant mass, GeV
    """

    text: str
    place: tuple[int, ...]
    particles: tuple[Particle, ...]
    low: float
    high: float

    @property
    def hadronic(self) -> bool:
        """Whether it has neither photons nor leptons, so that resonances decay to it strongly."""
        return all(hadron(particle) is not None for particle in self.particles)

    @property
    def leptonic(self) -> bool:
        """Whether it is a lepton pair, which a virtual photon makes."""
        return all(particle.fermion and hadron(particle) is None for particle in self.particles)


@dataclass(frozen=True)
class Candidate:
    """A hadron of the PDG in a region.

    Attributes:
        name:       what the model file calls it: the multiplet, or the charge state where the multiplet leaves it open
        multiplet:  where it belongs
        state:      the charge state that decays to the region
        region:     the final particles
        mass:       GeV, from the table or else from the name
    """

    name: str
    multiplet: Multiplet
    state: Particle
    region: Region
    mass: float

    @property
    def width(self) -> float:
        """GeV; 0 where it is not known."""
        return self.state.width or 0.0

    @property
    def missing(self) -> list[str]:
        """What a model needs and the tables do not have."""
        return [key for key, value in (("JP", self.state.P), ("mass", self.state.mass), ("width", self.state.width)) if not value]

    @property
    def widths_outside(self) -> float:
        """How many widths its mass is outside the kinematic range: negative below, positive above, 0 inside."""
        if self.multiplet.name == LASS and group_of(self.region.particles) == K_PI:  # the whole S wave from threshold on
            return 0.0
        beyond = min(self.mass - self.region.low, 0.0) or max(self.mass - self.region.high, 0.0)
        return beyond and (beyond / self.width if self.width else beyond * float("inf"))

    @property
    def annihilates(self) -> bool:
        """Whether it is made of heavy quarks that no particle of the region has."""
        heavy = self.multiplet.heavy
        return bool(heavy) and not any(has_heavy_quark(particle, heavy) for particle in self.region.particles)

    @property
    def isospin_allows_decay(self) -> bool:
        """Whether isospin and G parity allow the decay to a pair; of larger regions the steps inside are not known here."""
        if len(self.region.place) != 2:
            return True
        members = [hadron(particle) for particle in (self.state, *self.region.particles)]
        parent, first, second = members
        if parent is None or first is None or second is None:
            return True
        return bool(isospin_conserving(parent, first, second, allowed_ls(self.state, *self.region.particles)))


def regions(decay: Decay) -> list[Region]:
    """All groups of two final particles, and of three where there are four or more; conjugate groups are adjacent."""
    n = len(decay.final)
    found: dict[tuple[str, ...], Region] = {}
    for size in range(2, n):
        for place in combinations(range(n), size):
            if size > LARGEST and known_couplings([decay.final[i] for i in place]) is None:
                continue
            for choice in (place, _conjugate_place(decay, place)):
                if choice is not None and _sensible(decay, choice):
                    names = tuple(sorted(decay.final[i].name for i in choice))
                    found.setdefault(names, _region(decay, choice))
    return list(found.values())


def final_words(decay: Decay) -> list[str]:
    """What the final particles are called after ``in``: as in the decay line; identical ones by the name they have in common."""
    names = [particle.name for particle in decay.final]
    return [label if names.count(name) == 1 else name for label, name in zip(decay.labels, names, strict=True)]


def _region(decay: Decay, place: tuple[int, ...]) -> Region:
    masses = [particle.mass or 0.0 for particle in decay.final]
    low = sum(masses[i] for i in place)
    high = (decay.parent.mass or 0.0) - sum(mass for i, mass in enumerate(masses) if i not in place)
    words = final_words(decay)
    return Region(" ".join(words[i] for i in place), place, tuple(decay.final[i] for i in place), low, high)


def _conjugate_place(decay: Decay, place: tuple[int, ...]) -> tuple[int, ...] | None:
    """The antiparticles of a group, in the same order; None if the final state does not have them."""
    chosen: list[int] = []
    for i in place:
        partner = next((j for j, p in enumerate(decay.final) if p.name == decay.final[i].antiparticle and j not in chosen), None)
        if partner is None:
            return None
        chosen.append(partner)
    return tuple(chosen)


def _sensible(decay: Decay, place: tuple[int, ...]) -> bool:
    """Hadrons alone, a pair with a photon, or a lepton with its antiparticle."""
    particles = [decay.final[i] for i in place]
    others = [particle for particle in particles if hadron(particle) is None]
    if any(particle.name == CURRENT for particle in others):
        return False
    leptons = [particle for particle in others if particle.fermion]
    if leptons:
        return len(particles) == 2 and particles[0].antiparticle == particles[1].name
    return not others or len(particles) == 2


def candidates(region: Region) -> Iterator[Candidate]:
    """Every hadron whose charge, flavour, mass, spin and parity let it decay to a region without a weak step, by mass."""
    flavours, known = combined_flavours(region.particles), known_couplings(region.particles)
    charge, baryon = (sum(getattr(particle, key) for particle in region.particles) for key in ("charge", "baryon"))
    for multiplet in multiplets():
        fitting = [s for s in multiplet.states if (s.charge, s.baryon) == (charge, baryon) and s.flavours & flavours]
        nominal = multiplet.nominal_mass
        if not fitting or nominal is None:
            continue
        state = fitting[0]  # where the antiparticle fits as well (K_S pi0), it would give the same amplitude
        found = Candidate(_name(multiplet, state, region), multiplet, state, region, nominal if state.mass is None else state.mass)
        if len(region.place) > LARGEST and (known is None or multiplet.name not in known.strong):
            continue
        if abs(found.widths_outside) <= LISTED_REACH and _can_decay(found):
            yield found


def _name(multiplet: Multiplet, state: Particle, region: Region) -> str:
    try:
        known = ParticleTable().get_state(multiplet.name, region.particles)
    except PhysicsError:
        known = None
    return multiplet.name if known == state else state.name


def _can_decay(candidate: Candidate) -> bool:
    state = candidate.state
    if candidate.region.leptonic and (state.two_J, state.P, state.C) != (2, -1, -1):
        return False
    if len(candidate.region.place) != 2 or state.P is None:
        return True
    try:
        return bool(allowed_ls(state, *candidate.region.particles))
    except PhysicsError:
        return False
