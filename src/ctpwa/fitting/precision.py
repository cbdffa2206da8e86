"""What spin amplitudes in single precision change in a fit: differences to double precision, measured at its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.samples.precision import MIXED

LARGE = 0.01  # of an uncertainty


@dataclass(frozen=True)
class PrecisionBias:
    """How a fit in mixed precision differs from one in double precision.

    Attributes:
        nll:        −ln L in double precision minus that of the fit, at the same point
        shifts:     of every parameter to the minimum in double precision, −H⁻¹ ∂(difference of −ln L)
        largest:    the largest of them in uncertainties; 0 if no parameter has one
        parameter:  which one it is
    """

    nll: float
    shifts: tuple[float, ...]
    largest: float
    parameter: str

    def __str__(self) -> str:
        return (
            f"mixed precision: {self.nll:+.1e} in -ln L in double precision,"
            f" largest shift of a parameter {self.largest:.1e} of its uncertainty" + (f" ({self.parameter})" if self.parameter else "")
        )

    @property
    def warning(self) -> str:
        """A remark about it; may be empty."""
        if self.largest <= LARGE:
            return ""
        return f"mixed precision shifts {self.parameter} by {100 * self.largest:.2g} % of its uncertainty; fit again with precision: double"


def measure_bias(
    likelihood: Likelihood | LikelihoodSum, x: np.ndarray, value: float, gradient: np.ndarray, inverse: np.ndarray, errors: np.ndarray
) -> PrecisionBias | None:
    """Compare with double precision, for which spin amplitudes are computed again; None if the fit was in double precision.

    Where the minimiser stopped does not count: the difference of the gradients shifts the minimum, not what is left of them.

    Args:
        likelihood:       what was fitted
        x:                where the fit ended
        value, gradient:  of −ln L there
        inverse:          H⁻¹ there; 0 for parameters at a limit
        errors:           uncertainties; NaN or 0 where there is none
    """
    if likelihood.precision != MIXED:
        return None
    exact_value, exact_gradient = likelihood.in_double().value_and_grad(x)
    shifts = -inverse @ (exact_gradient - gradient)
    relative = np.abs(shifts) / np.where(errors > 0, errors, np.inf)
    most = int(np.argmax(relative))
    largest, name = (float(relative[most]), likelihood.names[most]) if errors[most] > 0 else (0.0, "")
    return PrecisionBias(float(exact_value - value), tuple(map(float, shifts)), largest, name)
