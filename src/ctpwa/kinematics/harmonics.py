"""Solid harmonics |q|^L Y_LM(q̂): polynomials in the components of q, smooth at q = 0."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import factorial, pi, sqrt

import torch
from torch import Tensor

from ctpwa.kinematics.constants import constants


def solid_harmonics(q3: Tensor, Ls: Collection[int]) -> dict[int, Tensor]:
    """|q|^L Y_L^M(q̂) for some L, Condon–Shortley phases.

        |q|^L Y_L^M = (−1)^M √((2L+1)/4π · (L−M)!/(L+M)!) (qx + i qy)^M Π_L^M(qz, q²),   M ≥ 0
        Π_M^M = (2M−1)!!,   (L−M+1) Π_{L+1}^M = (2L+1) qz Π_L^M − (L+M) q² Π_{L−1}^M
        Y_L^{−M} = (−1)^M conj Y_L^M                                                             (F1)

    Args:
        q3:  momentum, GeV, [3, event]
        Ls:  which L

    Returns:
        one complex tensor [2L+1, event] for each L, with M = +L, …, −L
    """
    max_L = max(Ls)
    q2, qz = q3.square().sum(dim=0), q3[2]
    powers = _powers(torch.complex(q3[0], q3[1]), max_L)
    previous, current = q3[:0], torch.ones_like(q3[:1])  # Π_{L−1} and Π_L, for M = 0, 1, …
    result = {}
    for L in range(max_L + 1):
        if L in Ls:
            norms = [(-1) ** M * sqrt((2 * L + 1) / (4 * pi) * factorial(L - M) / factorial(L + M)) for M in range(L + 1)]
            positive = powers[: L + 1] * (_column(norms, q3) * current)  # M = 0, …, L
            Y = torch.empty(2 * L + 1, q3.shape[1], dtype=powers.dtype, device=q3.device)
            Y[: L + 1] = positive.flip(0)
            Y[L + 1 :] = positive[1:].conj() * _column([(-1) ** M for M in range(1, L + 1)], q3)
            result[L] = Y
        if max_L > L:
            following = torch.cat([current * qz, current[-1:]]) * _column([(2 * L + 1) / max(L - M + 1, 1) for M in range(L + 2)], q3)
            following[:L] -= previous * q2 * _column([(L + M) / (L - M + 1) for M in range(L)], q3)
            previous, current = current, following
    return result


def _powers(z: Tensor, highest: int) -> Tensor:
    """1, z, z², …, [power, event]."""
    result = torch.ones(highest + 1, len(z), dtype=z.dtype, device=z.device)
    for M in range(highest):
        torch.mul(result[M], z, out=result[M + 1])
    return result


def _column(values: Sequence[float], like: Tensor) -> Tensor:
    """One number for each row."""
    return constants(tuple(values), like.dtype, like.device)[:, None]
