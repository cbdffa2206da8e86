"""CP asymmetries that follow from couplings c(1 + Δ) of a decay and c(1 − Δ) of its charge conjugate, with errors from the full covariance.

    A = (|c̄|² − |c|²)/(|c̄|² + |c|²) = −2 Re Δ/(1 + |Δ|²),     φ = arg(c̄/c) = arg((1 − Δ)/(1 + Δ)),     A_f = (f̄ − f)/(f̄ + f)

f and f̄ are fractions in the decay and in its conjugate, over the same events, so that A_f = 0 exactly where all Δ are 0.
What single phase-space events do to these integrals (``direct_effect.py``) cancels there, and is not counted elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ctpwa.fitting.fractions import FractionCalculator
from ctpwa.model.parameter import asymmetry_owner, asymmetry_parts
from ctpwa.model.parameters import Parameters


@dataclass(frozen=True)
class CouplingAsymmetry:
    """The asymmetry of a coupling, or of all couplings of a resonance; errors are None where something in it has none.

    Attributes:
        name:         of the resonance or coupling
        re, im:       Δ
        value:        A = (|c̄|² − |c|²)/(|c̄|² + |c|²)
        error:        its standard deviation
        phase:        arg(c̄/c), in radians
        phase_error:  its standard deviation
    """

    name: str
    re: float
    im: float
    value: float
    error: float | None
    phase: float
    phase_error: float | None


@dataclass(frozen=True)
class CPAsymmetries:
    """All asymmetries of a fit. A bar is the charge conjugate: they are positive if it has more.

    Attributes:
        couplings:  one for each Δ
        over:       what fractions were integrated over: ``phase space`` or ``truth``
        fractions:  ``resonances`` and ``waves`` → name → (f̄ − f)/(f̄ + f) and its standard deviation
    """

    couplings: tuple[CouplingAsymmetry, ...]
    over: str
    fractions: Mapping[str, Mapping[str, tuple[float, float]]]


def asymmetry(delta: complex) -> tuple[float, float]:
    """A and arg(c̄/c) at Δ."""
    return -2 * delta.real / (1 + abs(delta) ** 2), float(np.angle((1 - delta) * (1 + delta).conjugate()))


def coupling_asymmetries(
    parameters: Parameters, x: np.ndarray, covariance: np.ndarray, undetermined: Collection[str] = ()
) -> tuple[CouplingAsymmetry, ...]:
    """The asymmetries of all couplings that have one.

    Args:
        parameters:    of a likelihood
        x:             its free parameters
        covariance:    of them
        undetermined:  those that have no error
    """
    place = {p.name: k for k, p in enumerate(parameters.all)}
    values, slopes = parameters.full(x), parameters.slopes(x)
    lost = np.array([name in undetermined for name in parameters.names], dtype=bool)
    found = []
    for name in dict.fromkeys(product.asymmetry for product in parameters.couplings if product.asymmetry):
        re, im = (place[part] for part in asymmetry_parts(name))
        delta, d_delta = complex(values[re], values[im]), slopes[re] + 1j * slopes[im]
        known = not (lost & (d_delta != 0)).any()
        size = 1 + abs(delta) ** 2
        d_value = -2 * d_delta.real / size + 4 * delta.real * (delta.conjugate() * d_delta).real / size**2
        with np.errstate(divide="ignore", invalid="ignore"):  # at Δ = ±1 one of the couplings is 0 and has no phase
            d_phase = np.where(d_delta == 0, 0, -2 * d_delta / (1 - delta**2)).imag
        value, phase = asymmetry(delta)
        errors = (_error(d, covariance) if known else None for d in (d_value, d_phase))
        owner = asymmetry_owner(asymmetry_parts(name)[0])
        found.append(CouplingAsymmetry(owner, delta.real, delta.imag, value, next(errors), phase, next(errors)))
    return tuple(found)


def fraction_asymmetries(
    calculator: FractionCalculator, groups: Mapping[str, list[int]], covariance: np.ndarray
) -> dict[str, tuple[float, float]]:
    """A_f of groups of waves with standard deviations: ∂A_f = 2 (f ∂f̄ − f̄ ∂f)/(f + f̄)².

    Args:
        calculator:  fractions of a likelihood, whichever of the two decays it is of
        groups:      name → indices of waves
        covariance:  of its free parameters
    """
    (f, df), (g, dg) = (calculator.signed(sign).values_and_slopes(groups) for sign in (1, -1))
    total = f + g
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(total > 0, (g - f) / total, 0.0)
        slopes = np.where(total[:, None] > 0, 2 * (f[:, None] * dg - g[:, None] * df) / total[:, None] ** 2, 0.0)
    errors = [_error(slope, covariance) for slope in slopes]
    return {name: (float(value), float(error or 0.0)) for name, value, error in zip(groups, values, errors, strict=True)}


def _error(slope: np.ndarray, covariance: np.ndarray) -> float | None:
    variance = float(slope @ covariance @ slope)
    return float(np.sqrt(max(variance, 0.0))) if np.isfinite(variance) else None
