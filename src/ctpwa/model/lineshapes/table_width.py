"""Breit-Wigner whose running width is a table: three-body widths, and whatever has no closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.breit_wigner import MASS, WIDTH
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, Vertex, s

REFERENCE = "a width that runs as a table says"
INTERPOLATIONS = ("linear", "pchip", "cubic")
SMALLEST = 1e-9
MAX_POINTS = 60  # every piece is a branch of the formula
NAME = "breit_wigner_table"


def build_table(vertex: Vertex, masses: Any = None, widths: Any = None, interpolation: str = "cubic") -> Formula:
    """F = 1 / (m0² − s − i m0 Γ0 g(√s)/g(m0)) with g interpolated between the points of a table, constant outside."""
    points, values = _numbers(masses, "masses"), _numbers(widths, "widths")
    if len(points) != len(values):
        raise PhysicsError(
            f"options 'masses' and 'widths' of lineshape {NAME!r} have {len(points)} and {len(values)} numbers", "give as many"
        )
    if any(b <= a for a, b in pairwise(points)) or points[0] <= 0:
        raise PhysicsError(f"option 'masses' of lineshape {NAME!r} does not ascend", "give masses in GeV, each larger than the one before")
    if min(values) < 0 or max(values) <= 0:
        raise PhysicsError(f"option 'widths' of lineshape {NAME!r} has negative numbers, or only zeros", "give widths of 0 or more")
    if interpolation not in INTERPOLATIONS:
        raise PhysicsError(
            f"option 'interpolation' of lineshape {NAME!r} is {interpolation!r}", suggest(str(interpolation), INTERPOLATIONS)
        )
    pieces = _pieces(points, values, interpolation)
    m0, gamma0 = MASS.symbol, WIDTH.symbol

    def propagator(ratio: sp.Expr) -> sp.Expr:
        return 1 / (m0**2 - s - sp.I * m0 * gamma0 * ratio)

    # the width is divided by g at the nominal mass, which must not vanish where that is outside the table
    nominal = [max(value, SMALLEST * max(values)) for value in (values[0], values[-1])]
    at_nominal_mass = _interpolated(pieces, points, nominal, m0)
    expression = propagator(_interpolated(pieces, points, [values[0], values[-1]], sp.sqrt(s)) / at_nominal_mass)
    g = sp.Symbol("g(s)", positive=True)
    return Formula(NAME, expression, (MASS, WIDTH), REFERENCE, propagator(g / sp.Symbol("g(m_0^2)", positive=True)))


def _numbers(given: Any, option: str) -> list[float]:
    wrong = isinstance(given, str) or not isinstance(given, Sequence)
    numbers = [] if wrong else [x for x in given if isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)]
    if wrong or len(numbers) != len(given) or not 4 <= len(numbers) <= MAX_POINTS:
        raise PhysicsError(f"option {option!r} of lineshape {NAME!r} is not a list of numbers", f"give 4 to {MAX_POINTS} numbers in GeV")
    return [float(x) for x in numbers]


def _pieces(points: list[float], values: list[float], interpolation: str) -> list[list[float]]:
    """Coefficients of the polynomial in m − m_k of every piece, the highest power first."""
    from scipy.interpolate import CubicSpline, PchipInterpolator

    if interpolation == "linear":
        pairs = zip(points, points[1:], values, values[1:], strict=False)
        return [[(d - c) / (b - a), c] for a, b, c, d in pairs]
    curve = PchipInterpolator(points, values) if interpolation == "pchip" else CubicSpline(points, values, bc_type="natural")
    return [[float(c) for c in column] for column in curve.c.T]


def _interpolated(pieces: list[list[float]], points: list[float], ends: list[float], m: sp.Expr) -> sp.Expr:
    """g(m); ``ends`` are its values below and above the table."""
    branches: list[tuple[sp.Expr, Any]] = [(sp.Float(ends[0]), sp.Lt(m, sp.Float(points[0])))]
    for coefficients, start, end in zip(pieces, points, points[1:], strict=False):
        value: sp.Expr = sp.Integer(0)
        for c in coefficients:
            value = value * (m - sp.Float(start)) + sp.Float(c)
        branches.append((value, sp.Lt(m, sp.Float(end))))
    return sp.Piecewise(*branches, (sp.Float(ends[-1]), True))


KINDS = (
    LineshapeKind(
        "breit_wigner_table",
        build_table,
        "Breit-Wigner with a running width from a table",
        {
            "masses": "masses of the table, GeV, ascending",
            "widths": "the width there, in any unit: only ratios matter",
            "interpolation": "linear, pchip or cubic (default)",
        },
    ),
)
