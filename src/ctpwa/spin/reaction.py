"""A reaction beam + target → X + recoil: where its momenta are in the events, and the frame of X that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.data.event_column import EventColumn
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.kinematics.production_frame import FRAMES, ProductionFrame

SMALLEST_SINE = 1e-8  # of the angle between beam and recoil in the rest frame of X: below, rounding makes the production plane
POLARISED_BEAM = "; of files of AmpTools, whose beams have their polarisation in px and py, write  polarisation: amptools"
Source = str | tuple[float, ...]  # the name of an event column, or numbers that all events have


@dataclass(frozen=True)
class Reaction:
    """What the frame of X is made of.

    Attributes:
        beam:    (E, px, py, pz) of the beam in the frame of all momenta, GeV: an event column of 4 numbers, or the numbers
        target:  the same of the target
        frame:   axes of the spin of X: helicity, gottfried-jackson or adair
        polarised_beam:  whether px and py of the beam are P cos α and P sin α of its polarisation, as in files of AmpTools: its momentum
                         is (E, 0, 0, E) then
    """

    beam: Source = "beam"
    target: Source = "target"
    frame: str = "helicity"
    polarised_beam: bool = False

    def __post_init__(self) -> None:
        if self.frame not in FRAMES:
            raise PhysicsError(f"unknown frame {self.frame!r} of a production", suggest(self.frame, FRAMES) or f"write {', '.join(FRAMES)}")
        for name, source in (("beam", self.beam), ("target", self.target)):
            if isinstance(source, tuple):
                check_four(name, source)

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """The event columns that it uses."""
        names = dict.fromkeys(source for source in (self.beam, self.target) if isinstance(source, str))
        return tuple(EventColumn(name, 4) for name in names)

    def frame_of(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor]) -> ProductionFrame:
        """The frame of X in every event."""
        return ProductionFrame.of(p4, *self.momenta(columns, p4[0][0]), self.frame)

    def momenta(self, columns: Mapping[str, Tensor], like: Tensor) -> tuple[Tensor, Tensor]:
        """Momenta of beam and target, [4, event]."""
        beam, target = (numbers_of(source, columns, like) for source in (self.beam, self.target))
        if self.polarised_beam:
            zero = torch.zeros_like(like)
            beam = torch.stack([beam[0], zero, zero, beam[0]])
        return beam, target

    def check(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor], first_event: int) -> ProductionFrame:
        """The frame of X; refuse momenta that no reaction has, and events at the smallest |t|, which have no production plane."""
        beam, target = self.momenta(columns, p4[0][0])
        for name, momentum, massive in (("beam", beam, False), ("target", target, True)):
            light = mass_squared(momentum) < (0.0 if massive else -1e-3 * momentum[0].square())
            refuse(
                ~(momentum[0] > 0) | light,
                first_event,
                f"the momentum of the {name} in event {{}} has no positive energy, or a negative mass²",
                "give it as E, px, py, pz in GeV" + POLARISED_BEAM * (name == "beam"),
            )
        X = torch.stack(list(p4)).sum(dim=0)
        left = beam + target - X
        refuse(
            ~(left[0] > 0) | (mass_squared(left) < -1e-3 * left[0].square()),
            first_event,
            "four-momentum is not conserved: beam and target of event {} do not have enough energy for what X decays to",
            "check the columns of beam and target, their units (GeV) and that they are in the frame of the other momenta",
        )
        frame = ProductionFrame.of(p4, beam, target, self.frame)
        refuse(
            ~(frame.sine > SMALLEST_SINE),
            first_event,
            "event {} has no production plane: X and the recoil go along the beam, |t| is the smallest possible",
            "remove such events from data and simulation",
        )
        return frame

    def probed(self, n_events: int) -> tuple[Reaction, dict[EventColumn, Tensor]]:
        """The same for X at rest, with momenta of beam and target in different directions."""
        generator = torch.Generator().manual_seed(0)
        result = {}
        for name, mass in (("probed beam", 0.0), ("probed target", 10.0)):
            p = 3 * torch.randn(n_events, 3, generator=generator, dtype=torch.float64)
            result[EventColumn(name, 4)] = torch.cat([(mass**2 + p.square().sum(dim=1, keepdim=True)).sqrt(), p], dim=1)
        beam, target = (column.name for column in result)
        return Reaction(beam, target, self.frame), result


def check_four(name: str, source: Sequence[float]) -> None:
    """Refuse numbers that are no momentum."""
    if len(source) != 4 or not source[0] > 0:
        raise PhysicsError(
            f"the momentum of the {name} is {list(source)}", "give an event column, or the four numbers E, px, py, pz in GeV"
        )


def numbers_of(source: Source | float, columns: Mapping[str, Tensor], like: Tensor) -> Tensor:
    """Numbers of every event, [event] or [component, event]: those of a column, or the same for all."""
    if isinstance(source, str):
        return columns[source]
    if isinstance(source, tuple):
        return torch.stack([torch.full_like(like, number) for number in source])
    return torch.full_like(like, source)


class RefusedEventError(DataError):
    """An event that no reaction has.

    Attributes:
        event:  its number
    """

    def __init__(self, event: int, message: str) -> None:
        super().__init__(message)
        self.event = event


def refuse(bad: Tensor, first_event: int, what: str, fix: str) -> None:
    """An error about the first event that is bad; ``what`` has {} in place of its number."""
    if bool(bad.any()):
        event = int(bad.nonzero()[0, 0])
        number = int(bad.sum())
        others = f" (and {number - 1} more)" if number > 1 else ""
        raise RefusedEventError(first_event + event, f"{what.format(first_event + event)}{others}\n fix: {fix}")
