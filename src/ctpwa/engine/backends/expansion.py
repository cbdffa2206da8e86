"""Value, gradient and Hessian of a sum over a sample, in the engine's own variables (Re c, Im c, floating p, β)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctpwa.engine.backends.gram import Gram, gram_from_row
from ctpwa.engine.plan.tables import LOG, ChannelSums, Tables, expand_gram, gradient, second_derivative_terms


@dataclass(frozen=True)
class Expansion:
    """V = Σ w ln (I + Σ β b) or Σ w I around a point.

    Attributes:
        value:     V
        gradient:  over (Re c, Im c, floating p, β); empty if not asked for
        hessian:   likewise
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


NOTHING = np.zeros(0)


def score_products(gram: Gram, n_couplings: int) -> np.ndarray:
    """Σ w (∂ ln I)(∂ ln I) over (Re c, Im c, floating p), from the Gram matrices of Σ w ln I."""
    return hessian_of_outer(gram.outer, n_couplings)


def hessian_of_outer(outer: np.ndarray, n_couplings: int) -> np.ndarray:
    """4 Σ w/I² (Re ψ̄ ∂ψ)(Re ψ̄ ∂ψ) over (Re c, Im c, p)."""
    return 4 * _real_parts(outer, n_couplings)


def from_row(tables: Tables, row: np.ndarray, c: np.ndarray, mode: int, order: int) -> Expansion:
    """The expansion of a row of numbers: sums of every channel, and to second order the Gram matrices after them."""
    layout = tables.layouts[order]
    gram = gram_from_row(row[layout.length :]) if order >= 2 else None
    return from_sums(tables, ChannelSums(row[: layout.length], layout), gram, c, mode)


def from_sums(tables: Tables, sums: ChannelSums, gram: Gram | None, c: np.ndarray, mode: int) -> Expansion:
    """Put the pieces together.

    ∂²V = 2 Re Σ ω (∂ψ̄ ∂ψ + ψ̄ ∂²ψ) − [LOG] 4 Σ w/I² (Re ψ̄ ∂ψ)(Re ψ̄ ∂ψ)
    """
    channel_c = tables.channel_couplings(c) if sums.layout.order == 2 else NOTHING
    grad = gradient(tables, sums, channel_c) if sums.layout.order else NOTHING
    if gram is None:
        return Expansion(sums.value, grad, NOTHING)
    n_c = tables.plan.n_couplings
    H = 2 * expand_gram(gram.re, gram.im, n_c) + second_derivative_terms(tables, sums, channel_c)
    if mode == LOG:
        H -= hessian_of_outer(gram.outer, n_c)
    return Expansion(sums.value, grad, H)


def _real_parts(outer: np.ndarray, n_couplings: int) -> np.ndarray:
    """Products of Re ψ̄∂ψ over (Re c, Im c, p) from those of the real and imaginary parts of z over (c, p)."""
    n_columns = outer.shape[0] // 2
    rows = np.concatenate([np.arange(n_couplings), n_columns + np.arange(n_couplings), np.arange(n_couplings, n_columns)])
    signs = np.concatenate([np.ones(n_couplings), -np.ones(n_couplings), np.ones(n_columns - n_couplings)])
    return outer[np.ix_(rows, rows)] * np.outer(signs, signs)
