"""The parameters of a model, from its couplings and lineshapes and from what a user says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.parameter import CARTESIAN, PARTS, Parameter, check_name, limited, parts_of, sharing_limits, with_formulas
from ctpwa.model.parameters import Parameters, Product
from ctpwa.spin.production import FeedFactors


def make_parameters(
    numbers: Sequence[str],
    couplings: Sequence[Product],
    theta: Sequence[Parameter],
    *,
    representation: str = CARTESIAN,
    start_numbers: Mapping[str, complex] | None = None,
    values: Mapping[str, float] | None = None,
    fixed: Sequence[str] = (),
    fixed_numbers: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    formulas: Mapping[str, str] | None = None,
    sign: int = 1,
    feeds: FeedFactors | None = None,
) -> Parameters:
    """The parameters of a model.

    Args:
        numbers:         names of the complex numbers
        couplings:       each coupling as a product of numbers
        theta:           lineshape parameters that may float
        representation:  cartesian or polar
        start_numbers:   start values of the complex numbers, where they are not 1
        values:          start values by parameter name, where they are not the defaults
        fixed:           names of parameters that are fixed
        fixed_numbers:   complex numbers that are fixed, both parts
        limits:          free parameter → lower and upper limit, within those that it has anyway
        formulas:        parts of complex numbers that are formulas of other parameters, by name
        sign:            in front of the asymmetries of couplings
        feeds:           what multiplies couplings in the feeds of the production
    """
    if representation not in PARTS:
        raise PhysicsError(f"unknown representation {representation!r} of couplings", suggest(representation, PARTS))
    fixed = [*fixed, *(f"{name}.{part}" for name in fixed_numbers for part in PARTS[representation])]
    complex_parameters = [
        Parameter(f"{name}.{part}", start)
        for name in numbers
        for part, start in zip(PARTS[representation], parts_of((start_numbers or {}).get(name, 1.0), representation), strict=True)
    ]
    every = [*complex_parameters, *theta]
    own = [replace(p, value=(values or {}).get(p.name, p.value), fixed=p.fixed or p.name in fixed) for p in every]
    for name in [*(values or {}), *fixed, *(formulas or {})]:
        check_name(name, [p.name for p in own], representation)
    for name in formulas or {}:
        if name in fixed:
            raise PhysicsError(
                f"{name!r} is fixed, and cannot be a formula as well", "leave one of them out, or choose another reference wave"
            )
    own = list(with_formulas([replace(p, fixed=True, formula=formulas[p.name]) if formulas and p.name in formulas else p for p in own]))
    free = [p.name for p in own if not p.fixed]
    for name in limits or {}:
        if name not in free:
            raise PhysicsError(f"limits of {name!r}, which is not a free parameter", suggest(name, free))
    return Parameters(representation, tuple(numbers), tuple(couplings), sharing_limits([limited(p, limits) for p in own]), sign, feeds)
