"""Four-momenta [4, event] = (E, px, py, pz) and how they change frames; metric (+,−,−,−)."""

from __future__ import annotations

import torch
from torch import Tensor


def mass_squared(p4: Tensor) -> Tensor:
    """E² − |p|², GeV²."""
    return p4[0].square() - p4[1:].square().sum(dim=0)


def minkowski(a4: Tensor, b4: Tensor) -> Tensor:
    """a·b = a⁰b⁰ − a⃗·b⃗."""
    return a4[0] * b4[0] - (a4[1:] * b4[1:]).sum(dim=0)


def to_rest_frame(p4: Tensor, P4: Tensor, M: Tensor) -> Tensor:
    """Momentum p in the rest frame of P, reached by the pure (rotation-free) boost.

        e* = P·p / M,    p⃗* = p⃗ − P⃗ (E + e*) / (E_P + M)                                       (F1)

    Args:
        p4:  momenta to transform, [4, event]
        P4:  momentum that comes to rest, [4, event]
        M:   its mass, [event]
    """
    energy = minkowski(P4, p4) / M
    p3 = p4[1:] - P4[1:] * ((p4[0] + energy) / (P4[0] + M))
    return torch.cat([energy[None], p3])


def from_rest_frame(p4: Tensor, P4: Tensor, M: Tensor) -> Tensor:
    """The inverse of ``to_rest_frame``: from the rest frame of P to the frame in which P has momentum P4."""
    return to_rest_frame(p4, torch.cat([P4[:1], -P4[1:]]), M)
