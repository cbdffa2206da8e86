"""Lineshapes written as text: a small language that is parsed against a whitelist and never evaluated as code.

The text is split by Python's own parser into a syntax tree; the tree is walked, and only numbers, ``+ - * / **``, known names and
known functions are translated. Everything else (attributes, indices, strings, comparisons, lambdas, unknown calls, …) is an error
that names the word and its column.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping

import sympy as sp

from ctpwa.base.errors import PhysicsError, TextError, suggest
from ctpwa.model.lineshapes.formula import LineshapeParameter, Vertex, column_variable, q2, s
from ctpwa.model.lineshapes.nodes import MAX_NUMBER, Nodes

MAX_LENGTH = 2000
MAX_DEPTH = 150
MAX_SIZE = 5000  # nodes of the formula; a text of MAX_LENGTH without such functions has fewer
# names of an expression that are not parameters
NAMES = ("s", "q2", "m", "q", "rho", "m1", "m2", "L", "d", "i", "I", "pi")
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


class ExpressionError(TextError):
    """A text that is not a valid lineshape expression."""


def known_names(vertex: Vertex) -> dict[str, sp.Expr]:
    """What every name of an expression stands for."""
    return {
        "s": s,
        "q2": q2,
        "m": sp.sqrt(s),
        "q": sp.sqrt(q2),
        "rho": 2 * sp.sqrt(q2) / sp.sqrt(s),
        "m1": sp.Float(vertex.m1),
        "m2": sp.Float(vertex.m2),
        "L": sp.Integer(vertex.L),
        "d": vertex.d if isinstance(vertex.d, sp.Symbol) else sp.Float(vertex.d),
        "i": sp.I,
        "I": sp.I,
        "pi": sp.pi,
        **{name: column_variable(name) for name in vertex.columns},
    }


def parse_expression(text: str, vertex: Vertex, parameters: Iterable[LineshapeParameter] = ()) -> sp.Expr:
    """The formula that a text describes.

    Args:
        text:        e.g. ``1/(mass**2 - s - i*mass*width*rho)``
        vertex:      the vertex, for m1, m2, L and d
        parameters:  the parameters the text may use
    """
    return parse_formula(text, known_names(vertex), parameters)


def parse_formula(text: str, names: Mapping[str, sp.Expr], parameters: Iterable[LineshapeParameter], nodes: Nodes | None = None) -> sp.Expr:
    """The formula that a text describes.

    Args:
        text:        the text
        names:       what the names of the language stand for
        parameters:  the parameters the text may use besides
        nodes:       what functions and operators become; default: complex ones that the engine compiles
    """
    declared = tuple(parameters)
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression of {len(text)} characters", f"keep expressions below {MAX_LENGTH} characters")
    bad = next((letter for letter in text if not (letter.isascii() and letter.isprintable()) or letter == "#"), None)
    if bad is not None:
        column = text.index(bad) + 1
        raise ExpressionError(f"character {bad!r} in column {column} is not allowed", "use plain ASCII letters on one line", bad, column)
    stripped = text.strip()
    try:
        tree = ast.parse(stripped, mode="eval")
    except SyntaxError as problem:
        column = (problem.offset or 1) + len(text) - len(text.lstrip())
        raise ExpressionError(
            f"{stripped[:80]!r} is not a formula: {problem.msg} in column {column}", "check brackets and operators", "", column
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("expression is nested too deeply", f"keep nesting below {MAX_DEPTH}") from None
    return _Walker(text, names, declared, nodes or Nodes(declared)).walk(tree.body, 0)


class _Walker:
    """Translates a syntax tree, node by node."""

    def __init__(self, text: str, names: Mapping[str, sp.Expr], parameters: tuple[LineshapeParameter, ...], nodes: Nodes) -> None:
        self.text = text
        self.shift = len(text) - len(text.lstrip())
        self.nodes = nodes
        self.sizes: dict[sp.Basic, int] = {}
        self.names = {**names, **{p.name: p.symbol for p in parameters}}

    def walk(self, node: ast.expr, depth: int) -> sp.Expr:
        """The formula of one node; functions that hold their argument twice make it grow with every level."""
        if depth > MAX_DEPTH:
            raise self.error(node, "expression is nested too deeply", f"keep nesting below {MAX_DEPTH}")
        formula = self.translate(node, depth)
        if self.size(formula) > MAX_SIZE:
            raise self.error(node, f"expression becomes a formula of more than {MAX_SIZE} terms", "simplify it")
        return formula

    def size(self, formula: sp.Basic) -> int:
        """Number of nodes of a formula."""
        if formula not in self.sizes:
            self.sizes[formula] = 1 + sum(self.size(part) for part in formula.args)
        return self.sizes[formula]

    def translate(self, node: ast.expr, depth: int) -> sp.Expr:
        """The formula of one node."""
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=name):
                if name not in self.names:
                    fix = f"{suggest(name, self.names)} Declare it under 'parameters', or 'columns' if events have it"
                    raise self.error(node, f"unknown name {name!r}", fix)
                return self.names[name]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                value = self.walk(operand, depth + 1)
                return -value if isinstance(sign, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self.binary(node, op, self.walk(left, depth + 1), self.walk(right, depth + 1))
            case ast.BinOp(op=ast.BitXor()):
                raise self.error(node, "'^' is not an operator", "write powers with **")
            case ast.Call():
                return self.call(node, depth)
        raise self.error(node, f"{self.word(node)!r} is not allowed", "use numbers, names, + - * / **, brackets and functions only")

    def constant(self, node: ast.expr, value: object) -> sp.Expr:
        """A number of the text."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(node, f"{self.word(node)!r} is not a real number", "the imaginary unit is i")
        if abs(value) > MAX_NUMBER or not math.isfinite(value):  # in this order: an integer may be too large for a float
            raise self.error(node, f"number {self.word(node)} is too large", f"keep numbers below {MAX_NUMBER:.0e}")
        return sp.Integer(value) if isinstance(value, int) else sp.Float(value)

    def binary(self, node: ast.expr, op: ast.operator, left: sp.Expr, right: sp.Expr) -> sp.Expr:
        """Sum, difference, product, quotient or power."""
        try:
            match op:
                case ast.Add():
                    return self.nodes.number(left + right)
                case ast.Sub():
                    return self.nodes.number(left - right)
                case ast.Mult():
                    return self.nodes.number(left * right)
                case ast.Div():
                    return self.nodes.divide(left, right)
                case _:
                    return self.nodes.power(left, right)
        except ExpressionError:
            raise
        except PhysicsError as problem:
            raise self.error(node, problem.what, problem.fix) from None

    def call(self, node: ast.Call, depth: int) -> sp.Expr:
        """A whitelisted function of one argument."""
        if not isinstance(node.func, ast.Name):
            raise self.error(node.func, f"{self.word(node.func)!r} is not allowed", "call a function by its plain name")
        name = node.func.id
        if name not in self.nodes.functions:
            raise self.error(node.func, f"unknown function {name!r}", suggest(name, self.nodes.functions))
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            raise self.error(node, f"{name!r} takes one argument", f"write {name}(x)")
        argument = self.walk(node.args[0], depth + 1)
        try:
            return self.nodes.functions[name](argument)
        except PhysicsError as problem:
            raise self.error(node, problem.what, problem.fix) from None

    def word(self, node: ast.expr) -> str:
        """The text of a node, shortened."""
        text = self.text[node.col_offset + self.shift : (node.end_col_offset or 0) + self.shift]
        return text if len(text) <= 40 else text[:37] + "..."

    def error(self, node: ast.expr, what: str, fix: str) -> ExpressionError:
        """An error that points at a node."""
        column = node.col_offset + self.shift + 1
        return ExpressionError(f"{what} (column {column} of {self.text.strip()[:80]!r})", fix, self.word(node), column)
