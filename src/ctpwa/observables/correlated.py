"""Numbers with a covariance matrix that print themselves as a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ctpwa.fitting.text import Section

Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class CorrelatedNumbers(ABC, Generic[Key]):
    """Numbers with a covariance matrix.

    Attributes:
        names:       what each of them is called
        values:      the numbers
        covariance:  of them
        origin:      ``amplitudes``, ``sums`` or ``likelihood``
    """

    names: tuple[Key, ...]
    values: np.ndarray
    covariance: np.ndarray
    origin: str

    def __getitem__(self, name: Key) -> tuple[float, float]:
        return self.with_error(self.names.index(name))

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt(np.diag(self.covariance).clip(min=0))

    def titled(self, what: str) -> str:
        """The title of their table, with where they are from if that is not the usual."""
        return what + ("" if self.origin == "amplitudes" else f", {self.origin}")

    def with_error(self, k: int) -> tuple[float, float]:
        """One of the numbers and its standard deviation."""
        return float(self.values[k]), float(self.errors[k])

    @abstractmethod
    def section(self) -> Section:
        """As a table."""

    def __str__(self) -> str:
        own = self.section()
        return str(Section(own.title, own.columns, (own.columns, *own.rows)))
