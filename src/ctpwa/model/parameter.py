"""A parameter of a model, the names of the parts of complex numbers, and what formulas and limits say about parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.relations import Relation, RelationError, make_relations

CARTESIAN, POLAR = "cartesian", "polar"
PARTS = {CARTESIAN: ("re", "im"), POLAR: ("abs", "phase")}
DELTA = "delta"  # the asymmetry Δ of a coupling, always cartesian: its phase would have no meaning at 0


@dataclass(frozen=True)
class Parameter:
    """One real number of the model.

    Attributes:
        name:          unique, e.g. ``phi(1680).mass`` or ``phi(1680)[K+ K-] (1,1)(1,0).re``
        value:         start value, or the value if fixed
        fixed:         whether it is no free parameter of the fit; formulas follow those that they are made of
        lower, upper:  limits; infinite if there is none
        formula:       how it follows from other parameters; empty if it stands on its own
    """

    name: str
    value: float
    fixed: bool = False
    lower: float = -np.inf
    upper: float = np.inf
    formula: str = ""


def asymmetry_name(owner: str) -> str:
    """The name of the Δ of a resonance or coupling."""
    return f"{owner}.{DELTA}"


def asymmetry_parts(name: str) -> tuple[str, str]:
    """Names of Re Δ and Im Δ."""
    return f"{name}.re", f"{name}.im"


def undetermined_parts(asymmetries: Collection[str], reference: str, held: Collection[str]) -> list[str]:
    """Parts of the Δ of the reference coupling that have to be fixed because nothing else determines them.

    Each sample is normalised by itself, so that only ratios of (1 − Δ)/(1 + Δ) are determined: if every coupling has a Δ, real and
    imaginary part of one of them must be known.

    Args:
        asymmetries:  names of the Δ of all couplings; empty for one that has none
        reference:    that of the reference coupling
        held:         parameters that are fixed, follow from others, or are constrained
    """
    if not all(asymmetries):
        return []
    every = [asymmetry_parts(name) for name in asymmetries]
    return [part for k, part in enumerate(asymmetry_parts(reference)) if not any(parts[k] in held for parts in every)]


def asymmetry_owner(part: str) -> str:
    """The resonance or coupling whose Δ a parameter is a part of; empty if it is none."""
    name, _, end = part.rpartition(".")
    owner, _, delta = name.rpartition(".")
    return owner if delta == DELTA and end in PARTS[CARTESIAN] else ""


def relations_of(parameters: Sequence[Parameter]) -> tuple[Relation, ...]:
    """The formulas among some parameters."""
    return make_relations({p.name: p.formula for p in parameters if p.formula}, (p.name for p in parameters))


def with_formulas(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Parameters with the values that their formulas have.

    Raises:
        RelationError: if a formula is wrong, or its value is outside the limits of the parameter
    """
    own = {p.name: p for p in parameters}
    for relation in relations_of(parameters):
        p = own[relation.name]
        value = relation.value(np.array([own[name].value for name in relation.arguments]))
        if not np.isfinite(within(p, value)):
            allowed = f"{p.lower:g} to {p.upper:g}" if np.isfinite([p.lower, p.upper]).any() else "finite numbers"
            error = RelationError(f"{p.name!r} is {p.formula} = {value:g}, outside {allowed}", "correct the formula, or the values in it")
            error.parameter = p.name
            raise error
        own[relation.name] = replace(p, value=value)
    return tuple(own.values())


def within(parameter: Parameter, value: float) -> float:
    """The value of a formula; NaN outside the limits of its parameter, where a fit must not go."""
    return value if parameter.lower <= value <= parameter.upper else np.nan


def sharing_limits(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Parameters that others are equal to have their limits as well."""
    own = {p.name: p for p in parameters}
    for relation in relations_of(parameters):
        source, p = relation.same_as, own[relation.name]
        if source and not own[source].fixed:
            own[source] = limited(own[source], {source: (p.lower, p.upper)})
    return tuple(own.values())


def check_name(name: str, known: Sequence[str], representation: str) -> None:
    """Refuse a name that no parameter has; it may be one of couplings in the other representation."""
    if name in known:
        return
    number, _, part = name.rpartition(".")
    other = POLAR if representation == CARTESIAN else CARTESIAN
    if part in PARTS[other] and f"{number}.{PARTS[representation][0]}" in known:
        raise PhysicsError(f"unknown parameter {name!r}: couplings are {representation}", f"write  representation: {other}  under 'fit'")
    raise PhysicsError(f"unknown parameter {name!r}", suggest(name, known))


def check_names(parameters: Sequence[Parameter], names: Sequence[str]) -> None:
    """Refuse names that no parameter has."""
    known = {p.name for p in parameters}
    for name in names:
        if name not in known:
            raise PhysicsError(f"unknown parameter {name!r}", suggest(name, known))


def as_cartesian(parts: Sequence[float] | np.ndarray, representation: str) -> tuple[float, float]:
    """Real and imaginary part from the two parts of a complex number."""
    a, b = map(float, parts)
    return (a, b) if representation == CARTESIAN else (a * np.cos(b), a * np.sin(b))


def limited(parameter: Parameter, limits: Mapping[str, tuple[float, float]] | None) -> Parameter:
    """A parameter with the narrower one of its own and the given limits."""
    if limits is None or parameter.name not in limits:
        return parameter
    lower, upper = limits[parameter.name]
    if not lower < upper:
        raise PhysicsError(f"the limits of {parameter.name!r} are {lower:g} and {upper:g}", "give a lower and a higher number")
    low, high = max(lower, parameter.lower), min(upper, parameter.upper)
    if not low < high:
        own = f"{parameter.lower:g} to {parameter.upper:g}"
        raise PhysicsError(f"the limits of {parameter.name!r}, {lower:g} to {upper:g}, are outside what makes sense: {own}", "change them")
    return replace(parameter, lower=low, upper=high)


def parts_of(z: complex, representation: str) -> tuple[float, float]:
    """The two parts of a complex number."""
    z = complex(z)
    return (z.real, z.imag) if representation == CARTESIAN else (abs(z), float(np.angle(z)))
