"""How the amplitude of a vertex grows with the break-up momentum."""

from __future__ import annotations

from dataclasses import dataclass

BLATT_WEISSKOPF, EXPONENTIAL, MOMENTUM, NO_BARRIER = "blatt-weisskopf", "exponential", "momentum", "none"
DAMPED = (BLATT_WEISSKOPF, EXPONENTIAL)  # forms with a radius


@dataclass(frozen=True)
class Barrier:
    """The factor of a vertex besides its angular part Y_L.

    Attributes:
        form:        ``blatt-weisskopf``: q^l/√N_l(q d); ``exponential``: q^l exp(−q²d²/2); ``momentum``: q^l; ``none``: 1
        radius:      d, GeV⁻¹
        l:           the l of this factor; None: the L of the wave
        parameter:   name of the parameter that d is; empty if it is the number
        normalised:  what is divided by its value at q0, the break-up momentum of nominal masses: ``no``, nothing; ``barrier``, 1/√N_l
                     or the exponential; ``all``, q^l too
    """

    form: str = BLATT_WEISSKOPF
    radius: float = 3.0
    l: int | None = None
    parameter: str = ""
    normalised: str = "no"

    def of(self, L: int) -> int:
        """The power of q at a vertex with L."""
        return 0 if self.form == NO_BARRIER else L if self.l is None else self.l
