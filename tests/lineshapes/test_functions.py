"""Every translation of a function of formulas gives the same numbers, and one entry in the table is all it takes."""

import math

import numpy as np
import pytest
import sympy as sp
import torch

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.continuation import continuation
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.functions import FUNCTIONS, FormulaFunction
from ctpwa.model.lineshapes.registry import build_lineshape
from engine.codegen_values import plan_of, run

POINTS = np.array([0.05, 0.4, 0.66, 0.9, 1.7, 2.5, 30.0])


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_translations_agree(function):
    exact = [float(function.node(sp.Float(x, 30)).evalf(30)) for x in POINTS]
    np.testing.assert_allclose([function.number(x) for x in POINTS], exact, rtol=2e-16)
    np.testing.assert_allclose(function.tensor(torch.from_numpy(POINTS)), exact, rtol=1e-15)
    value, slope = function.continued(POINTS + 0j)
    np.testing.assert_allclose(value, exact, rtol=1e-15)
    x = sp.Symbol("x")
    derivative = sp.lambdify(x, sp.diff(function.node(x), x), "math")
    np.testing.assert_allclose(slope, [derivative(point) for point in POINTS], rtol=1e-14)
    assert function.python == f"math.{function.name}"
    assert function.triton.startswith("tl.") != bool(function.definition)


def test_a_new_function_needs_one_entry(monkeypatch):
    """From the text of a lineshape to the values and derivatives of its kernels, and to complex masses."""
    asinh = FormulaFunction(
        sp.asinh, math.asinh, torch.asinh, lambda x: (np.arcsinh(x), 1 / np.sqrt(1 + x**2)), "math.asinh", "tl.asinh"
    )  # fmt: skip
    vertex, text = Vertex(0.5, 0.5, 0, 3.0), "asinh(mass*s) + asinh(mass)"
    with pytest.raises(PhysicsError, match="unknown function 'asinh'"):
        build_lineshape(text, vertex)
    monkeypatch.setitem(FUNCTIONS, "asinh", asinh)
    formula = build_lineshape(text, vertex)
    x = 1.7 * 1.3
    F, first, _ = run(plan_of(formula, {"mass": 1.7}), "python", 1.3, 0.2, np.array([1.7]))
    assert pytest.approx(math.asinh(x) + math.asinh(1.7), rel=1e-15) == F
    assert first[0] == pytest.approx(1.3 / math.sqrt(1 + x**2) + 1 / math.sqrt(1 + 1.7**2), rel=1e-14)
    on_axis, slopes = continuation(formula, vertex, {"mass": 1.7}).on_axis(np.array([math.sqrt(1.3)]))
    assert on_axis[0] == pytest.approx(F, rel=1e-14)
    assert slopes[0, 0] == pytest.approx(first[0], rel=1e-14)
