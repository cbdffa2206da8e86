"""Numbers of tables: a running width, such as that of a three-body decay, and a whole amplitude that has no closed form."""

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
INTERPOLATIONS = ("linear", "pchip", "cubic", "not-a-knot")
VARIABLES = ("mass", "squared mass")
SMALLEST = 1e-9
MAX_POINTS = 60  # every piece is a branch of the formula
WIDTH_TABLE, TABLE = "breit_wigner_table", "table"


def build_width_table(
    vertex: Vertex, masses: Any = None, widths: Any = None, interpolation: str = "cubic", variable: str = "mass"
) -> Formula:
    """F = 1 / (m0² − s − i m0 Γ0 g(√s)/g(m0)) with g interpolated between the points of a table, constant outside."""
    points, values = _points(masses, interpolation, variable, WIDTH_TABLE), _numbers(widths, "widths", WIDTH_TABLE)
    _check_lengths(points, {"widths": values}, WIDTH_TABLE)
    if min(values) < 0 or max(values) <= 0:
        raise PhysicsError(f"option 'widths' of lineshape {WIDTH_TABLE!r} has negative numbers, or only zeros", "give widths of 0 or more")
    pieces = _pieces(points, values, interpolation)
    m0, gamma0 = MASS.symbol, WIDTH.symbol

    def propagator(ratio: sp.Expr) -> sp.Expr:
        return 1 / (m0**2 - s - sp.I * m0 * gamma0 * ratio)

    # the width is divided by g at the nominal mass, which must not vanish where that is outside the table
    nominal = [max(value, SMALLEST * max(values)) for value in (values[0], values[-1])]
    at_nominal_mass = _interpolated(pieces, points, nominal, m0 if variable == "mass" else m0**2)
    expression = propagator(_interpolated(pieces, points, [values[0], values[-1]], _argument(variable)) / at_nominal_mass)
    g = sp.Symbol("g(s)", positive=True)
    return Formula(WIDTH_TABLE, expression, (MASS, WIDTH), REFERENCE, propagator(g / sp.Symbol("g(m_0^2)", positive=True)))


def build_table(
    vertex: Vertex,
    masses: Any = None,
    real: Any = None,
    imaginary: Any = None,
    magnitude: Any = None,
    phase: Any = None,
    interpolation: str = "cubic",
    variable: str = "mass",
) -> Formula:
    """F = a + ib, or a e^(ib), with a and b interpolated between the points of a table, constant outside."""
    polar = magnitude is not None or phase is not None
    given = {"magnitude": magnitude, "phase": phase} if polar else {"real": real, "imaginary": imaginary}
    if (real is not None or imaginary is not None) == polar or next(iter(given.values())) is None:
        raise PhysicsError(
            f"lineshape {TABLE!r} needs 'real' and 'imaginary', or 'magnitude' and 'phase'",
            "give one of the two pairs; the second may be left out",
        )
    points = _points(masses, interpolation, variable, TABLE)
    columns = {key: _numbers(values, key, TABLE) for key, values in given.items() if values is not None}
    _check_lengths(points, columns, TABLE)
    first, *rest = (
        _interpolated(_pieces(points, values, interpolation), points, [values[0], values[-1]], _argument(variable))
        for values in columns.values()
    )
    a, b = sp.Symbol("a(s)", real=True), sp.Symbol("b(s)", real=True)
    if not rest:
        return Formula(TABLE, first, printed=a)
    if polar:
        return Formula(TABLE, first * (sp.cos(rest[0]) + sp.I * sp.sin(rest[0])), printed=a * sp.exp(sp.I * b))
    return Formula(TABLE, first + sp.I * rest[0], printed=a + sp.I * b)


def _argument(variable: str) -> sp.Expr:
    return sp.sqrt(s) if variable == "mass" else s


def _points(masses: Any, interpolation: str, variable: str, name: str) -> list[float]:
    """The points of a table in its variable."""
    for option, value, known in (("interpolation", interpolation, INTERPOLATIONS), ("variable", variable, VARIABLES)):
        if value not in known:
            raise PhysicsError(f"option {option!r} of lineshape {name!r} is {value!r}", suggest(str(value), known))
    found = _numbers(masses, "masses", name)
    if any(b <= a for a, b in pairwise(found)) or found[0] <= 0:
        raise PhysicsError(f"option 'masses' of lineshape {name!r} does not ascend", "give masses in GeV, each larger than the one before")
    return found if variable == "mass" else [m**2 for m in found]


def _check_lengths(points: list[float], columns: dict[str, list[float]], name: str) -> None:
    for option, values in columns.items():
        if len(points) != len(values):
            raise PhysicsError(
                f"options 'masses' and {option!r} of lineshape {name!r} have {len(points)} and {len(values)} numbers", "give as many"
            )


def _numbers(given: Any, option: str, name: str) -> list[float]:
    wrong = isinstance(given, str) or not isinstance(given, Sequence)
    numbers = [] if wrong else [x for x in given if isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)]
    if wrong or len(numbers) != len(given) or not 4 <= len(numbers) <= MAX_POINTS:
        raise PhysicsError(f"option {option!r} of lineshape {name!r} is not a list of numbers", f"give 4 to {MAX_POINTS} numbers")
    return [float(x) for x in numbers]


def _pieces(points: list[float], values: list[float], interpolation: str) -> list[list[float]]:
    """Coefficients of the polynomial in x − x_k of every piece, the highest power first."""
    from scipy.interpolate import CubicSpline, PchipInterpolator

    if interpolation == "linear":
        pairs = zip(points, points[1:], values, values[1:], strict=False)
        return [[(d - c) / (b - a), c] for a, b, c, d in pairs]
    boundary = "natural" if interpolation == "cubic" else interpolation
    curve = PchipInterpolator(points, values) if interpolation == "pchip" else CubicSpline(points, values, bc_type=boundary)
    return [[float(c) for c in column] for column in curve.c.T]


def _interpolated(pieces: list[list[float]], points: list[float], ends: list[float], m: sp.Expr) -> sp.Expr:
    """g; ``ends`` are its values below and above the table."""
    branches: list[tuple[sp.Expr, Any]] = [(sp.Float(ends[0]), sp.Lt(m, sp.Float(points[0])))]
    for coefficients, start, end in zip(pieces, points, points[1:], strict=False):
        value: sp.Expr = sp.Integer(0)
        for c in coefficients:
            value = value * (m - sp.Float(start)) + sp.Float(c)
        branches.append((value, sp.Lt(m, sp.Float(end))))
    return sp.Piecewise(*branches, (sp.Float(ends[-1]), True))


_HOW = {
    "interpolation": "linear, pchip, cubic (default) or not-a-knot",
    "variable": "what is interpolated over: mass (default) or squared mass",
}
KINDS = (
    LineshapeKind(
        "breit_wigner_table",
        build_width_table,
        "Breit-Wigner with a running width from a table",
        {
            "masses": "masses of the table, GeV, ascending",
            "widths": "the width there, in any unit: only ratios matter",
            **_HOW,
        },
    ),
    LineshapeKind(
        "table",
        build_table,
        "an amplitude from a table of complex numbers",
        {
            "masses": "masses of the table, GeV, ascending",
            "real": "real part there",
            "imaginary": "imaginary part; 0 unless given",
            "magnitude": "magnitude, instead of the real part",
            "phase": "phase in radians; 0 unless given",
            **_HOW,
        },
    ),
)
