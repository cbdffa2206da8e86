"""The ``resonances`` section: which propagator a resonance carries, and whether it can be seen at all."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from ctpwa.base.errors import Path, PhysicsError, suggest
from ctpwa.config.problems import SpecError
from ctpwa.config.schema import ResonanceSpec
from ctpwa.decay.chain import Decay, changes_flavour
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import pdg_measured
from ctpwa.decay.rules import allowed_ls
from ctpwa.model.lineshapes.formula import RADIUS, Basis, Formula, Lineshape, LineshapeParameter, Vertex
from ctpwa.model.lineshapes.registry import KINDS, build_lineshape
from ctpwa.model.lineshapes.spline import Knots
from ctpwa.model.resonance import Resonance

OFF_SHELL_WIDTHS = 10  # a Breit-Wigner further than this outside the kinematic range is taken for a mistake
MEV_SUSPICION = 50  # a mass this many times above the limit was written in MeV
PDG = "pdg"  # stands for the parameters that the PDG has measured
TRIAL_MASS = 0.14  # of daughters that are not known yet


def build_resonance(
    name: str, spec: ResonanceSpec, state: Particle, decay: Decay, leaves: tuple[int, ...], radius: float, columns: tuple[str, ...]
) -> tuple[Resonance, list[LineshapeParameter]]:
    """The propagator of a resonance in a system, and what its parameters are; mass and width not given come from the PDG.

    Parameters that are formulas are NaN until all resonances are known.
    """
    system = decay.particles(leaves)
    own_radius = RADIUS.name in spec.float_ and RADIUS.name not in spec.parameters
    vertex = _vertex(state, system, spec, RADIUS.symbol if own_radius else spec.radius or radius, columns)
    lineshape = _trial_lineshape(name, spec, vertex)
    _check_width_l(name, spec, vertex, lineshape)
    known = [] if isinstance(lineshape, Basis) else list(lineshape.parameters)
    known += [RADIUS] if own_radius and RADIUS not in known else []
    _check_parameter_names(name, spec, [parameter.name for parameter in known])
    values = {p.name: spec.radius or radius if own_radius and p == RADIUS else _value(name, spec, state, p) for p in known}
    labels = lineshape.labels if isinstance(lineshape, Basis) else ()
    _check_knots(name, spec, lineshape, decay, leaves)
    measured = _measured(name, spec, state, list(values)) if PDG in spec.float_ else {}
    floating = tuple(dict.fromkeys(key for word in spec.float_ for key in (measured if word == PDG else (word,))))
    latex = spec.latex or state.latex
    nominal = None if "mass" in values else spec.mass
    if isinstance(nominal, str):
        raise SpecError(f"the lineshape of {name!r} has no mass that could be a formula", "write a number in GeV", key=("mass",))
    if spec.nominal_mass is not None:
        nominal = spec.nominal_mass
    resonance = Resonance(
        name,
        spec.lineshape,
        values,
        floating,
        spec.radius or radius,
        latex,
        _options(spec),
        labels,
        nominal,
        measured,
        spec.width_l,
        own_radius,
    )
    return resonance, known


def _measured(name: str, spec: ResonanceSpec, state: Particle, known: list[str]) -> dict[str, tuple[float, float]]:
    """Mass and width of the PDG with their errors, of those that the lineshape has and that are no formulas."""
    given = {"mass": spec.mass, "width": spec.width}
    found = {key: pair for key, pair in pdg_measured(state.name).items() if key in known and not isinstance(given[key], str)}
    if not found:
        raise SpecError(
            f"{name!r} cannot float with an error of the PDG, which gives none for {state.name}",
            "write  float: [mass, width],  and constraints of your own under 'fit'",
            key=("float",),
        )
    return found


def _value(name: str, spec: ResonanceSpec, state: Particle, parameter: LineshapeParameter) -> float:
    """What the user says, else the default of the lineshape, else the PDG."""
    key = parameter.name
    own_key = key in ("mass", "width")
    given = {"mass": spec.mass, "width": spec.width}.get(key)
    choices = (given, spec.parameters.get(key), parameter.default, {"mass": state.mass, "width": state.width}.get(key))
    value = next((choice for choice in choices if choice is not None), None)
    if isinstance(value, str):
        return math.nan
    if value is None or (own_key and not value):
        where = f"{key}: …" if own_key else f"parameters: {{{key}: …}}"
        unit = f" ({parameter.unit})" if parameter.unit else ""
        raise SpecError(f"{name!r} has no {key}" + (", and the PDG gives none" if own_key else ""), f"add {where}{unit}", key=())
    _check_limits(name, parameter, value)
    return value


def _options(spec: ResonanceSpec) -> dict[str, Any]:
    """Options of the lineshape; an expression gets the names of its parameters."""
    if spec.lineshape.strip() in KINDS or spec.lineshape.isidentifier():
        return dict(spec.options)
    words = set(re.findall(r"[A-Za-z_]\w*", spec.lineshape))
    return dict(spec.options) | {"parameters": [*spec.parameters, *(key for key in ("mass", "width") if key in words)]}


def _trial_lineshape(name: str, spec: ResonanceSpec, vertex: Vertex) -> Lineshape:
    """The lineshape, to know its parameters; some refuse a vertex that is not made for them."""
    try:
        return build_lineshape(spec.lineshape, vertex, **_options(spec))
    except PhysicsError as error:
        raise SpecError(f"{name!r}: {error.what}", error.fix, key=("options",) if "option" in error.what else ("lineshape",)) from None


def _vertex(state: Particle, system: tuple[Particle, ...], spec: ResonanceSpec, radius: Any, columns: tuple[str, ...]) -> Vertex:
    """The vertex where the state decays; daughters of a larger system are only known once there are chains."""
    weak = spec.weak
    if len(system) != 2:
        return Vertex(TRIAL_MASS, TRIAL_MASS, spec.width_l or 0, radius, columns)
    try:
        L = (
            spec.width_l
            if spec.width_l is not None
            else min(ls.L for ls in allowed_ls(state, *system, weak=changes_flavour(state, system) if weak is None else weak))
        )
    except PhysicsError:  # reported with the chain it stands in
        L = state.two_J // 2
    return Vertex(system[0].mass or 0.0, system[1].mass or 0.0, L, radius, columns)


def _check_width_l(name: str, spec: ResonanceSpec, vertex: Vertex, lineshape: Lineshape) -> None:
    """A width that does not run has no l."""
    if spec.width_l is None:
        return
    other = build_lineshape(spec.lineshape, replace(vertex, L=vertex.L + 1), **_options(spec))
    if not isinstance(lineshape, Formula) or not isinstance(other, Formula) or other.expression == lineshape.expression:
        raise SpecError(
            f"the lineshape of {name!r} does not depend on an l",
            "remove width_l, or choose a lineshape with a running width",
            key=("width_l",),
        )


def _check_parameter_names(name: str, spec: ResonanceSpec, known: list[str]) -> None:
    given: list[tuple[tuple[str, ...], str]] = [(("parameters", key), key) for key in spec.parameters]
    given += [] if spec.width is None else [(("width",), "width")]  # a mass without a parameter may be needed by what decays to this state
    given += [(("float",), key) for key in spec.float_ if key != PDG]
    for path, key in given:
        if key not in known:
            raise no_parameter(name, spec.lineshape, key, known, path)


def no_parameter(name: str, lineshape: str, key: str, known: list[str], path: Path) -> SpecError:
    """The error for a parameter that a lineshape does not have."""
    has = f"its parameters are {', '.join(known)}" if known else "it has none"
    near = suggest(key, known) if known else "remove it, or choose another lineshape"
    return SpecError(f"lineshape {lineshape!r} of {name!r} has no parameter {key!r}: {has}", near or "remove it", key=path)


def _check_limits(name: str, parameter: LineshapeParameter, value: float) -> None:
    low, high = parameter.lower, parameter.upper
    if (low is not None and value < low) or (high is not None and value > high):
        limits = f"{'-∞' if low is None else low} to {'∞' if high is None else high}"
        raise SpecError(f"{parameter.name} of {name!r} is {value:g}, outside {limits}", "correct it", key=())


def _check_knots(name: str, spec: ResonanceSpec, lineshape: Lineshape, decay: Decay, leaves: tuple[int, ...]) -> None:
    """Every knot or bin of a model-independent wave must be where events can be: no event measures the others."""
    if not isinstance(lineshape, Basis) or not isinstance(lineshape.origin, Knots) or spec.off_shell:
        return
    low, high = decay.mass_range(leaves)
    beyond = [label for label, (start, end) in zip(lineshape.labels, lineshape.origin.ranges, strict=True) if end <= low or start >= high]
    if beyond:
        listed = ", ".join(beyond[:3]) + (", …" if len(beyond) > 3 else "")
        system = " ".join(decay.words(leaves))
        raise SpecError(
            f"{name!r} has {listed} where no event can be: the mass of {system} runs from {low:.4g} to {high:.4g} GeV",
            f"remove {'it' if len(beyond) == 1 else 'them'}; masses are in GeV",
            key=("options",),
        )


def check_on_shell(resonance: Resonance, spec: ResonanceSpec, decay: Decay, leaves: tuple[int, ...]) -> None:
    """A resonance must come near the range of invariant masses that its system can have."""
    mass = resonance.nominal_mass if resonance.mass is None else resonance.mass
    width = 0.0 if resonance.mass is None else resonance.width
    if mass is None or width is None or spec.off_shell or math.isnan(mass) or math.isnan(width):
        return
    low, high = decay.mass_range(leaves)
    reach = OFF_SHELL_WIDTHS * width
    if mass + reach >= low and mass - reach <= high:
        return
    system = " ".join(decay.words(leaves))
    side = "below threshold everywhere" if mass < low else "above the kinematic limit everywhere"
    fix = "remove it, correct mass and width, or say off_shell: true if its tail is meant"
    if mass > MEV_SUSPICION * high:
        fix = "masses and widths are in GeV: divide by 1000 if these are MeV"
    raise SpecError(
        f"{resonance.name!r} (mass {mass:g}, width {width:g} GeV) is {side} in {system}, whose mass runs from {low:.4g} to {high:.4g} GeV",
        fix,
        key=("mass",) if spec.mass is not None else (),
    )
