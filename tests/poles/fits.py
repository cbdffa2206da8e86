"""Results of fits that nobody made: a model, values of its free parameters and their covariance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import ctpwa
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.result import FittedCoupling, FittedParameter
from fitting.made_up import make_result


def fitted(
    model: ctpwa.Model,
    free: Mapping[str, float],
    covariance: np.ndarray,
    couplings: Mapping[str, complex] | None = None,
    lost: tuple[str, ...] = (),
    **changes: object,
) -> ctpwa.FitResult:
    """A result with these free parameters; all other lineshape parameters are fixed at the values of the model."""
    channels = model_channels(model)
    sigma = np.sqrt(np.diag(covariance))
    parameters = tuple(
        FittedParameter(name, value, None if name in lost else float(e), value)
        for (name, value), e in zip(free.items(), sigma, strict=True)
    )
    c = {name: complex((couplings or {}).get(name, 1.0)) for name in channels.couplings}
    return make_result(
        parameters=parameters,
        covariance=np.asarray(covariance, dtype=float),
        couplings=tuple(FittedCoupling(name, z.real, z.imag, abs(z), None, float(np.angle(z)), None) for name, z in c.items()),
        fixed={p.name: p.value for p in channels.theta if p.name not in free},
        **({"settings": {}, "minima": (), "fractions": ()} | changes),
    )
