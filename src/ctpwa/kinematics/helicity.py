"""Spin states of massless particles of spin 1/2, along or against their momentum."""

from __future__ import annotations

import torch
from torch import Tensor


def helicity_spinor(p3: Tensor, two_lam: int) -> Tensor:
    """The unit spinor with (σ·p̂) χ = 2λ χ; its phase is arbitrary, and one for each event.

        χ₊ ∝ (p + pz, px + i py),   χ₋ ∝ (−px + i py, p + pz)   where pz > 0, else the same vector times a phase          (F2)

    Args:
        p3:       momentum, [3, event]
        two_lam:  +1 or −1

    Returns:
        [2, event], m = +1/2, −1/2
    """
    p = p3.square().sum(dim=0).sqrt()
    px, py, pz = p3
    forward = pz >= 0
    large = (p + pz.abs()).to(torch.complex128)  # never small
    across = torch.complex(px, py)
    if two_lam > 0:
        chi = torch.stack([torch.where(forward, large, across.conj()), torch.where(forward, across, large)])
    else:
        chi = torch.stack([torch.where(forward, -across.conj(), large), torch.where(forward, large, -across)])
    return chi / chi.abs().square().sum(dim=0).sqrt()
