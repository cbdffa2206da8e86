"""What a report shows, gathered before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
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
    """

    title: str
    headline: str
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    figures: tuple[FigureView, ...] = ()


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
        lower, upper:  distances to the ends of intervals; where errors are Gaussian, these
    """

    centres: np.ndarray
    widths: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    branch: np.ndarray
    best: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def gaussian(self) -> np.ndarray:
        """Where errors are Gaussian, as far as that was looked at."""
        return (self.lower == self.errors) & (self.upper == self.errors)
