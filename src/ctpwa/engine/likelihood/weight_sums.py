"""Sums over weights that a fit needs besides the likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctpwa.base.ranks import Ranks
from ctpwa.engine.samples.stored_sample import WeightSums


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
    def of(cls, data: WeightSums, background: WeightSums | None, ranks: Ranks) -> Totals:
        """Of the samples of this process and of all others."""
        subtracted = background or WeightSums()
        both = data + subtracted
        own = np.array([data.total, subtracted.total, both.absolute, both.squared, data.unequal], dtype=float)
        return cls(*map(float, ranks.sum(5, lambda: own, b"totals")))
