"""What a report shows, gathered before anything is written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section
from ctpwa.model.model import Model
from ctpwa.observables.argand import ArgandCurve
from ctpwa.observables.histograms import Projected
from ctpwa.observables.moments import AngularMoments
from ctpwa.observables.poles import Pole


@dataclass(frozen=True)
class GoodnessRow:
    """One test of the whole fit.

    Attributes:
        name:     what was tested, and how
        outcome:  its statistic, in words
        p_value:  probability of a worse agreement if the model is right; None if it has none
        note:     what one should know
    """

    name: str
    outcome: str
    p_value: float | None
    note: str = ""


@dataclass(frozen=True)
class MomentsView:
    """Angular moments of one pair.

    Attributes:
        pair:     its particles
        latex:    the same in LaTeX
        moments:  the moments
    """

    pair: str
    latex: str
    moments: AngularMoments


@dataclass(frozen=True)
class DataSetView:
    """What there is to see of one data set.

    Attributes:
        name:       of the data set; empty if there is only one
        projected:  all histograms
        goodness:   tests of the fit
        moments:    angular moments; empty if there are none
        note:       how the histograms were made
    """

    name: str
    projected: Projected
    goodness: tuple[GoodnessRow, ...] = ()
    moments: tuple[MomentsView, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class LineshapeView:
    """One formula and who uses it.

    Attributes:
        name:        of the lineshape
        latex:       the formula; empty if it has none
        reference:   where it is from
        resonances:  LaTeX names
    """

    name: str
    latex: str
    reference: str
    resonances: tuple[str, ...]


@dataclass(frozen=True)
class FigureView:
    """A figure as an image.

    Attributes:
        png:    the content of a PNG file
        alt:    what it shows, in words
        scale:  pixels of a page for each of the image
    """

    png: bytes
    alt: str
    scale: float = 1.0


@dataclass(frozen=True)
class StudyView:
    """What there is to see of a study around the fit.

    Attributes:
        title:     of its chapter
        headline:  what was found
        sections:  its tables
        notes:     what one should know to read the numbers
        figures:   its figures
        warnings:  why some numbers must not be taken as they are
    """

    title: str
    headline: str
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    figures: tuple[FigureView, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyPage:
    """A study on a page of its own.

    Attributes:
        study:    what there is to see
        decay:    what was fitted, in words
        labels:   LaTeX of parameters, waves and resonances, between dollar signs, by their names
        version:  of ctpwa that made the study
        created:  date and time
    """

    study: StudyView
    decay: str
    labels: Mapping[str, str]
    version: str = ""
    created: str = ""


@dataclass(frozen=True)
class SystematicErrors:
    """Systematic errors of a fit.

    Attributes:
        parameters:  of parameters by name
        fractions:   of fractions of resonances; of several data sets ``NAME: resonance``
        covariance:  [parameter, parameter], in the order of ``parameters``
    """

    parameters: Mapping[str, float]
    fractions: Mapping[str, float]
    covariance: np.ndarray


@dataclass(frozen=True)
class ReportContent:
    """Everything.

    Attributes:
        result:      what was found
        model:       what was fitted
        data_sets:   what there is to see of each data set
        lineshapes:  the formulas
        curves:      amplitudes versus mass, for Argand diagrams
        poles:       poles of the lineshapes
        files:       where the result came from
        studies:     studies around the fit, a chapter each
    """

    result: FitResult
    model: Model
    data_sets: tuple[DataSetView, ...]
    lineshapes: tuple[LineshapeView, ...] = ()
    curves: tuple[ArgandCurve, ...] = ()
    poles: tuple[Pole, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    studies: tuple[StudyView, ...] = ()


def deviations(off: float, ends: Sequence[float]) -> float:
    """By how many standard deviations a value is off: lines lead from 0 to the ends, and on along the last one.

    Args:
        off:   its distance
        ends:  of 1, 2, … standard deviations; infinite if there are none, NaN if they are not known
    """
    near, last, n = 0.0, 0.0, 0
    for far in ends:
        if math.isnan(far):
            break
        if off <= far:
            return n + (off - near) / (far - near) if far > near else float(n)
        near, last, n = far, near, n + 1
    if not n:
        return math.nan
    return n + (off - near) / (near - last) if near > last else math.inf


@dataclass(frozen=True, eq=False)
class BinCurve:
    """A number against the bins of a variable, of one or several solutions of every bin.

    Attributes:
        centres:  the middle of the bin of every point
        widths:   half of its width
        values:   of the number
        errors:   standard deviations; half the lengths of intervals where errors are not Gaussian
        branch:   which points of other bins each of them continues
        best:     whether it is of the best solution of its bin
        below, above:  distances to the ends of intervals of 1, 2 and 3 standard deviations, [standard deviations, point]; infinite
                       without an end, NaN if not known
    """

    centres: np.ndarray
    widths: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    branch: np.ndarray
    best: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @property
    def lower(self) -> np.ndarray:
        """Distances to the lower ends of intervals; where errors are Gaussian, these."""
        return self.below[0]

    @property
    def upper(self) -> np.ndarray:
        """The same of the upper ends."""
        return self.above[0]

    def deviations(self, other: np.ndarray | float) -> np.ndarray:
        """By how many standard deviations other values are off, with their signs.

        Lines lead from 0 to the ends of one standard deviation, to those of two and three, and on.

        Args:
            other:  the values; angles within half a turn of those here
        """
        off = np.asarray(other - self.values, dtype=float)
        ends = np.where(off > 0, self.above, self.below)
        return np.array([math.copysign(deviations(abs(one), own), one) for one, own in zip(off, ends.T.tolist(), strict=True)])

    @property
    def gaussian(self) -> np.ndarray:
        """Where errors are Gaussian, as far as that was looked at."""
        return (self.lower == self.errors) & (self.upper == self.errors)
