"""Massless vector particles: two polarisation vectors, and the 2×3 matrix that takes the place of D¹(W)."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from ctpwa.kinematics.lorentz import minkowski, to_rest_frame


def linear_polarisations(k4: Tensor) -> Tensor:
    """Two real unit vectors e1 = ref × k̂, e2 = k̂ × e1; ref is the axis most orthogonal to k in each event.

    Args:
        k4:  photon momentum with E = |k|, [4, event]

    Returns:
        [2, 4, event], time components zero
    """
    direction = k4[1:] / k4[0]
    axis = direction.abs().argmin(dim=0)
    reference = torch.nn.functional.one_hot(axis, 3).T.to(k4.dtype)
    e1 = torch.linalg.cross(reference, direction, dim=0)
    e1 = e1 / e1.square().sum(dim=0).sqrt()
    e2 = torch.linalg.cross(direction, e1, dim=0)
    zero = torch.zeros_like(k4[:1])
    return torch.stack([torch.cat([zero, e1]), torch.cat([zero, e2])])


def photon_matrix(k4: Tensor, e4: Tensor, P4: Tensor, M: Tensor) -> Tensor:
    """X[λ, t] of a photon from the vertex of P.

        ẽ = e − (e·P / k·P) k,   X[λ, t] = Σ_i (e_t)_i conj(ẽ*_λ)_i   in the rest frame of P        (F2)

    ẽ does not change under e → e + c k, so the amplitude is gauge invariant.

    Args:
        k4:     photon momentum, [4, event]
        e4:     its polarisation vectors in the same frame, [2, 4, event]
        P4, M:  momentum and mass of the parent

    Returns:
        [2, 3, event], t = +1, 0, −1
    """
    rows = []
    scale = minkowski(k4, P4)
    for e in e4:
        transverse = e - (minkowski(e, P4) / scale) * k4
        nx, ny, nz = to_rest_frame(transverse, P4, M)[1:]
        rows.append(torch.stack([torch.complex(-nx, -ny) / sqrt(2), nz.to(torch.complex128), torch.complex(nx, -ny) / sqrt(2)]))
    return torch.stack(rows)
