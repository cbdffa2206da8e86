"""How values of many fits scatter: means, widths, pulls and coverage of every parameter and fraction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ctpwa.base.words import counted
from ctpwa.fitting.text import Section
from ctpwa.observables.tails import normal_tail
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.study import Study, how_many_good

PARAMETER, FRACTION = "parameter", "fraction"
ONE, TWO = (1 - 2 * normal_tail(k) for k in (1, 2))  # what intervals of 1 and 2 standard deviations should cover


@dataclass(frozen=True)
class Spread:
    """A parameter or fraction in many fits.

    Attributes:
        name:    of it
        kind:    ``parameter`` or ``fraction``
        truth:   what all fits are of
        values:  of the fits
        errors:  their standard deviations; not a number where there is none
    """

    name: str
    kind: str
    truth: float
    values: np.ndarray
    errors: np.ndarray

    @property
    def deviations(self) -> np.ndarray:
        """From the truth; of phases by the shorter way."""
        return deviations(self.name, self.values, self.truth)

    @property
    def pulls(self) -> np.ndarray:
        """Deviations in units of errors, where there are any."""
        known = np.isfinite(self.errors) & (self.errors > 0)
        return self.deviations[known] / self.errors[known]

    @property
    def bias(self) -> float:
        """The mean deviation."""
        return float(self.deviations.mean())

    @property
    def width(self) -> float:
        """The standard deviation of the values."""
        return float(self.deviations.std(ddof=1)) if len(self.values) > 1 else float("nan")

    @property
    def bias_error(self) -> float:
        """Of the mean deviation."""
        return self.width / float(np.sqrt(len(self.values)))

    @property
    def mean_error(self) -> float:
        """The errors that fits quote, on average."""
        return float(np.nanmean(self.errors)) if np.isfinite(self.errors).any() else float("nan")

    @property
    def pull_mean(self) -> tuple[float, float]:
        """The mean of the pulls, and its error."""
        pulls = self.pulls
        return (float(pulls.mean()), float(pulls.std(ddof=1) / np.sqrt(len(pulls)))) if len(pulls) > 1 else (float("nan"),) * 2

    @property
    def pull_width(self) -> tuple[float, float]:
        """The width of the pulls, and its error if they are normal."""
        pulls = self.pulls
        if len(pulls) < 2:
            return (float("nan"),) * 2
        width = float(pulls.std(ddof=1))
        return width, width / float(np.sqrt(2 * (len(pulls) - 1)))

    def coverage(self, sigmas: float = 1.0) -> float:
        """How often the truth is within so many standard deviations."""
        pulls = self.pulls
        return float((np.abs(pulls) <= sigmas).mean()) if len(pulls) else float("nan")


def deviations(name: str, values: np.ndarray, truth: float) -> np.ndarray:
    """How far values are from another one; phases by the shorter way.

    Args:
        name:    of the parameter or fraction
        values:  the values
        truth:   the other one
    """
    apart = values - truth
    return (apart + np.pi) % (2 * np.pi) - np.pi if name.endswith(".phase") else apart


def spreads(base: FitRecord, records: Sequence[FitRecord]) -> Iterator[Spread]:
    """Every parameter and fraction that all fits have.

    Args:
        base:     the truth
        records:  the fits
    """
    for kind, of_values, of_errors in ((PARAMETER, "values", "errors"), (FRACTION, "fractions", "fraction_errors")):
        for name, truth in getattr(base, of_values).items():
            if records and all(name in getattr(own, of_values) for own in records):
                values = np.array([getattr(own, of_values)[name] for own in records])
                errors = np.array([getattr(own, of_errors).get(name, np.nan) for own in records])
                yield Spread(name, kind, truth, values, errors)


class SpreadStudy(Study):
    """A study of fits with the same parameters, which asks how their values scatter."""

    noun: ClassVar[str]  # what each of its fits is of
    columns: ClassVar[tuple[str, ...]]  # of its tables

    @property
    def headline(self) -> str:
        """How many fits there are, and how they scatter."""
        words = self.count()
        return words if len(self.good) < 2 else words + self.scatter()

    @abstractmethod
    def scatter(self) -> str:
        """How they scatter, in words that follow others; empty if nothing can be said."""

    def sections(self) -> tuple[Section, ...]:
        """One table for parameters, one for fractions, one of what is not good."""
        found = []
        for kind, title in ((PARAMETER, "parameters"), (FRACTION, "fractions")):
            rows = tuple(self.row(own) for own in self.spreads if own.kind == kind)
            if rows:
                found.append(Section(title, self.columns, rows, self.foot(kind)))
        return (*found, *self.failures())

    @abstractmethod
    def row(self, own: Spread) -> tuple[str, ...]:
        """The row of a parameter or fraction."""

    def foot(self, kind: str) -> str:
        """Below the table of parameters or fractions."""
        return ""

    @cached_property
    def good(self) -> tuple[FitRecord, ...]:
        """The fits that ended good."""
        return tuple(record for record in self.records if record.good)

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """Every parameter and fraction in the good fits."""
        return tuple(spreads(self.about.base, self.good))

    def count(self) -> str:
        """How many fits there are, and how many of them are not good."""
        return how_many_good(counted(len(self.records), self.noun), len(self.records) - len(self.good))

    def label(self, spread: Spread) -> str:
        """Of a parameter or fraction, with LaTeX between dollar signs."""
        return self.about.labels.get(spread.name, spread.name)

    def failures(self) -> tuple[Section, ...]:
        """A table of the fits that are not good, if there are any."""
        bad = tuple((own.key, own.reasons) for own in self.records if not own.good)
        return (Section("NOT good", (self.noun, "reasons"), bad),) if bad else ()
