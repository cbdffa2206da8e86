"""Model-independent waves: a complex value at every knot, joined by cubic splines, or constant in bins of mass.

The amplitude is linear in these values, so every knot or bin is a wave of its own whose coupling is the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.formula import Basis, LineshapeKind, Vertex

Array = np.ndarray[Any, Any]
MAX_POINTS = 300  # each is a complex coupling
CLOSEST = 1e-6  # GeV
BOUNDARIES = ("natural", "not-a-knot")
REFERENCE = "E791, PRD 73, 032004 (2006)"


@dataclass(frozen=True)
class Knots:
    """Where the values of a model-independent wave belong: its knots, or the middle of its bins.

    Attributes:
        masses:  GeV, one for each function
        ranges:  where events measure each of them, GeV: its bin, or from the knot before to the knot behind it
    """

    masses: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...]


def build_spline(vertex: Vertex, knots: Any = None, boundary: str = "natural") -> Basis:
    """Cubic splines B_k(m) with B_k = 1 at knot k and 0 at all others; constant outside the knots."""
    from scipy.interpolate import CubicSpline

    points = _points(knots, "knots", "spline", 4)
    if boundary not in BOUNDARIES:
        raise PhysicsError(f"option 'boundary' of lineshape 'spline' is {boundary!r}", suggest(str(boundary), BOUNDARIES))
    curve = CubicSpline(points, np.eye(len(points)), bc_type=boundary)
    edges = [-np.inf, *points, np.inf]
    return _basis("spline", "knot", points, list(zip(edges, edges[2:], strict=False)), partial(_splines, curve=curve))


def build_step(vertex: Vertex, edges: Any = None) -> Basis:
    """One in bin k of mass, zero elsewhere; the upper edge belongs to the next bin, the last one to the last bin."""
    points = _points(edges, "edges", "step", 2)
    return _basis("step", "bin", (points[1:] + points[:-1]) / 2, list(pairwise(points)), partial(_steps, edges=points))


def _basis(name: str, word: str, masses: Array, ranges: list[tuple[float, float]], evaluate: Any) -> Basis:
    functions = tuple(partial(_one, evaluate=evaluate, index=index) for index in range(len(masses)))
    labels = tuple(f"{word}_{index + 1}" for index in range(len(masses)))
    return Basis(
        name,
        labels,
        functions,
        REFERENCE,
        evaluate,
        Knots(tuple(masses.tolist()), tuple((float(low), float(high)) for low, high in ranges)),
    )


def _one(s: Array, q2: Array, evaluate: Any, index: int) -> Array:
    return evaluate(s, q2)[index]


def _splines(s: Array, q2: Array, curve: Any) -> Array:
    m = np.clip(np.sqrt(np.asarray(s, dtype=float)), curve.x[0], curve.x[-1])
    return np.ascontiguousarray(np.moveaxis(curve(m), -1, 0))


def _steps(s: Array, q2: Array, edges: Array) -> Array:
    m = np.sqrt(np.asarray(s, dtype=float))
    index = np.searchsorted(edges, m, side="right") - 1
    index = np.where(m == edges[-1], len(edges) - 2, index)
    return (index == np.arange(len(edges) - 1).reshape(-1, *(1,) * m.ndim)).astype(float)


def _points(given: Any, option: str, lineshape: str, least: int) -> Array:
    form = f"give at least {least} increasing masses in GeV, e.g. {option}: [0.3, 0.6, 0.9, 1.2]"
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) < least:
        raise PhysicsError(f"option {option!r} of lineshape {lineshape!r} is {given!r}", form)
    if len(given) > MAX_POINTS:
        raise PhysicsError(f"option {option!r} of lineshape {lineshape!r} has {len(given)} entries", f"give at most {MAX_POINTS}")
    if any(isinstance(value, bool) or not isinstance(value, int | float | np.number) for value in given):
        raise PhysicsError(f"option {option!r} of lineshape {lineshape!r} holds something that is not a number: {given!r}", form)
    points = np.array([float(value) for value in given])
    if not np.isfinite(points).all() or points[0] < 0 or (np.diff(points) <= 0).any():
        raise PhysicsError(f"option {option!r} of lineshape {lineshape!r} is not increasing: {given!r}", form)
    if np.diff(points).min() < CLOSEST:
        raise PhysicsError(f"option {option!r} of lineshape {lineshape!r} has masses closer than {CLOSEST:g} GeV", form)
    return points


KINDS = (
    LineshapeKind(
        "spline",
        build_spline,
        "model-independent wave: complex values at knots of mass, joined by a cubic spline",
        {"knots": "masses in GeV, four or more", "boundary": "natural (default) or not-a-knot"},
    ),
    LineshapeKind(
        "step",
        build_step,
        "model-independent wave: one complex value in every bin of mass",
        {"edges": "edges of the bins in GeV, two or more"},
    ),
)
