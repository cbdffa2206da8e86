"""Momenta of decays anywhere in phase space, by isotropic two-body decays in sequence."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np
import torch
from torch import Tensor

from ctpwa.kinematics.lorentz import from_rest_frame
from ctpwa.kinematics.two_body import breakup_momentum_squared


class SequentialDecays:
    """Masses M_k of the first k particles come from sorted uniform numbers, directions are isotropic: every point is possible.

    Args:
        parent:  mass of the parent, GeV
        masses:  masses of the final particles, GeV
        device:  where to generate
        seed:    seed of the random numbers
    """

    def __init__(self, parent: float, masses: Sequence[float], device: torch.device, seed: int) -> None:
        self.parent, self.masses, self.device = parent, list(masses), device
        self.random = torch.Generator(device=device).manual_seed(seed)

    def momenta(self, n: int) -> Tensor:
        """``n`` events [particle, 4, event] in the rest frame of the parent."""
        return self.decay(*self.draw(n))

    def draw(self, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Masses M_k [particle, event], and q, cos θ and φ of each decay [particle − 1, event]."""
        bodies = len(self.masses)
        uniform = torch.rand(3 * bodies - 4, n, generator=self.random, device=self.device, dtype=torch.float64)
        M = self._intermediate_masses(uniform[: bodies - 2].sort(dim=0).values)
        cos_theta = 2 * uniform[bodies - 2 : 2 * bodies - 3] - 1
        phi = 2 * pi * uniform[2 * bodies - 3 :]
        return M, self._momenta(M), cos_theta, phi

    def _intermediate_masses(self, ordered: Tensor) -> Tensor:
        """M_1 … M_n [n, event] from n−2 ordered numbers in (0, 1)."""
        sums = torch.tensor(np.cumsum(self.masses), dtype=torch.float64, device=ordered.device)
        free = self.parent - float(sums[-1])
        inner = sums[1:-1, None] + free * ordered
        ones = (
            torch.ones_like(ordered[:1])
            if ordered.shape[0]
            else torch.ones(1, ordered.shape[1], dtype=torch.float64, device=ordered.device)
        )
        return torch.cat([self.masses[0] * ones, inner, self.parent * ones])

    def _momenta(self, M: Tensor) -> Tensor:
        """q(M_k; M_{k−1}, m_k) for k = 2 … n, [n−1, event]."""
        rows = [breakup_momentum_squared(M[k].square(), M[k - 1], self.masses[k]) for k in range(1, len(self.masses))]
        return torch.stack(rows).clamp(min=0).sqrt()

    def decay(self, M: Tensor, q: Tensor, cos_theta: Tensor, phi: Tensor) -> Tensor:
        """Split off one particle after the other, isotropically in the rest frame of what is left."""
        momenta: list[Tensor] = [M] * len(self.masses)
        zero = torch.zeros_like(M[0])
        system = torch.stack([M[-1], zero, zero, zero])
        for k in range(len(self.masses) - 1, 0, -1):
            sin_theta = (1 - cos_theta[k - 1].square()).sqrt()
            direction = torch.stack([sin_theta * phi[k - 1].cos(), sin_theta * phi[k - 1].sin(), cos_theta[k - 1]])
            p3 = q[k - 1] * direction
            energy = (q[k - 1].square() + self.masses[k] ** 2).sqrt()
            particle = torch.cat([energy[None], p3])
            momenta[k] = on_shell(from_rest_frame(particle, system, M[k]), self.masses[k])
            rest = torch.cat([(q[k - 1].square() + M[k - 1].square()).sqrt()[None], -p3])
            system = from_rest_frame(rest, system, M[k])
        momenta[0] = on_shell(system, self.masses[0])
        return torch.stack(momenta)


def on_shell(p4: Tensor, mass: float) -> Tensor:
    """Momenta [4, event] with the energy that a mass gives them."""
    return torch.cat([(p4[1:].square().sum(dim=0, keepdim=True) + mass**2).sqrt(), p4[1:]])
