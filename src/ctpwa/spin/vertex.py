"""Constant coefficients of a vertex."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.spin import LS, projections
from ctpwa.spin.traces import Component, components, trace_factor


class Coupling(NamedTuple):
    """One term of a vertex: indices of the daughters' spins and of Y_L, and the coefficient."""

    t1: int
    t2: int
    mL: int
    value: float


@cache
def vertex_couplings(
    two_J: int, two_s1: int, two_s2: int, ls: LS, two_m: int, traces: tuple[bool, bool] = (False, False)
) -> tuple[Coupling, ...]:
    """All non-zero ⟨s1 t1; s2 t2 | S mS⟩ ⟨L mL; S mS | J m⟩ for one m of the parent, sorted by t2      (F5.1)

    Where a daughter is a projected tensor with its traces, t runs over all its parts                   (F6)

    Args:
        two_J, two_s1, two_s2, ls, two_m:  the vertex
        traces:                            which daughters have the parts of ``components``
    """
    result = []
    first, second = (_places(two_s, kept) for two_s, kept in zip((two_s1, two_s2), traces, strict=True))
    for i2, own2, two_t2 in second:
        for i1, own1, two_t1 in first:
            two_mS = two_t1 + two_t2
            two_mL = two_m - two_mS
            value = clebsch_gordan(own1.two_j, two_t1, own2.two_j, two_t2, ls.two_S, two_mS)
            value *= clebsch_gordan(2 * ls.L, two_mL, ls.two_S, two_mS, two_J, two_m)
            if value != 0.0 and any(traces):
                value *= trace_factor(two_s1, two_s2, ls.two_S, own1, own2)
            if value != 0.0:
                result.append(Coupling(i1, i2, ls.L - two_mL // 2, value))
    return tuple(result)


def _places(two_s: int, traces: bool) -> list[tuple[int, Component, int]]:
    """Index, part and projection of all spin states of a daughter."""
    states = [(own, two_t) for own in components(two_s)[: None if traces else 1] for two_t in projections(own.two_j)]
    return [(index, own, two_t) for index, (own, two_t) in enumerate(states)]
