"""Events of a production: X of any mass where the beam makes it, with all event columns.

An event is kept as rows of four numbers: the momenta of the final particles, that of the beam, and (P, α, P_C, 0) of its polarisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi

import torch
from torch import Tensor

from ctpwa.base.errors import GenerationError
from ctpwa.data.event_column import constant_columns
from ctpwa.data.events import Events
from ctpwa.kinematics.lorentz import from_rest_frame
from ctpwa.kinematics.sequential_decays import on_shell
from ctpwa.kinematics.two_to_two import TwoToTwo
from ctpwa.model.model import Model
from ctpwa.spin.energy_table import EnergyTable
from ctpwa.spin.exposure import Exposure
from ctpwa.spin.photoproduction import Photoproduction
from ctpwa.spin.produced_rows import ProducedBy

Given = Mapping[str, float | Sequence[float]]


def reactions_of(model: Model, device: torch.device) -> Reactions | None:
    """How the events of a production are made; None for a decay.

    Raises:
        GenerationError: if the model does not say how
    """
    production = model.production
    if not isinstance(production, ProducedBy):
        return None
    if production.exposure is None:
        raise GenerationError(
            f"{model.decay} of {production} cannot be generated: nothing says how s, t and the mass of {model.decay.parent.name} are"
            " distributed\n fix: add to its production  generate: {energy: [8.2, 8.8], slope: 5, mass: [0.7, 2]},  or use simulated events"
        )
    return Reactions(model, production, production.exposure, device)


class Reactions:
    """Makes beams, and puts decays of X where they make it.

    Args:
        model:       the model
        production:  how X is made
        exposure:    what with
        device:      where to generate
    """

    n_uniform = 4  # energy, t, azimuth, angle of polarisation
    n_rows = 2  # besides the final particles

    def __init__(self, model: Model, production: ProducedBy, exposure: Exposure, device: torch.device) -> None:
        assert isinstance(production.reaction.target, tuple)  # ``config`` refuses others
        self.model, self.production, self.exposure, self.device = model, production, exposure, device
        self._masses = [0.0 if p.massless else float(p.mass or 0.0) for p in model.decay.final]
        self._target = torch.tensor(production.reaction.target, dtype=torch.float64, device=device)[:, None]
        self.lowest = max(exposure.mass[0], model.decay.lowest_mass(range(len(self._masses))))

    def beam(self, energy: Tensor) -> Tensor:
        """Momenta of the beam, [4, event]: the same for all if the model says so, else along z."""
        given = self.production.reaction.beam
        if isinstance(given, tuple):
            return torch.tensor(given, dtype=torch.float64, device=self.device)[:, None].expand(4, len(energy))
        zero = torch.zeros_like(energy)
        return torch.stack([energy, zero, zero, (energy.square() - self.exposure.beam_mass**2).sqrt()])

    def mass_limits(self, beam: Tensor) -> tuple[Tensor, Tensor]:
        """The smallest and the largest mass of X that a beam can make, [event]."""
        total = beam + self._target
        root_s = (total[0].square() - total[1:].square().sum(dim=0)).sqrt()
        low = torch.full_like(root_s, self.lowest)
        return low, torch.minimum(root_s - self.exposure.recoil_mass, torch.full_like(root_s, self.exposure.mass[1]))

    def integral(self, beam: Tensor, M: Tensor) -> Tensor:
        """∫ e^{bt} dt for X of mass M, [event]."""
        own, b = self._reaction(beam, M), self.exposure.slope
        if b == 0:
            return own.t_range
        return (b * own.t_min).exp() * -torch.expm1(-b * own.t_range) / b

    def place(self, p4: Tensor, M: Tensor, beam: Tensor, uniform: Tensor) -> Tensor:
        """All rows of events, [row, 4, event].

        Args:
            p4:       final particles in the rest frame of X, [particle, 4, event]
            M:        mass of X
            beam:     [4, event]
            uniform:  for t, azimuth and angle of polarisation, [3, event]
        """
        own, b = self._reaction(beam, M), self.exposure.slope
        below = own.t_range * uniform[0] if b == 0 else -torch.log1p(uniform[0] * torch.expm1(-b * own.t_range)) / b
        X = own.X(below, 2 * pi * uniform[1])
        placed = [on_shell(from_rest_frame(p, X, M), mass) for p, mass in zip(p4, self._masses, strict=True)]
        return torch.stack([*placed, beam, self._polarisation(beam[0], uniform[2])])

    def _polarisation(self, energy: Tensor, uniform: Tensor) -> Tensor:
        own = self.exposure
        P = own.degree(energy) if isinstance(own.degree, EnergyTable) else torch.full_like(energy, own.degree)
        angles = torch.tensor(own.angles or (0.0,), dtype=torch.float64, device=self.device)
        alpha = angles[(uniform * len(angles)).long().clamp(max=len(angles) - 1)]
        return torch.stack([P, alpha, torch.full_like(energy, own.circular), torch.zeros_like(energy)])

    def _reaction(self, beam: Tensor, M: Tensor) -> TwoToTwo:
        return TwoToTwo.of(beam, self._target.expand(4, len(M)), M, self.exposure.recoil_mass)

    def columns(self, rows: Tensor) -> dict[str, Tensor]:
        """The event columns that the production uses, from rows [row, 4, event]."""
        beam, (P, alpha, circular, _) = rows[-2], rows[-1]
        found: dict[str, Tensor] = {}
        if self.production.reaction.polarised_beam:
            beam = torch.stack([beam[0], P * alpha.cos(), P * alpha.sin(), beam[3]])
        if isinstance(self.production.reaction.beam, str):
            found[self.production.reaction.beam] = beam.T.contiguous()
        if isinstance(self.production, Photoproduction):
            own = self.production.polarisation
            numbers = {
                own.degree: P,
                own.angle: alpha,
                own.direction: torch.stack([alpha.cos(), alpha.sin(), torch.zeros_like(alpha)], dim=1),
                own.circular: circular,
            }
            found |= {name: values.contiguous() for name, values in numbers.items() if isinstance(name, str)}
        return found


def generated_events(model: Model, rows: Tensor, given: Given, reactions: Reactions | None, weights: Tensor | None = None) -> Events:
    """Events from their rows: momenta of the final particles, and event columns.

    Args:
        model:      the model
        rows:       [row, 4, event]
        given:      columns that all events have the same numbers of; of those that reactions make, these count
        reactions:  what made the rows; None for a decay
        weights:    of the events
    """
    momenta = {name: rows[i].T.contiguous() for i, name in enumerate(model.final_names)}
    own = {} if reactions is None else reactions.columns(rows)
    return Events(momenta, weights, own | constant_columns(given, model.columns, rows.shape[-1]))
