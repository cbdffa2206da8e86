"""Resonances of a background that is a model: which particle each is, its mass and width, and whether it can be where it is put."""

from __future__ import annotations

from collections.abc import Mapping

from ctpwa.base.errors import PhysicsError
from ctpwa.config.particles import own_particle
from ctpwa.config.problems import SpecError
from ctpwa.config.schema import DensityResonanceSpec, ParticleSpec
from ctpwa.config.systems import System
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, near_names
from ctpwa.observe.sideband_model import PHASE_SPACE, Peak

REACH = 5  # widths beyond the masses that a system can have, within which a resonance may be


def background_peaks(
    resonances: Mapping[str, DensityResonanceSpec], decay: Decay, particles: Mapping[str, ParticleSpec]
) -> tuple[Peak, ...]:
    """Resonances that ``check_peak`` has found right.

    Args:
        resonances:  by name
        decay:       the decay
        particles:   the user's own particles
    """
    table = particle_table(particles)
    return tuple(check_peak(name, spec, decay, table) for name, spec in resonances.items())


def particle_table(particles: Mapping[str, ParticleSpec]) -> ParticleTable:
    """The PDG with the user's own particles."""
    return ParticleTable({name: own_particle(name, spec) for name, spec in particles.items()})


def check_peak(name: str, spec: DensityResonanceSpec, decay: Decay, table: ParticleTable) -> Peak:
    """A resonance of a background.

    Flavour need not be conserved: a K(S)0 or a D0 may well be in the background.

    Args:
        name:   of the resonance
        spec:   what the model file says about it
        decay:  the decay
        table:  particles

    Raises:
        SpecError: if it is unknown, or impossible in one of its systems
    """
    if name == PHASE_SPACE:
        raise SpecError(f"a resonance cannot be called {name!r}", "leave it out: phase space is always part of the model", key=())
    if not spec.in_:
        raise SpecError(f"resonance {name!r} is in no system", f"write  {name}: {' '.join(decay.labels[:2])}", key=())
    known = table.find(name)
    masses: list[tuple[float, float]] = []
    for text in spec.in_:
        system = System.read(text, decay)
        members = decay.particles(system.places[0])
        state = _state(name, members, table, known)
        masses.append(_mass_and_width(name, spec, state))
        _check_range(name, *masses[-1], system, decay)
    if any(other != masses[0] for other in masses[1:]):
        raise SpecError(
            f"{name!r} has other masses in its systems", "give each charge state an entry of its own, or mass and width", key=()
        )
    return Peak(name, tuple(spec.in_), *masses[0])


def _state(name: str, system: tuple[Particle, ...], table: ParticleTable, known: Particle | None) -> Particle | None:
    """The charge state that decays to a system; None for a name that no particle has."""
    charge, baryon = sum(p.charge for p in system), sum(p.baryon for p in system)
    if known is not None and (known.charge, known.baryon) == (charge, baryon):
        return known
    try:
        return table.get_state(name, system)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, key=("in",)) from None


def _mass_and_width(name: str, spec: DensityResonanceSpec, state: Particle | None) -> tuple[float, float]:
    mass = spec.mass if spec.mass is not None else (None if state is None else state.mass)
    width = spec.width if spec.width is not None else (None if state is None else state.width)
    if not mass or not width:
        what = "mass" if not mass else "width"
        if state is None:
            raise SpecError(f"no particle is called {name!r}", f"{near_names(name, [])} Or give its mass and width", key=())
        fix = f"write  {name}: {{in: …, {what}: …}}" + ("; for a narrow one the resolution of the detector" if what == "width" else "")
        raise SpecError(f"the {what} of {name!r} is not known", fix, key=())
    return mass, width


def _check_range(name: str, mass: float, width: float, system: System, decay: Decay) -> None:
    place = system.places[0]
    low, high = decay.mass_range(place)
    if not low - REACH * width <= mass <= high + REACH * width:
        raise SpecError(
            f"{name!r} (mass {mass:g}, width {width:g} GeV) is never in {system.text}, whose mass runs from {low:.4g} to {high:.4g} GeV",
            "remove it, or correct mass and width, which are in GeV",
            key=(),
        )
