"""Which starts ended in the same minimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.minimise.steps import Stop

SAME_VALUE = 0.05  # of -ln L
SAME_PLACE = 0.25  # standard deviations squared


@dataclass(frozen=True)
class Minimum:
    """One of the minima that were found.

    Attributes:
        value:   -ln L
        x:       where
        starts:  numbers of the starts that ended there
    """

    value: float
    x: np.ndarray
    starts: tuple[int, ...]


def distinct(stops: Sequence[Stop | None], hessian: np.ndarray | None = None) -> list[Minimum]:
    """End points grouped into minima, the best first.

    Two ends are the same when their values agree and, if a Hessian is given, when they are within half a standard deviation.

    Args:
        stops:    the ends; None for a start without one
        hessian:  at the best of them
    """
    order = sorted((k for k, stop in enumerate(stops) if stop is not None and np.isfinite(stop.value)), key=lambda k: stops[k].value)  # type: ignore[union-attr]
    found: list[list[int]] = []
    for k in order:
        for group in found:
            if _same(stops[group[0]], stops[k], hessian):  # type: ignore[arg-type]
                group.append(k)
                break
        else:
            found.append([k])
    return [Minimum(stops[g[0]].value, stops[g[0]].x, tuple(sorted(g))) for g in found]  # type: ignore[union-attr]


def _same(a: Stop, b: Stop, hessian: np.ndarray | None) -> bool:
    if abs(a.value - b.value) > SAME_VALUE:
        return False
    if hessian is None:
        return True
    step = b.x - a.x
    return bool(abs(step @ hessian @ step) <= SAME_PLACE)
