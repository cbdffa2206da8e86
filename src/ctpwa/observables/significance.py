"""Wilks' theorem: what a gain in ln L is worth.

If the smaller of two nested models is true, 2 Δ ln L is distributed like χ² with one degree of freedom for each parameter
that only the larger one has. A p-value is given in standard deviations of a normal distribution, two-sided: with one parameter √(2 Δ ln L).
"""

from __future__ import annotations

import math

from scipy import special

TINY = 1e-280  # probabilities below this are computed as logarithms


def log_p_value(delta: float, ndf: float) -> float:
    """Ln of the probability of a larger 2 Δ ln L.

    Args:
        delta:  2 Δ ln L
        ndf:    number of parameters that the larger model has more; need not be whole
    """
    a, x = ndf / 2, delta / 2
    p = float(special.gammaincc(a, x))
    if p > TINY:
        return math.log(p)
    # Γ(a, x) = x^(a−1) e^(−x) [1 + (a−1)/x + (a−1)(a−2)/x² + …], which ends for whole a and converges far out for all
    total = term = 1.0
    for k in range(1, 40):
        term *= (a - k) / x
        total += term
        if abs(term) < 1e-17 * total:
            break
    return (a - 1) * math.log(x) - x - float(special.gammaln(a)) + math.log(total)


def standard_deviations(log_p: float) -> float:
    """How many standard deviations of a normal distribution have the same probability on both sides together."""
    return max(0.0, -float(special.ndtri_exp(log_p - math.log(2))))


def probability(log_p: float) -> str:
    """A probability as text, given its logarithm: it may be smaller than any number a computer has."""
    if log_p > math.log(1e-4):
        return f"{math.exp(log_p):.4f}"
    exponent = math.floor(log_p / math.log(10))
    return f"{math.exp(log_p - exponent * math.log(10)):.1f}e{exponent}"
