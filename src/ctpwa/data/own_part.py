"""Which rows of a whole sample are here, when several processes share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OwnPart:
    """Rows of a sample.

    Attributes:
        ranges:  first and last row of every stretch, in the order in which they stand here
        total:   rows of the whole sample
    """

    ranges: tuple[tuple[int, int], ...]
    total: int

    @property
    def count(self) -> int:
        """How many rows are here."""
        return sum(stop - start for start, stop in self.ranges)

    def numbers(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Numbers, in the whole sample, of the rows ``begin`` to ``end`` that are here."""
        result, done = [np.zeros(0, dtype=np.int64)], 0
        last = self.count if end is None else end
        for start, stop in self.ranges:
            low, high = max(begin - done, 0), min(last - done, stop - start)
            if low < high:
                result.append(np.arange(start + low, start + high))
            done += stop - start
        return np.concatenate(result)


def join_parts(parts: Sequence[OwnPart]) -> OwnPart:
    """Rows of several samples that are put one after the other."""
    ranges, total = [], 0
    for part in parts:
        ranges += [(start + total, stop + total) for start, stop in part.ranges]
        total += part.total
    return OwnPart(tuple(ranges), total)
