"""Sweeps over bins that are fitted: each is started again where its neighbours ended, until none has a solution that is new.

The first sweep starts from all solutions of the neighbours, every later one from those that the sweep before it has added there; bins
whose neighbours have none are left out. A sweep leaves records of its own, ``3 sweep 1`` and ``3 sweep 1 solution 1``, …, changes none of
others, and reads only those of sweeps before it: so it does not matter in which order bins are done, by how many processes, and when they
are killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ctpwa.studies.bin_axes import Bin
from ctpwa.studies.bin_records import solution_key, sweep_key, sweep_solution_key
from ctpwa.studies.fit_record import FitRecord

MOST = 8  # solutions of a bin that are kept
Records = Mapping[str, FitRecord]


def solutions_of(key: str, records: Records, distance: float, sweeps: int) -> list[FitRecord]:
    """All solutions of a bin, the best first; empty if it has no fit.

    Args:
        key:       of the bin
        records:   of the study
        distance:  solutions count whose −ln L is less than this above that of the best one, in units of events without weights
        sweeps:    how many of them count
    """
    first = records.get(key)
    if first is None or not np.isfinite(first.nll):
        return []
    count = int(first.numbers["solutions"])
    found = [first, *(own for k in range(1, count) if (own := records.get(solution_key(key, k))) is not None)]
    for sweep in range(1, sweeps + 1):
        found += added_by(key, records, sweep)
    found.sort(key=lambda own: own.nll)
    most = found[0].nll + distance * float(first.numbers.get("unit", 1.0))
    return [own for own in found if own.nll <= most][:MOST]


def added_by(key: str, records: Records, sweep: int) -> list[FitRecord]:
    """Solutions that a sweep has added to a bin."""
    head = records.get(sweep_key(key, sweep))
    count = 0 if head is None else int(head.numbers.get("solutions", 0))
    return [own for k in range(count) if (own := records.get(sweep_solution_key(key, sweep, k))) is not None]


def neighbours(bins: Sequence[Bin], records: Records) -> dict[str, list[str]]:
    """Bin → the next ones on both sides of it along every axis, those without a fit being passed over.

    Args:
        bins:     all of them
        records:  of the study
    """
    fitted = {own.place: own.key for own in bins if (one := records.get(own.key)) is not None and np.isfinite(one.nll)}
    lines: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for place in sorted(fitted):
        for axis in range(len(place)):
            lines.setdefault((axis, *place[:axis], *place[axis + 1 :]), []).append(place)
    found: dict[str, list[str]] = {key: [] for key in fitted.values()}
    for (axis, *_), line in lines.items():
        line.sort(key=lambda place: place[axis])
        for a, b in pairwise(line):
            found[fitted[a]].append(fitted[b])
            found[fitted[b]].append(fitted[a])
    return found


def starts_of(bins: Sequence[Bin], records: Records, distance: float, sweep: int) -> dict[str, list[FitRecord]]:
    """Bin → solutions of its neighbours from which a sweep starts; without the bins that it leaves out.

    Args:
        bins:      all of them
        records:   of the study, with all of the sweeps before this one
        distance:  as of ``solutions_of``
        sweep:     its number, from 1
    """
    around = neighbours(bins, records)
    kept = {key: solutions_of(key, records, distance, sweep - 1) for key in around}
    if sweep > 1:
        new = {key: {own.key for own in added_by(key, records, sweep - 1)} for key in around}
        kept = {key: [own for own in solutions if own.key in new[key]] for key, solutions in kept.items()}
    found = {key: [own for other in others for own in kept[other]] for key, others in around.items()}
    return {key: starts for key, starts in found.items() if starts}
