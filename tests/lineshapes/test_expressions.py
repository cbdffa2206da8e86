"""Lineshapes as text: what is understood, and what is refused without being evaluated."""

import builtins
import math

import numpy as np
import pytest
import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.expression_parser import ExpressionError, parse_expression
from ctpwa.model.lineshapes.formula import LineshapeParameter, Vertex, csqrt, q2, s
from ctpwa.model.lineshapes.registry import build_lineshape

VERTEX = Vertex(0.3, 0.5, 2, 3.0)
A = LineshapeParameter("a")
B = LineshapeParameter("b", lower=0.0)
a, b = A.symbol, B.symbol


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", sp.Integer(1)),
        ("s", s),
        ("q2", q2),
        ("m", sp.sqrt(s)),
        ("q", sp.sqrt(q2)),
        ("rho", 2 * sp.sqrt(q2) / sp.sqrt(s)),
        ("m1 + m2", sp.Float(0.3) + sp.Float(0.5)),
        ("d", sp.Float(3.0)),
        ("q**(2*L + 1)", q2 ** sp.Rational(5, 2)),
        ("a*s - b/m", a * s - b / sp.sqrt(s)),
        ("-a**2", -(a**2)),
        ("+a", a),
        ("  ( a+ i*b )*pi ", (a + sp.I * b) * sp.pi),
        ("I", sp.I),
        ("sqrt(s)", sp.sqrt(s)),
        ("sqrt(b)", sp.sqrt(b)),
        ("sqrt(a)", csqrt(a)),
        ("csqrt(s - a)", csqrt(s - a)),
        ("a**0.5", csqrt(a)),
        ("a**1.5", csqrt(a) ** 3),
        ("s**0.5", sp.sqrt(s)),
        ("s**1.7", s ** sp.Rational(17, 10)),
        ("s**a", sp.exp(a * sp.log(s))),
        ("exp(-a*s)", sp.exp(-a * s)),
        ("exp(i*a)", sp.cos(a) + sp.I * sp.sin(a)),
        ("exp(s + i*a)", sp.exp(s) * (sp.cos(a) + sp.I * sp.sin(a))),
        ("exp(a*(1 + i*b)**2)", sp.exp(a * (1 - b**2)) * (sp.cos(2 * a * b) + sp.I * sp.sin(2 * a * b))),
        ("exp(a/(i*b))", sp.cos(a / b) - sp.I * sp.sin(a / b)),
        ("log(s) + ln(s)", 2 * sp.log(s)),
        ("sin(a)*cos(a)*atan(a)", sp.sin(a) * sp.cos(a) * sp.atan(a)),
        ("tan(a)", sp.sin(a) / sp.cos(a)),
        ("abs(a)", sp.Piecewise((a, a >= 0), (-a, True))),
        ("abs(s)", s),
        ("abs(abs(a))", sp.Piecewise((a, a >= 0), (-a, True))),
        ("exp(1)", sp.Float(math.e)),
        ("1.5e-3", sp.Float(0.0015)),
    ],
)
def test_text_becomes_the_formula(text, expected):
    assert sp.simplify(parse_expression(text, VERTEX, (A, B)) - expected) == 0


def test_hyperbolic_functions_are_lowered():
    for name in ("sinh", "cosh", "tanh"):
        expression = parse_expression(f"{name}(a)", VERTEX, (A,))
        assert float(expression.subs(a, 0.7)) == pytest.approx(getattr(math, name)(0.7), rel=1e-14)


UNSAFE = [
    "__import__('os').system('true')",
    "s.__class__",
    "s.__class__.__mro__[1].__subclasses__()",
    "().__class__",
    "(lambda: s)()",
    "lambda: 1",
    "[s for s in (1, 2)]",
    "{s for s in (1, 2)}",
    "{s: 1 for s in (1, 2)}",
    "(s for s in (1, 2))",
    "[1, 2]",
    "(1, 2)",
    "{1: 2}",
    "{1, 2}",
    "s[0]",
    "s[0:1]",
    "'text'",
    "b'text'",
    "f'{s}'",
    "s if s else 1",
    "s and q2",
    "not s",
    "~s",
    "s < 1",
    "s == 1",
    "s is q2",
    "s in q2",
    "(s := 2)",
    "s // 2",
    "s % 2",
    "s @ q2",
    "s << 2",
    "s | q2",
    "s & q2",
    "s ^ 2",
    "await s",
    "yield s",
    "import os",
    "s; q2",
    "s = 1",
    "del s",
    "print(s)",
    "eval('1')",
    "exec('1')",
    "open('x')",
    "getattr(s, 'x')",
    "globals()",
    "__builtins__",
    "__name__",
    "exp.__call__(s)",
    "exp(s)(s)",
    "exp(*[s])",
    "exp(x=s)",
    "exp(**{'x': s})",
    "exp()",
    "exp(s, s)",
    "exp",
    "True",
    "None",
    "...",
    "1j",
    "1e400",
    "10**1000",
    "9**9**9",
    "s**(10**9)",
    "s**41",
    "((s**40)**40)",
    "(((((2**40)**40)**40)**40)**40)",
    "exp(exp(exp(exp(100))))",
    "1/0",
    "1/(s - s)",
    "0**(-1)",
    "log(-1)",
    "log(0)",
    "sin(i)",
    "abs(i*s)",
    "sqrt(i)",
    "(i*s)**0.5",
    "exp(sqrt(a))",
    "exp((1 + i*s)**9)",
    "abs(abs(abs(abs(s - a) - 1) - 2) - 3)",
    "a**b",
    "a**0.3",
    "i**a",
    "s +",
    "(s",
    "s)",
    "",
    "   ",
    "s\n+1",
    "s # comment",
    "ѕ",
    "s\x00",
    "unknown_name*2",
    "s" + "+s" * 3000,
    "(" * 400 + "s" + ")" * 400,
    "-" * 1000 + "s",
    "s" + "**1" * 300,
]


