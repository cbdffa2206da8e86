"""Pulls of many toys: (fitted − true) / error, which are normally distributed if values and errors are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.base.words import counted

SIGMAS = 3.0


@dataclass(frozen=True)
class PullSummary:
    """The distribution of the pulls of one quantity.

    Attributes:
        name:         of the quantity
        n:            number of toys
        mean:         of the pulls
        mean_error:   how much it scatters if all is right, 1/√n
        width:        standard deviation of the pulls
        width_error:  how much it scatters if all is right, 1/√(2(n−1))
        spread:       standard deviation of the fitted values
        error:        √mean of the squared errors that the fits claim, to be compared with ``spread``
    """

    name: str
    n: int
    mean: float
    mean_error: float
    width: float
    width_error: float
    spread: float
    error: float

    @property
    def biased(self) -> bool:
        """Whether the mean is more than three standard deviations from 0."""
        return abs(self.mean) > SIGMAS * self.mean_error

    @property
    def wrong_errors(self) -> bool:
        """Whether the width is more than three standard deviations from 1."""
        return abs(self.width - 1) > SIGMAS * self.width_error

    @property
    def flag(self) -> str:
        """What is wrong, in a word; empty if nothing is."""
        return ", ".join(word for word, wrong in (("biased", self.biased), ("width", self.wrong_errors)) if wrong)


def summarise_pulls(names: Sequence[str], values: np.ndarray, errors: np.ndarray, truth: np.ndarray) -> list[PullSummary]:
    """Summaries of the pulls of many toys.

    Args:
        names:   of the quantities
        values:  fitted values [toy, quantity]
        errors:  their standard deviations [toy, quantity]
        truth:   true values [quantity]
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"{counted(n, 'toy')} cannot have a spread")
    pulls = (values - truth) / errors
    mean, width = pulls.mean(axis=0), pulls.std(axis=0, ddof=1)
    spread, error = values.std(axis=0, ddof=1), np.sqrt((errors**2).mean(axis=0))
    mean_error, width_error = 1 / np.sqrt(n), 1 / np.sqrt(2 * (n - 1))
    columns = zip(names, mean, width, spread, error, strict=True)
    return [PullSummary(name, n, *map(float, (m, mean_error, w, width_error, s, e))) for name, m, w, s, e in columns]


def pull_table(summaries: Sequence[PullSummary]) -> str:
    """One line for each quantity: mean and width of the pulls, spread of the values over the error that the fits claim."""
    width = max(len(s.name) for s in summaries)
    lines = [f"{'':<{width}}  {'mean':>16}  {'width':>14}  spread/error"]
    for s in summaries:
        numbers = f"{s.mean:+8.3f} ± {s.mean_error:.3f}  {s.width:6.3f} ± {s.width_error:.3f}  {s.spread / s.error:12.3f}"
        lines.append(f"{s.name:<{width}}  {numbers}  {s.flag}".rstrip())
    return "\n".join(lines)
