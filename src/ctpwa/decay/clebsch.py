"""Clebsch–Gordan coefficients, Condon–Shortley phases, exact up to the last rounding."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial, sqrt


@cache
def clebsch_gordan(two_j1: int, two_m1: int, two_j2: int, two_m2: int, two_J: int, two_M: int) -> float:
    """⟨j1 m1; j2 m2 | J M⟩ from Racah's sum over exact integers; all arguments are doubled."""
    if two_m1 + two_m2 != two_M or not abs(two_j1 - two_j2) <= two_J <= two_j1 + two_j2:
        return 0.0
    if (two_j1 + two_j2 + two_J) % 2:
        return 0.0
    for two_j, two_m in ((two_j1, two_m1), (two_j2, two_m2), (two_J, two_M)):
        if abs(two_m) > two_j or (two_j - two_m) % 2:
            return 0.0
    a = (two_j1 + two_j2 - two_J) // 2
    b = (two_j1 - two_m1) // 2
    c = (two_j2 + two_m2) // 2
    d = (two_J - two_j2 + two_m1) // 2
    e = (two_J - two_j1 - two_m2) // 2
    total = Fraction(0)
    for k in range(max(0, -d, -e), min(a, b, c) + 1):
        denominator = factorial(k) * factorial(a - k) * factorial(b - k) * factorial(c - k)
        denominator *= factorial(d + k) * factorial(e + k)
        total += Fraction((-1) ** k, denominator)
    squared = Fraction(
        (two_J + 1) * factorial(a) * factorial((two_j1 - two_j2 + two_J) // 2) * factorial((two_j2 - two_j1 + two_J) // 2),
        factorial((two_j1 + two_j2 + two_J) // 2 + 1),
    )
    for two_j, two_m in ((two_j1, two_m1), (two_j2, two_m2), (two_J, two_M)):
        squared *= factorial((two_j + two_m) // 2) * factorial((two_j - two_m) // 2)
    squared *= total * total
    return sqrt(squared) if total > 0 else -sqrt(squared)
