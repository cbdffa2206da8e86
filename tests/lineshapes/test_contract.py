"""Every lineshape: values and derivatives against mpmath and torch."""

import numpy as np
import pytest
import sympy as sp

from ctpwa.model.lineshapes import formula as variables
from ctpwa.model.lineshapes.continuation import FormulaContinuation
from ctpwa.model.lineshapes.formula import csqrt
from ctpwa.model.lineshapes.registry import KINDS
from lineshapes.contract import CASES, PI
from lineshapes.evaluate import numpy_values, torch_values

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
NODES = (
    sp.Add,
    sp.Mul,
    sp.Pow,
    sp.exp,
    sp.log,
    sp.sin,
    sp.cos,
    sp.atan,
    csqrt,
    sp.Piecewise,
    sp.functions.elementary.piecewise.ExprCondPair,
)
RELATIONS = (sp.Lt, sp.Le, sp.Gt, sp.Ge)


def assert_close(value, expected, tolerance):
    """Relative to the largest entry: mixed derivatives may cancel to nothing."""
    value, expected = np.atleast_1d(value), np.atleast_1d(expected)
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance * scale)


def assert_agree(values, expected, tolerances):
    """F, ∂F and ∂²F, each with its own tolerance."""
    (F, *derivatives), (expected_F, *others) = values, expected
    assert abs(F - expected_F) <= tolerances[0] * abs(expected_F)
    for own, other, tolerance in zip(derivatives, others, tolerances[1:], strict=True):
        assert_close(own, other, tolerance)


@each_case
def test_value_and_derivatives_equal_mpmath(case):
    formula = case.build()
    names = [p.name for p in formula.parameters]
    assert set(names) == set(case.parameters)
    for s, q2 in case.points():
        assert_agree(numpy_values(formula, s, q2, case.parameters), case.exact_derivatives(s, q2, names), (1e-12, 1e-10, 1e-9))


@each_case
def test_derivatives_equal_torch_autograd(case):
    formula = case.build()
    for s, q2 in case.points():
        point = formula, s, q2, case.parameters
        assert_agree(numpy_values(*point), torch_values(*point), (1e-13, 1e-12, 1e-12))


@each_case
def test_only_nodes_that_the_engine_compiles(case):
    formula = case.build()
    allowed = {variables.s, variables.q2, *(p.symbol for p in formula.parameters)}
    derivatives = [sp.diff(formula.expression, p.symbol) for p in formula.parameters]
    for node in sp.preorder_traversal(sp.Tuple(formula.expression, *derivatives)):
        if isinstance(node, sp.Tuple) or node.is_Number or node in (sp.I, sp.pi, sp.true):
            continue
        if node.is_Symbol:
            assert node in allowed
        elif node.is_Pow:
            assert node.exp.is_Rational
            assert node.exp.q == 1 or not node.base.has(sp.I, csqrt)
        else:
            assert isinstance(node, NODES + RELATIONS), f"{type(node)}: {node}"


@each_case
def test_formula_documents_itself(case):
    formula = case.build()
    assert formula.latex
    assert "Piecewise" not in formula.latex
    for parameter in formula.parameters:
        assert parameter.lower is None or parameter.lower <= case.parameters[parameter.name]


@each_case
def test_masses_widths_and_couplings_to_channels_cannot_be_negative(case):
    """A resonance of negative width grows instead of decaying: the imaginary part of 1/F changes its sign, against unitarity."""
    for parameter in case.build().parameters:
        if parameter.name in ("mass", "width") or parameter.name.startswith(("width_", "g_")):
            assert parameter.lower is not None
            assert 0 <= parameter.lower <= 2 * PI


def test_every_kind_with_a_formula_is_in_the_contract():
    without_parameters = {"k_matrix", "pipi_s_wave", "spline", "step"}
    assert {case.spec for case in CASES} >= set(KINDS) - without_parameters


def test_defaults_are_complete_for_published_forms():
    for name in ("bugg_sigma", "bugg_one_channel", "lass", "generalised_lass"):
        formula = next(case for case in CASES if case.spec == name).build()
        missing = {p.name for p in formula.parameters if p.default is None}
        assert missing <= {"mass", "width"}


@each_case
def test_continuation_on_the_real_axis_is_the_lineshape(case):
    """The evaluator of complex masses, with its derivatives, where events are."""
    formula = case.build()
    F = FormulaContinuation(formula, case.vertex, case.parameters)
    for m, (s_value, q2_value) in zip(case.masses, case.points(), strict=True):
        if q2_value <= 0 or m <= case.vertex.m1 + case.vertex.m2 + 1e-6:
            continue
        value, slopes = F.on_axis(np.array([m]))
        expected, first, _ = numpy_values(formula, s_value, q2_value, case.parameters)
        assert value[0] == pytest.approx(expected, rel=1e-11)
        assert slopes[:, 0] == pytest.approx(first, rel=1e-9, abs=1e-11 * np.abs(first).max(initial=0.0))
