"""What the finite phase-space sample adds to the errors of a fit, and whether there are enough of its events.

    V = H⁻¹ (S_data + S) H⁻¹,     S: how the gradient of W ln σ scatters with the sample

That is linear in the fluctuations of σ, and holds while they move nothing by more than a tenth. The integral of a wave is known to
1/√N_eff and its coupling |c| to half of that: a tenth takes ``LEAST`` effective events, in total and of every wave that matters. The
inverse of a matrix of n parameters that comes from N_eff events is too large by n/N_eff, errors by half of that: a tenth takes
``PER_PARAMETER`` n of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.base.words import counted
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.model.short_names import short_names

LEAST = 25  # effective events, in total and of each wave that matters
PER_PARAMETER = 5  # effective events for each free parameter
ENOUGH = 10  # of them: fewer are worth a remark
MATTERS = 0.01  # fraction of a wave that matters
LARGE = 0.1  # of an error: more than that is worth a remark
MORE = "use more phase-space events, or events that follow the intensity, with weights"


@dataclass(frozen=True)
class SimulationPart:
    """What finite phase-space samples do to a fit.

    Attributes:
        covariance:  what they add to that of the free parameters, H⁻¹ S H⁻¹
        sizes:       their effective sizes, one for each data set
    """

    covariance: np.ndarray
    sizes: tuple[NormalisationSize, ...]

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations of the free parameters because of it alone."""
        return np.sqrt(np.diag(self.covariance).clip(min=0))


def advice_on_errors(names: Sequence[str], errors: np.ndarray, simulation: np.ndarray) -> list[str]:
    """A remark if the simulation adds more than a tenth to an error, with how many events more there should be.

    Args:
        names:       of the free parameters
        errors:      their standard deviations; NaN where there is none
        simulation:  the part of it that is due to the simulation
    """
    statistical2 = errors**2 - simulation**2
    ratio2 = np.where(statistical2 > 0, simulation**2 / np.where(statistical2 > 0, statistical2, 1.0), 0.0)  # comparing with NaN is False
    most = int(np.argmax(ratio2))
    added = math.sqrt(1 + ratio2[most]) - 1
    if added <= LARGE:
        return []
    times = ratio2[most] / ((1 + LARGE) ** 2 - 1)
    return [
        f"the phase-space sample adds up to {100 * added:.0f} % to the errors ({names[most]});"
        f" {_rounded_up(times)} times as many events would make that less than a tenth"
    ]


def too_few_events(size: NormalisationSize, n_free: int, fractions: Sequence[float], data_set: str = "") -> list[str]:
    """Why the errors of a fit cannot be trusted, if too few phase-space events count; empty if there are enough.

    Args:
        size:       effective sizes of the sample
        n_free:     number of free parameters
        fractions:  of the waves, in the order of ``size.waves``
        data_set:   its name, if there are several
    """
    of = f" of {data_set}" if data_set else ""
    if size.total < max(LEAST, PER_PARAMETER * n_free):
        return [
            f"only {size.total:.3g} of {size.n_events} phase-space events{of} count in the normalisation, too few for errors of"
            f" {counted(n_free, 'parameter')}: {MORE}"
        ]
    few = [(own, name) for (name, own), fraction in zip(size.waves.items(), fractions, strict=True) if fraction >= MATTERS and own < LEAST]
    if not few:
        return []
    least, name = min(few)
    return [f"only {least:.3g} of {size.n_events} phase-space events{of} count in the integral of {name}, too few for its errors: {MORE}"]


def few_for_parameters(size: NormalisationSize, n_free: int, data_set: str = "") -> list[str]:
    """A remark if fewer than ``ENOUGH`` effective events for each free parameter make errors too large by n/2N_eff.

    Args:
        size:      effective sizes of the sample
        n_free:    number of free parameters
        data_set:  its name, if there are several
    """
    if size.total >= ENOUGH * n_free:
        return []
    of = f" of {data_set}" if data_set else ""
    return [
        f"{size.total:.3g} of {size.n_events} phase-space events{of} count, fewer than {ENOUGH} for each of"
        f" {counted(n_free, 'free parameter')}: errors may be {50 * n_free / size.total:.0f} % too large; {MORE}"
    ]


def size_line(size: NormalisationSize, data_set: str = "") -> str:
    """Effective sizes in one line: of the whole intensity, and of the wave that has the fewest."""
    of = f" of {data_set}" if data_set else ""
    least = min(size.waves, key=lambda name: size.waves[name])
    fewest = f"{size.waves[least]:.4g} for {short_names(size.waves)[least]}"
    return f"normalisation{of}: {size.total:.4g} of {size.n_events} phase-space events count, {fewest}"


def _rounded_up(times: float) -> str:
    """With two digits, and never too small."""
    step = 10.0 ** (math.floor(math.log10(times)) - 1)
    return f"{math.ceil(times / step - 1e-9) * step:.2g}" if times < 1e6 else f"{times:.1e}"
