"""The code of one formula kind: F and its derivatives as straight-line assignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ctpwa.engine.codegen.lowering import Dialect, Lowering, Value
from ctpwa.engine.plan.plan import FormulaKind


@dataclass(frozen=True)
class KindCode:
    """Straight-line code of a kind.

    Attributes:
        once:    assignments that use e0 or e0_re, e0_im, … alone
        lines:   assignments that use p0, … as well
        F:       code of the value
        first:   code of ∂F for each floating p
        second:  code of ∂²F for each pair
    """

    once: tuple[str, ...]
    lines: tuple[str, ...]
    F: Value
    first: tuple[Value, ...]
    second: tuple[Value, ...]


@lru_cache(maxsize=256)
def kind_code(kind: FormulaKind, dialect: Dialect, order: int) -> KindCode:
    """Code of F and its derivatives up to ``order``."""
    names = {
        symbol: Value(f"{symbol}_re", f"{symbol}_im") if c else Value(str(symbol))
        for symbol, c in zip(kind.e_symbols, kind.e_complex, strict=True)
    }
    names |= {symbol: Value(str(symbol)) for symbol in kind.p_symbols}
    lowering = Lowering(dialect, names)
    for symbol, expression in kind.inner:
        names[symbol] = lowering.lower(expression)
    n_once = len(lowering.lines)
    F = lowering.lower(kind.expression)
    if kind.expression.is_number and kind.expression != 1:
        F = Value(lowering.constant(F.re), None if F.im is None else lowering.constant(F.im))
    first = tuple(lowering.lower(expression) for expression in kind.first) if order >= 1 else ()
    second = tuple(lowering.lower(expression) for expression in kind.second.values()) if order >= 2 else ()
    return KindCode(tuple(lowering.lines[:n_once]), tuple(lowering.lines[n_once:]), F, first, second)


def describe(kinds: Sequence[FormulaKind]) -> list[str]:
    """Comment lines that say which formulas a generated file holds."""
    return [
        f"kind {index}: F = {kind.expression}"
        + "".join(f", {symbol} = {expression}" for symbol, expression in kind.inner)
        + (f", floating {', '.join(f'p{i}' for i in kind.floating)}" if kind.floating else "")
        for index, kind in enumerate(kinds)
    ]


def imaginary(value: Value) -> str:
    """Code of the imaginary part."""
    return value.im if value.im is not None else "0.0"
