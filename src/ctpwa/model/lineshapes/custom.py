"""The user's own lineshapes: a text, a sympy expression or a Python function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.breit_wigner import MASS, WIDTH
from ctpwa.model.lineshapes.expression_parser import NAMES, known_names, parse_expression
from ctpwa.model.lineshapes.formula import (
    RADIUS,
    Callback,
    Formula,
    Lineshape,
    LineshapeParameter,
    Vertex,
    column_variable,
    columns_of,
    csqrt,
    q2,
    s,
)
from ctpwa.model.lineshapes.functions import FUNCTIONS
from ctpwa.model.lineshapes.nodes import Nodes

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_REWRITTEN = {
    sp.tan: "tan",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
    sp.Abs: "abs",
    csqrt: "sqrt",
}
_RELATIONS = (sp.Lt, sp.Le, sp.Gt, sp.Ge)

ParameterSpec = Mapping[str, float | None] | Iterable[str | LineshapeParameter]


def read_parameters(parameters: ParameterSpec | None) -> tuple[LineshapeParameter, ...]:
    """Parameters of a user's lineshape: names, a table of names with default values, or full descriptions.

    ``mass`` and ``width`` have the meaning, unit and limits that they have in a Breit-Wigner.
    """
    if parameters is None:
        return ()
    if isinstance(parameters, str):
        parameters = [parameters]
    given: dict[str, LineshapeParameter] = {}
    entries = parameters.items() if isinstance(parameters, Mapping) else [(entry, None) for entry in parameters]
    for entry, default in entries:
        if isinstance(entry, LineshapeParameter):
            parameter = entry
        elif entry in ("mass", "width"):
            shared = MASS if entry == "mass" else WIDTH
            parameter = LineshapeParameter(shared.name, shared.unit, shared.latex, shared.lower, shared.upper, default)
        else:
            parameter = LineshapeParameter(str(entry), default=None if default is None else float(default))
        if not _NAME.fullmatch(parameter.name) or parameter.name in NAMES:
            reserved = "is the name of something else" if parameter.name in NAMES else "is not a name of letters, digits and underscores"
            raise PhysicsError(f"parameter {parameter.name!r} {reserved}", "choose another name")
        given[parameter.name] = parameter
    return tuple(given.values())


def formula_from_text(text: str, vertex: Vertex, parameters: ParameterSpec | None = None) -> Formula:
    """A lineshape from a text; ``mass`` and ``width`` need no declaration."""
    declared = {p.name: p for p in (MASS, WIDTH, *read_parameters(parameters))}
    _refuse_columns(declared, vertex)
    expression = parse_expression(text, vertex, declared.values())
    return _formula(text.strip(), expression, declared, vertex)


def formula_from_sympy(expression: sp.Expr, vertex: Vertex, parameters: ParameterSpec | None = None, name: str = "custom") -> Formula:
    """A lineshape from a sympy expression: symbols are event variables and constants by name, all others are real parameters.

    Symbols are recognised by name, so ``sp.Symbol("s")`` is the event's s whatever its assumptions. Nodes that the engine does not
    know are rewritten (roots of what may be negative, abs, tan, complex exponentials), or refused.
    """
    constants = known_names(vertex)
    others = sorted({str(symbol) for symbol in expression.free_symbols} - set(constants))
    declared = {p.name: p for p in read_parameters(others)}
    for parameter in read_parameters(parameters):
        if parameter.name not in declared:
            raise PhysicsError(f"parameter {parameter.name!r} is not in the formula {expression}", suggest(parameter.name, declared))
        declared[parameter.name] = parameter
    replace = {symbol: constants.get(str(symbol), sp.Symbol(str(symbol), real=True)) for symbol in expression.free_symbols}
    _refuse_columns(declared, vertex)
    return _formula(name, _lower(expression, replace, Nodes(declared.values())), declared, vertex)


def callback_from_function(function: Callable[..., Any], parameters: ParameterSpec | None = None, columns: Sequence[str] = ()) -> Callback:
    """A lineshape from a Python function ``function(s, q2, parameters)`` on torch tensors; with event columns as a fourth argument."""
    return Callback(getattr(function, "__name__", "custom"), function, read_parameters(parameters), tuple(columns))


def check_lineshape(lineshape: Lineshape, vertex: Vertex) -> Lineshape:
    """Refuses a lineshape with symbols that are neither event variables nor its parameters, or with columns that events do not have."""
    for name in columns_of(lineshape):
        if name not in vertex.columns:
            raise PhysicsError(
                f"lineshape {lineshape.name!r} uses the event column {name!r}, which the model does not declare as one number per event",
                suggest(name, vertex.columns) or f"declare it: columns: [{name}]",
            )
    if isinstance(lineshape, Formula):
        known = {s, q2, *map(column_variable, vertex.columns), *(p.symbol for p in lineshape.parameters)}
        known |= {RADIUS.symbol} if vertex.d == RADIUS.symbol else set()
        unknown = sorted(str(symbol) for symbol in lineshape.expression.free_symbols - known)
        if unknown:
            raise PhysicsError(
                f"formula {lineshape.name!r} holds {', '.join(unknown)}, which is neither an event variable nor a parameter",
                "use s and q2 of ctpwa.model.lineshapes.formula, column_variable(…) and the symbols of its parameters",
            )
    return lineshape


def _refuse_columns(declared: Mapping[str, LineshapeParameter], vertex: Vertex) -> None:
    for name in vertex.columns:
        if name in declared:
            raise PhysicsError(f"{name!r} is an event column of the model, and a parameter of a lineshape", "rename one of them")


def _formula(name: str, expression: sp.Expr, declared: Mapping[str, LineshapeParameter], vertex: Vertex) -> Formula:
    used = tuple(p for p in declared.values() if p.symbol in expression.free_symbols)
    formula = Formula(name, expression, used, "user")
    check_lineshape(formula, vertex)
    return formula


def _lower(node: Any, replace: Mapping[sp.Symbol, sp.Expr], nodes: Nodes) -> sp.Expr:
    """The same expression from nodes that the engine knows."""
    if node.is_Symbol:
        return replace[node]
    if node in (sp.I, sp.pi) or node.is_Rational or node.is_Float:
        return nodes.number(node)
    if node == sp.E:
        return sp.Float(sp.E)
    if isinstance(node, sp.Piecewise):
        pairs = [(_lower(value, replace, nodes), _condition(test, replace, nodes)) for value, test in node.args]
        return sp.Piecewise(*pairs)
    if node.is_Pow:
        base = node.base
        if base == sp.E:
            return nodes.exp(_lower(node.exp, replace, nodes))
        return nodes.power(_lower(base, replace, nodes), _lower(node.exp, replace, nodes))
    if node.is_Add or node.is_Mul:
        return node.func(*(_lower(argument, replace, nodes) for argument in node.args))
    unary = {function.node: name for name, function in FUNCTIONS.items()} | _REWRITTEN
    if node.func in unary:
        return nodes.functions[unary[node.func]](_lower(node.args[0], replace, nodes))
    raise PhysicsError(
        f"{node.func.__name__} in {node} cannot be compiled",
        "use + - * /, powers, " + ", ".join(sorted(set(unary.values()))) + " and Piecewise",
    )


def _condition(test: Any, replace: Mapping[sp.Symbol, sp.Expr], nodes: Nodes) -> Any:
    if test == sp.true:
        return test
    if isinstance(test, _RELATIONS):
        left, right = (_lower(side, replace, nodes) for side in test.args)
        if not (nodes.is_real(left) and nodes.is_real(right)):
            raise PhysicsError(f"condition {test} compares complex numbers", "compare real quantities only")
        return test.func(left, right)
    raise PhysicsError(f"condition {test} cannot be compiled", "use <, <=, >, >= between real quantities")