@pytest.mark.parametrize("text", UNSAFE, ids=lambda text: repr(text)[:30])
def test_everything_else_is_refused(text, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("user text was evaluated")

    for name in ("eval", "exec", "open"):
        monkeypatch.setattr(builtins, name, forbidden)
    monkeypatch.setattr(sp, "sympify", forbidden)
    with pytest.raises(PhysicsError) as raised:
        parse_expression(text, VERTEX, (A, B))
    assert raised.value.what
    assert raised.value.fix
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("text", "word", "column", "hint"),
    [
        ("1 + mas*2", "mas", 5, "mass"),
        ("2*sqr(s)", "sqr", 3, "sqrt"),
        ("a + s.real", "s.real", 5, "functions only"),
        ("  a^2", "a^2", 3, "**"),
        ("a + 2j", "2j", 5, "i"),
    ],
)
def test_errors_name_the_word_its_column_and_the_way_out(text, word, column, hint):
    mass = LineshapeParameter("mass")
    with pytest.raises(ExpressionError) as raised:
        parse_expression(text, VERTEX, (A, mass))
    assert raised.value.word == word
    assert raised.value.column == column
    assert f"column {column}" in raised.value.what
    assert hint in raised.value.fix


def test_mass_and_width_need_no_declaration():
    formula = build_lineshape("1/(mass**2 - s - i*mass*width)", VERTEX)
    assert [p.name for p in formula.parameters] == ["mass", "width"]
    assert formula.parameters[0].unit == "GeV"
    assert formula.parameters[0].lower == 0.0
    assert sp.simplify(formula.expression - build_lineshape("breit_wigner_constant_width", VERTEX).expression) == 0


def test_only_used_parameters_remain_and_defaults_are_kept():
    formula = build_lineshape("exp(-x*s)", VERTEX, parameters={"x": 0.5, "y": 1.0})
    assert [(p.name, p.default) for p in formula.parameters] == [("x", 0.5)]


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["s", "q2", "pi", "i", "m1"], "is the name of something else"), (["2x", "a b", "a-b", ""], "is not a name of letters")],
)
def test_parameter_names_that_mean_something_else_are_refused(names, reason):
    for name in names:
        with pytest.raises(PhysicsError, match=f"parameter '{name}' {reason}"):
            build_lineshape("s*2", VERTEX, parameters=[name])


def test_sympy_expression():
    x, free_s, mass = sp.symbols("x s mass")
    formula = build_lineshape(sp.sqrt(free_s - x) / (mass**2 - free_s) + sp.exp(sp.I * x) * sp.Abs(x), VERTEX)
    assert {p.name for p in formula.parameters} == {"x", "mass"}
    assert formula.expression.has(csqrt)
    value = complex(formula.expression.subs({s: 0.25, sp.Symbol("x", real=True): 0.5, sp.Symbol("mass", real=True): 1.0}).evalf())
    assert value == pytest.approx(0.5j / 0.75 + np.exp(0.5j) * 0.5, rel=1e-14)


def test_sympy_piecewise_and_constants():
    x, free_s, m1 = sp.symbols("x s m1")
    formula = build_lineshape(sp.Piecewise((x * sp.E, free_s < m1), (sp.pi, True)), VERTEX, name="mine")
    assert formula.name == "mine"
    assert formula.expression.subs(s, 1.0) == sp.pi


@pytest.mark.parametrize(
    "expression",
    [
        sp.gamma(sp.Symbol("x")),
        sp.Function("f")(sp.Symbol("s")),
        sp.Piecewise((1, sp.Eq(sp.Symbol("s"), 1)), (2, True)),
        sp.Integral(sp.Symbol("x"), sp.Symbol("x")),
        sp.conjugate(sp.Symbol("x")),
        sp.zoo * sp.Symbol("x"),
    ],
    ids=str,
)
def test_sympy_nodes_that_cannot_be_compiled_are_refused(expression):
    with pytest.raises(PhysicsError):
        build_lineshape(expression, VERTEX)
