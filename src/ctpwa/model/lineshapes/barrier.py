"""Break-up momentum at the nominal mass and Blatt-Weisskopf polynomials, as formulas."""

from __future__ import annotations

import sympy as sp

from ctpwa.kinematics.two_body import barrier_coefficients
from ctpwa.model.lineshapes.formula import Vertex

# the nominal break-up momentum in print
Q0 = sp.Symbol("q_0", positive=True)
# below this q0² the nominal break-up momentum is continued smoothly: a width that is divided by q0^(2l+1) must not blow up there
Q2_GUARD = sp.Float(0.05**2)  # GeV²


def breakup_q2(s: sp.Expr, m1: float | sp.Expr, m2: float | sp.Expr) -> sp.Expr:
    """q²(s) = [s − (m1 + m2)²] [s − (m1 − m2)²] / 4s of a pair of constant masses; negative below threshold."""
    above, below = (square if isinstance(square, sp.Expr) else sp.Float(square) for square in ((m1 + m2) ** 2, (m1 - m2) ** 2))
    if below == 0:
        return (s - above) / 4
    return (s - above) * (s - below) / (4 * s)


def effective_q2(q0_2: sp.Expr) -> sp.Expr:
    """q0² where it is large enough to divide by, continued to positive values below.

        q_eff² = q0²                    for q0² ≥ q_c² = (0.05 GeV)²
        q_eff² = q_c² / (1 + v + v²)    below, with v = 1 − q0²/q_c²

    Positive, finite and twice continuously differentiable for every nominal mass above zero, below threshold included. There the
    nominal width is no longer the width at the nominal mass, but a coupling.
    """
    # two one-sided terms: sympy would move the powers of a single Piecewise into its branches, where the one that is not taken
    # is a root of a negative number; and no number in front, which sympy would multiply out
    u = Q2_GUARD - q0_2
    below = sp.Piecewise((u, sp.Ge(u, 0)), (sp.Integer(0), True))
    above = sp.Piecewise((-u, sp.Lt(u, 0)), (sp.Integer(0), True))
    return 1 / (1 / Q2_GUARD + below / Q2_GUARD**2 + below**2 / Q2_GUARD**3) + above


def nominal_q2(m0: sp.Expr, vertex: Vertex) -> sp.Expr:
    """Effective q0² of the own channel at the nominal mass ``m0``."""
    return effective_q2(breakup_q2(m0**2, vertex.m1, vertex.m2))


def barrier_polynomial(L: int, q2: sp.Expr, d: float | sp.Symbol) -> sp.Expr:
    """N_L(q d)/d^2L = Σ_k n_k d^(2k−2L) q^2k by Horner's rule; without barrier (d = 0) the constant N_L(0).

    Only ratios of it are physical, and a leading coefficient of one keeps q² in one piece.
    """
    coefficients = barrier_coefficients(L)
    if d == 0:
        return sp.Integer(coefficients[0])
    value: sp.Expr = sp.Integer(1)
    for k in reversed(range(L)):
        term = coefficients[k] / d ** (2 * (L - k))
        value = value * q2 + (term if isinstance(term, sp.Expr) else sp.Float(term))
    return value


def barrier_momentum(L: int, q2: sp.Expr, d: float | sp.Symbol) -> sp.Expr:
    """q^(2L+1) d^2L/N_L(q d): how a partial width grows with the break-up momentum; ``q2`` must not be negative."""
    return q2 ** sp.Rational(2 * L + 1, 2) / barrier_polynomial(L, q2, d)
