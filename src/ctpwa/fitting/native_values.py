"""From the free parameters of a result back to couplings and lineshape parameters with their derivatives, without any sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.engine.plan.channels import ModelChannels
from ctpwa.fitting.result import FitResult
from ctpwa.model.amounts import is_amount
from ctpwa.model.couplings import VERTEX, WAVE, Ties, map_couplings
from ctpwa.model.make_parameters import make_parameters
from ctpwa.model.model import Model
from ctpwa.model.parameter import CARTESIAN, PARTS, POLAR, Parameter
from ctpwa.model.parameters import Parameters

AGREEMENT = 1e-9  # relative difference of couplings of the result and those that its free parameters make


def fitted_parameters(result: FitResult, model: Model, channels: ModelChannels) -> Parameters:
    """The map (x → couplings without asymmetries, lineshape parameters) of a fit; its ``names`` are those of the result, in an order of
    their own.

    How couplings were parametrised is read off the names of the parameters; ties are in the settings of the result.

    Raises:
        PhysicsError: if the free parameters do not make the couplings of the result
    """
    known = {p.name: p.value for p in result.parameters} | dict(result.fixed)
    representation = POLAR if any(f"{name}.abs" in known for name in _owners(known)) else CARTESIAN
    part = PARTS[representation][0]
    per_wave = any(f"{name}.{part}" in known for name in channels.couplings)
    ties = _ties(result)
    mapped = map_couplings(model, channels.couplings, WAVE if per_wave else VERTEX, ties if per_wave else {}, None)
    lineshapes = {p.name for p in channels.theta}
    amounts = [Parameter(name, 0.0) for name in dict.fromkeys([*known, *model.relations]) if name not in lineshapes and is_amount(name)]
    theta = [replace(p, fixed=p.name not in result.names) for p in (*channels.theta, *amounts)]
    try:
        parameters = make_parameters(
            mapped.numbers,
            mapped.products,
            theta,
            representation=representation,
            values=known,
            fixed=[n for n in known if n in result.fixed and n not in model.relations],  # formulas of fixed ones are among both
            formulas={name: text for name, text in model.relations.items() if name not in lineshapes},
            sign=0,
        )
    except PhysicsError as problem:
        raise _other_model(problem.what) from None
    if set(parameters.names) != set(result.names):
        missing = sorted(set(parameters.names) ^ set(result.names))
        raise _other_model(f"the free parameter {missing[0]!r} is not in both")
    c, _ = parameters.native(ordered(result, parameters))
    found = {coupling.name: complex(coupling.re, coupling.im) for coupling in result.couplings}
    for name, value in zip(channels.couplings, c, strict=True):
        if name not in found or abs(found[name] - value) > AGREEMENT * max(abs(value), 1e-300):
            raise _other_model(f"the coupling {name!r} does not follow from the free parameters")
    return parameters


def ordered(result: FitResult, parameters: Parameters) -> np.ndarray:
    """The values of a result in the order of the parameters."""
    return np.array([result.value(name) for name in parameters.names])


def ordered_covariance(result: FitResult, parameters: Parameters) -> np.ndarray:
    """The covariance of a result in the order of the parameters."""
    index = [result.names.index(name) for name in parameters.names]
    return result.covariance[np.ix_(index, index)]


def fitted_couplings(result: FitResult, model: Model, channels: ModelChannels) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names and values of the couplings of a result, and the covariance of all their real, then all their imaginary parts.

    Raises:
        PhysicsError: as ``fitted_parameters``
    """
    parameters = fitted_parameters(result, model, channels)
    x, n = ordered(result, parameters), len(channels.couplings)
    J = parameters.jacobian(x)[: 2 * n]
    return channels.couplings, parameters.native(x)[0], J @ ordered_covariance(result, parameters) @ J.T


def _owners(names: dict[str, float]) -> set[str]:
    return {name.rpartition(".")[0] for name in names}


def _ties(result: FitResult) -> Ties:
    """Ties of the settings, whose factors are texts in a file."""
    given = result.settings.get("ties") or {}
    return {name: (str(other), complex(factor)) for name, (other, factor) in given.items()}


def _other_model(what: str) -> PhysicsError:
    return PhysicsError(
        f"{what}: the result does not fit the model",
        "take the model that was fitted; couplings that were tied in Python need  result.with_origin(settings={'ties': …})",
    )
