"""Two-body phase space ρ = 2q/√s: of the own channel from the event, of other channels continued below their threshold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, Vertex, csqrt, q2, s


def own_rho() -> sp.Expr:
    """ρ = 2q/√s of the own channel, from the masses of the event."""
    return 2 * sp.sqrt(q2) / sp.sqrt(s)


def rho(s: sp.Expr, m1: float, m2: float) -> sp.Expr:
    """ρ(s) = √{[1 − (m1 + m2)²/s] [1 − (m1 − m2)²/s]} of another channel, i|ρ| everywhere below its threshold.

    The root itself becomes real again below (m1 − m2)², which would open a closed channel there; hence the absolute value.
    """
    above, below = sp.Float((m1 + m2) ** 2), sp.Float((m1 - m2) ** 2)
    root = csqrt(1 - above / s)
    if below == 0:
        return root
    other = 1 - below / s
    return root * csqrt(sp.Piecewise((other, sp.Ge(other, 0)), (-other, True)))


def build_phase_space(vertex: Vertex, power: Any = 1) -> Formula:
    """F = (2q/√s)^power."""
    if isinstance(power, bool) or not isinstance(power, int | float) or not 0 < power <= 20 or (2 * power) % 1 != 0:
        raise PhysicsError(f"option 'power' of lineshape 'phase_space' is {power!r}", "give 0.5, 1, 1.5, … up to 20")
    fraction = Fraction(power)
    expression = own_rho() ** sp.Rational(fraction.numerator, fraction.denominator)
    return Formula("phase_space", expression, reference="two-body phase space, PDG review of kinematics")


KINDS = (
    LineshapeKind(
        "phase_space",
        build_phase_space,
        "two-body phase space (2q/√s)^power of the own channel",
        {"power": "exponent of the phase space, a multiple of one half; 1 unless given"},
    ),
)
