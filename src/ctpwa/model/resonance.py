"""What a resonance contributes to the fit: its lineshape and the parameters of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Resonance:
    """One propagator, shared by all charge states and chains that carry its name.

    Attributes:
        name:          the key in the model file
        lineshape:     name of the lineshape, an expression, or a lineshape made in Python
        parameters:    values of its parameters by name; those left out have defaults
        floating:      which of them are fitted
        options:       options of the lineshape
        radius:        barrier radius d of its decay vertex, GeV⁻¹
        latex:         LaTeX name
        labels:        names of its functions if the lineshape is a basis, each with a coupling of its own
        nominal_mass:  mass that lineshapes and barriers of other states see instead of the parameter of that name, GeV
        width_l:       the l of its running width; None: the smallest L of its vertex
        own_radius:    whether the radius of its lineshape and its decay vertex is the parameter ``radius``
        measured:      floating parameters that are constrained to what was measured: (mean, standard deviation) by name
    """

    name: str
    lineshape: Any
    parameters: Mapping[str, float]
    floating: tuple[str, ...]
    radius: float
    latex: str
    options: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    nominal_mass: float | None = None
    measured: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    width_l: int | None = None
    own_radius: bool = False

    @property
    def mass(self) -> float | None:
        """The parameter of that name, GeV; None if the lineshape has none."""
        return self.parameters.get("mass")

    @property
    def width(self) -> float | None:
        """The parameter of that name, GeV; None if the lineshape has none."""
        return self.parameters.get("width")
