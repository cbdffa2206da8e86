"""What a vector of free parameters means: couplings and lineshape parameters by name, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum

AGREEMENT = 1e-9  # relative difference of a coupling that two likelihoods of a sum share


@dataclass(frozen=True)
class ModelValues:
    """A point in the space of a model; what ``ModelIntensity`` and ``generate_toy`` take.

    Attributes:
        couplings:   complex couplings by name, without asymmetries
        parameters:  lineshape parameters by name, fixed ones included, and the parts of asymmetries
    """

    couplings: Mapping[str, complex]
    parameters: Mapping[str, float] = field(default_factory=dict)


def model_values(likelihood: Likelihood | LikelihoodSum, x: Any) -> ModelValues:
    """Couplings and lineshape parameters at the free parameters ``x`` of a likelihood."""
    vector = np.asarray(x, dtype=float)
    if vector.shape != (len(likelihood.names),):
        raise PhysicsError(f"parameters have shape {vector.shape}; this likelihood has {len(likelihood.names)}", "see .names")
    at = dict(zip(likelihood.names, vector, strict=True))
    couplings: dict[str, complex] = {}
    parameters: dict[str, float] = {}
    for term in _terms(likelihood):
        c, theta = term.parameters.bare.native(np.array([at[name] for name in term.names]))
        _merge(couplings, term.coupling_names, c.tolist())
        _merge(parameters, term.parameters.theta_names, theta.tolist())
    return ModelValues(couplings, parameters)


def free_parameters(
    likelihood: Likelihood | LikelihoodSum,
    couplings: Mapping[str, complex] | None = None,
    parameters: Mapping[str, float] | None = None,
    *,
    strict: bool = True,
) -> np.ndarray:
    """The free parameters of a likelihood at which it has these couplings and lineshape parameters.

    Couplings are divided by that of the reference wave, which is fixed to 1, and sets that do not interfere with it are turned so that the
    phases of their own references are 0. What is not given has its start value.

    Args:
        likelihood:  one likelihood or a sum of them
        couplings:   complex couplings by name
        parameters:  lineshape parameters by name
        strict:      refuse values that differ from those of fixed parameters and of formulas; else these are not taken
    """
    couplings, parameters = couplings or {}, parameters or {}
    terms = _terms(likelihood)
    _check_names("coupling", couplings, {name for term in terms for name in term.coupling_names})
    _check_names("lineshape parameter", parameters, {name for term in terms for name in term.parameters.theta_names})
    at: dict[str, float] = {}
    numbers = [_numbers(term, couplings) for term in terms]
    angles = terms[0].phases.towards_zero({name: z for own in reversed(numbers) for name, z in own.items()}) if terms else {}
    for term, z in zip(terms, numbers, strict=True):
        own = {name: value for name, value in parameters.items() if name in term.parameters.theta_names}
        _merge(at, term.names, term.parameters.free_from(term.phases.after(z, angles), own, strict=strict).tolist())
    return np.array([at[name] for name in likelihood.names])


def _numbers(term: Likelihood, given: Mapping[str, complex]) -> dict[str, complex]:
    """The fitted numbers at given couplings; couplings that are not given are where the likelihood starts."""
    own = {name: value for name, value in given.items() if name in term.coupling_names}
    if not own:
        return {}
    start = {name: value for name, value in term.model.coupling_values.items() if name not in term.coupling_map.tied}
    return term.coupling_map.solve(term.coupling_names, start | own)


def _terms(likelihood: Likelihood | LikelihoodSum) -> tuple[Likelihood, ...]:
    return likelihood.terms if isinstance(likelihood, LikelihoodSum) else (likelihood,)


def _check_names(what: str, given: Iterable[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise PhysicsError(f"no {what} is called {name!r}", suggest(name, known))


def _merge(into: dict[str, Any], names: Sequence[str], values: Sequence[Any]) -> None:
    """Add values by name; what several likelihoods share must be the same in all of them."""
    for name, value in zip(names, values, strict=True):
        other = into.setdefault(name, value)
        if abs(other - value) > AGREEMENT * abs(value):
            raise PhysicsError(
                f"{name!r} would be {other:.6g} in one likelihood of the sum and {value:.6g} in another",
                "give all of them the same reference wave",
            )
