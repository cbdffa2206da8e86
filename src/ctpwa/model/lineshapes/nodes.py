"""Building blocks of user expressions, lowered to the few nodes that the engine compiles.

The engine knows sums, products, rational powers, ``csqrt``, the functions of ``functions.py`` and Piecewise. All else that a user may
write (other roots, tan, sinh, abs, complex exponentials, symbolic exponents) is rewritten here, or refused with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

import numpy as np
import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.formula import LineshapeParameter, csqrt
from ctpwa.model.lineshapes.functions import FUNCTIONS, FormulaFunction

MAX_EXPONENT = 40
MAX_COMPLEX_POWER = 4  # in the argument of exp
MAX_NUMBER = 1e100


class Nodes:
    """Makes nodes of an expression, knowing which parameters cannot be negative."""

    def __init__(self, parameters: Iterable[LineshapeParameter]) -> None:
        positive = [p.symbol for p in parameters if p.lower is not None and p.lower >= 0]
        self._positive = {symbol: sp.Dummy(symbol.name, positive=True) for symbol in positive}
        self._absolute: set[sp.Expr] = set()
        self.functions: dict[str, Callable[[sp.Expr], sp.Expr]] = {
            "sqrt": self.sqrt,
            "csqrt": self.sqrt,
            **{name: partial(self.call, function) for name, function in FUNCTIONS.items()},
            "exp": self.exp,
            "ln": partial(self.call, FUNCTIONS["log"]),
            "tan": lambda x: self.divide(self.call(FUNCTIONS["sin"], x), self.call(FUNCTIONS["cos"], x)),
            "sinh": lambda x: (self.exp(x) - self.exp(-x)) / 2,
            "cosh": lambda x: (self.exp(x) + self.exp(-x)) / 2,
            "tanh": lambda x: 1 - 2 / (self.exp(2 * x) + 1),
            "abs": self.abs,
        }

    def is_nonnegative(self, x: sp.Expr) -> bool:
        """Whether x ≥ 0 can be proven."""
        return bool(self.is_real(x) and x.xreplace(self._positive).is_nonnegative)

    def is_positive(self, x: sp.Expr) -> bool:
        """Whether x > 0 can be proven."""
        return bool(self.is_real(x) and x.xreplace(self._positive).is_positive)

    @staticmethod
    def is_real(x: sp.Expr) -> bool:
        """Whether nothing in x can make it complex."""
        return not x.has(sp.I, csqrt)

    def number(self, value: sp.Expr) -> sp.Expr:
        """A constant that stays within double precision; anything else is left alone."""
        if value.is_Rational and max(abs(value.p), value.q) > MAX_NUMBER:
            raise PhysicsError("a number is too large", f"keep numbers below {MAX_NUMBER:.0e}")
        if value.is_Float and abs(value) > MAX_NUMBER:
            raise PhysicsError(f"number {value} is too large", f"keep numbers below {MAX_NUMBER:.0e}")
        if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise PhysicsError("division by zero", "remove it")
        return value

    def divide(self, above: sp.Expr, below: sp.Expr) -> sp.Expr:
        """Quotient."""
        if below.is_zero:
            raise PhysicsError("division by zero", "remove it")
        return self.number(above / below)

    def power(self, base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        """Base to an exponent: integer powers of anything, half-integer powers of real numbers, other powers of what is positive."""
        rational = _rational(exponent)
        if rational is None:
            if not self.is_positive(base):
                raise PhysicsError(
                    f"exponent {exponent} is not a number, and the base {base} is not known to be positive",
                    "use a number as exponent, or s, m or a positive parameter as base",
                )
            return self.exp(exponent * self.call(FUNCTIONS["log"], base))
        total = abs(rational) * (abs(base.exp) if base.is_Pow and base.exp.is_Rational else 1)
        if total > MAX_EXPONENT:
            raise PhysicsError(f"exponent {exponent} is too large", f"keep exponents between -{MAX_EXPONENT} and {MAX_EXPONENT}")
        if base.is_zero and rational < 0:
            raise PhysicsError("division by zero", "remove it")
        if rational.q == 1 or self.is_nonnegative(base):
            value = self._fold(base, lambda b: b ** float(rational)) if rational.q != 1 else None
            return self.number(base**rational if value is None else value)
        if not self.is_real(base):
            raise PhysicsError(f"power {rational} of the complex {base}", "use an integer exponent")
        if rational.q == 2:
            return csqrt(base) ** rational.p
        raise PhysicsError(f"power {rational} of {base}, which may be negative", "use an integer or half-integer exponent")

    def sqrt(self, x: sp.Expr) -> sp.Expr:
        """√x of a real x; i√−x below zero."""
        return self.power(x, sp.Rational(1, 2))

    def exp(self, x: sp.Expr) -> sp.Expr:
        """e^x; for a complex x as e^Re x (cos Im x + i sin Im x)."""
        if not x.has(sp.I):
            return self.call(FUNCTIONS["exp"], x)
        self._need_real("exp", x.xreplace({sp.I: sp.Integer(1)}))
        real, imaginary = _parts(x)
        rotation = self.call(FUNCTIONS["cos"], imaginary) + sp.I * self.call(FUNCTIONS["sin"], imaginary)
        return rotation if real.is_zero else self.exp(real) * rotation

    def call(self, function: FormulaFunction, x: sp.Expr) -> sp.Expr:
        """A function of a real x."""
        self._need_real(function.name, x)
        if function.positive and x.is_nonpositive:
            raise PhysicsError(f"{function.name} of {x}, which is not positive", "change its argument")
        value = self._fold(x, function.number)
        return function.node(x) if value is None else value

    def abs(self, x: sp.Expr) -> sp.Expr:
        """|x| of a real x."""
        self._need_real("abs", x)
        if x in self._absolute or self.is_nonnegative(x):
            return x
        if x.has(sp.Piecewise):  # sympy would fold the conditions into each other, at a cost that grows without bound
            raise PhysicsError("abs of something that holds abs", "simplify its argument")
        result = sp.Piecewise((x, sp.Ge(x, 0)), (-x, True))
        self._absolute.add(result)
        return result

    def _need_real(self, name: str, x: sp.Expr) -> None:
        if not self.is_real(x):
            raise PhysicsError(
                f"{name} of the complex {x}", f"{name} takes a real argument; only + - * / and integer powers take complex ones"
            )

    def _fold(self, x: sp.Expr, function: Callable[[float], float]) -> sp.Expr | None:
        """The value at a constant, in double precision: symbolic towers of constants cost sympy time without bound."""
        if x.free_symbols or not self.is_real(x):
            return None
        try:
            with np.errstate(all="raise", under="ignore"):
                return self.number(sp.Float(function(float(x))))
        except (OverflowError, ValueError, FloatingPointError) as problem:
            raise PhysicsError(f"the value at {x} is out of range", "change the numbers") from problem


def _rational(exponent: sp.Expr) -> sp.Rational | None:
    if exponent.is_Rational:
        return exponent
    if exponent.is_Float:
        fraction = Fraction(str(float(exponent))).limit_denominator(1000)
        return sp.Rational(fraction.numerator, fraction.denominator)
    return None


def _parts(x: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Real and imaginary part of sums, products and small powers; nothing is multiplied out that need not be."""
    if x == sp.I:
        return sp.Integer(0), sp.Integer(1)
    if not x.has(sp.I):
        return x, sp.Integer(0)
    if x.is_Add:
        parts = [_parts(term) for term in x.args]
        return sp.Add(*(real for real, _ in parts)), sp.Add(*(imaginary for _, imaginary in parts))
    if x.is_Mul or (x.is_Pow and x.exp.is_Integer and abs(x.exp) <= MAX_COMPLEX_POWER):
        real, imaginary = sp.Integer(1), sp.Integer(0)
        for factor in x.args if x.is_Mul else [x.base] * abs(int(x.exp)):
            a, b = _parts(factor)
            real, imaginary = real * a - imaginary * b, real * b + imaginary * a
        if x.is_Pow and x.exp < 0:
            norm = real**2 + imaginary**2
            return real / norm, -imaginary / norm
        return real, imaginary
    raise PhysicsError(f"exp of the complex {x} is too complicated", "write its argument as a + i*b")
