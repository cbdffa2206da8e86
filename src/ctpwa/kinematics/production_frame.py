"""Frames of a system X that was produced with a recoil: axes in its rest frame from beam and target, and the azimuth of a polarisation.

    ŷ = unit(k × p_X),   x̂ = ŷ × ẑ                                                                    (F13.1)
    helicity:            ẑ = direction of X in the c.m. frame = − direction of the recoil in the rest frame of X
    Gottfried–Jackson:   ẑ = direction of the beam in the rest frame of X
    Adair:               ẑ = direction of the beam in the c.m. frame

Everything is first boosted to the rest frame of X. From there the pure boost to the c.m. frame gives directions of that frame on the same
axes, since p_X is along the boost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ctpwa.kinematics.lorentz import mass_squared, to_rest_frame

HELICITY, GOTTFRIED_JACKSON, ADAIR = "helicity", "gottfried-jackson", "adair"
FRAMES = (HELICITY, GOTTFRIED_JACKSON, ADAIR)


@dataclass(frozen=True, eq=False)
class ProductionFrame:
    """The rest frame of X in every event.

    Attributes:
        X, M:    its momentum where momenta are given, [4, event], and its mass, [event]
        beam:    momentum of the beam in the rest frame of X, [4, event]
        total:   that of beam and target together, [4, event]
        root_s:  its mass, [event]
        k:       momentum of the beam in the c.m. frame on the axes of the rest frame of X, [4, event]
        axes:    x̂, ŷ, ẑ, each [3, event]
    """

    X: Tensor
    M: Tensor
    beam: Tensor
    total: Tensor
    root_s: Tensor
    k: Tensor
    axes: tuple[Tensor, Tensor, Tensor]

    @classmethod
    def of(cls, p4: Sequence[Tensor], beam: Tensor, target: Tensor, frame: str) -> ProductionFrame:
        """The frame of X.

        Args:
            p4:            momenta of the particles that X decays to, each [4, event]
            beam, target:  momenta in the same frame, [4, event]
            frame:         one of ``FRAMES``
        """
        X = torch.stack(list(p4)).sum(dim=0)
        M = mass_squared(X).sqrt()
        own_beam, total = (to_rest_frame(p, X, M) for p in (beam, beam + target))
        root_s = mass_squared(beam + target).sqrt()
        k = to_rest_frame(own_beam, total, root_s)
        z = {HELICITY: -total[1:], GOTTFRIED_JACKSON: own_beam[1:], ADAIR: k[1:]}[frame]
        y_axis, z_axis = _unit(torch.linalg.cross(total[1:], own_beam[1:], dim=0)), _unit(z)
        return cls(X, M, own_beam, total, root_s, k, (torch.linalg.cross(y_axis, z_axis, dim=0), y_axis, z_axis))

    @property
    def sine(self) -> Tensor:
        """Of the angle between beam and recoil in the rest frame of X: 0 if there is no production plane, [event]."""
        return torch.linalg.cross(_unit(self.total[1:]), _unit(self.beam[1:]), dim=0).square().sum(dim=0).sqrt()

    def components(self, p4: Tensor) -> Tensor:
        """A momentum in the rest frame of X with components along its axes, [4, event]."""
        own = to_rest_frame(p4, self.X, self.M)
        return torch.stack([own[0], *((axis * own[1:]).sum(dim=0) for axis in self.axes)])

    def azimuth(self, e3: Tensor) -> tuple[Tensor, Tensor]:
        """The cosine and sine of Φ of a polarisation vector about the beam, counted from the production plane      (F13.2)

        Args:
            e3:  linear polarisation where momenta are given, perpendicular to the beam, [3, event]; its length does not matter
        """
        e4 = to_rest_frame(to_rest_frame(torch.cat([torch.zeros_like(e3[:1]), e3]), self.X, self.M), self.total, self.root_s)
        e = e4[1:] - (e4[0] / self.k[0]) * self.k[1:]
        y_axis = self.axes[1]
        across = (e * y_axis).sum(dim=0)
        within = (e * torch.linalg.cross(y_axis, _unit(self.k[1:]), dim=0)).sum(dim=0)
        length = (within.square() + across.square()).sqrt()
        return within / length, across / length


def _unit(v: Tensor) -> Tensor:
    return v / v.square().sum(dim=0).sqrt()
