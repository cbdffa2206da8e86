"""Numbers with a covariance matrix that print themselves as a table."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ctpwa.fitting.text import Section


class CorrelatedNumbers(ABC):
    """Numbers with a covariance matrix.

    Attributes:
        values:      the numbers
        covariance:  of them
    """

    values: np.ndarray
    covariance: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt(np.diag(self.covariance).clip(min=0))

    def with_error(self, k: int) -> tuple[float, float]:
        """One of the numbers and its standard deviation."""
        return float(self.values[k]), float(self.errors[k])

    @abstractmethod
    def section(self) -> Section:
        """As a table."""

    def __str__(self) -> str:
        own = self.section()
        return str(Section(own.title, own.columns, (own.columns, *own.rows)))
