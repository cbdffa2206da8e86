"""What is known about a particle: quantum numbers, mass, charge and its antiparticle."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ctpwa.decay.spin import format_parity, format_spin, projections

Flavour = tuple[int, int, int]  # net strangeness, charm, bottomness


@dataclass(frozen=True)
class Particle:
    """A particle or resonance.

    Attributes:
        name:          unique name; PDG spelling for particles of the PDG
        two_J:         doubled spin
        P, C:          parities, +1 or −1; None where undefined or unknown
        mass, width:   GeV; None where unknown
        charge:        in units of e
        massless:      a property of the particle, never a cut on an event
        antiparticle:  name of the antiparticle; the particle's own name if self-conjugate
        baryon:        baryon number
        flavours:      possible net (strangeness, charm, bottomness); two entries for K_S and K_L
        latex:         LaTeX name
        lepton:        lepton number
    """

    name: str
    two_J: int
    P: int | None
    C: int | None
    mass: float | None
    width: float | None
    charge: int
    massless: bool
    antiparticle: str
    baryon: int
    flavours: frozenset[Flavour]
    latex: str
    lepton: int = 0

    @property
    def self_conjugate(self) -> bool:
        """Whether the particle is its own antiparticle."""
        return self.antiparticle == self.name

    @property
    def fermion(self) -> bool:
        """Whether the spin is half-integer."""
        return self.two_J % 2 == 1

    @property
    def neutrino(self) -> bool:
        """Whether it is a neutrino or an antineutrino."""
        return self.lepton != 0 and self.charge == 0

    @property
    def one_handed(self) -> bool:
        """Whether it has a single spin state: a massless neutrino is left-handed, a massless antineutrino right-handed."""
        return self.massless and self.neutrino

    @property
    def photon_like(self) -> bool:
        """Whether it is a massless vector, whose spin states are two polarisation vectors."""
        return self.massless and self.two_J > 1

    @property
    def two_helicities(self) -> tuple[int, ...]:
        """2λ of all helicities that it can have: ±J if it is massless, only one if it is one-handed."""
        if self.one_handed:
            return (-1,) if self.lepton > 0 else (1,)
        return tuple(two_lam for two_lam in projections(self.two_J) if not self.massless or abs(two_lam) == self.two_J)

    @property
    def label(self) -> str:
        """Name with quantum numbers, e.g. ``J/psi(1S) (1⁻⁻)``."""
        return f"{self.name} ({format_spin(self.two_J)}{format_parity(self.P)}{format_parity(self.C)})"

    def conjugate(self) -> Particle:
        """The antiparticle: opposite charges, and opposite parity for fermions."""
        if self.self_conjugate:
            return self
        return replace(
            self,
            name=self.antiparticle,
            antiparticle=self.name,
            P=-self.P if self.P is not None and self.fermion else self.P,
            charge=-self.charge,
            baryon=-self.baryon,
            lepton=-self.lepton,
            flavours=frozenset((-s, -c, -b) for s, c, b in self.flavours),
            latex=rf"\overline{{{self.latex}}}" if self.charge == 0 else _conjugate_latex(self.latex, self.charge),
        )


def _conjugate_latex(latex: str, charge: int) -> str:
    sign, flipped = ("+", "-") if charge > 0 else ("-", "+")
    old = "^{" + sign * abs(charge) + "}"
    return latex.replace(old, "^{" + flipped * abs(charge) + "}") if old in latex else rf"\overline{{{latex}}}"


def charge_suffix(charge: int) -> str:
    """``+``, ``--``, or nothing for a neutral particle."""
    return ("+" if charge > 0 else "-") * abs(charge)


def combined_flavours(particles: tuple[Particle, ...]) -> frozenset[Flavour]:
    """Net flavours that a group of particles can have together."""
    sums: set[Flavour] = {(0, 0, 0)}
    for particle in particles:
        sums = {(s + x, c + y, b + z) for s, c, b in sums for x, y, z in particle.flavours}
    return frozenset(sums)
