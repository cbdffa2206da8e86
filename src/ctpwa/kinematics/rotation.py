"""Wigner rotations in closed form, and the matrices that act on spins. No angles anywhere."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from ctpwa.kinematics.constants import constants


def wigner_rotation(P4: Tensor, M: Tensor, p4: Tensor, m: Tensor) -> Tensor:
    """SU(2) matrix W between the spin of a daughter in the common frame and in the rest frame of its parent.

        W = (a + i σ·c) / √(a² + c²),   a = (E_P + M)(E + m) − P⃗·p⃗ > 0,   c = P⃗ × p⃗            (F1)

    Args:
        P4, M:  momentum [4, event] and mass [event] of the parent
        p4, m:  momentum and mass of the daughter, in the same frame

    Returns:
        [2, 2, event], rows and columns m = +1/2, −1/2
    """
    a = (P4[0] + M) * (p4[0] + m) - (P4[1:] * p4[1:]).sum(dim=0)
    c = torch.linalg.cross(P4[1:], p4[1:], dim=0)
    norm = (a.square() + c.square().sum(dim=0)).rsqrt()
    a, (cx, cy, cz) = a * norm, c * norm
    diagonal, side = torch.complex(a, cz), torch.complex(cy, cx)
    return torch.stack([torch.stack([diagonal, side]), torch.stack([-side.conj(), diagonal.conj()])])


def wigner_d(W: Tensor, two_j: int) -> Tensor:
    """D^j(W) of any spin from the 2×2 matrix W, by stretched coupling.

        D^j = Cᵀ (D^{j−1/2} ⊗ W) C,   C = ⟨j−1/2 m−s; 1/2 s | j m⟩ = √((j ± m)/2j) for s = ±1/2   (F1)

    Args:
        W:      [2, 2, event]
        two_j:  doubled spin

    Returns:
        [2j+1, 2j+1, event]
    """
    D = torch.ones(1, 1, W.shape[-1], dtype=W.dtype, device=W.device)
    for two_k in range(1, two_j + 1):
        D = _couple(D, W, _stretched_half(two_k, W))
    return D


def _stretched_half(two_j: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """C for s = +1/2 (rows m = j … −j+1) and s = −1/2 (rows m = j−1 … −j), in the order of D^{j−1/2}."""
    up = tuple(sqrt((two_j - k) / two_j) for k in range(two_j))
    down = tuple(sqrt((k + 1) / two_j) for k in range(two_j))
    return constants(up, like.dtype, like.device), constants(down, like.dtype, like.device)


def _couple(D: Tensor, W: Tensor, C: tuple[Tensor, Tensor]) -> Tensor:
    n = D.shape[0]
    result = torch.zeros(n + 1, n + 1, D.shape[2], dtype=D.dtype, device=D.device)
    for row in (0, 1):
        for column in (0, 1):
            weights = C[row][:, None, None] * C[column][None, :, None]
            result[row : row + n, column : column + n] += weights * D * W[row, column]
    return result


def transverse_projection(p4: Tensor, m: Tensor, two_s: int) -> Tensor:
    """Zou–Bugg: the wave function of a daughter, only projected orthogonal to its parent's momentum.

    In the rest frame of the parent a spin-1 wave function e becomes e + p⃗ (p⃗·e) / (m (E + m)): its helicity-0 part
    grows by γ = E/m. A spin-n tensor has this on every index and keeps its symmetric traceless part; spin 1/2 adds
    √((γ+1)/2) for its upper components                                                            (F6)

    Args:
        p4:     momentum of the daughter in the parent's rest frame, [4, event]
        m:      its mass, [event]
        two_s:  its doubled spin

    Returns:
        Hermitian [2s+1, 2s+1, event]
    """
    n_events = p4.shape[1]
    result = torch.ones(1, 1, n_events, dtype=torch.complex128, device=p4.device)
    if two_s >= 2:
        stretch = _stretch(p4, m)
        for s in range(1, two_s // 2 + 1):
            result = _couple_vector(result, stretch, s)
    if two_s % 2:
        identity = torch.eye(2, dtype=torch.complex128, device=p4.device)[:, :, None].expand(2, 2, n_events)
        result = _couple(result, identity, _stretched_half(two_s, result)) * ((p4[0] / m + 1) / 2).sqrt()
    return result


def spherical(v3: Tensor) -> Tensor:
    """Components conj(e_m)·v of a vector [3, event] for m = +1, 0, −1."""
    x, y, z = v3
    return torch.stack([-torch.complex(x, -y) / sqrt(2), z.to(torch.complex128), torch.complex(x, y) / sqrt(2)])


def _stretch(p4: Tensor, m: Tensor) -> Tensor:
    """1 + p⃗ p⃗ᵀ / (m (E + m)) in the spherical basis m = +1, 0, −1."""
    v = spherical(p4[1:])
    outer = v[:, None] * v.conj()[None] / (m * (p4[0] + m))
    return outer + torch.eye(3, dtype=torch.complex128, device=p4.device)[:, :, None]


def _couple_vector(B: Tensor, stretch: Tensor, s: int) -> Tensor:
    """Cᵀ (B ⊗ stretch) C with the stretched coupling ⟨s−1 a; 1 b | s m⟩, which has s−1, 1 → s."""
    weights = {
        1: lambda m: (s + m) * (s + m - 1) / (2 * s * (2 * s - 1)),
        0: lambda m: (s - m) * (s + m) / (s * (2 * s - 1)),
        -1: lambda m: (s - m) * (s - m - 1) / (2 * s * (2 * s - 1)),
    }
    n = 2 * s - 1
    result = torch.zeros(n + 2, n + 2, B.shape[2], dtype=B.dtype, device=B.device)
    C = {b: constants(tuple(sqrt(max(weights[b](s - 1 - i + b), 0.0)) for i in range(n)), B.dtype, B.device) for b in (1, 0, -1)}
    for row, b in enumerate((1, 0, -1)):
        for column, b2 in enumerate((1, 0, -1)):
            factor = C[b][:, None, None] * C[b2][None, :, None]
            result[row : row + n, column : column + n] += factor * B * stretch[row, column]
    return result
