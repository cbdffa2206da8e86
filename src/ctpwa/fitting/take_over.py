"""What other fits and toys take over from a result: start values, perhaps of another model, and the truth."""

from __future__ import annotations

from dataclasses import dataclass

from ctpwa.base.errors import PhysicsError
from ctpwa.base.words import counted
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.likelihood.values import ModelValues, free_parameters
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.result import FitResult
from ctpwa.model.couplings import VERTEX
from ctpwa.model.model import Model
from ctpwa.model.parameter import PARTS, asymmetry_owner


@dataclass(frozen=True)
class TakenOver:
    """What a likelihood takes over from a result.

    Attributes:
        values:    start values by name, of those free parameters for which the result has something to say
        taken:     couplings and lineshape parameters that are in both
        not_there: those of the likelihood that the result does not have
        not_here:  those of the result that do not float in the likelihood
    """

    values: dict[str, float]
    taken: tuple[str, ...]
    not_there: tuple[str, ...]
    not_here: tuple[str, ...]

    def __str__(self) -> str:
        parts = [counted(len(self.taken), "coupling or parameter", "couplings and parameters")]
        parts += [f"not in it: {', '.join(self.not_there)}"] if self.not_there else []
        parts += [f"not fitted here: {', '.join(self.not_here)}"] if self.not_here else []
        return "; ".join(parts)


def take_over(likelihood: Likelihood | LikelihoodSum, result: FitResult) -> TakenOver:
    """Couplings and lineshape parameters of a result, by name; reference wave and representation may be others.

    Args:
        likelihood:  what is going to be fitted
        result:      what was found before

    Raises:
        PhysicsError: if they have nothing in common
    """
    terms = likelihood.terms if isinstance(likelihood, LikelihoodSum) else (likelihood,)
    tied = set.intersection(*(set(term.coupling_map.tied) for term in terms))
    theta = {name for term in terms for name in term.parameters.theta_names}
    couplings = dict.fromkeys(name for term in terms for name in term.coupling_names if name not in tied)
    floating = [name for name in likelihood.names if name in theta]

    there = {c.name: complex(c.re, c.im) for c in result.couplings}
    values = result.values
    own_couplings = {name: value for name, value in there.items() if name in couplings}
    own = {name: values[name] for name in floating if name in values}
    taken = (*own_couplings, *own)
    if not taken:
        raise PhysicsError(
            "no coupling and no parameter of the result is fitted here",
            f"take a result with the same names; it has {', '.join([*there][:3])} …",
        )
    start = dict(zip(likelihood.names, free_parameters(likelihood, own_couplings, own, strict=False).tolist(), strict=True))
    products = any(len(product.numbers) > 1 for term in terms for product in term.coupling_map.products)
    known = {name for name in start if name in own or (name not in theta and (products or _number(name) in own_couplings))}
    lineshapes = [p.name for p in result.parameters if not of_coupling(p.name, result)]
    return TakenOver(
        {name: value for name, value in start.items() if name in known},
        taken,
        tuple(name for name in (*couplings, *floating) if name not in taken),
        tuple(name for name in (*there, *lineshapes) if name not in taken and name not in tied),
    )


def fitted_values(result: FitResult, model: Model) -> ModelValues:
    """Couplings and lineshape parameters of a model as they were fitted, fixed ones included.

    Raises:
        PhysicsError: if the result does not have all of them, or has couplings that the model does not know
    """
    channels = model_channels(model)
    couplings = {c.name: complex(c.re, c.im) for c in result.couplings}
    values = result.values
    names = [p.name for p in channels.theta]
    missing = [name for name in channels.couplings if name not in couplings] + [name for name in names if name not in values]
    unknown = [name for name in couplings if name not in channels.couplings]
    if missing or unknown:
        what = f"the result has no {missing[0]!r}" if missing else f"the model has no {unknown[0]!r}"
        raise PhysicsError(f"{what}: it is the result of another model", "take the model that was fitted")
    return ModelValues(couplings, {name: values[name] for name in names})


def _number(name: str) -> str:
    """The complex number that a parameter is a part of."""
    return name.rpartition(".")[0]


def of_coupling(name: str, result: FitResult) -> bool:
    """Whether a free parameter of a result is part of a coupling, or of a vertex that couplings are products of."""
    if asymmetry_owner(name):
        return False
    if result.settings.get("couplings") == VERTEX:
        return name.rpartition(".")[2] in {part for parts in PARTS.values() for part in parts}
    return _number(name) in {c.name for c in result.couplings}
