"""Whether data follow a fitted model in any functions of events, whatever was fitted to them.

A function h is compared with its mean over the model once what the fit can change of it is taken away: with g = ∂ ln p of the free
parameters,

    r = h − ⟨h⟩ − B g,     ⟨r gᵀ⟩ = 0,     D = Σ w r

To first order D does not depend on where parameters were found, so that none of them has to be counted (a C(α) test). Its covariance is

    V = Σ w² r rᵀ − b (Σ w r rᵀ − N ⟨r rᵀ⟩) + N² Σ ω² r rᵀ,     N = Σ w,     b = Σ w³ / Σ w²

⟨…⟩ are means over simulated events with weights ω = v p, Σ ω = 1; the last term is that they are finite. Without weights of the data the
others are N ⟨r rᵀ⟩; with them, b makes V independent of D, to first order. Combinations of functions of which the fit determines nearly
all are left out: there D is small, and known to first order only.

If p were p (1 + α h), parameters would be fitted elsewhere, to first order by −B α with α = ⟨r rᵀ⟩⁻¹ D / N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

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


def residual_test(data: EventFunctions, model: EventFunctions) -> ResidualTest:
    """Compare data with a model.

    Args:
        data:   measured events, and those that are subtracted
        model:  simulated events
    """
    w, omega = data.weights, model.weights / model.weights.sum()
    centre, slopes, mixing = _residuals(model.functions, model.scores, omega)
    if not mixing.shape[1]:
        return ResidualTest(0.0, 0, 1.0, np.zeros(len(slopes)))
    r, s = ((own.functions - centre - own.scores @ slopes) @ mixing for own in (data, model))
    N, b = w.sum(), (w**3).sum() / (w**2).sum()
    expected = N * _products(s, omega)
    V = _products(r, w**2) - b * (_products(r, w) - expected)
    if np.linalg.eigvalsh(V)[0] <= 0:  # of weights of all sizes
        V = _products(r, w**2)
    V = V + N**2 * _products(s, omega**2)
    D = w @ r
    chi2 = float(D @ np.linalg.solve(V, D))
    moves = -slopes @ mixing @ np.linalg.solve(expected, D)
    return ResidualTest(chi2, len(D), float(stats.chi2.sf(chi2, len(D))), moves)


def _residuals(h: Array, g: Array, omega: Array) -> tuple[Array, Array, Array]:
    """What is subtracted from functions, and combinations of what is left, which have variance 1 before and more than ``LEFT`` after it.

    Returns:
        a constant [function] and slopes B over scores [parameter, function]; combinations [function, combination]
    """
    means = omega @ g
    g = g - means
    known = _inverse(_products(g, omega))
    slopes = known @ (g * omega[:, None]).T @ h
    centre = omega @ h - means @ slopes
    spread = h - omega @ h
    spread[:, omega @ spread**2 <= NOTHING * (omega @ h**2)] = 0.0  # the same at all events but for rounding
    white = _whitening(_products(spread, omega))
    left = (h - centre - (g + means) @ slopes) @ white
    sizes, turn = np.linalg.eigh(_products(left, omega))
    return centre, slopes, white @ turn[:, sizes > LEFT]


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
