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


def distinct(
    stops: Sequence[Stop | None], hessian: np.ndarray | None = None, unit: float = 1.0, *, same_value: float = SAME_VALUE
) -> list[Minimum]:
    """End points grouped into minima, the best first.

    Two ends are the same when their values agree and, if a Hessian is given, when they are within half a standard deviation.

    Args:
        stops:       the ends; None for a start without one
        hessian:     at the best of them
        unit:        what counts as 1 in their values, see ``Scaled``
        same_value:  by how much values of the same minimum may differ, in this unit
    """
    order = sorted((k for k, stop in enumerate(stops) if stop is not None and np.isfinite(stop.value)), key=lambda k: stops[k].value)  # type: ignore[union-attr]
    metric = None if hessian is None else _metric(hessian / unit)
    found: list[list[int]] = []
    for k in order:
        for group in found:
            if _same(stops[group[0]], stops[k], metric, same_value * unit):  # type: ignore[arg-type]
                group.append(k)
                break
        else:
            found.append([k])
    return [Minimum(stops[g[0]].value, stops[g[0]].x, tuple(sorted(g))) for g in found]  # type: ignore[union-attr]


def _metric(H: np.ndarray) -> np.ndarray:
    """The Hessian with its curvatures by size, so that negative ones add to a distance."""
    scale = np.sqrt(np.where(np.diag(H) != 0, np.abs(np.diag(H)), 1.0))
    values, vectors = np.linalg.eigh(H / np.outer(scale, scale))
    return (vectors * np.abs(values)) @ vectors.T * np.outer(scale, scale)


def _same(a: Stop, b: Stop, metric: np.ndarray | None, same_value: float) -> bool:
    if abs(a.value - b.value) > same_value:
        return False
    if metric is None:
        return True
    step = b.x - a.x
    return bool(step @ metric @ step <= SAME_PLACE)
