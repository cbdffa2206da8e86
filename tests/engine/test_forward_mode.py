"""Derivatives of formulas by forward mode, against sympy's in 30 digits and torch's automatic ones."""

import numpy as np
import pytest
import sympy as sp
import torch

from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.plan.forward_mode import compiled
from ctpwa.engine.plan.staging import stage
from ctpwa.model.lineshapes.breit_wigner import MASS, WIDTH, build_breit_wigner
from ctpwa.model.lineshapes.formula import Vertex

a, b, c = (sp.Symbol(name, real=True) for name in "abc")
AT = {a: 1.3, b: 0.7, c: 2.1}
FORMULAS = [
    sp.Integer(3) * b / b + a,
    a,
    -a * b * c,
    a**2 / b - sp.sqrt(c) * b ** sp.Rational(5, 2),
    (a * b + c) ** 3 / (a - b) ** 2,
    a ** sp.Rational(1, 3) * (b + c) ** sp.Float(-0.4),
    a**b + (b * c) ** (a / c),
    sp.exp(-a * b) * sp.log(a + c) + sp.atan(a / b) ** 2,
    sp.sin(a * c) / sp.cos(b) + sp.exp(sp.sin(a) * b),
    sp.Abs(a - 2 * b) * c,
    sp.Piecewise((a**2 * b, a > b), (c * b, True)) * c,
    sp.Piecewise((sp.log(b - a), sp.And(b > a, c > 0)), (sp.sqrt(c) * a, sp.Or(a > 2, b < 1)), (a, True)),
]


def all_orders(formula, arguments, at):
    """Value, first derivatives and the upper triangle of second ones."""
    floating = range(len(arguments))
    with np.errstate(all="ignore"):
        return [number for order in (0, 1, 2) for number in compiled(formula, arguments, floating, order)(*map(np.float64, at))]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_derivatives_are_those_of_sympy(formula):
    arguments = list(AT)
    wanted = [formula, *(sp.diff(formula, x) for x in arguments)]
    wanted += [sp.diff(formula, x, y) for i, x in enumerate(arguments) for y in arguments[i:]]
    exact = {symbol: sp.Float(value, 30) for symbol, value in AT.items()}
    expected = [float(expression.subs(exact)) for expression in wanted]
    np.testing.assert_allclose(all_orders(formula, arguments, AT.values()), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("L", [0, 1, 4])
@pytest.mark.parametrize("mass", [1.5, 1.05])
def test_derivatives_of_a_running_width_are_those_of_torch(L, mass):
    """Of what is computed once per iteration, above and below where the nominal momentum is continued."""
    symbols = [MASS.symbol, WIDTH.symbol]
    at = torch.tensor([mass, 0.2], dtype=torch.float64)
    for formula in stage(build_breit_wigner(Vertex(0.494, 0.548, L, 3.0)).expression).iteration.values():

        def value(theta, formula=formula):
            return evaluate(formula, dict(zip(symbols, theta, strict=True)))

        jacobian, hessian = torch.autograd.functional.jacobian(value, at), torch.autograd.functional.hessian(value, at)
        expected = [value(at), *jacobian, hessian[0, 0], hessian[0, 1], hessian[1, 1]]
        np.testing.assert_allclose(all_orders(formula, symbols, at), torch.stack(expected).numpy(), rtol=1e-12, atol=1e-14)


def test_some_arguments_are_constants():
    assert compiled(a**2 * b, [a, b, c], (1,), 1)(2.0, 3.0, 0.0) == (4.0,)
    assert compiled(a**2 * b, [a, b, c], (), 2)(2.0, 3.0, 0.0) == ()
    assert compiled(a**2, [a, b], (0, 1), 2)(2.0, 3.0) == (2.0, 0.0, 0.0)


def test_points_without_a_value_are_no_errors():
    assert np.isinf(all_orders(1 / a, [a], [0.0])[0])
    assert np.isnan(all_orders(sp.log(a) + sp.sqrt(a), [a], [-1.0])[0])


def test_what_there_is_no_code_for():
    with pytest.raises(TypeError, match="no code for gamma"):
        compiled(sp.gamma(a), [a], (0,), 1)
    with pytest.raises(TypeError, match="where no condition"):
        compiled(sp.Piecewise((a, a > 0)), [a], (0,), 1)
