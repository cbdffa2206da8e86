"""The ``polarisation`` key: the spin density matrix of the parent, given, or with elements that are parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.relations import fixes
from ctpwa.config.schema import FLOAT, ElementSpec, ModelSpec
from ctpwa.decay.particle import Particle
from ctpwa.model.parameter import Parameter
from ctpwa.model.parameters import EDGE
from ctpwa.spin.density_matrix import VECTOR, DensityMatrix, check_element, element_names, independent_elements
from ctpwa.spin.fitted_polarisation import FittedPolarisation
from ctpwa.spin.polarisation import TOLERANCE, Polarisation
from ctpwa.spin.production import Production

SECTION = "polarisation"


def read_polarisation(spec: ModelSpec, parent: Particle, problems: Problems) -> tuple[Production | None, tuple[Parameter, ...]]:
    """How the parent was made, and the parameters of its density matrix; None if that became a problem."""
    given = spec.polarisation
    found: tuple[Production | None, tuple[Parameter, ...]] = (None, ())
    with problems.collect((SECTION,)):
        if given == FLOAT:
            given = {name: ElementSpec.model_validate({"float": True}) for name in independent_elements(parent)}
        if not isinstance(given, dict):
            return Polarisation.of(given, parent), ()
        if not given:
            raise SpecError("'polarisation' names no element", f"write one, such as  {element_names(parent)[0]}: float")
        before = len(problems.found)
        for name in given:
            with problems.collect((SECTION, name)):
                _check(name, given, parent, spec)
        if len(problems.found) > before:
            return None, ()
        equal = {name: own.value for name, own in given.items() if isinstance(own.value, str)}
        density = DensityMatrix.of(parent, [name for name in given if name not in equal], equal)
        parameters = []
        for name in density.names:
            with problems.collect((SECTION, name)):
                parameters.append(_parameter(name, given[name], density, parent))
        if len(problems.found) == before:
            found = FittedPolarisation(density), _checked(density, tuple(parameters), spec)
    return found


def _check(name: str, given: Mapping[str, ElementSpec], parent: Particle, spec: ModelSpec) -> None:
    """Refuse what is no element, or is equal to none."""
    own = given[name]
    try:
        check_element(name, parent)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, key=(), word=name) from None
    if name in spec.parameters:
        raise SpecError(f"{name!r} is the name of one of the 'parameters' as well", "rename that one", key=(), word=name)
    if not isinstance(own.value, str):
        return
    diagonal = [other for other in element_names(parent)[: parent.two_J + 1] if parent.two_J > 1]
    others = [other for other, entry in given.items() if other in diagonal and not isinstance(entry.value, str)]
    if name not in diagonal or own.value not in others:
        near = suggest(own.value, others) if name in diagonal and others else ""
        fix = (
            near
            if near.startswith("did")
            else "write a number, float, {value: 0.1, float: true}, or another diagonal element that it is equal to"
        )
        raise SpecError(f"{name!r} is {own.value!r}", fix)
    if own.float_ or own.limits:
        raise SpecError(f"{name!r} is equal to {own.value!r}, and has nothing of its own", f"give {own.value!r} limits, or let it float")


def _parameter(name: str, own: ElementSpec, density: DensityMatrix, parent: Particle) -> Parameter:
    lower, upper = density.range(name)
    low, high = own.limits or (lower, upper)
    if not low < high or low < lower or high > upper:
        raise SpecError(
            f"the limits of {name!r} are {low:g} and {high:g}", f"write [lower, upper] within {lower:g} to {upper:g}", key=("limits",)
        )
    usual = 0.0 if name in VECTOR or name.endswith((".re", ".im")) else 1 / (parent.two_J + 1)
    value = usual if own.value is None else float(own.value)
    if own.value is None and not low <= value <= high:
        value = (low + high) / 2
    if not low <= value <= high:
        raise SpecError(f"{name!r} is {value:g}", f"give a number from {low:g} to {high:g}")
    return Parameter(name, value, not own.float_, low, high)


def _checked(density: DensityMatrix, parameters: tuple[Parameter, ...], spec: ModelSpec) -> tuple[Parameter, ...]:
    """The parameters, if the density matrix is physical where a fit starts; one that floats alone has the limits of what is."""
    if any(name in spec.fit.relations for name in density.names):  # their values are known later
        return parameters
    at = {name: value for name, value in {**spec.fit.start, **fixes(spec.fit)}.items() if value is not None}
    free = [k for k, p in enumerate(parameters) if not p.fixed and p.name not in spec.fit.fix]
    p = np.array([at.get(own.name, own.value) for own in parameters])
    lowest, where = density.room(p), ", ".join(f"{name} = {value:g}" for name, value in zip(density.names, p, strict=True))
    if lowest < -TOLERANCE:
        raise SpecError(f"the density matrix is not positive: its lowest eigenvalue is {lowest:.3g} at {where}", _advice(density))
    if len(free) == 1:
        alone = parameters[free[0]]
        inner = _physical_range(density, p, free[0])
        natural = density.range(alone.name)
        low, high = (
            limit if limit == edge else limit - np.sign(edge - p[free[0]]) * EDGE for limit, edge in zip(inner, natural, strict=True)
        )
        narrower = replace(alone, lower=max(alone.lower, float(low)), upper=min(alone.upper, float(high)))
        if not narrower.lower < narrower.upper:
            raise SpecError(
                f"{alone.name!r} has no room: the density matrix is at the edge of what is physical at {where}", _advice(density)
            )
        parameters = tuple(narrower if own is alone else own for own in parameters)
    for k in free:
        lower, upper = density.range(parameters[k].name)
        p[k] = np.clip(p[k], max(parameters[k].lower, lower + EDGE), min(parameters[k].upper, upper - EDGE))
    if free and density.room(p) < TOLERANCE and _touched(density, p, free):
        raise SpecError(f"the density matrix is at the edge of what is physical where the fit starts: {where}", "start inside")
    return parameters


def _advice(density: DensityMatrix) -> str:
    return (
        "give a polarisation vector that is not longer than 1" if set(density.names) <= set(VECTOR) else "probabilities cannot be negative"
    )


def _touched(density: DensityMatrix, p: np.ndarray, free: list[int]) -> bool:
    """Whether slopes over parameters that float are infinite."""
    moving = np.isin(np.arange(len(p)), free)
    return not np.isfinite(density.derivatives(p, moving)[0]).all()


def _physical_range(density: DensityMatrix, p: np.ndarray, k: int) -> tuple[float, float]:
    """Between which values of one parameter the density matrix is physical; the numbers of its range if it is so up to them."""
    ends = []
    for edge in density.range(density.names[k]):
        inside, outside = p.copy(), p.copy()
        outside[k] = edge
        if density.room(outside) >= -TOLERANCE:
            ends.append(edge)
            continue
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if density.room(middle) >= 0 else (inside, middle)
        ends.append(float(inside[k]))
    return ends[0], ends[1]
