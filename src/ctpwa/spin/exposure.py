"""What the events of a production are generated with: energies of the beam, the recoil, t, the mass of X, and polarisation.

Events are distributed as

    f(E) dE · e^{bt} dt dφ · dm · dΦ(m)                                                                     (F13.8)

with dΦ the phase space of the decay of X with mass m, Π q dΩ Π dm of F12, t the momentum transfer from beam to X, and φ the azimuth of X.
"""

from __future__ import annotations

from dataclasses import dataclass

from ctpwa.base.errors import PhysicsError
from ctpwa.spin.energy_table import EnergyTable


@dataclass(frozen=True)
class Exposure:
    """Beam, recoil, t and mass of X of generated events.

    Attributes:
        energy:       f(E) of the beam, GeV; one point: all have this energy
        beam_mass:    GeV
        recoil_mass:  GeV
        mass:         smallest and largest mass of X, GeV
        slope:        b of e^{bt}, GeV⁻²
        degree:       P of linear polarisation, or a table of it; 0 without
        angles:       azimuths of linear polarisation, each as often; none if there is no linear polarisation
        circular:     degree of circular polarisation
    """

    energy: EnergyTable
    beam_mass: float
    recoil_mass: float
    mass: tuple[float, float]
    slope: float = 0.0
    degree: float | EnergyTable = 0.0
    angles: tuple[float, ...] = ()
    circular: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.mass[0] < self.mass[1]:
            raise PhysicsError(f"the mass of X goes from {self.mass[0]:g} to {self.mass[1]:g} GeV", "give the smaller one first")
        if min(self.energy.values) < 0 or not max(self.energy.values) > 0:
            raise PhysicsError("the energies of the beam have numbers below 0, or none above", "give how many there are at each energy")
        if not self.energy.low > self.beam_mass:
            raise PhysicsError(
                f"the beam has energies from {self.energy.low:g} GeV, and a mass of {self.beam_mass:g} GeV", "give higher energies"
            )
        degrees = self.degree.values if isinstance(self.degree, EnergyTable) else (self.degree,)
        if not all(0 <= P <= 1 for P in degrees):
            raise PhysicsError(f"a degree of polarisation is {max(degrees, key=abs):g}", "give numbers from 0 to 1")
        if isinstance(self.degree, EnergyTable) and not (self.degree.low <= self.energy.low and self.energy.high <= self.degree.high):
            raise PhysicsError(
                f"the degree of polarisation is given from {self.degree.low:g} to {self.degree.high:g} GeV, the beam from"
                f" {self.energy.low:g} to {self.energy.high:g} GeV",
                "add energies to its table",
            )
