"""Which masses are written along an Argand diagram."""

from __future__ import annotations

import numpy as np

from ctpwa.observables.argand import ArgandCurve

MARKS = 12  # at most as many masses are written at the curve
STEPS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # GeV


def round_masses(curve: ArgandCurve, most: int = MARKS) -> list[float]:
    """Round masses, coarse ones first, that are not too near to each other on the curve; in increasing order.

    Args:
        curve:  an amplitude versus mass
        most:   of them, about
    """
    arc = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(curve.amplitude)))])
    chosen: dict[float, float] = {}
    for step in STEPS:
        first, last = np.ceil(curve.mass[0] / step), np.floor(curve.mass[-1] / step)
        ticks = (np.arange(first, last + 1) * step).round(4)
        places = np.interp(ticks, curve.mass, arc)
        # most ticks of fine steps are near to those of coarse ones
        far = np.all([abs(places - other) > arc[-1] / most for other in chosen.values()], axis=0) if chosen else np.full(len(ticks), True)
        for tick, place in zip(ticks[far].tolist(), places[far].tolist(), strict=True):
            if all(abs(place - other) > arc[-1] / most for other in chosen.values()):
                chosen[tick] = place
    return sorted(chosen)
