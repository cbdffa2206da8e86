"""What a test statistic is worth, from its values in toys: how many are as extreme, and, beyond all of them, the tail of a fitted curve."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from ctpwa.observables.significance import log_p_value, standard_deviations


@dataclass(frozen=True, eq=False)
class Counted:
    """How many toys are at least as extreme as what was observed.

    Attributes:
        extreme:  how many
        total:    of how many
    """

    extreme: int
    total: int

    @property
    def p_value(self) -> float:
        """Their part of all."""
        return self.extreme / self.total if self.total else math.nan

    @property
    def error(self) -> float:
        """Binomial standard deviation of it."""
        return math.sqrt(self.p_value * (1 - self.p_value) / self.total) if self.total else math.nan

    @property
    def beyond(self) -> bool:
        """Whether no toy is that extreme."""
        return self.total > 0 and self.extreme == 0

    @property
    def sigmas(self) -> float:
        """In standard deviations of a normal distribution, two-sided; beyond all toys what one of them would be worth: a lower limit."""
        p = max(self.p_value, 1 / self.total) if self.total else math.nan
        return standard_deviations(math.log(p))

    def __str__(self) -> str:
        return f"< {1 / self.total:.2g}" if self.beyond else f"{self.p_value:.2g} ± {self.error:.1g}"


@dataclass(frozen=True, eq=False)
class ChiSquareTail:
    """Toys whose statistic is near χ², with effective degrees of freedom that make its mean right.

    Attributes:
        ndf:    effective degrees of freedom, the mean of the toys
        error:  of it
    """

    ndf: float
    error: float

    @classmethod
    def of(cls, values: np.ndarray) -> ChiSquareTail:
        """Fitted to toys, of which there must be two.

        Args:
            values:  of the statistic
        """
        positive = np.maximum(values, 0.0)
        return cls(max(float(positive.mean()), 1e-3), float(positive.std(ddof=1) / math.sqrt(len(values))))

    def log_p_value(self, observed: float) -> float:
        """Ln of the probability of more than was observed."""
        return log_p_value(max(observed, 0.0), self.ndf)


@dataclass(frozen=True, eq=False)
class NormalTail:
    """Toys whose statistic is near a normal distribution.

    Attributes:
        mean, width:  of the toys
    """

    mean: float
    width: float

    @classmethod
    def of(cls, values: np.ndarray) -> NormalTail:
        """Fitted to toys, of which there must be two.

        Args:
            values:  of the statistic
        """
        return cls(float(values.mean()), float(values.std(ddof=1)))

    def log_p_value(self, observed: float) -> float:
        """Ln of the probability of less than was observed."""
        return float(special.log_ndtr((observed - self.mean) / self.width))


def larger(values: np.ndarray, observed: float) -> Counted:
    """Toys at or above what was observed."""
    return Counted(int((values >= observed).sum()), len(values))


def smaller(values: np.ndarray, observed: float) -> Counted:
    """Toys at or below what was observed."""
    return Counted(int((values <= observed).sum()), len(values))
