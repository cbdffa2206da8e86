"""The ``resonances`` section: which state decays to a system, and which propagator it carries."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ctpwa.config.particles import read_jpc
from ctpwa.config.problems import SpecError
from ctpwa.config.schema import ResonanceSpec
from ctpwa.decay.chain import Decay, changes_flavour
from ctpwa.decay.particle import Particle, charge_suffix, combined_flavours
from ctpwa.decay.pdg import ParticleTable, split_charge, unknown_particle
from ctpwa.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.formula import Basis, Lineshape, LineshapeParameter, Vertex
from ctpwa.model.lineshapes.registry import KINDS, build_lineshape
from ctpwa.model.resonance import Resonance

OFF_SHELL_WIDTHS = 10  # a Breit-Wigner further than this outside the kinematic range is taken for a mistake
MEV_SUSPICION = 50  # a mass this many times above the limit was written in MeV
TRIAL_VERTEX = Vertex(m1=0.14, m2=0.14, L=0, d=3.0)
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
    if state is not None and own and spec.weak is None and changes_flavour(state, system):
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
        latex=rf"\mathrm{{{name}}}",
    )


def build_resonance(name: str, spec: ResonanceSpec, state: Particle, radius: float) -> Resonance:
    """The propagator of a resonance; mass and width not given come from the PDG."""
    lineshape = _trial_lineshape(name, spec)
    known = [] if isinstance(lineshape, Basis) else list(lineshape.parameters)
    _check_parameter_names(name, spec, [parameter.name for parameter in known])
    given = dict(spec.parameters) | {key: value for key in ("mass", "width") if (value := getattr(spec, key)) is not None}
    values: dict[str, float] = {}
    for parameter in known:
        from_pdg = {"mass": state.mass, "width": state.width}.get(parameter.name)
        value = given.get(parameter.name, parameter.default if parameter.default is not None else from_pdg)
        if value is None or (parameter.name in ("mass", "width") and not value):
            source = ", and the PDG gives none" if parameter.name in ("mass", "width") else ""
            where = f"{parameter.name}: …" if parameter.name in ("mass", "width") else f"parameters: {{{parameter.name}: …}}"
            raise SpecError(
                f"{name!r} has no {parameter.name}{source}", f"add {where}" + (f" ({parameter.unit})" if parameter.unit else ""), key=()
            )
        _check_limits(name, parameter, value)
        values[parameter.name] = value
    return Resonance(
        name, spec.lineshape, values, tuple(dict.fromkeys(spec.float_)), spec.radius or radius, spec.latex or state.latex, _options(spec)
    )


def _options(spec: ResonanceSpec) -> dict[str, Any]:
    """Options of the lineshape; an expression is told the names of its parameters."""
    if spec.lineshape.strip() in KINDS or spec.lineshape.isidentifier():
        return dict(spec.options)
    words = set(re.findall(r"[A-Za-z_]\w*", spec.lineshape))
    return dict(spec.options) | {"parameters": [*spec.parameters, *(key for key in ("mass", "width") if key in words)]}


def _trial_lineshape(name: str, spec: ResonanceSpec) -> Lineshape:
    """The lineshape at a made-up vertex: which parameters it has does not depend on the vertex."""
    try:
        return build_lineshape(spec.lineshape, TRIAL_VERTEX, **_options(spec))
    except PhysicsError as error:
        raise SpecError(f"{name!r}: {error.what}", error.fix, key=("options",) if "option" in error.what else ("lineshape",)) from None


def _check_parameter_names(name: str, spec: ResonanceSpec, known: list[str]) -> None:
    given: list[tuple[tuple[str, ...], str]] = [(("parameters", key), key) for key in spec.parameters]
    given += [((key,), key) for key in ("mass", "width") if getattr(spec, key) is not None]
    given += [(("float",), key) for key in spec.float_]
    for path, key in given:
        if key not in known:
            has = f"its parameters are {', '.join(known)}" if known else "it has none"
            near = suggest(key, known) if known else "remove it, or choose another lineshape"
            raise SpecError(f"lineshape {spec.lineshape!r} of {name!r} has no parameter {key!r}: {has}", near or "remove it", key=path)


def _check_limits(name: str, parameter: LineshapeParameter, value: float) -> None:
    low, high = parameter.lower, parameter.upper
    if (low is not None and value < low) or (high is not None and value > high):
        limits = f"{'-∞' if low is None else low} to {'∞' if high is None else high}"
        raise SpecError(f"{parameter.name} of {name!r} is {value:g}, outside {limits}", "correct it", key=())


def check_on_shell(resonance: Resonance, spec: ResonanceSpec, decay: Decay, leaves: tuple[int, ...]) -> None:
    """A resonance must come near the range of invariant masses that its system can have."""
    if resonance.mass is None or resonance.width is None or spec.off_shell:
        return
    inside = [decay.final[i].mass or 0.0 for i in leaves]
    outside = [particle.mass or 0.0 for i, particle in enumerate(decay.final) if i not in leaves]
    low, high = sum(inside), (decay.parent.mass or 0.0) - sum(outside)
    reach = OFF_SHELL_WIDTHS * resonance.width
    if resonance.mass + reach >= low and resonance.mass - reach <= high:
        return
    system = " ".join(decay.labels[i] for i in leaves)
    side = "below threshold everywhere" if resonance.mass < low else "above the kinematic limit everywhere"
    fix = "remove it, correct mass and width, or say off_shell: true if its tail is meant"
    if resonance.mass > MEV_SUSPICION * high:
        fix = "masses and widths are in GeV: divide by 1000 if these are MeV"
    raise SpecError(
        f"{resonance.name!r} (mass {resonance.mass:g}, width {resonance.width:g} GeV) is {side} in {system}, whose mass "
        f"runs from {low:.4g} to {high:.4g} GeV",
        fix,
        key=("mass",) if spec.mass is not None else (),
    )
