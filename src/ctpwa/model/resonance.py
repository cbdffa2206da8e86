"""What a resonance contributes to the fit: its lineshape and the parameters of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Resonance:
    """One propagator, shared by all charge states and chains that carry its name.

    Attributes:
        name:       the key in the model file
        lineshape:  name of the lineshape
        mass:       nominal mass m0, GeV; None if the lineshape has none
        width:      nominal width Γ0, GeV; None if the lineshape has none
        floating:   which of ``mass`` and ``width`` are fitted
        radius:     barrier radius d of its decay vertex, GeV⁻¹
        latex:      LaTeX name
    """

    name: str
    lineshape: str
    mass: float | None
    width: float | None
    floating: tuple[str, ...]
    radius: float
    latex: str
