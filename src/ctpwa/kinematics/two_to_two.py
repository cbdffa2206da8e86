"""Beam + target → X + recoil: momenta in the centre-of-mass frame, and the range of t."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ctpwa.kinematics.lorentz import from_rest_frame, mass_squared, to_rest_frame
from ctpwa.kinematics.two_body import breakup_momentum_squared


@dataclass(frozen=True, eq=False)
class TwoToTwo:
    """Reactions with X of given masses; all numbers [event].

    Attributes:
        beam:    momentum of the beam, [4, event]
        total:   that of beam and target, [4, event]
        root_s:  its mass
        k:       momentum of the beam in the c.m. frame, [4, event]
        p_i, p_f:  size of the momenta before and after, in the c.m. frame
        E_X:     energy of X there
        t_min:   t of X along the beam, the largest t
    """

    beam: Tensor
    total: Tensor
    root_s: Tensor
    k: Tensor
    p_i: Tensor
    p_f: Tensor
    E_X: Tensor
    t_min: Tensor

    @classmethod
    def of(cls, beam: Tensor, target: Tensor, M: Tensor, recoil: float) -> TwoToTwo:
        """The reaction.

        Args:
            beam, target:  momenta, [4, event]
            M:             masses of X, [event]; above √s − ``recoil`` there is no reaction, and p_f is 0
            recoil:        mass of the recoil, GeV
        """
        total = beam + target
        root_s = mass_squared(total).sqrt()
        k = to_rest_frame(beam, total, root_s)
        p_i = k[1:].square().sum(dim=0).sqrt()
        p_f = breakup_momentum_squared(root_s.square(), M, recoil).clamp(min=0).sqrt()
        E_X = (p_f.square() + M.square()).sqrt()
        t_min = mass_squared(beam) + M.square() - 2 * (k[0] * E_X - p_i * p_f)
        return cls(beam, total, root_s, k, p_i, p_f, E_X, t_min)

    @property
    def t_range(self) -> Tensor:
        """How far t goes below its largest value, GeV²."""
        return 4 * self.p_i * self.p_f

    def X(self, below: Tensor, azimuth: Tensor) -> Tensor:
        """The momentum of X where those of beam and target are given, [4, event].

        Args:
            below:    t_min − t, 0 to ``t_range``
            azimuth:  about the beam
        """
        versed = (below / (2 * self.p_i * self.p_f).clamp(min=1e-300)).clamp(max=2)  # 1 − cos θ
        sine = (versed * (2 - versed)).clamp(min=0).sqrt()
        z = self.k[1:] / self.p_i
        # the axis that is farthest from the beam makes the others
        helper = torch.zeros_like(z)
        helper[1] = torch.where(z[1].abs() < 0.9, 1.0, 0.0)
        helper[0] = 1 - helper[1]
        x = torch.linalg.cross(helper, z, dim=0)
        x = x / x.square().sum(dim=0).sqrt()
        y = torch.linalg.cross(z, x, dim=0)
        p3 = self.p_f * (sine * (azimuth.cos() * x + azimuth.sin() * y) + (1 - versed) * z)
        return from_rest_frame(torch.cat([self.E_X[None], p3]), self.total, self.root_s)
