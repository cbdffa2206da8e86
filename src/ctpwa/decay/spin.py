"""Spins as doubled integers, parities, and the (L, S) pair of a vertex."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from ctpwa.base.errors import PhysicsError

MAX_TWO_J = 20  # no hadron is known beyond J = 13/2; barrier factors and Clebsch-Gordan sums lose digits at large L
_JPC = re.compile(r"^\s*([0-9]+)(/2)?\s*([+-])?\s*([+-])?\s*$")


class LS(NamedTuple):
    """Orbital angular momentum L and total spin S of the two daughters of a vertex."""

    L: int
    S: Fraction

    @property
    def two_S(self) -> int:
        """2S, always an integer."""
        return 2 * self.S.numerator // self.S.denominator

    def __str__(self) -> str:
        return f"({self.L},{self.S})"


class JPC(NamedTuple):
    """Quantum numbers read from text such as ``1--``, ``3/2+`` or ``0-``."""

    two_J: int
    P: int | None
    C: int | None


def parse_jpc(text: str) -> JPC:
    """Read ``1--``, ``2+``, ``3/2-`` or a bare ``1/2``."""
    match = _JPC.match(text)
    if not match:
        raise PhysicsError(f"cannot read {text!r} as J^P or J^PC", "write it like 1-, 2++ or 3/2+")
    number, half, P, C = match.groups()
    if len(number) > 4 or int(number) * (1 if half else 2) > MAX_TWO_J:
        raise PhysicsError(f"J = {number[:12]}{'…' if len(number) > 12 else half or ''} is too large", f"spins go up to {MAX_TWO_J // 2}")
    two_J = int(number) if half else 2 * int(number)
    if half and two_J % 2 == 0:
        raise PhysicsError(f"J = {number}/2 in {text!r} is not a half-integer", f"write J = {two_J // 2} instead")
    if two_J % 2 and C:
        raise PhysicsError(f"{text!r}: a state of half-integer spin has no C parity", "leave the second sign out")
    return JPC(two_J, _sign(P), _sign(C))


def _sign(symbol: str | None) -> int | None:
    return None if symbol is None else (1 if symbol == "+" else -1)


def format_spin(two_J: int) -> str:
    """``3`` as ``3/2``, ``4`` as ``2``."""
    return str(Fraction(two_J, 2))


def format_parity(P: int | None) -> str:
    """A superscript sign, or nothing when the parity is not defined."""
    return {1: "⁺", -1: "⁻", None: ""}[P]


def couplings(two_j1: int, two_j2: int) -> range:
    """2J of every J in |j1 − j2| … j1 + j2."""
    return range(abs(two_j1 - two_j2), two_j1 + two_j2 + 1, 2)


def projections(two_j: int) -> range:
    """2m of every projection in the one order used everywhere: +j, j−1, …, −j (F0)."""
    return range(two_j, -two_j - 1, -2)
