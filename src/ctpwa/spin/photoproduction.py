"""Production by polarised photons: two rows for each sector, which are two states of the photon.

With linear polarisation of degree P along e, whose azimuth about the beam is Φ, counted from the production plane,

    K = ( √(1+P) G^ε, √(1−P) G^{−ε} ),     G^± = ½ [ X_m e^{−iΦ} ± X̄_m e^{iΦ} ]                         (F13.4)

and with a degree P_C of circular polarisation besides, of helicity +1,

    K_r = V_{+r} X_m − ε V_{−r} X̄_m,    V V = ρ = ½ [[1 + P_C, −P e^{−2iΦ}], [−P e^{2iΦ}, 1 − P_C]]        (F13.5)

which is complex. V is the root of ρ: (ρ + √det ρ) / √(1 + 2 √det ρ).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ctpwa.base.errors import PhysicsError
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Decay
from ctpwa.decay.made import Made, Sector
from ctpwa.spin.energy_table import EnergyTable
from ctpwa.spin.exposure import Exposure
from ctpwa.spin.produced_rows import ProducedBy, ProducedRows
from ctpwa.spin.production import Production
from ctpwa.spin.reaction import Reaction, Source, numbers_of, refuse

TRANSVERSE = 1e-3  # of the length of e: how large its part along the beam may be


@dataclass(frozen=True)
class PhotonPolarisation:
    """The polarisation of photons; each a number of all events, or the name of an event column.

    Attributes:
        degree:     P of linear polarisation, 0 to 1; or a table of it against the energy of the beam
        direction:  e, perpendicular to the beam in the frame of momenta: a column of 3 numbers, or the numbers
        angle:      instead of ``direction``, its azimuth α in radians: e = (cos α, sin α, 0), with the beam along z
        circular:   P_C of circular polarisation, −1 to 1, positive for helicity +1; None: there is none
        in_beam:    whether P cos α and P sin α are px and py of the beam, see ``Reaction``; nothing else is given then
    """

    degree: str | float | EnergyTable = 0.0
    direction: Source | None = None
    angle: str | float | None = None
    circular: str | float | None = None
    in_beam: bool = False

    def __post_init__(self) -> None:
        degrees = self.degree.values if isinstance(self.degree, EnergyTable) else (self.degree,)
        for name, value, lowest in (*(("degree", own, 0.0) for own in degrees), ("circular", self.circular, -1.0)):
            if not isinstance(value, str) and value is not None and not lowest <= value <= 1:
                raise PhysicsError(f"{name!r} of the polarisation is {value:g}", f"it must be between {lowest:g} and 1")
        if self.in_beam:
            return
        linear = self._linear
        if linear and (self.direction is None) == (self.angle is None):
            raise PhysicsError("the direction of linear polarisation is not known", "give either 'angle' or 'direction'")
        if not linear and (self.direction is not None or self.angle is not None):
            raise PhysicsError("a direction of linear polarisation is given, but no degree", "give its degree")
        if isinstance(self.direction, tuple) and (len(self.direction) != 3 or not any(self.direction)):
            raise PhysicsError(f"the direction of the polarisation is {list(self.direction)}", "give a vector of three numbers")

    @property
    def _linear(self) -> bool:
        return self.in_beam or not isinstance(self.degree, float) or self.degree > 0

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """The event columns that it uses."""
        found = [EventColumn(self.degree, 1, 0.0, 1.0)] if isinstance(self.degree, str) else []
        found += [EventColumn(self.direction, 3)] if isinstance(self.direction, str) else []
        found += [EventColumn(self.angle)] if isinstance(self.angle, str) else []
        return tuple(found + ([EventColumn(self.circular, 1, -1.0, 1.0)] if isinstance(self.circular, str) else []))

    def degrees(self, beam: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
        """P of every event, [event].

        Args:
            beam:     as it is in the events, [4, event]
            columns:  event columns
        """
        if self.in_beam:
            return beam[1:3].square().sum(dim=0).sqrt()
        return self.degree(beam[0]) if isinstance(self.degree, EnergyTable) else numbers_of(self.degree, columns, beam[0])

    def vector(self, beam: Tensor, columns: Mapping[str, Tensor]) -> Tensor | None:
        """The vector e of every event, [3, event]; None without linear polarisation. Arguments as of ``degrees``."""
        like = beam[0]
        if self.in_beam:
            zero = torch.zeros_like(like)
            return torch.stack([torch.where(self.degrees(beam, columns) > 0, beam[1], 1.0), beam[2], zero])
        if self.angle is not None:
            alpha = numbers_of(self.angle, columns, like)
            return torch.stack([alpha.cos(), alpha.sin(), torch.zeros_like(alpha)])
        return None if self.direction is None else numbers_of(self.direction, columns, like)

    def check(self, beam: Tensor, columns: Mapping[str, Tensor], first_event: int) -> None:
        """Refuse a vector that is not perpendicular to the beam, energies outside a table, and impossible degrees of polarisation."""
        if isinstance(self.degree, EnergyTable):
            table = self.degree
            refuse(
                table.outside(beam[0]),
                first_event,
                f"the beam of event {{}} has an energy outside {table.low:g} to {table.high:g} GeV, where its polarisation is known",
                "add lines to the table, with 0 where there is none, or remove such events",
            )
        if self.in_beam:
            refuse(
                ~(self.degrees(beam, columns) <= 1),
                first_event,
                "the degree of polarisation of event {}, |(px, py)| of its beam, is above 1",
                "if these are the momentum of the beam, give 'degree' and 'angle' instead of  polarisation: amptools",
            )
            return
        e = self.vector(beam, columns)
        if e is not None:
            length = e.square().sum(dim=0).sqrt()
            along = (e * beam[1:]).sum(dim=0) / beam[1:].square().sum(dim=0).sqrt()
            refuse(
                ~(along.abs() <= TRANSVERSE * length) | ~(length > 0),
                first_event,
                "the polarisation of event {} is not perpendicular to its beam",
                "give e in the frame of the momenta" if self.angle is None else "an angle needs a beam along z; give 'direction' instead",
            )
        if self.circular is not None:
            P, circular = self.degrees(beam, columns), numbers_of(self.circular, columns, beam[0])
            refuse(
                ~(P.square() + circular.square() <= 1 + 1e-9),
                first_event,
                "the degrees of linear and circular polarisation of event {} have a sum of squares above 1",
                "correct one of them",
            )

    def probed(self, beam: Tensor) -> tuple[PhotonPolarisation, dict[EventColumn, Tensor]]:
        """The same for events with other momenta of the beam, [event, 4]."""
        n, k = len(beam), beam[:, 1:] / beam[:, 1:].norm(dim=1, keepdim=True)
        anywhere = torch.randn(n, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        result = {column: torch.linspace(column.lower * 0.6, 0.6, n, dtype=torch.float64) for column in self.columns if column.upper == 1}
        if not self._linear:
            return self, result
        degree, direction = EventColumn("probed degree", 1, 0.0, 1.0), EventColumn("probed direction", 3)
        result[direction] = anywhere - (anywhere * k).sum(dim=1, keepdim=True) * k
        if isinstance(self.degree, str | float) and not self.in_beam:
            return replace(self, direction=direction.name, angle=None), result
        result[degree] = torch.linspace(0.0, 0.6, n, dtype=torch.float64)
        return replace(self, degree=degree.name, direction=direction.name, angle=None, in_beam=False), result

    def __str__(self) -> str:
        linear = self._linear
        return "elliptical" if linear and self.circular is not None else "linear" if linear else "circular"


@dataclass(frozen=True)
class Photoproduction(ProducedBy):
    """X made by polarised photons.

    Attributes:
        reaction:      beam, target and frame
        sectors:       reflectivity and rank of each
        polarisation:  of the photons
        exposure:      what events are generated with; None: they are not
    """

    reaction: Reaction
    sectors: tuple[Sector, ...]
    polarisation: PhotonPolarisation
    exposure: Exposure | None = None

    folded = False

    def rows(self, decay: Decay) -> PhotonRows:
        """See ``Production``."""
        return (LinearRows if self.polarisation.circular is None else EllipticalRows)(decay, self.reaction, self.sectors, self.polarisation)

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """See ``ProducedBy``."""
        return tuple({column.name: column for column in (*self.reaction.columns, *self.polarisation.columns)}.values())

    def probed(self, n_events: int) -> tuple[Production, dict[EventColumn, Tensor]]:
        """See ``Production``."""
        reaction, columns = self.reaction.probed(n_events)
        polarisation, own = self.polarisation.probed(next(iter(columns.values())))
        return replace(self, reaction=reaction, polarisation=polarisation), columns | own

    def __str__(self) -> str:
        return f"photoproduction in the {self.reaction.frame} frame, {self.polarisation} polarisation"


@dataclass(frozen=True)
class PhotonRows(ProducedRows):
    """Two rows for each sector and final spin state.

    Attributes:
        polarisation:  of the photons
    """

    polarisation: PhotonPolarisation

    n_beam = 2

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """See ``Rows``."""
        return tuple(dict.fromkeys(column.name for column in (*self.reaction.columns, *self.polarisation.columns)))

    def check(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor], first_event: int) -> None:
        """See ``Rows``."""
        self.reaction.check(p4, columns, first_event)
        self.polarisation.check(numbers_of(self.reaction.beam, columns, p4[0][0]), columns, first_event)

    def prepare(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor]) -> tuple[Sequence[Tensor], Mapping[str, Tensor]]:
        """Momenta in the frame of X; ``P``, ``circular`` and ``turn`` = e^{−iΦ}."""
        frame = self.reaction.frame_of(p4, columns)
        own, like = self.polarisation, p4[0][0]
        beam = numbers_of(self.reaction.beam, columns, like)
        e = own.vector(beam, columns)
        cos, sin = (torch.ones_like(like), torch.zeros_like(like)) if e is None else frame.azimuth(e)
        light = {
            "P": own.degrees(beam, columns),
            "circular": numbers_of(0.0 if own.circular is None else own.circular, columns, like),
            "turn": torch.complex(cos, -sin),
        }
        return [frame.components(p) for p in p4], light


@dataclass(frozen=True)
class LinearRows(PhotonRows):
    """Rows of linearly polarised photons, which are real."""

    def rows_of(self, X: Tensor, made: Made, columns: Mapping[str, Tensor]) -> Iterator[Tensor]:
        """See ``ProducedRows``."""
        Z = X * columns["turn"]
        for sign in (1, -1):
            size = (1 + sign * columns["P"]).sqrt()
            for row in self.reflected(Z, sign * made.reflectivity, 0.5):
                yield size * row


@dataclass(frozen=True)
class EllipticalRows(PhotonRows):
    """Rows of photons with any polarisation, which are complex."""

    @property
    def real(self) -> bool:
        """See ``Rows``."""
        return False

    def rows_of(self, X: Tensor, made: Made, columns: Mapping[str, Tensor]) -> Iterator[Tensor]:
        """See ``ProducedRows``."""
        P, circular, turn = columns["P"], columns["circular"], columns["turn"]
        root = (1 - P.square() - circular.square()).clamp(min=0).sqrt() / 2  # √det ρ
        scale = (1 + 2 * root).sqrt()
        off = -P * turn.square() / 2
        V = (((1 + circular) / 2 + root, off), (off.conj(), (1 - circular) / 2 + root))  # times scale
        Xbar = self.mirrored(X)
        for r in (0, 1):
            yield from (V[0][r] / scale) * X - made.reflectivity * (V[1][r] / scale) * Xbar
