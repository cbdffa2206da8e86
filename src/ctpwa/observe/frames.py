"""Final-state momenta in any frame, and directions there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.kinematics.lorentz import mass_squared, to_rest_frame
from ctpwa.observe.particles import Group

LAB, PARENT = "lab", "parent"
AXES = ("x", "y", "z")
ROUNDING = 1e-12  # what a cosine may exceed 1 by, or −m² may be of E²


class Momenta:
    """The momenta of all final particles of some events.

    Args:
        p4:           one tensor for each final particle, [4, event], GeV
        first_event:  number of the first event, for messages
    """

    def __init__(self, p4: Sequence[Tensor], first_event: int = 0) -> None:
        self.p4, self.first_event = p4, first_event
        self._parent: tuple[Tensor, Tensor] | None = None

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.p4[0].shape[1]

    def sum(self, members: Sequence[int]) -> Tensor:
        """Momentum of a group as it was given, [4, event]."""
        total = self.p4[members[0]]
        for index in members[1:]:
            total = total + self.p4[index]
        return total

    def mass(self, group: Group) -> Tensor:
        """√(E² − p²); a single massless particle may have a tiny negative square."""
        p4 = self.sum(group.members)
        s = mass_squared(p4)
        self._refuse(s < -ROUNDING * p4[0].square(), f"{group.text} has a negative mass squared")
        return s.clamp(min=0).sqrt()

    def in_frame(self, members: Sequence[int], frame: Group) -> Tensor:
        """Momentum of a group in the frame as given, in the rest frame of the parent, or from there in that of another group."""
        p4 = self.sum(members)
        if frame.word == LAB:
            return p4
        P4, M = self._parent_momentum()
        p4 = to_rest_frame(p4, P4, M)
        if frame.word == PARENT or len(frame.members) == len(self.p4):
            return p4
        mass = self.mass(frame)
        self._refuse(mass <= 0, f"{frame.text} is massless and has no rest frame")
        return to_rest_frame(p4, to_rest_frame(self.sum(frame.members), P4, M), mass)

    def _parent_momentum(self) -> tuple[Tensor, Tensor]:
        """Momentum and mass of all particles together."""
        if self._parent is None:
            P4 = self.sum(range(len(self.p4)))
            s = mass_squared(P4)
            self._refuse(~(s > 0), "all particles together have no positive mass")
            self._parent = P4, s.sqrt()
        return self._parent

    def unit(self, p3: Tensor, what: str) -> Tensor:
        """Direction of a momentum; what does not move has none."""
        length = p3.square().sum(dim=0).sqrt()
        self._refuse(length == 0, f"{what} is at rest and has no direction")
        return p3 / length

    def axis(self, group: Group, frame: Group) -> Tensor:
        """Unit vector along x, y or z, or along the momentum of a group in a frame, [3, event]."""
        if group.word:
            return fixed_axis(group.word, self.p4[0])
        return self.unit(self.in_frame(group.members, frame)[1:], group.text)

    def helicity_axis(self, frame: Group) -> Tensor:
        """Unit vector against all particles that are not in the group, in its rest frame: where it flew in the rest frame of the parent."""
        rest = [index for index in range(len(self.p4)) if index not in frame.members]
        return -self.unit(self.in_frame(rest, frame)[1:], f"what is not in {frame.text}")

    def _refuse(self, bad: Tensor, what: str) -> None:
        if bool(bad.any()):
            event = self.first_event + int(bad.nonzero()[0, 0])
            raise DataError(f"{what} in event {event}\n fix: check the momenta of this event, or use another variable")


def fixed_axis(name: str, like: Tensor) -> Tensor:
    """The same unit vector for all events, [3, 1]."""
    return torch.tensor([[float(name == axis)] for axis in AXES], dtype=like.dtype, device=like.device)


def dot(a3: Tensor, b3: Tensor) -> Tensor:
    """Scalar product of [3, event]."""
    return (a3 * b3).sum(dim=0)


def azimuth(p3: Tensor, z3: Tensor, x3: Tensor) -> Tensor:
    """Angle of p around the unit vector z, from the component of x that is orthogonal to z, in (−π, π]."""
    x3, p3 = x3 - z3 * dot(x3, z3), p3 - z3 * dot(p3, z3)
    y3 = torch.linalg.cross(z3.expand_as(p3), x3.expand_as(p3), dim=0)
    return torch.atan2(dot(p3, y3), dot(p3, x3))


def shuffle(p4: list[Tensor], groups: Sequence[Sequence[int]], used: Sequence[bool], first_event: int) -> list[Tensor]:
    """Identical particles in another order in every event: event number i gets permutation i, and again from the first.

    Args:
        p4:           momenta of the final particles, each [4, event]
        groups:       indices of identical particles
        used:         for each group whether to shuffle it
        first_event:  number of the first event
    """
    result, period = list(p4), 1
    for group, wanted in zip(groups, used, strict=True):
        orders = list(permutations(group))
        if wanted:
            number = torch.div(torch.arange(first_event, first_event + p4[0].shape[1]), period, rounding_mode="floor") % len(orders)
            for place, index in enumerate(group):
                source = torch.tensor([group.index(order[place]) for order in orders])[number]
                stacked = torch.stack([p4[i] for i in group])
                result[index] = stacked[source, :, torch.arange(len(source))].T.contiguous()
        period *= len(orders)
    return result
