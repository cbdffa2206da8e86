"""Whether data follow a fitted model in any functions of events, whatever was fitted to them.

A function h is compared with its mean over the model once what the fit can change of it is taken away: with g = ∂ ln p of the free
parameters,

    r = h − ⟨h⟩ − B g,     ⟨r gᵀ⟩ = 0,     D = Σ w r

To first order D does not depend on where parameters were found, so that none of them has to be counted (a C(α) test). Its covariance is

    V = Σ w² r rᵀ − b (Σ w r rᵀ − N ⟨r rᵀ⟩) + N² Σ ω² r rᵀ,     N = Σ w,     b = Σ w³ / Σ w²

⟨…⟩ are means over simulated events with weights ω = v p, Σ ω = 1; the last term is that they are finite. Without weights of the data the
others are N ⟨r rᵀ⟩; with them, b makes V independent of D, to first order. Combinations of functions of which the fit determines nearly
all are left out: there D is small, and known to first order only.

Data sets that are fitted together have their own N, ⟨…⟩ and D, which are added; B is common to them, of the sums of N ⟨…⟩.

If p were p (1 + α h), parameters would be fitted elsewhere, to first order by −B α with α = ⟨r rᵀ⟩⁻¹ D / N. ``docs/studies.md`` says what
is compared in bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.observables.tails import chi2_tail

Array = np.ndarray
LEFT = 0.1  # of the variance of a combination of functions: with less of it beyond what was fitted it is left out
NOTHING = 1e-9  # of the largest variance: rounding


@dataclass(frozen=True, eq=False)
class EventFunctions:
    """Functions of the events of a sample.

    Attributes:
        functions:  h, [event, function]
        scores:     ∂ ln p over the free parameters, [event, parameter]
        weights:    w of measured events, negative of those that are subtracted; v p of simulated ones; [event]
    """

    functions: Array
    scores: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class ResidualTest:
    """The outcome.

    Attributes:
        chi2:     Dᵀ V⁻¹ D
        ndf:      number of combinations of functions
        p_value:  probability of a larger χ²; 1 if no function is left
        moves:    by how much parameters would differ if the functions were part of the model, [parameter]
    """

    chi2: float
    ndf: int
    p_value: float
    moves: Array


def residual_test(*samples: tuple[EventFunctions, EventFunctions]) -> ResidualTest:
    """Compare data with a model.

    Args:
        samples:  of every data set: measured events, with those that are subtracted, and simulated ones
    """
    own = _residuals(samples)
    if not len(own.sizes):
        return ResidualTest(0.0, 0, 1.0, np.zeros(len(own.slopes)))
    D, V = np.zeros(len(own.sizes)), np.zeros((len(own.sizes),) * 2)
    squared, simulated = V, V
    expected = sum(float(data.weights.sum()) for data, _ in samples) * np.diag(own.sizes)
    for (data, model), centre in zip(samples, own.centres, strict=True):
        w, omega = data.weights, model.weights / model.weights.sum()
        n, b = w.sum(), (w**3).sum() / (w**2).sum()
        D = D + (w @ data.functions - n * centre - w @ data.scores @ own.slopes) @ own.mixing
        uneven = w**2 - b * w  # 0 if all weights are the same
        V = V + b * n * own.products(model, omega, centre) + (own.products(data, uneven, centre) if uneven.any() else 0.0)
        squared = squared + own.products(data, w**2, centre)
        simulated = simulated + n**2 * own.products(model, omega**2, centre)
    if np.linalg.eigvalsh(V)[0] <= 0:  # of weights of all sizes
        V = squared
    V = V + simulated
    chi2 = float(D @ np.linalg.solve(V, D))
    moves = -own.slopes @ own.mixing @ np.linalg.solve(expected, D)
    return ResidualTest(chi2, len(D), chi2_tail(chi2, len(D)), moves)


@dataclass(frozen=True, eq=False)
class _Residuals:
    """r of combinations of functions, which have variance 1 before what was fitted is taken away.

    Attributes:
        centres:  ⟨h⟩ − B ⟨g⟩ of every data set, [data set, function]
        slopes:   B, [parameter, function]
        mixing:   combinations, [function, combination]
        sizes:    variances of r of these, more than ``LEFT``; they are not correlated
    """

    centres: Array
    slopes: Array
    mixing: Array
    sizes: Array

    def products(self, events: EventFunctions, weights: Array, centre: Array) -> Array:
        """Σ w r rᵀ over events of a data set."""
        r = events.functions - centre - events.scores @ self.slopes
        return np.asarray(self.mixing.T @ _products(r, weights) @ self.mixing)


def _residuals(samples: Sequence[tuple[EventFunctions, EventFunctions]]) -> _Residuals:
    total = sum(float(data.weights.sum()) for data, _ in samples)
    n_g, n_h = samples[0][1].scores.shape[1], samples[0][1].functions.shape[1]
    known, crossed, before = np.zeros((n_g, n_g)), np.zeros((n_g, n_h)), np.zeros((n_h, n_h))
    means = []
    for data, model in samples:
        omega, h, g = model.weights / model.weights.sum(), model.functions, model.scores
        part, mean_h, mean_g = float(data.weights.sum()) / total, omega @ h, omega @ g
        means.append((mean_h, mean_g))
        from_mean = h - mean_h
        from_mean[:, omega @ from_mean**2 <= NOTHING * (omega @ h**2)] = 0.0  # the same at all events but for rounding
        known = known + part * _products(g - mean_g, omega)
        crossed = crossed + part * ((g - mean_g) * omega[:, None]).T @ from_mean
        before = before + part * _products(from_mean, omega)
    slopes = _inverse(known) @ crossed
    white = _whitening(before)
    sizes, turn = np.linalg.eigh(white.T @ (before - slopes.T @ crossed) @ white)
    kept = sizes > LEFT
    centres = np.array([mean_h - mean_g @ slopes for mean_h, mean_g in means])
    return _Residuals(centres, slopes, white @ turn[:, kept], sizes[kept])


def _products(f: Array, weights: Array) -> Array:
    """Σ w f fᵀ."""
    found = (f * weights[:, None]).T @ f
    return np.asarray(found + found.T) / 2


def _inverse(C: Array) -> Array:
    """Of a symmetric matrix, without directions that have no variance."""
    white = _whitening(C)
    return np.asarray(white @ white.T)


def _whitening(C: Array) -> Array:
    """W with WᵀCW = 1, of the directions that have a variance."""
    scale = np.sqrt(np.diag(C).clip(min=0))
    scale = np.where(scale > 0, scale, 1.0)
    sizes, turn = np.linalg.eigh(C / np.outer(scale, scale))
    kept = sizes > NOTHING * max(float(sizes[-1]), NOTHING) if len(sizes) else np.zeros(0, dtype=bool)
    return np.asarray(turn[:, kept] / np.sqrt(sizes[kept]) / scale[:, None])
