"""Couplings in units in which |c|² is the number of events of a wave, with their covariance: what an extended likelihood would fit.

A likelihood of shapes leaves the common size of all couplings open; the number of signal events N fixes it:

    c̃_a = s c_a √B_aa,     s² = N W_truth / (W c† A c),     A, B = ∫ over accepted phase space and over truth, W = Σ w of each

−ln L of shapes plus that of a Poisson number N is −Σ ln I + (1/n_generated) Σ_accepted I in the couplings s c, and a minimum has the same
inverse Hessian in whatever parameters it is written: the covariance of c̃ is exact where that of the fit is.

Events of a group of waves are n = N_all f, f = c̃† Q c̃ / c̃† A c̃. To first order their error vanishes where the group does, so errors are
of second order in the couplings where it is near 0 (``coupling_forms.py``).

V counts how a finite phase-space sample moves parameters. What its events do to the integrals here (``direct_effect.py``) is not counted:
errors of numbers of events are too large where hardly more simulated events than data count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.samples.own_events import SampleInput
from ctpwa.fitting.coupling_forms import CouplingSpread, FormOfGroup, form_of
from ctpwa.fitting.fractions import SignalEvents

Number = tuple[float, float]  # value and standard deviation


@dataclass(frozen=True, eq=False)
class EventCouplings:
    """Couplings in events.

    Attributes:
        names:       of the couplings
        values:      c̃, [coupling]
        covariance:  of all Re c̃, then of all Im c̃
        events:      name of a group of waves → its events with standard deviation
        efficiency:  accepted events of this intensity divided by all
        sizes:       √(Σ w |A|²) of every wave with coupling 1 over all generated events, [coupling]: c̃ divided by it does not depend on how
                     much phase space there is
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    events: Mapping[str, Number]
    efficiency: float
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations of Re and Im, [2, coupling]."""
        return np.sqrt(np.diag(self.covariance).clip(min=0)).reshape(2, -1)


def event_couplings(
    likelihood: Likelihood,
    x: np.ndarray,
    covariance: np.ndarray,
    groups: Mapping[str, Sequence[int]],
    truth: SampleInput | None = None,
    over_truth: WaveIntegrals | None = None,
) -> EventCouplings:
    """Couplings of a fit in events.

    Args:
        likelihood:  what was fitted
        x:           where it ended
        covariance:  of the free parameters
        groups:      name → indices of waves, whose events are counted together
        truth:       all generated events, of which the phase-space sample has those that are accepted; default: all are accepted
        over_truth:  integrals over ``truth`` at this point, if they are known
    """
    if likelihood.plan.n_couplings != len(likelihood.coupling_names):
        raise PhysicsError("couplings cannot be counted in events if a polarisation is fitted as well", "fix the polarisation")
    accepted = likelihood.integrals(x)
    if truth is not None and over_truth is None:
        over_truth = likelihood.integrals(x, truth)
    everywhere = accepted if over_truth is None else over_truth
    parameters, n = likelihood.parameters, len(likelihood.coupling_names)
    c, J = parameters.native(x)[0], parameters.jacobian(x)
    dc, dtheta = J[:n] + 1j * J[n : 2 * n], J[2 * n :][likelihood.floating_order]
    signal = SignalEvents.of(likelihood, x)

    A = form_of(accepted, n)
    sigma, d_sigma = _quadratic(A, c, dc, dtheta)
    ratio = everywhere.weight / accepted.weight
    s2 = signal.value * ratio / sigma
    d_ln_s = (signal.slope / signal.value - d_sigma / sigma) / 2
    B, dB = form_of(everywhere, n)
    size = np.sqrt(np.diag(B).real.clip(min=0))
    known = np.where(size > 0, size, 1.0)
    d_ln_size = (np.diagonal(dB, axis1=1, axis2=2).real / (2 * known**2)).T @ dtheta if len(dB) else 0.0
    values = np.sqrt(s2) * size * c
    slopes = values[:, None] * (d_ln_s + d_ln_size) + np.sqrt(s2) * size[:, None] * dc
    real = np.concatenate([slopes.real, slopes.imag])
    along = np.concatenate([values.real, values.imag]) / (2 * signal.value)
    C = real @ covariance @ real.T + signal.variance * np.outer(along, along)

    spread = CouplingSpread.of(A[0] / np.outer(known, known), values, slopes, covariance, likelihood.amplitude.sets)
    added = np.diag(spread.second_order(FormOfGroup.of(everywhere, waves, known) for waves in groups.values()))
    events = {}
    for (name, waves), second in zip(groups.items(), added, strict=True):
        q, d_q = _quadratic(form_of(everywhere, n, waves), c, dc, dtheta)
        slope = s2 * (d_q + 2 * q * d_ln_s)
        variance = slope @ covariance @ slope + (s2 * q / signal.value) ** 2 * signal.variance + (signal.value * ratio) ** 2 * second
        events[name] = float(s2 * q), float(np.sqrt(max(variance, 0.0)))
    total = _quadratic((B, dB), c, dc, dtheta)[0]
    sizes = np.sqrt(everywhere.weight) * size
    return EventCouplings(likelihood.coupling_names, values, C, events, float(sigma / ratio / total), sizes)


def _quadratic(form: tuple[np.ndarray, np.ndarray], c: np.ndarray, dc: np.ndarray, dtheta: np.ndarray) -> tuple[float, np.ndarray]:
    """c† M c, and its gradient over the free parameters."""
    M, dM = form
    Mc = M @ c
    slope = 2 * (dc.conj().T @ Mc).real
    if len(dM):
        slope = slope + np.einsum("a,tab,b->t", c.conj(), dM, c).real @ dtheta
    return float((c.conj() @ Mc).real), slope
