"""From the text of a variable to a tree; the text is parsed against a whitelist and never evaluated as code.

Quantities such as ``mass(K+, K-)`` are read first, because names of particles contain operators. Each is replaced by a name of the same
length, so that columns stay what they are; Python's own parser splits the rest, which holds numbers, ``+ - * / **``, brackets and
functions only. Everything else is an error that names the word and its column.
"""

from __future__ import annotations

import ast
import math
import re

from ctpwa.base.errors import suggest
from ctpwa.decay.chain import Decay
from ctpwa.observe.errors import VariableError, error_at
from ctpwa.observe.expression import CONSTANTS, FUNCTIONS, MANY, ExpressionNode, binary, function, negative, number, quantity
from ctpwa.observe.particles import Names
from ctpwa.observe.quantities import KINDS, Quantity, check_groups, limits

MAX_LENGTH = 2000
MAX_DEPTH = 100
MAX_NUMBER = 1e30
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_CALL = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z_]\w*) *\(")
_SHOWN = "mass(K+, K-), cos_theta(K+; K+ K-), numbers, + - * / ** and functions"


def parse(text: str, decay: Decay) -> tuple[ExpressionNode, Names]:
    """The tree of a text, and the names of particles it uses."""
    _check_letters(text)
    names = Names(decay)
    if text.strip() in names.known:
        raise error_at(text, 0, text, f"{text.strip()!r} is a particle, not a variable", _particle_advice(text.strip()))
    replaced, quantities, ends = _read_quantities(text, names)
    if replaced.rstrip()[-1] in "+-*/":
        raise error_at(text, len(replaced.rstrip()) - 1, replaced.rstrip()[-1], "nothing follows the last operator", "complete the formula")
    shift = len(replaced) - len(replaced.lstrip())
    try:
        tree = ast.parse(replaced.strip(), mode="eval")
    except SyntaxError as problem:
        start = min((problem.offset or 1) - 1 + shift, max(len(text) - 1, 0))
        raise error_at(text, start, "", f"not a formula: {_plain_message(problem.msg)}", f"write {_SHOWN}") from None
    except (ValueError, RecursionError, MemoryError):
        raise VariableError("the variable is nested too deeply", f"keep nesting below {MAX_DEPTH}") from None
    term = _Walker(text, shift, names, quantities, ends).walk(tree.body, 0)
    if not quantities:
        raise VariableError(f"{text.strip()!r} is the same for all events", f"write {_SHOWN}")
    return term, names


def _plain_message(message: str) -> str:
    return message.split(". ")[0]


def _check_letters(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise VariableError(f"a variable of {len(text)} characters", f"keep variables below {MAX_LENGTH} characters")
    if not text.strip():
        raise VariableError("the variable is empty", f"write {_SHOWN}")
    for start, letter in enumerate(text):
        if not letter.isprintable() or letter == "#":
            raise error_at(text, start, letter, f"character {letter!r} is not allowed", "write the variable on one line, without comments")


def _read_quantities(text: str, names: Names) -> tuple[str, dict[str, ExpressionNode], dict[int, int]]:
    """The text with a name in place of every quantity, what these names stand for, and where a name ends → where its quantity ends."""
    found: dict[str, ExpressionNode] = {}
    ends: dict[int, int] = {}
    replaced, here = "", 0
    while (match := _CALL.search(text, here)) is not None:
        name, start = match[1], match.start()
        if name in FUNCTIONS:
            replaced += text[here : match.end()]
            here = match.end()
            continue
        if name not in KINDS:
            raise error_at(text, start, name, f"unknown quantity or function {name!r}", _near(name, names))
        groups, end = names.groups(text, match.end(), KINDS[name].words, distinct=name == "chi")
        check_groups(text, start, name, groups, names.decay)
        written = text[start : end + 1]
        stand_in = f"_{len(found)}"
        found[stand_in] = quantity(Quantity(name, groups, written), limits(name, groups, names.decay))
        replaced += text[here:start] + stand_in.ljust(len(written))
        here = end + 1
        ends[start + len(stand_in)] = here
    return _ascii_only(text, replaced + text[here:]), found, ends


def _ascii_only(text: str, replaced: str) -> str:
    """Names of particles may have any letters, the rest may not; nor may it use the names that stand for quantities."""
    for start, letter in enumerate(replaced):
        if not letter.isascii():
            raise error_at(text, start, letter, f"character {letter!r} is not allowed", "use plain ASCII letters")
    for match in re.finditer(r"(?<!\w)_\w*", text):
        if replaced[match.start() : match.end()] == match[0]:
            raise error_at(text, match.start(), match[0], f"unknown name {match[0]!r}", f"write {_SHOWN}")
    return replaced


def _near(name: str, names: Names) -> str:
    if any(known.startswith(name) for known in names.known):
        return _particle_advice(next(known for known in names.known if known.startswith(name)))
    return suggest(name, [*KINDS, *FUNCTIONS])


def _particle_advice(name: str) -> str:
    return f"particles stand in the brackets of a quantity, such as E({name})"


class _Walker:
    """Translates a syntax tree, node by node."""

    def __init__(self, text: str, shift: int, names: Names, quantities: dict[str, ExpressionNode], ends: dict[int, int]) -> None:
        self.text, self.shift, self.particles, self.ends = text, shift, names.known, ends
        self.names = {**CONSTANTS, **quantities}

    def walk(self, node: ast.expr, depth: int) -> ExpressionNode:
        if depth > MAX_DEPTH:
            raise VariableError("the variable is nested too deeply", f"keep nesting below {MAX_DEPTH}")
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=name):
                if name not in self.names:
                    raise self.error(node, f"unknown name {name!r}", self.advice(name))
                return self.names[name]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                term = self.walk(operand, depth + 1)
                return negative(term) if isinstance(sign, ast.USub) else term
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return binary(OPERATORS[type(op)], self.walk(left, depth + 1), self.walk(right, depth + 1), self.word(node, 200))
            case ast.BinOp(op=ast.BitXor()):
                raise self.error(node, "'^' is not an operator", "write powers with **")
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                return self.call(node, name, depth)
        raise self.error(node, f"{self.word(node)!r} is not allowed", f"write {_SHOWN}")

    def constant(self, node: ast.expr, value: object) -> ExpressionNode:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(node, f"{self.word(node)!r} is not a real number", f"write {_SHOWN}")
        if abs(value) > MAX_NUMBER or not math.isfinite(value):
            raise self.error(node, f"number {self.word(node)} is too large", f"keep numbers below {MAX_NUMBER:.0e}")
        return number(float(value))

    def call(self, node: ast.Call, name: str, depth: int) -> ExpressionNode:
        n_arguments, many = len(node.args), name in MANY
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.error(node, f"{name!r} takes plain arguments", f"write {name}(x)")
        if (n_arguments < 2) if many else (n_arguments != 1):
            wanted = "two or more arguments" if many else "one argument"
            raise self.error(node, f"{name!r} takes {wanted}, not {n_arguments}", f"write {name}(x, y)" if many else f"write {name}(x)")
        return function(name, [self.walk(argument, depth + 1) for argument in node.args], self.word(node, 200))

    def advice(self, name: str) -> str:
        if name in KINDS or name in FUNCTIONS:
            usage = KINDS[name].usage if name in KINDS else f"{name}(x)"
            return f"write {usage}"
        particle = next((known for known in self.particles if known.startswith(name)), "")
        if particle:
            return _particle_advice(particle)
        near = suggest(name, [*KINDS, *FUNCTIONS, *CONSTANTS])
        return near if near.startswith("did you mean") else f"write {_SHOWN}"

    def word(self, node: ast.expr, longest: int = 40) -> str:
        """The text of a node, shortened."""
        end = (node.end_col_offset or 0) + self.shift
        text = self.text[node.col_offset + self.shift : self.ends.get(end, end)]
        return text if len(text) <= longest else text[: longest - 3] + "..."

    def error(self, node: ast.expr, what: str, fix: str) -> VariableError:
        """An error that points at a node."""
        return error_at(self.text, node.col_offset + self.shift, self.word(node), what, fix)
