"""Solid harmonics |q|^L Y_LM(q̂): polynomials in the components of q, smooth at q = 0."""

from __future__ import annotations

from math import factorial, pi, sqrt

import torch
from torch import Tensor


def solid_harmonics(q3: Tensor, max_L: int) -> list[Tensor]:
    """|q|^L Y_L^M(q̂) for L = 0 … max_L, Condon–Shortley phases.

        |q|^L Y_L^M = (−1)^M √((2L+1)/4π · (L−M)!/(L+M)!) (qx + i qy)^M Π_L^M(qz, q²),   M ≥ 0
        Π_M^M = (2M−1)!!,   (L−M+1) Π_{L+1}^M = (2L+1) qz Π_L^M − (L+M) q² Π_{L−1}^M
        Y_L^{−M} = (−1)^M conj Y_L^M                                                             (F1)

    Args:
        q3:     momentum, GeV, [3, event]
        max_L:  highest L wanted

    Returns:
        one complex tensor [2L+1, event] for each L, with M = +L, …, −L
    """
    n_events = q3.shape[1]
    q2 = q3.square().sum(dim=0)
    qz = q3[2]
    plus = torch.complex(q3[0], q3[1])
    result = [torch.empty(2 * L + 1, n_events, dtype=plus.dtype, device=q3.device) for L in range(max_L + 1)]
    power = torch.ones_like(plus)
    double_factorial = 1.0
    for M in range(max_L + 1):
        previous, current = torch.zeros_like(q2), torch.full_like(q2, double_factorial)
        for L in range(M, max_L + 1):
            norm = (-1) ** M * sqrt((2 * L + 1) / (4 * pi) * factorial(L - M) / factorial(L + M))
            if M == 0:
                result[L][L] = norm * current
            else:
                positive = result[L][L - M]
                torch.mul(power, current.mul(norm).to(power.dtype), out=positive)
                result[L][L + M] = positive.conj() if M % 2 == 0 else -positive.conj()
            following = ((2 * L + 1) * qz * current - (L + M) * q2 * previous) / (L - M + 1)
            previous, current = current, following
        power = power * plus
        double_factorial *= 2 * M + 1
    return result
