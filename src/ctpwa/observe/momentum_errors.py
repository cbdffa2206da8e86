"""How exactly a mass is known if momenta are measured with given errors and fitted to conserve energy and momentum.

With the gradient g of the mass over all momentum components, their covariance C and the gradients A of the total four-momentum,

    σ² = g C gᵀ − g C Aᵀ (A C Aᵀ)⁻¹ A C gᵀ

The second term is what the kinematic fit gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.kinematics.lorentz import mass_squared


@dataclass(frozen=True)
class MomentumErrors:
    """Standard deviations of measured momenta, for each final particle in its order.

    Attributes:
        magnitudes:  of |p|, relative to it
        angles:      of the direction, rad, the same along both angles
    """

    magnitudes: tuple[float, ...]
    angles: tuple[float, ...]

    def __post_init__(self) -> None:
        for value in (*self.magnitudes, *self.angles):
            if not (value > 0 and isfinite(value)):
                raise DataError(f"resolution of a momentum: {value}\n fix: give numbers above 0")

    def of_mass(self, p4: Sequence[Tensor], pair: tuple[int, int]) -> Tensor:
        """σ of the mass of a pair [event].

        Args:
            p4:    momenta of all particles as they were measured, each [4, event]
            pair:  positions of the two
        """
        P = p4[pair[0]] + p4[pair[1]]
        m = mass_squared(P).clamp(min=0).sqrt()
        variance, mixed, total = torch.zeros_like(m), torch.zeros(len(m), 4, 1).to(m), torch.zeros(len(m), 4, 4).to(m)
        for i, p in enumerate(p4):
            C = _covariance(p, self.magnitudes[i], self.angles[i])
            A = _gradients_of_total(p)
            AC = A @ C
            total = total + AC @ A.mT
            if i in pair:
                g = ((P[0] * p[1:] / p[0] - P[1:]) / m).T[:, :, None]
                variance = variance + (g.mT @ C @ g)[:, 0, 0]
                mixed = mixed + AC @ g
        gained = (mixed.mT @ torch.linalg.solve(total, mixed))[:, 0, 0]
        return (variance - gained).clamp(min=0).sqrt()


def _covariance(p: Tensor, magnitude: float, angle: float) -> Tensor:
    """σ_p² n nᵀ + σ_a² (p² − p pᵀ) of a momentum, [event, 3, 3]."""
    own = p[1:].T
    along = own[:, :, None] * own[:, None, :]
    return magnitude**2 * along + angle**2 * (own.square().sum(dim=1)[:, None, None] * torch.eye(3, dtype=p.dtype, device=p.device) - along)


def _gradients_of_total(p: Tensor) -> Tensor:
    """∂(E, p)/∂p, [event, 4, 3]."""
    unit = torch.eye(3, dtype=p.dtype, device=p.device).expand(p.shape[1], 3, 3)
    return torch.cat([(p[1:] / p[0]).T[:, None, :], unit], dim=1)
