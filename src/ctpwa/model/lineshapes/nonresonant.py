"""Amplitudes without a resonance: constant, exponential, polynomial."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, Vertex, s

ALPHA = LineshapeParameter("alpha", "GeV⁻²", r"\alpha")


def build_constant(vertex: Vertex) -> Formula:
    """F = 1."""
    return Formula("constant", sp.Integer(1))


def build_exponential(vertex: Vertex) -> Formula:
    """F = exp(−α (s − s_th)) with s_th = (m1 + m2)²: one at threshold, so that α changes the shape and not the scale."""
    threshold = sp.Float((vertex.m1 + vertex.m2) ** 2)
    return Formula("exponential", sp.exp(-ALPHA.symbol * (s - threshold)), (ALPHA,), "Belle, PRD 71, 092003 (2005)")


def build_polynomial(vertex: Vertex, degree: Any = 1) -> Formula:
    """F = 1 + Σ_k c_k (s − s_th)^k with real c_k and s_th = (m1 + m2)²."""
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= 10:
        raise PhysicsError(f"option 'degree' of lineshape 'polynomial' is {degree!r}", "give an integer from 1 to 10")
    x = s - sp.Float((vertex.m1 + vertex.m2) ** 2)
    coefficients = tuple(LineshapeParameter(f"c_{k}", _unit(k), f"c_{{{k}}}", default=0.0) for k in range(1, degree + 1))
    return Formula("polynomial", 1 + sp.Add(*(c.symbol * x**k for k, c in enumerate(coefficients, start=1))), coefficients)


def _unit(k: int) -> str:
    return "GeV⁻" + str(2 * k).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


KINDS = (
    LineshapeKind("constant", build_constant, "constant 1"),
    LineshapeKind("exponential", build_exponential, "exponential in s"),
    LineshapeKind(
        "polynomial", build_polynomial, "polynomial in s with real coefficients", {"degree": "degree from 1 to 10; 1 unless given"}
    ),
)
