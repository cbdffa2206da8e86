"""Flatté: a resonance near the threshold of one of its decay channels."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.breit_wigner import MASS
from ctpwa.model.lineshapes.channels import besides_own, read_channels
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, Vertex, s

REFERENCE = "S. M. Flatté, PLB 63, 224 (1976)"
# how the couplings enter: unit of g, and the residue in front of ρ
CONVENTIONS = {"squared": "GeV", "linear": "GeV²", "mass": "GeV"}


def build_flatte(vertex: Vertex, channels: Any = None, convention: str = "squared") -> Formula:
    """Flatté with any number of channels, each with its phase space ρ_j = 2q_j/√s, i|ρ_j| below threshold.

    squared:  F = 1 / (m0² − s − i Σ_j g_j² ρ_j(s))
    linear:   F = 1 / (m0² − s − i Σ_j g_j ρ_j(s))
    mass:     F = 1 / (m0² − s − i m0 Σ_j g_j ρ_j(s))
    """
    if convention not in CONVENTIONS:
        raise PhysicsError(f"option 'convention' of lineshape 'flatte' is {convention!r}", suggest(str(convention), CONVENTIONS))
    m0 = MASS.symbol
    found = read_channels(channels, vertex, "flatte")
    if any(channel.L for channel in found if not channel.own):
        raise PhysicsError("option 'channels' of lineshape 'flatte' gives an L", "every channel of it is an S wave: give [m1, m2] only")
    couplings = [LineshapeParameter(f"g_{c.label}", CONVENTIONS[convention], c.symbol("g").name, lower=0.0) for c in found]
    factor = m0 if convention == "mass" else sp.Integer(1)
    power = 2 if convention == "squared" else 1

    def propagator(rho: list[sp.Expr]) -> sp.Expr:
        return 1 / (m0**2 - s - sp.I * sp.Add(*(factor * g.symbol**power * rho_j for g, rho_j in zip(couplings, rho, strict=True))))

    printed = propagator([channel.symbol(r"\rho") for channel in found])
    return Formula(
        "flatte", propagator([channel.rho for channel in found]), (MASS, *couplings), REFERENCE, printed, besides_own(found), unitary=True
    )


KINDS = (
    LineshapeKind(
        "flatte",
        build_flatte,
        "Flatté with any number of S-wave channels, analytic below their thresholds",
        {
            "channels": "table of decay channels: {label: own} or {label: [m1, m2]}",
            "convention": "squared: i Σ g²ρ (default); linear: i Σ gρ; mass: i m0 Σ gρ",
        },
    ),
)
