"""Fits of toys of one model by several: what studies that calibrate a test statistic share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ctpwa.studies.baseline import timed
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.run import FitTask


class ToyFits(ABC):
    """Fits of numbered toys."""

    def fit(self, key: str, number: int) -> FitRecord:
        """Fit a toy; what goes wrong is kept as well.

        Args:
            key:     which of the fits it is
            number:  which toy
        """
        return timed(key, lambda: self._fit(key, number))

    @abstractmethod
    def _fit(self, key: str, number: int) -> FitRecord: ...


def toy_tasks(toys: Callable[[], ToyFits], keys: Sequence[str]) -> list[FitTask]:
    """A task for every toy.

    Args:
        toys:  what fits them, made when the first of them is needed
        keys:  which of the fits of the study they are
    """

    def task(key: str, number: int) -> FitTask:
        return FitTask(key, lambda before: toys().fit(key, number))

    return [task(key, number) for number, key in enumerate(keys)]
