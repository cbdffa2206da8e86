"""The ``resonances`` section: which state decays to a system."""

from __future__ import annotations

from dataclasses import replace

from ctpwa.base.errors import PhysicsError
from ctpwa.config.particles import read_jpc
from ctpwa.config.problems import SpecError
from ctpwa.config.schema import ResonanceSpec
from ctpwa.decay.chain import changes_flavour
from ctpwa.decay.latex import latex_of_name
from ctpwa.decay.particle import Particle, charge_suffix, combined_flavours
from ctpwa.decay.pdg import ParticleTable, split_charge, unknown_particle

_OWN_NAME = "a structure of your own needs a name that no particle has"


def resonance_state(name: str, spec: ResonanceSpec, system: tuple[Particle, ...], table: ParticleTable) -> Particle:
    """The charge state of a resonance that decays to ``system``, with the user's quantum numbers on top."""
    state = _known_state(name, spec, system, table)
    if state is None:
        if spec.particle is not None or spec.JP is None:
            error = unknown_particle(spec.particle or name, [])
            raise SpecError(error.what, error.fix, key=("particle",) if spec.particle is not None else ())
        state = _own_state(name, system)
    if spec.JP is not None:
        jpc = read_jpc(spec.JP)
        flip = state.baryon < 0 and jpc.two_J % 2 == 1
        P = -jpc.P if flip and jpc.P is not None else jpc.P
        state = replace(state, two_J=jpc.two_J, P=P, C=jpc.C if jpc.C is not None else (state.C if state.self_conjugate else None))
    if spec.latex is not None:
        state = replace(state, latex=spec.latex)
    return state


def _known_state(name: str, spec: ResonanceSpec, system: tuple[Particle, ...], table: ParticleTable) -> Particle | None:
    own = spec.JP is not None and spec.particle is None
    exact = table.find(spec.particle or name)
    if exact is not None and split_charge(spec.particle or name)[1] is not None and _fits(exact, system):
        return exact
    try:
        state = table.get_state(spec.particle or name, system)
    except PhysicsError as error:
        raise PhysicsError(error.what, f"{error.fix}; {_OWN_NAME}" if own else error.fix) from None
    two_body = len(system) == 2  # of a larger system the direct daughters are not known yet, and one of them may decay weakly
    if state is not None and own and spec.weak is None and two_body and changes_flavour(state, system):
        members = " ".join(particle.name for particle in system)
        raise SpecError(
            f"{name!r} is {state.name} of the PDG, which could only decay weakly to {members}",
            f"say weak: true if this is meant; {_OWN_NAME}",
            key=(),
        )
    return state


def _fits(state: Particle, system: tuple[Particle, ...]) -> bool:
    """Whether a state can decay to the system strongly."""
    charge, baryon = (sum(getattr(particle, key) for particle in system) for key in ("charge", "baryon"))
    return (state.charge, state.baryon) == (charge, baryon) and not changes_flavour(state, system)


def _own_state(name: str, system: tuple[Particle, ...]) -> Particle:
    """A state outside the PDG: charge, baryon number and flavour are those of what it decays to."""
    charge = sum(particle.charge for particle in system)
    baryon = sum(particle.baryon for particle in system)
    flavours = combined_flavours(system)
    base = split_charge(name)[0] if name.endswith(("+", "-")) else name
    negative = min(flavours) < (0, 0, 0)
    anti = baryon < 0 or (baryon == 0 and charge == 0 and negative)
    self_conjugate = charge == 0 and baryon == 0 and (0, 0, 0) in flavours

    def spelled(charge: int, anti: bool) -> str:
        return base + ("~" if anti else "") + charge_suffix(charge)

    marked = baryon != 0 or charge == 0
    return Particle(
        name=spelled(charge, anti and marked),
        two_J=0,
        P=None,
        C=None,
        mass=None,
        width=None,
        charge=charge,
        massless=False,
        antiparticle=spelled(charge, False) if self_conjugate else spelled(-charge, not anti and marked),
        baryon=baryon,
        flavours=flavours,
        latex=latex_of_name(name),
    )
