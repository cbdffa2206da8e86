"""Two-body kinematics: break-up momentum and barrier factors."""

from __future__ import annotations

from math import factorial

import torch
from torch import Tensor


def breakup_momentum_squared(s: Tensor, m1: Tensor | float, m2: Tensor | float) -> Tensor:
    """Squared momentum of either daughter in the rest frame of the pair.

        q² = [s − (m1 + m2)²] [s − (m1 − m2)²] / 4s                                              (F1)

    Negative below threshold: the caller decides what that means.

    Args:
        s:       invariant mass squared of the pair, GeV²
        m1, m2:  daughter masses, GeV; broadcast against ``s``
    """
    return (s - (m1 + m2) ** 2) * (s - (m1 - m2) ** 2) / (4 * s)


def barrier_coefficients(L: int) -> list[int]:
    """n_k of N_L(z) = Σ_k n_k z^2k = z^(2L+2) |h_L(z)|²                                         (F8)"""
    return [factorial(2 * L - k) * factorial(2 * L - 2 * k) // (factorial(k) * factorial(L - k) ** 2 * 4 ** (L - k)) for k in range(L + 1)]


def barrier_polynomial(L: int, z2: Tensor) -> Tensor:
    """N_L(z) as a function of z² = (q d)², by Horner's rule."""
    value = torch.ones_like(z2)
    for coefficient in reversed(barrier_coefficients(L)[:-1]):
        value = value * z2 + coefficient
    return value
