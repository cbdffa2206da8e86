"""Constant coefficients of a vertex."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.spin import LS, projections


class Coupling(NamedTuple):
    """One term of a vertex: indices of the daughters' spins and of Y_L, and the coefficient."""

    t1: int
    t2: int
    mL: int
    value: float


@cache
def vertex_couplings(two_J: int, two_s1: int, two_s2: int, ls: LS, two_m: int) -> tuple[Coupling, ...]:
    """All non-zero ⟨s1 t1; s2 t2 | S mS⟩ ⟨L mL; S mS | J m⟩ for one m of the parent, sorted by t2      (F5.1)"""
    result = []
    for i2, two_t2 in enumerate(projections(two_s2)):
        for i1, two_t1 in enumerate(projections(two_s1)):
            two_mS = two_t1 + two_t2
            two_mL = two_m - two_mS
            value = clebsch_gordan(two_s1, two_t1, two_s2, two_t2, ls.two_S, two_mS)
            value *= clebsch_gordan(2 * ls.L, two_mL, ls.two_S, two_mS, two_J, two_m)
            if value != 0.0:
                result.append(Coupling(i1, i2, ls.L - two_mL // 2, value))
    return tuple(result)
