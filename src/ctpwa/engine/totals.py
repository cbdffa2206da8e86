"""Sums over weights that a fit needs besides the likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.engine.sample import Sample
from ctpwa.ranks import Ranks


@dataclass(frozen=True)
class Totals:
    """Sums over data and background of all processes.

    Attributes:
        data:        Σ w of the data
        background:  Σ w of the background
        absolute:    Σ |w| of both
        squared:     Σ w² of both
        unequal:     how many weights of the data are not 1
    """

    data: float
    background: float
    absolute: float
    squared: float
    unequal: float

    @classmethod
    def of(cls, data: Sequence[Sample], background: Sequence[Sample], ranks: Ranks) -> Totals:
        """Of the samples of this process and of all others."""

        def local() -> np.ndarray:
            both = (*data, *background)
            return np.array(
                [
                    sum(s.total_weight for s in data),
                    sum(s.total_weight for s in background),
                    sum(float(s.w.abs().sum()) for s in both),
                    sum(float(s.w.square().sum()) for s in both),
                    sum(int((s.w != 1).sum()) for s in data),
                ],
                dtype=float,
            )

        return cls(*map(float, ranks.sum(5, local, b"totals")))
