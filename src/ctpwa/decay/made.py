"""In which state a system X was produced: its spin projection, the naturality of the exchange, and which incoherent copy it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import format_parity, format_spin

Sector = tuple[int, int]  # reflectivity and rank: waves of one sector interfere, sectors are added up


@dataclass(frozen=True)
class Made:
    """The state in which one wave of X was produced                                                  (F13)

    Attributes:
        two_m:         doubled spin projection of X on the z axis of the production frame; 0 or more if ``folded``
        reflectivity:  +1 or −1
        rank:          number of the incoherent copy, such as nucleon spin non-flip (0) and flip (1)
        folded:        whether it is a state of definite reflectivity of X, made of m and −m
    """

    two_m: int
    reflectivity: int
    rank: int = 0
    folded: bool = False

    @property
    def sector(self) -> Sector:
        """Reflectivity and rank."""
        return self.reflectivity, self.rank

    def check(self, state: Particle) -> None:
        """Refuse what X with these quantum numbers cannot be.

        Args:
            state:  X in the wave
        """
        if state.two_J % 2 or state.P is None:
            raise PhysicsError(f"{state.label} was produced: X needs an integer spin and a parity", "give its JP, such as 2+")
        if abs(self.two_m) > state.two_J or self.two_m % 2:
            raise PhysicsError(f"{state.label} has no projection m = {self.m}", f"m goes from -{state.two_J // 2} to {state.two_J // 2}")
        if self.folded and self.two_m < 0:
            raise PhysicsError(f"M = {self.m} of {state.label} is negative", "states of definite reflectivity have M of 0 or more")
        if self.folded and self.two_m == 0 and self.reflectivity != only_reflectivity(state):
            fix = f"M = 0 of {format_spin(state.two_J)}{format_parity(state.P)} has reflectivity {'+-'[only_reflectivity(state) < 0]} only"
            raise PhysicsError(f"{state.label} has no state M = 0 of reflectivity {'+-'[self.reflectivity < 0]}", fix)

    @property
    def m(self) -> str:
        """``+1``, ``0``, ``-1``."""
        return f"{self.two_m // 2:+d}" if self.two_m else "0"

    def __str__(self) -> str:
        sign, number = "+-"[self.reflectivity < 0], f"M={self.two_m // 2}" if self.folded else f"m={self.m}"
        return f"{number} e={sign}" + (f" k={self.rank}" if self.rank else "")


def only_reflectivity(state: Particle) -> int:
    """The reflectivity of the state M = 0, −P (−1)^J."""
    assert state.P is not None
    return -state.P * (-1) ** (state.two_J // 2)
