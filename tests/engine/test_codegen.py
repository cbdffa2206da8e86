"""Formulas split by life cycle and printed as code: parts recombine to the formula, code gives its numbers."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
import torch

from ctpwa.engine.backends.cpu.source import cpu_source
from ctpwa.engine.backends.cuda.source import _branches, gpu_source
from ctpwa.engine.codegen.lowering import PYTHON, TRITON, Lowering, Value
from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.compact import compacted
from ctpwa.engine.plan.staging import is_complex, stage
from ctpwa.model.lineshapes.formula import Formula, LineshapeParameter, Vertex, csqrt, q2, s
from ctpwa.model.lineshapes.registry import KINDS, build_lineshape
from engine.cases import CUDA, assert_close, likelihood, make, model, needs_triton, point
from engine.codegen_values import plan_of, run
from lineshapes.contract import CASES
from lineshapes.evaluate import numpy_values

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
two_of_each = pytest.mark.parametrize(
    "case",
    [case for k, case in enumerate(CASES) if sum(case.spec == other.spec for other in CASES[:k]) < 2],
    ids=lambda case: case.label,
)
each_formula = pytest.mark.parametrize("case", {case.spec: case for case in CASES}.values(), ids=lambda case: case.label)
m, g, phi = (sp.Symbol(name, real=True) for name in ("m", "g", "phi"))


def recombined(staged):
    return staged.mixed.xreplace({**staged.event, **staged.iteration})


def same(a, b):
    """Equal as formulas: exactly, or at random points in high precision where sympy does not see it."""
    if a == b:
        return True
    random = np.random.default_rng(11)
    for _ in range(3):
        values = {symbol: sp.Float(random.uniform(0.5, 2.0), 40) for symbol in sorted(a.free_symbols | b.free_symbols, key=str)}
        first, second = (sp.N(x.xreplace(values).doit(), 30) for x in (a, b))
        if abs(first - second) > 1e-12 * abs(first):
            return False
    return True


# stages


@pytest.mark.parametrize(
    ("formula", "mixed", "event", "iteration"),
    [
        (1 / (m**2 - s - sp.I * m * g), {"e": 1, "p": 2}, {s}, {m**2, m * g}),
        (m * g * sp.sqrt(q2) / s, {"e": 1, "p": 1}, {sp.sqrt(q2) / s}, {m * g}),
        (sp.exp(-g * (s - 2)), {"e": 1, "p": 1}, {s - 2}, {g}),
        (sp.sqrt(s) + q2, {"e": 1, "p": 0}, {sp.sqrt(s) + q2}, set()),
        (m**2 + sp.sin(g), {"e": 0, "p": 1}, set(), {m**2 + sp.sin(g)}),
        (sp.cos(phi) + sp.I * sp.sin(phi), {"e": 0, "p": 2}, set(), {sp.cos(phi), sp.sin(phi)}),
        (csqrt(s - 1) * g, {"e": 1, "p": 1}, {csqrt(s - 1)}, {g}),
        (sp.Integer(1), {"e": 0, "p": 0}, set(), set()),
    ],
)
def test_what_depends_on_what(formula, mixed, event, iteration):
    staged = stage(formula)
    assert set(staged.event.values()) == event
    assert set(staged.iteration.values()) == iteration
    used = {str(symbol)[0] for symbol in staged.mixed.free_symbols}
    assert used == {letter for letter, number in mixed.items() if number}
    assert len(staged.event) == mixed["e"]
    assert len(staged.iteration) == mixed["p"]
    assert same(recombined(staged), formula)


@each_case
def test_parts_recombine_to_the_formula(case):
    formula = case.build()
    staged = stage(formula.expression)
    assert same(recombined(staged), formula.expression)
    for expression in staged.event.values():
        assert expression.free_symbols <= {s, q2}
    for symbol, expression in staged.iteration.items():
        assert not expression.free_symbols & {s, q2}
        assert not is_complex(expression)
        assert symbol.is_real
    assert staged.mixed.free_symbols == {*staged.event, *staged.iteration}


@each_case
def test_every_part_is_computed_where_it_belongs(case):
    # no event-only or parameter-only operation is left for the pass over the events
    staged = stage(case.build().expression)
    e, p = set(staged.event), set(staged.iteration)
    for node in sp.preorder_traversal(staged.mixed):
        if isinstance(node, sp.Symbol) or node.is_number or not isinstance(node, sp.Expr) or is_complex(node):
            continue
        sign_only = isinstance(node, sp.Mul) and len([a for a in node.args if not a.is_number]) == 1
        assert sign_only or not (node.free_symbols <= e or node.free_symbols <= p), node


def test_equal_parts_are_one():
    staged = stage(1 / (m**2 - s) + g / (m**2 - s) ** 2 + csqrt(s - 1) * m**2 * csqrt(s - 1))
    assert len(staged.iteration) == len(set(staged.iteration.values()))
    assert len(staged.event) == len(set(staged.event.values()))


def test_constants_do_not_make_new_kinds():
    # formulas that differ by numbers only share their mixed part, so that kernels have one loop for them
    shapes = {
        stage(KINDS["breit_wigner"].build(Vertex(m1, m2, L, d)).expression).mixed for m1, m2, L, d in [(0.5, 0.5, 1, 3), (0.1, 0.5, 4, 5)]
    }
    assert len(shapes) == 1


def test_explanations_can_be_read():
    plan = likelihood("small", "reference").plan.explain()
    assert f"{likelihood('small', 'reference').plan.bytes_per_event} bytes per event" in plan
    assert "floating: p0, p1" in plan
    assert "once per iteration: phi(1680).mass**2" in plan
    assert "once per event:     s of (0, 1)" in plan


# lowering


def test_every_kind_of_lineshape_is_here():
    built = {case.spec for case in CASES}
    assert {kind for kind in KINDS if kind not in built} <= {"spline", "step", "k_matrix", "pipi_s_wave"}


def assert_equal(found, expected, tolerance):
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@two_of_each
@pytest.mark.parametrize("dialect", ["python", "triton"])
def test_code_equals_the_formula_and_its_derivatives(case, dialect):
    formula = case.build()
    plan = plan_of(formula, case.parameters)
    theta = np.array([case.parameters[p.name] for p in formula.parameters])
    symbols = {p.symbol: torch.tensor(value, dtype=torch.float64) for p, value in zip(formula.parameters, theta, strict=True)}
    for s_value, q2_value in case.points():
        F, first, second = run(plan, dialect, s_value, q2_value, theta)
        event = {s: torch.tensor(s_value, dtype=torch.float64), q2: torch.tensor(q2_value, dtype=torch.float64)}
        assert_equal(F, complex(evaluate(formula.expression, {**event, **symbols})), 1e-12)
        exact_F, exact_first, exact_second = numpy_values(formula, s_value, q2_value, case.parameters)
        lower = [second[i, j] for i in range(len(theta)) for j in range(i + 1)]
        assert_equal(F, exact_F, 1e-12)
        assert_equal(first, exact_first, 1e-10)
        assert_equal(np.array(lower), exact_second, 1e-9)


@each_formula
@pytest.mark.parametrize("dialect", ["python", "triton"])
def test_fixed_parameters_change_nothing(case, dialect):
    formula = case.build()
    for floating in ([], [p.name for p in formula.parameters][:1]):
        plan = plan_of(formula, case.parameters, floating)
        theta = np.array([case.parameters[name] for name in floating])
        for s_value, q2_value in case.points():
            F, _, _ = run(plan, dialect, s_value, q2_value, theta)
            assert_equal(F, numpy_values(formula, s_value, q2_value, case.parameters)[0], 1e-12)


NODES = {
    "negative powers of a complex number": 1 / (m + sp.I * s) ** 3 - (g * s + sp.I * m * q2) ** 5,
    "half-integer powers": (s * m) ** sp.Rational(-3, 2) * (s + g) ** sp.Rational(5, 2) + sp.sqrt(s * g),
    "other powers": (s * m) ** sp.Rational(1, 3) + (s + m) ** sp.Float(-0.7),
    "root of either sign": csqrt(s - 4 * m) * csqrt(s - m / 4) / (m + csqrt(s - g)),
    "products of i": sp.I * (sp.I * m * s) * (-sp.I * g + s) * sp.I,
    "numbers": sp.Float(-0.1) / (m**2 - s - sp.I * g * s) + sp.Float(3e-7) * csqrt(s - m) - sp.Rational(1, 3) * sp.I * sp.exp(s * m),
    "functions": sp.exp(-g * s) * sp.log(m * s) + sp.sin(m * s) * sp.cos(g * q2),
    "complex exponential": sp.exp(sp.I * m * s - g * q2),
    "branches": sp.Piecewise((sp.sqrt(s * g), s > m), (sp.Float(-0.3) * s * m**2, s > 1), (sp.Float(1e-5) * m, True)),
    "complex branches": sp.Piecewise((1 / (m - s + sp.I * g), s * g > m), (g * s, True)),
    "difference of equal terms": (m - s) ** 2 / (m - s + sp.I * g) - (m - s) / (m - s + sp.I * g) ** 2,
}
POINTS = [(1.3, 0.2, 1.1, 0.4), (0.9, 0.1, 1.4, 0.8), (2.4, 0.6, 0.7, 0.3)]


@pytest.mark.parametrize("expression", NODES.values(), ids=NODES)
@pytest.mark.parametrize("dialect", ["python", "triton"])
def test_every_node(expression, dialect):
    parameters = tuple(LineshapeParameter(str(symbol)) for symbol in (m, g) if symbol in expression.free_symbols)
    formula = Formula("mine", expression, parameters)
    for s_value, q2_value, *theta in POINTS:
        values = {p.name: value for p, value in zip(parameters, theta, strict=False)}
        own = np.array(list(values.values()))
        F, first, second = run(plan_of(formula, values), dialect, s_value, q2_value, own)
        exact_F, exact_first, exact_second = numpy_values(formula, s_value, q2_value, values)
        lower = [second[i, j] for i in range(len(own)) for j in range(i + 1)]
        assert_equal(F, exact_F, 1e-13)
        assert_equal(first, exact_first, 1e-12)
        assert_equal(np.array(lower), exact_second, 1e-12)


def test_common_parts_are_computed_once():
    shape = KINDS["breit_wigner"].build(Vertex(0.5, 0.5, 1, 3.0))
    plan = plan_of(shape, {"mass": 1.2, "width": 0.1})
    lowering = Lowering(PYTHON, {symbol: Value(str(symbol)) for symbol in [*plan.kinds[0].e_symbols, *plan.kinds[0].p_symbols]})
    lowering.lower(plan.kinds[0].expression)
    for expression in [*plan.kinds[0].first, *plan.kinds[0].second.values()]:
        lowering.lower(expression)
    right = [line.split(" = ", 1)[1] for line in lowering.lines]
    assert len(right) == len(set(right))
    assert sum("/" in code for code in right) == 1  # one division for value and all derivatives


@pytest.mark.parametrize("dialect", [PYTHON, TRITON])
def test_nodes_without_code_are_named(dialect):
    x = sp.Symbol("x", real=True)
    with pytest.raises(TypeError, match="no code for gamma in gamma"):
        Lowering(dialect, {x: Value("x")}).lower(sp.gamma(x))
    with pytest.raises(TypeError, match="complex power"):
        Lowering(dialect, {x: Value("x")}).lower((x + sp.I) ** sp.Rational(1, 2))


@pytest.mark.parametrize("dialect", ["python", "triton"])
def test_arctangent_of_a_user(dialect):
    formula = build_lineshape("atan(a*s)/(mass**2 - s - i*mass*width)", Vertex(0.5, 0.5, 0, 3.0), parameters=["a"])
    values = {"mass": 1.2, "width": 0.1, "a": 0.7}
    theta = np.array([values[p.name] for p in formula.parameters])
    F, first, _ = run(plan_of(formula, values), dialect, 1.3, 0.2, theta)
    exact_F, exact_first, _ = numpy_values(formula, 1.3, 0.2, values)
    assert_equal(F, exact_F, 1e-13)
    assert_equal(first, exact_first, 1e-12)


# generated modules


@pytest.mark.parametrize("name", ["small", "polarised", "four_pions"])
def test_generated_source_says_what_it_is(name):
    plan = likelihood(name, "reference").plan
    for text in (cpu_source(plan, 256), gpu_source(plan, portable=True), gpu_source(plan, portable=False)):
        compile(text, "generated", "exec")
        assert "generated by ctpwa" in text.splitlines()[0]
        for index in range(len(plan.kinds)):
            assert f"kind {index}: F = " in text
        assert not any(line != line.rstrip() for line in text.splitlines())
    assert cpu_source(plan, 256) == cpu_source(plan, 256)


@pytest.mark.parametrize("portable", [True, False])
@pytest.mark.parametrize("name", ["arctangent", "literals", "kk_eta", "polarised"])
def test_kernels_name_nothing_that_their_file_does_not_have(name, portable):
    """Whatever kernels call is a helper in the same file, a module, or Python's own; and no helper is there for nothing."""
    plan = model_channels(model(name)).plan(model(name))
    for own in (plan, compacted(plan)):
        tree = ast.parse(gpu_source(own, portable=portable))
        helpers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert called <= helpers | {"range"}
        assert helpers - called == {"sums_0", "sums_1", "sums_2", "intensities", "columns"}


@pytest.mark.parametrize("engine", [CUDA])
def test_a_helper_of_a_width(engine):
    like, exact = make("arctangent", engine), likelihood("arctangent", "reference")
    assert any(expression.has(sp.atan) for kind in like.plan.kinds for _, expression in kind.inner)
    for found, expected in zip(like.value_grad_hessian(point(like)), exact.value_grad_hessian(point(like)), strict=True):
        assert_close(found, expected, 1e-11, 300)


def test_models_of_the_same_kinds_share_their_kernels():
    assert cpu_source(likelihood("small", "reference").plan, 256) == cpu_source(likelihood("kk_eta", "reference").plan, 256)


@needs_triton
def test_the_compiler_takes_gpu_kernels():
    """Triton's interpreter, in which most tests run, takes more than its compiler; that needs no GPU."""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, Path(__file__).with_name("compile_kernels.py"), "literals", "polarised", "kk_eta fixed", "arctangent"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_conditions_have_two_parts():
    """Older versions of Triton refuse A or B or C."""
    (condition, _, other, _) = _branches("kind", [["x"], ["x"], ["y"], ["x"]], "")
    assert condition == "if ((kind == 0) or (kind == 1)) or (kind == 3):"
    assert other == "if kind == 2:"
