"""Couplings in units in which |c|² is the number of events of a wave, with their covariance: what an extended likelihood would fit.

A likelihood of shapes leaves the common size of all couplings open; the number of signal events N fixes it:

    c̃_a = s c_a √B_aa,     s² = N W_truth / (W c† A c),     A, B = ∫ over accepted phase space and over truth, W = Σ w of each

In a sum of data sets each has its own N, A, B and s; |c̃|² are the events of all of them: c̃_a = c_a √(Σ s² B_aa).

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
from ctpwa.fitting.fittable import Fittable, terms_of
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
    likelihood: Fittable,
    x: np.ndarray,
    covariance: np.ndarray,
    groups: Mapping[str, Sequence[int]],
    truths: Sequence[SampleInput | None] = (),
) -> EventCouplings:
    """Couplings of a fit in events.

    Args:
        likelihood:  what was fitted; in a sum all data sets have the same waves
        x:           where it ended
        covariance:  of the free parameters
        groups:      name → indices of waves, whose events are counted together
        truths:      all generated events of every data set, of which its phase-space sample has those that are accepted; default, and
                     without a truth: all are accepted
    """
    terms = terms_of(likelihood)
    if any(term.plan.n_couplings != len(term.coupling_names) for term in terms):
        raise PhysicsError("couplings cannot be counted in events if a polarisation is fitted as well", "fix the polarisation")
    own = [_OfDataSet.of(likelihood, term, x, sample) for term, sample in zip(terms, truths or [None] * len(terms), strict=True)]
    first, c, dc = terms[0], own[0].c, own[0].dc
    squares = np.array([one.squares for one in own])  # events per |c|², [data set, coupling]
    size = np.sqrt(squares.sum(axis=0))
    known = np.where(size > 0, size, 1.0)
    shares = squares / known**2
    values = size * c
    d_ln_size = sum(share[:, None] * one.d_ln_root for share, one in zip(shares, own, strict=True))
    slopes = values[:, None] * d_ln_size + size[:, None] * dc
    real = np.concatenate([slopes.real, slopes.imag])
    C = real @ covariance @ real.T
    for share, one in zip(shares, own, strict=True):
        along = np.concatenate([share * values.real, share * values.imag]) / (2 * one.signal.value)
        C = C + one.signal.variance * np.outer(along, along)

    A = sum(one.s2 * one.accepted for one in own) / np.outer(known, known)
    spread = CouplingSpread.of(A, values, slopes, covariance, first.amplitude.sets)
    forms = [FormOfGroup.added([(one.s2, one.everywhere) for one in own], waves, known) for waves in groups.values()]
    generated = sum(one.signal.value * one.ratio for one in own)
    added = np.diag(spread.second_order(forms))
    events = {}
    for (name, waves), second in zip(groups.items(), added, strict=True):
        number, slope, variance = 0.0, np.zeros(len(x)), generated**2 * second
        for one in own:
            q, d_q = one.quadratic(form_of(one.everywhere, len(c), waves))
            number += one.s2 * q
            slope += one.s2 * (d_q + 2 * q * one.d_ln_s)
            variance += (one.s2 * q / one.signal.value) ** 2 * one.signal.variance
        events[name] = float(number), float(np.sqrt(max(slope @ covariance @ slope + variance, 0.0)))
    total = sum(one.s2 * one.quadratic(form_of(one.everywhere, len(c)))[0] for one in own)
    unit = sum(one.s2 for one in own) / sum(one.everywhere.weight for one in own)
    efficiency = sum(one.signal.value for one in own) / total
    return EventCouplings(first.coupling_names, values, C, events, float(efficiency), size / np.sqrt(unit))


@dataclass(frozen=True, eq=False)
class _OfDataSet:
    """What couplings are multiplied by in one data set; slopes are over the free parameters of all.

    Attributes:
        signal:      N
        accepted:    A
        everywhere:  integrals over truth
        ratio:       W_truth / W
        s2:          s²
        d_ln_s:      ∂ ln s
        squares:     s² B_aa, [coupling]
        d_ln_root:   ∂ ln (s √B_aa), [coupling, free]
        c, dc:       couplings with their slopes
        dtheta:      slopes of lineshape parameters
    """

    signal: SignalEvents
    accepted: np.ndarray
    everywhere: WaveIntegrals
    ratio: float
    s2: float
    d_ln_s: np.ndarray
    squares: np.ndarray
    d_ln_root: np.ndarray
    c: np.ndarray
    dc: np.ndarray
    dtheta: np.ndarray

    @classmethod
    def of(cls, likelihood: Fittable, term: Likelihood, x: np.ndarray, truth: SampleInput | None) -> _OfDataSet:
        """At the free parameters x of all data sets."""
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        at, n = x[index], len(term.coupling_names)
        accepted = term.integrals(at)
        everywhere = accepted if truth is None else term.integrals(at, truth)
        J = np.zeros((len(term.parameters.jacobian(at)), len(x)))
        J[:, index] = term.parameters.jacobian(at)
        c, dc, dtheta = term.parameters.native(at)[0], J[:n] + 1j * J[n : 2 * n], J[2 * n :][term.floating_order]
        part = SignalEvents.of(term, at)
        slope = np.zeros(len(x))
        slope[index] = part.slope
        A, B = form_of(accepted, n), form_of(everywhere, n)
        sigma, d_sigma = _quadratic(A, c, dc, dtheta)
        ratio = everywhere.weight / accepted.weight
        s2 = part.value * ratio / sigma
        d_ln_s = (slope / part.value - d_sigma / sigma) / 2
        squares = np.diag(B[0]).real.clip(min=0)
        known = np.where(squares > 0, squares, 1.0)
        d_ln_size = (np.diagonal(B[1], axis1=1, axis2=2).real / (2 * known)).T @ dtheta if len(B[1]) else 0.0
        signal = SignalEvents(part.value, slope, part.variance)
        return cls(signal, A[0], everywhere, ratio, s2, d_ln_s, s2 * squares, d_ln_s + np.zeros((n, 1)) + d_ln_size, c, dc, dtheta)

    def quadratic(self, form: tuple[np.ndarray, np.ndarray]) -> tuple[float, np.ndarray]:
        """c† M c, and its gradient over the free parameters."""
        return _quadratic(form, self.c, self.dc, self.dtheta)


def _quadratic(form: tuple[np.ndarray, np.ndarray], c: np.ndarray, dc: np.ndarray, dtheta: np.ndarray) -> tuple[float, np.ndarray]:
    """c† M c, and its gradient over the free parameters."""
    M, dM = form
    Mc = M @ c
    slope = 2 * (dc.conj().T @ Mc).real
    if len(dM):
        slope = slope + np.einsum("a,tab,b->t", c.conj(), dM, c).real @ dtheta
    return float((c.conj() @ Mc).real), slope
