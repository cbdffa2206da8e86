"""A first model of X that a beam made: its J^P, the isobars that it decays to, and resonances that it may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

from ctpwa.base.errors import PhysicsError
from ctpwa.config.decay_line import ARROW, NEXT
from ctpwa.config.particles import OWN_PARTICLES, read_decay
from ctpwa.config.problems import SpecError, SpecErrors
from ctpwa.config.propose.candidates import Candidate, Region, candidates, final_words, regions
from ctpwa.config.propose.nonresonant import NonresonantLine, structures_inside
from ctpwa.config.propose.shapes import BROAD, FLATTE
from ctpwa.config.propose.strong import LATER, group_of, known_couplings
from ctpwa.decay.catalogue import hadron
from ctpwa.decay.chain import Decay
from ctpwa.decay.isospin import isospin_conserving
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, near_names
from ctpwa.decay.rules import allowed_ls

KINDS = ("photoproduction", "diffraction")
HIGHEST_J, HIGHEST_L = 2, 2
ISOBARS = 3  # of a system that are in use
RANGE = 1.3  # GeV of masses of X, from threshold on
ENERGIES = {"photoproduction": (8.2, 8.8), "diffraction": (190.0, 190.0)}  # GeV: coherent peak of GlueX; COMPASS


@dataclass(frozen=True)
class Isobar:
    """What X may decay to, or be itself: one line of the model file.

    Attributes:
        name:       key in the model file
        multiplet:  its isospin multiplet
        regions:    the final particles it decays to
        state:      the charge state in the first of them
        reason:     why it is not in use; empty for one that is
    """

    name: str
    multiplet: str
    regions: tuple[Region, ...]
    state: Particle
    reason: str = ""


@dataclass(frozen=True)
class ProductionProposal:
    """A first model.

    Attributes:
        text:        the reaction as the user wrote it
        kind:        photoproduction or diffraction
        beam, target, recoil:  particles
        decay:       X and what it decays to
        line:        the decay line of the model file
        waves:       J^P of X, each with its projections
        mass:        range of masses of X in generated events, GeV
        energy:      range of energies of the beam there, GeV
        isobars:     in use or not
        resonances:  that X may be; none is in use
        inside:      non-resonant structures inside states that are held at their mass
    """

    text: str
    kind: str
    beam: Particle
    target: Particle
    recoil: Particle
    decay: Decay
    line: str
    waves: dict[str, tuple[int, ...]]
    mass: tuple[float, float]
    energy: tuple[float, float]
    isobars: tuple[Isobar, ...]
    resonances: tuple[Isobar, ...]
    inside: tuple[NonresonantLine, ...] = ()


def propose_production(kind: str, text: str) -> ProductionProposal:
    """A first model of a reaction.

    Args:
        kind:  photoproduction or diffraction
        text:  such as ``gamma p -> eta pi0 p``: beam and target, what X decays to, and the recoil, which is the baryon

    Raises:
        PhysicsError: for a reaction that cannot be read or cannot happen
    """
    if kind not in KINDS:
        raise PhysicsError(f"unknown production {kind!r}", f"write {' or '.join(KINDS)}")
    beam, target, products, recoil, held = _read(kind, text)
    line = f"X {ARROW} {' '.join(products)}" + "".join(f"{NEXT} {step}" for step in held)
    decay = _decay(line)
    outer = decay.outer
    if len(outer.final) > 3:
        raise PhysicsError(
            f"X of {text} decays to {len(outer.final)} particles, and proposals are made for two or three",
            "hold states at their mass with a sub-decay, such as  ; omega(782) -> pi+ pi- pi0,  or write the model file by hand",
        )
    low = outer.lowest_mass(range(len(outer.final)))
    mass = (ceil(100 * low) / 100, round(ceil(10 * (low + RANGE)) / 10, 1))
    energy = ENERGIES[kind]
    root_s = sqrt((beam.mass or 0.0) ** 2 + (target.mass or 0.0) ** 2 + 2 * energy[0] * (target.mass or 0.0))
    if mass[1] >= root_s - (recoil.mass or 0.0):
        raise PhysicsError(f"a beam of {energy[0]:g} GeV has too little energy for {text}", "write the model file by hand")
    heavy = Decay(replace(outer.parent, mass=mass[1]), outer.final, outer.labels)
    isobars = tuple(_isobars(heavy)) if len(outer.final) == 3 else ()
    waves = _waves(heavy, isobars, kind == "diffraction")
    if not waves:
        raise PhysicsError(f"nothing is known that X of {text} could decay to", "write the model file by hand")
    found = tuple(_resonances(heavy, waves, isobars))
    reaction = " ".join(text.split())
    return ProductionProposal(
        reaction, kind, beam, target, recoil, decay, line, waves, mass, energy, isobars, found, structures_inside(decay, 0)
    )


def _read(kind: str, text: str) -> tuple[Particle, Particle, list[str], Particle, list[str]]:
    """Beam, target, what X decays to, the recoil, and sub-decays."""
    first, *held = [part.strip() for part in text.split(NEXT)]
    left, arrow, right = first.partition(ARROW)
    before, after = left.split(), right.split()
    if not arrow or len(before) != 2 or len(after) < 3:
        raise PhysicsError(f"cannot read {text!r} as a reaction", "write it as  gamma p -> eta pi0 p:  beam, target, decay of X, recoil")
    table = ParticleTable()
    found = {name: table.find(name) for name in (*before, *after)}
    for name, particle in found.items():
        if particle is None:
            raise PhysicsError(f"unknown particle {name!r}", near_names(name, []))
    known = {name: particle for name, particle in found.items() if particle is not None}
    beam, target = (known[name] for name in before)
    baryons = [i for i, name in enumerate(after) if known[name].baryon]
    if not baryons:
        raise PhysicsError(f"no baryon recoils in {text!r}", "name the recoil as one of the products, such as p")
    place = baryons[-1]
    recoil, products = known[after[place]], after[:place] + after[place + 1 :]
    for quantity in ("charge", "baryon"):
        total = [sum(getattr(known[name], quantity) for name in names) for names in (before, after)]
        if total[0] != total[1]:
            raise PhysicsError(f"{quantity} is not conserved in {text}: {total[0]:+d} becomes {total[1]:+d}", "correct the reaction")
    photon = beam.massless and beam.two_J == 2
    if photon != (kind == "photoproduction") or (not photon and beam.two_J):
        wanted = "a photon, gamma" if kind == "photoproduction" else "a particle without spin, such as pi-"
        raise PhysicsError(f"the beam of {kind} is {wanted}, not {before[0]}", f"write another beam, or --production {_other(kind)}")
    if target.mass is None or recoil.mass is None:
        raise PhysicsError(f"the mass of {before[1] if target.mass is None else after[place]} is not known", "write the model file by hand")
    return beam, target, products, recoil, held


def _other(kind: str) -> str:
    return KINDS[1 - KINDS.index(kind)]


def _decay(line: str) -> Decay:
    try:
        return read_decay(line, ParticleTable(), True)
    except SpecErrors as errors:
        lines = [f"{error.what}\n fix: {error.fix.removesuffix(OWN_PARTICLES).strip()}" for error in errors.errors]
        raise PhysicsError("\n".join(lines)) from None
    except SpecError as error:
        raise PhysicsError(error.what, error.fix) from None


def _isobars(decay: Decay) -> list[Isobar]:
    """States of the PDG in pairs of final particles, the strongest of every pair in use."""
    found: dict[str, Isobar] = {}
    for region in regions(decay):
        if not region.hadronic:
            continue
        low_L = [c for c in _possible(region) if _decays(c.state, (region.particles[0], region.particles[1]))]
        ranked = sorted(low_L, key=lambda c: _rank(c, region))
        for position, candidate in enumerate(ranked):
            reason = _reason(candidate, region, position)
            other = found.get(candidate.name)
            if other is None or (other.reason and not reason):
                found[candidate.name] = Isobar(candidate.name, candidate.multiplet.name, (region,), candidate.state, reason)
            elif bool(other.reason) == bool(reason):
                found[candidate.name] = replace(other, regions=(*other.regions, region))
    return sorted(found.values(), key=lambda own: (bool(own.reason), own.state.mass or 0.0))


def _possible(region: Region) -> list[Candidate]:
    return [c for c in candidates(region) if not c.missing and c.isospin_allows_decay and not c.annihilates]


def _rank(candidate: Candidate, region: Region) -> tuple[int, float]:
    known = known_couplings(region.particles)
    order = () if known is None else (*known.strong, *known.later)
    name = candidate.multiplet.name
    return order.index(name) if name in order else len(order) + bool(candidate.multiplet.doubt), candidate.mass


def _reason(candidate: Candidate, region: Region, position: int) -> str:
    """Why a state is not in use; empty if it is."""
    known = known_couplings(region.particles)
    name = candidate.multiplet.name
    if candidate.widths_outside and name != BROAD and name not in FLATTE:
        return "outside the range of masses"
    if candidate.multiplet.doubt:
        return candidate.multiplet.doubt
    if known is not None and (reason := known.reason(name, " ".join(group_of(region.particles)))):
        return reason
    return LATER if position >= ISOBARS else ""


def _waves(decay: Decay, isobars: Sequence[Isobar], folded: bool) -> dict[str, tuple[int, ...]]:
    """J^P of X up to spin 2 that decay with small L, each with its projections."""
    found: dict[str, tuple[int, ...]] = {}
    for J in range(HIGHEST_J + 1):
        for P in (1, -1):
            state = replace(decay.parent, two_J=2 * J, P=P, C=None)
            if not any(_decays(state, pair) for pair in _pairs(decay, isobars)):
                continue
            ms = tuple(range(J + 1)) if len(decay.final) == 2 else tuple(range(min(J, 1) + 1))
            if folded:  # reflectivity +: M = 0 is there only for an unnatural parity
                ms = tuple(m for m in ms if m or P != (-1) ** J)
            if ms:
                found[f"{J}{'+' if P > 0 else '-'}"] = ms
    return found


def _pairs(decay: Decay, isobars: Sequence[Isobar]) -> Iterator[tuple[Particle, Particle]]:
    """What X decays to in one step."""
    if len(decay.final) == 2:
        yield decay.final[0], decay.final[1]
    for own in isobars:
        for region in own.regions if not own.reason else ():
            (left,) = (i for i in range(len(decay.final)) if i not in region.place)
            yield own.state, decay.final[left]


def _decays(state: Particle, pair: tuple[Particle, Particle]) -> bool:
    try:
        return bool(allowed_ls(state, *pair, weak=False, max_L=HIGHEST_L))
    except PhysicsError:
        return False


def _isospin_allows(state: Particle, pair: tuple[Particle, Particle]) -> bool:
    parent, first, second = (hadron(particle) for particle in (state, *pair))
    if parent is None or first is None or second is None:
        return True
    try:
        return bool(isospin_conserving(parent, first, second, allowed_ls(state, *pair)))
    except PhysicsError:
        return False


def _resonances(decay: Decay, waves: dict[str, tuple[int, ...]], isobars: Sequence[Isobar]) -> list[Isobar]:
    """States of the PDG that X may be: isospin and G parity let them decay to a pair or to the isobars that are in use."""
    place = tuple(range(len(decay.final)))
    whole = Region(" ".join(final_words(decay)), place, decay.final, decay.lowest_mass(place), float(decay.parent.mass or 0.0))
    if not whole.hadronic:
        return []
    found = []
    for candidate in _possible(whole):
        state = candidate.state
        if candidate.name in {own.name for own in isobars} or not any(_isospin_allows(state, pair) for pair in _pairs(decay, isobars)):
            continue
        if state.P is not None and not state.two_J % 2 and f"{state.two_J // 2}{'+' if state.P > 0 else '-'}" in waves:
            remark = candidate.multiplet.doubt
            found.append(Isobar(candidate.name, candidate.multiplet.name, (whole,), state, remark))
    return found
