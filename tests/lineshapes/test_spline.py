"""Model-independent waves: cardinal splines and steps."""

import numpy as np
import pytest

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import build_lineshape

VERTEX = Vertex(0.14, 0.14, 0, 3.0)
KNOTS = [0.3, 0.5, 0.6, 0.9, 1.2, 1.7]


@pytest.mark.parametrize("boundary", ["natural", "not-a-knot"])
def test_spline_takes_the_values_at_its_knots(boundary):
    basis = build_lineshape("spline", VERTEX, knots=KNOTS, boundary=boundary)
    s = np.array(KNOTS) ** 2
    np.testing.assert_allclose(basis.values(s, s), np.eye(len(KNOTS)), atol=1e-13)
    assert basis.labels == ("knot_1", "knot_2", "knot_3", "knot_4", "knot_5", "knot_6")


@pytest.mark.parametrize("boundary", ["natural", "not-a-knot"])
def test_splines_are_a_partition_of_unity(boundary, rng):
    basis = build_lineshape("spline", VERTEX, knots=KNOTS, boundary=boundary)
    s = rng.uniform(0.05, 4.0, 200)
    np.testing.assert_allclose(basis.values(s, s).sum(axis=0), 1, atol=1e-13)


def test_not_a_knot_spline_is_exact_for_a_cubic_and_natural_for_a_line(rng):
    m = rng.uniform(KNOTS[0], KNOTS[-1], 50)
    knots = np.array(KNOTS)
    cubic = build_lineshape("spline", VERTEX, knots=KNOTS, boundary="not-a-knot").values(m**2, m)
    np.testing.assert_allclose((knots**3 - 2 * knots) @ cubic, m**3 - 2 * m, rtol=1e-12, atol=1e-12)
    line = build_lineshape("spline", VERTEX, knots=KNOTS).values(m**2, m)
    np.testing.assert_allclose((3 * knots - 1) @ line, 3 * m - 1, rtol=1e-12)


def test_spline_is_twice_continuously_differentiable_inside():
    basis = build_lineshape("spline", VERTEX, knots=KNOTS)
    curve = basis.evaluate.keywords["curve"]
    for knot in KNOTS[1:-1]:
        for order in range(3):
            np.testing.assert_allclose(curve(knot - 1e-9, order), curve(knot + 1e-9, order), atol=1e-5)
    np.testing.assert_allclose(curve(KNOTS[0], 2), 0, atol=1e-12)


def test_spline_is_constant_outside():
    basis = build_lineshape("spline", VERTEX, knots=KNOTS)
    s = np.array([0.01, 0.3**2, 1.7**2, 9.0])
    values = basis.values(s, s)
    np.testing.assert_array_equal(values[:, 0], values[:, 1])
    np.testing.assert_array_equal(values[:, 2], values[:, 3])


def test_step_is_one_in_its_bin_and_a_partition():
    edges = [0.3, 0.5, 0.9, 1.2]
    basis = build_lineshape("step", VERTEX, edges=edges)
    assert basis.labels == ("bin_1", "bin_2", "bin_3")
    m = np.array([0.29, 0.31, 0.49, 0.51, 0.8, 0.91, 1.19, 1.21])
    expected = np.array([[0, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0]])
    np.testing.assert_array_equal(basis.values(m**2, m), expected)
    at_edges = np.sqrt(np.square(edges))
    np.testing.assert_array_equal(basis.values(np.square(edges), at_edges).sum(axis=0), 1)


def test_functions_are_the_rows():
    for basis in (build_lineshape("spline", VERTEX, knots=KNOTS), build_lineshape("step", VERTEX, edges=KNOTS)):
        s = np.linspace(0.1, 3, 21)
        for function, row in zip(basis.functions, basis.values(s, s), strict=True):
            np.testing.assert_array_equal(function(s, s), row)


@pytest.mark.parametrize(
    ("kind", "options", "word"),
    [
        ("spline", {}, "knots"),
        ("spline", {"knots": [1, 2, 3]}, "knots"),
        ("spline", {"knots": [1, 3, 2, 4]}, "knots"),
        ("spline", {"knots": [1, 2, "x", 4]}, "knots"),
        ("spline", {"knots": [1, 2, 3, float("nan")]}, "knots"),
        ("spline", {"knots": "1 2 3 4"}, "knots"),
        ("spline", {"knots": KNOTS, "boundary": "natura"}, "boundary"),
        ("step", {"edges": [1.0]}, "edges"),
        ("step", {"edges": [1.0, 1.0]}, "edges"),
    ],
)
def test_wrong_options_are_named(kind, options, word):
    with pytest.raises(PhysicsError, match=f"option '{word}' of lineshape '{kind}'"):
        build_lineshape(kind, VERTEX, **options)
