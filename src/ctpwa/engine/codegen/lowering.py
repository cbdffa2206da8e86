"""From complex sympy expressions to real straight-line code, operation by operation.

Every complex node becomes a pair (real part, imaginary part) of real temporaries as it is printed. Expanding real and imaginary parts
symbolically instead would explode on complex square roots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import sympy as sp

from ctpwa.base.words import is_number
from ctpwa.engine.plan.staging import is_complex
from ctpwa.model.lineshapes.formula import csqrt
from ctpwa.model.lineshapes.functions import FUNCTIONS


@dataclass(frozen=True)
class Dialect:
    """How a target language spells things.

    Attributes:
        language:  which translation of a function it takes, ``python`` or ``triton``
        sqrt:      the square root
        inverse:   code of 1/{x}
        where:     a conditional expression with {condition}, {yes}, {no}
        constant:  the number {x} in double precision where nothing else in the expression says so
    """

    language: str
    sqrt: str
    inverse: str
    where: str
    constant: str = "{x}"

    def function(self, name: str) -> str:
        """How a function of formulas is called."""
        return str(getattr(FUNCTIONS[name], self.language))


PYTHON = Dialect("python", "math.sqrt", "1.0 / ({x})", "({yes} if {condition} else {no})")
TRITON = Dialect(
    "triton",
    "tl.sqrt",
    "reciprocal({x})",
    "tl.where({condition}, {yes}, {no})",
    "tl.full((), {x}, tl.float64)",  # a number on its own would be float32
)


@dataclass(frozen=True)
class Value:
    """The code of a real or complex number; ``im`` is None for a real one."""

    re: str
    im: str | None = None


@dataclass
class Lowering:
    """Prints expressions as assignments to temporaries.

    Attributes:
        dialect:  target language
        names:    code of every symbol
        prefix:   start of temporary names
        lines:    the assignments so far
    """

    dialect: Dialect
    names: Mapping[sp.Symbol, Value]
    prefix: str = "t"
    lines: list[str] = field(default_factory=list)
    _seen: dict[object, Value] = field(default_factory=dict)

    def lower(self, expression: sp.Expr) -> Value:
        """Code of the value of an expression; common parts are computed once."""
        if expression not in self._seen:
            self._seen[expression] = self._lower(expression)
        return self._seen[expression]

    def _assign(self, code: str) -> str:
        if code.isidentifier() or is_number(code):
            return code
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def _lower(self, node: sp.Expr) -> Value:
        if isinstance(node, sp.Symbol):
            return self.names[node]
        if node is sp.I:
            return Value("0.0", "1.0")
        if node.is_number:
            number = complex(node)
            return Value(repr(number.real), repr(number.imag) if number.imag else None)
        if isinstance(node, sp.Add):
            return self._add([self.lower(argument) for argument in _cheap_first(node.args)])
        if isinstance(node, sp.Mul):
            return self._product(node)
        if isinstance(node, sp.Pow):
            return self._power(node.base, node.exp)
        if isinstance(node, csqrt):
            return self._csqrt(node.args[0])
        if isinstance(node, sp.Piecewise):
            return self._piecewise(node)
        if isinstance(node, sp.exp) and is_complex(node.args[0]):
            return self._complex_exp(node.args[0])
        name = node.func.__name__
        if name in FUNCTIONS:
            argument = self.lower(node.args[0])
            if argument.im is None:
                return Value(self._assign(f"{self.dialect.function(name)}({argument.re})"))
        raise TypeError(f"no code for {node.func.__name__} in {node}")

    def _add(self, terms: Sequence[Value]) -> Value:
        imaginary = [term.im for term in terms if term.im not in (None, "0.0")]
        real = self._assign(_sum([term.re for term in terms]))
        return Value(real, self._assign(_sum(imaginary)) if imaginary else None)

    def _product(self, node: sp.Mul) -> Value:
        """Factors of ±1 and i turn signs and parts around instead of multiplying."""
        sign, quarter, factors = 1, 0, []
        for argument in node.args:
            if argument is sp.I:
                quarter += 1
            elif argument is sp.S.NegativeOne:
                sign = -sign
            else:
                factors.append(self.lower(argument))
        real = [f.re for f in factors if f.im is None]
        value = Value(self._assign(" * ".join(real))) if real else None
        for factor in (f for f in factors if f.im is not None):
            value = factor if value is None else self._times(value, factor)
        return self._turn(value or Value("1.0"), sign, quarter % 4)

    def _turn(self, value: Value, sign: int, quarter: int) -> Value:
        re, im = value.re, value.im
        if quarter in (2, 3):
            sign = -sign
        if quarter % 2:
            re, im = (_negated(im) if im is not None else "0.0"), re
        return Value(_signed(re, sign), None if im is None else _signed(im, sign))

    def _times(self, a: Value, b: Value) -> Value:
        if a.im is None or b.im is None:
            scalar, other = (a, b) if a.im is None else (b, a)
            parts = [self._assign(f"{scalar.re} * {part}") for part in (other.re, other.im) if part is not None]
            return Value(parts[0], parts[1] if len(parts) > 1 else None)
        if a == b:
            return Value(self._assign(f"{a.re} * {a.re} - {a.im} * {a.im}"), self._assign(f"2.0 * {a.re} * {a.im}"))
        return Value(self._assign(f"{a.re} * {b.re} - {a.im} * {b.im}"), self._assign(f"{a.re} * {b.im} + {a.im} * {b.re}"))

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Value:
        value = self.lower(base)
        if exponent.is_Integer:
            number = int(exponent)
            if number < 0:
                value = self._once(("inverse", value), lambda: self._inverse(value))
            return self._integer_power(value, abs(number))
        if value.im is not None:
            raise TypeError(f"no code for the complex power {base}**{exponent}")
        twice = 2 * exponent
        if twice.is_Integer:
            root = self._once(("root", value), lambda: Value(self._assign(f"{self.dialect.sqrt}({value.re})")))
            return self._power_of_root(value, root, int(twice))
        log = f"{self.dialect.function('log')}({value.re})"
        return Value(self._assign(f"{self.dialect.function('exp')}({float(exponent)!r} * {log})"))

    def _once(self, key: object, compute: Callable[[], Value]) -> Value:
        if key not in self._seen:
            self._seen[key] = compute()
        return self._seen[key]

    def _power_of_root(self, value: Value, root: Value, twice: int) -> Value:
        whole = self._integer_power(value, abs(twice) // 2) if abs(twice) > 1 else None
        result = root if whole is None else self._times(whole, root)
        return self._inverse(result) if twice < 0 else result

    def _integer_power(self, value: Value, number: int) -> Value:
        if number == 1:
            return value
        if number % 2:
            smaller = self._integer_power(value, number - 1)
            return self._once(("power", value, number), lambda: self._times(smaller, value))
        half = self._integer_power(value, number // 2)
        return self._once(("power", value, number), lambda: self._times(half, half))

    def _inverse(self, value: Value) -> Value:
        if value.im is None:
            return Value(self._assign(self.dialect.inverse.format(x=value.re)))
        norm = self._assign(self.dialect.inverse.format(x=f"{value.re} * {value.re} + {value.im} * {value.im}"))
        return Value(self._assign(f"{value.re} * {norm}"), self._assign(f"-({value.im} * {norm})"))

    def _csqrt(self, argument: sp.Expr) -> Value:
        x = self.lower(argument)
        if x.im is not None:
            raise TypeError(f"csqrt takes a real argument, not {argument}")
        root = self.dialect.sqrt
        positive = self._assign(self.dialect.where.format(condition=f"{x.re} > 0.0", yes=x.re, no="0.0"))
        negative = self._assign(self.dialect.where.format(condition=f"{x.re} < 0.0", yes=f"-{x.re}", no="0.0"))
        return Value(self._assign(f"{root}({positive})"), self._assign(f"{root}({negative})"))

    def _complex_exp(self, argument: sp.Expr) -> Value:
        x = self.lower(argument)
        exp, cos, sin = (self.dialect.function(name) for name in ("exp", "cos", "sin"))
        size = self._assign(f"{exp}({x.re})")
        return Value(self._assign(f"{size} * {cos}({x.im})"), self._assign(f"{size} * {sin}({x.im})"))

    def _piecewise(self, node: sp.Piecewise) -> Value:
        *branches, (last, _) = node.args
        value = self.lower(last)
        for expression, condition in reversed(branches):
            yes = self.lower(expression)
            test = self._condition(condition)
            real = self._where(test, yes.re, value.re)
            is_real = yes.im is None and value.im is None
            value = Value(real, None if is_real else self._where(test, yes.im or "0.0", value.im or "0.0"))
        return value

    def _condition(self, test: sp.Basic) -> str:
        if isinstance(test, (sp.And, sp.Or)):
            return (" & " if isinstance(test, sp.And) else " | ").join(f"({self._condition(part)})" for part in test.args)
        return f"{self.lower(test.lhs).re} {test.rel_op} {self.lower(test.rhs).re}"

    def _where(self, condition: str, yes: str, no: str) -> str:
        return self._assign(self.dialect.where.format(condition=condition, yes=self.constant(yes), no=self.constant(no)))

    def constant(self, code: str) -> str:
        """The same code, in double precision even if it is a plain number."""
        return self._assign(self.dialect.constant.format(x=code)) if is_number(code) else code


def _cheap_first(arguments: Sequence[sp.Expr]) -> list[sp.Expr]:
    return sorted(arguments, key=_cost)


@lru_cache(maxsize=4096)
def _cost(expression: sp.Expr) -> tuple[int, str]:
    return expression.count_ops(), str(expression)


def _negated(code: str) -> str:
    return code[1:] if code.startswith("-") and code[1:].isidentifier() else f"-{code}"


def _signed(code: str, sign: int) -> str:
    return code if sign > 0 or code == "0.0" else (_negated(code) if code.isidentifier() or code.startswith("-") else f"-({code})")


def _sum(terms: Sequence[str | None]) -> str:
    kept = [term for term in terms if term not in (None, "0.0")]
    text = " + ".join(str(term) for term in kept) or "0.0"
    return text.replace("+ -", "- ")
