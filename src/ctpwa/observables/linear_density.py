"""Densities that are linear in what is to be found, I = Σ_j h_j b_j: found by weighted sums, or by a likelihood, which has one minimum.

With A_ij = (V/n) Σ_accepted v b_i b_j and a_j = (V/n) Σ_accepted v b_j over simulated events, of which n were generated in a volume V,

    sums:        h = A⁻¹ μ,  μ_i = Σ w b_i
    likelihood:  −Σ w ln Σ_j h_j b_j + Σ_j h_j a_j
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctpwa.base.errors import DataError

LIKELIHOOD, SUMS = "likelihood", "sums"
METHODS = (LIKELIHOOD, SUMS)
STEPS, CONVERGED = 200, 1e-10
SINGULAR = 1e-12


@dataclass(frozen=True, eq=False)
class LinearSample:
    """Values of all b_j, [event, j], and weights, [event]."""

    b: np.ndarray
    w: np.ndarray


@dataclass(frozen=True, eq=False)
class LinearResult:
    """What was found.

    Attributes:
        values:      h
        covariance:  of measured events and of the simulation
    """

    values: np.ndarray
    covariance: np.ndarray


def fit_linear(data: LinearSample, accepted: LinearSample, generated: float, volume: float, method: str = LIKELIHOOD) -> LinearResult:
    """Find h.

    Args:
        data:       measured events; those that are subtracted have negative weights
        accepted:   simulated events that were accepted, flat before acceptance
        generated:  Σ v of all of them, accepted or not
        volume:     in which they were generated
        method:     ``likelihood`` or ``sums``

    Raises:
        DataError: if there are too few events, or the likelihood has no minimum
    """
    if method not in METHODS:
        raise DataError(f"unknown method {method!r}\n fix: write {' or '.join(METHODS)}")
    n = data.b.shape[1]
    for name, sample in (("data", data), ("phase space", accepted)):
        if len(sample.w) < n:
            raise DataError(f"{name}: {len(sample.w)} events for {n} numbers\n fix: give more events, or ask for fewer")
    scale = volume / generated
    A = scale * (accepted.b * accepted.w[:, None]).T @ accepted.b
    if np.linalg.cond(A) > 1 / SINGULAR:
        raise DataError("the simulated events do not tell all functions apart\n fix: give more events, or ask for fewer moments")
    mu = data.w @ data.b
    h = np.linalg.solve(A, mu)
    if method == SUMS:
        inverse = np.linalg.inv(A)
        scatter = (data.b * (data.w**2)[:, None]).T @ data.b
        part = accepted.b * (accepted.w * (accepted.b @ h))[:, None]
    else:
        h = _minimum(data, scale * accepted.w @ accepted.b, h)
        I = data.b @ h
        inverse = np.linalg.inv((data.b * (data.w / I**2)[:, None]).T @ data.b)
        scatter = (data.b * ((data.w / I) ** 2)[:, None]).T @ data.b
        part = accepted.b * accepted.w[:, None]
    simulated = scale**2 * part.T @ part
    return LinearResult(h, inverse @ (scatter + simulated) @ inverse.T)


def _minimum(data: LinearSample, a: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Newton's method from where the density is positive at all events; −ln L of positive weights is convex."""
    flat = np.linalg.lstsq(data.b, np.ones(len(data.w)), rcond=None)[0]
    for h in (start, flat * (data.w.sum() / (a @ flat))):
        if (data.b @ h > 0).all():
            break
    else:
        raise DataError("no density that is positive at all events was found\n fix: use  method='sums'")
    value = -(data.w @ np.log(data.b @ h)) + a @ h
    for _ in range(STEPS):
        I = data.b @ h
        gradient = a - (data.w / I) @ data.b
        H = (data.b * (data.w / I**2)[:, None]).T @ data.b
        step = -np.linalg.solve(H, gradient)
        if -(gradient @ step) < CONVERGED:
            return np.asarray(h)
        size, before = 1.0, value
        while True:
            own = data.b @ (h + size * step)
            if (own > 0).all():
                value = -(data.w @ np.log(own)) + a @ (h + size * step)
                if value <= before:
                    break
            size /= 2
            if size < 1e-12:
                raise DataError("the likelihood has no minimum where the density is positive\n fix: use  method='sums'")
        h = h + size * step
    raise DataError("the likelihood did not converge\n fix: use  method='sums'")
