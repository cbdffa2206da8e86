"""Histograms of data, fit and contributions: what ``project`` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from ctpwa.base.errors import DataError, suggest
from ctpwa.observe.variable import Variable

WAVES, JP = "waves", "jp"  # kinds of groups of waves
CHI2_EVENTS = 10.0  # neighbouring bins are put together until so many are expected
PULL_EVENTS = 1.0  # in a cell of a Dalitz plot with fewer expected events a pull means nothing


@dataclass(frozen=True)
class Chi2:
    """A comparison of a histogram with its expectation.

    Attributes:
        value:  χ²
        ndf:    bins after merging, minus one for the common normalisation if most events are in them; fitted parameters are not subtracted
    """

    value: float
    ndf: int

    @property
    def p_value(self) -> float:
        """Probability of a larger χ²; NaN without degrees of freedom."""
        return float(special.gammaincc(self.ndf / 2, self.value / 2)) if self.ndf > 0 else float("nan")

    def __str__(self) -> str:
        return f"{self.value:.1f}/{self.ndf}"


@dataclass(frozen=True)
class Projection:
    """One variable. All numbers are events per bin; bins of the model are ``fine`` times narrower than those of the data.

    Attributes:
        variable:             what is drawn
        edges:                of the bins of the data
        data, data_variance:  Σ w and Σ w² of measured events
        background, background_variance:  likewise; zeros if there is none
        fine:                 bins of the model in one of the data
        groups:               names of the groups that interfere with one another
        matrix:               M [fine bin, group, group] of them
        others:               kind (``waves``, ``jp``) → name → contribution [fine bin]
        total:                the whole signal [fine bin], from the intensity of all waves
        variance:             of ``total``, because the phase-space sample is finite
        outside:              measured and expected events beyond the edges
        poisson:              whether all measured events have weight 1
        added:                backgrounds that are densities: name → events [fine bin]
        added_variance:       what they add to ``variance`` [fine bin]; None if there are none
    """

    variable: Variable
    edges: np.ndarray
    data: np.ndarray
    data_variance: np.ndarray
    background: np.ndarray
    background_variance: np.ndarray
    fine: int
    groups: tuple[str, ...]
    matrix: np.ndarray
    others: Mapping[str, Mapping[str, np.ndarray]]
    total: np.ndarray
    variance: np.ndarray
    outside: tuple[float, float]
    poisson: bool
    added: Mapping[str, np.ndarray] = field(default_factory=dict)
    added_variance: np.ndarray | None = None

    @property
    def fine_edges(self) -> np.ndarray:
        """Edges of the bins of the model."""
        return np.linspace(self.edges[0], self.edges[-1], len(self.total) + 1)

    def component(self, name: str) -> np.ndarray:
        """The contribution of one group, wave or J^P alone, [fine bin]."""
        if name in self.groups:
            k = self.groups.index(name)
            return self.matrix[:, k, k]
        for contributions in self.others.values():
            if name in contributions:
                return contributions[name]
        raise DataError(f"nothing that is drawn is called {name!r}\n fix: {suggest(name, [*self.groups, *self.others[WAVES]])}")

    def interference(self, first: str, second: str) -> np.ndarray:
        """What two groups contribute together beyond their own contributions, [fine bin]."""
        return 2 * self.matrix[:, self._group(first), self._group(second)]

    def coherent(self, names: Sequence[str]) -> np.ndarray:
        """The coherent sum of some groups, [fine bin]."""
        chosen = np.isin(self.groups, [self.groups[self._group(name)] for name in names])
        return self.matrix[:, chosen][:, :, chosen].sum(axis=(1, 2))

    @property
    def all_interference(self) -> np.ndarray:
        """The interference of all groups with one another, [fine bin]."""
        return self.total - np.einsum("bgg->b", self.matrix)

    def rebinned(self, fine: np.ndarray) -> np.ndarray:
        """Numbers of the model in the bins of the data."""
        return fine.reshape(-1, self.fine).sum(axis=1)

    @property
    def expected(self) -> np.ndarray:
        """Signal and background in the bins of the data."""
        return self.rebinned(self.modelled) + self.background

    @property
    def modelled(self) -> np.ndarray:
        """Signal and densities of background: all that is drawn with the phase-space sample, [fine bin]."""
        return self.total + sum(self.added.values())

    @property
    def expected_variance(self) -> np.ndarray:
        """Of ``expected``, because the samples that it is made from are finite."""
        drawn = self.variance if self.added_variance is None else self.variance + self.added_variance
        return self.background_variance + self.rebinned(drawn)

    @property
    def pulls(self) -> np.ndarray:
        """(data − expected) / σ; NaN where nothing is expected and nothing measured."""
        return _pulls(self.data, self.expected, self._variance())

    @property
    def chi2(self) -> Chi2:
        """χ² of bins with at least ten expected events each, not counted by weight; what is left over at the end goes into the last."""
        expected, model_variance = self.expected, self.expected_variance
        of = _merged(expected, CHI2_EVENTS * self.typical_weight)
        if not len(of):
            return Chi2(0.0, 0)
        most = expected.sum() > self.outside[1]
        numbers = (self.data, self.data_variance, expected, model_variance)
        data, data_variance, expected, model_variance = (np.add.reduceat(own, of) for own in numbers)
        variance = _variance_of_data(data_variance, expected, self.poisson, self.typical_weight) + model_variance
        return Chi2(float(((data - expected) ** 2 / variance).sum()), len(of) - int(most))

    @property
    def typical_weight(self) -> float:
        """Σ w² / Σ w of the data; 1 for counts."""
        return _typical_weight(self.data, self.data_variance)

    def _variance(self) -> np.ndarray:
        """Of data − expected: that of the counts, of the background sample and of the phase-space sample."""
        own = _variance_of_data(self.data_variance, self.expected, self.poisson, self.typical_weight)
        return own + self.expected_variance

    def _group(self, name: str) -> int:
        if name not in self.groups:
            raise DataError(f"no group is called {name!r}\n fix: {suggest(name, self.groups)}")
        return self.groups.index(name)


@dataclass(frozen=True)
class Grid:
    """Two variables at once, such as a Dalitz plot.

    Attributes:
        variables:            both
        edges:                of the cells, in both directions
        data, data_variance:  Σ w and Σ w² of measured events [cell, cell]
        expected:             of signal and background
        variance:             of ``expected``
        poisson:              whether all measured events have weight 1
    """

    variables: tuple[Variable, Variable]
    edges: tuple[np.ndarray, np.ndarray]
    data: np.ndarray
    data_variance: np.ndarray
    expected: np.ndarray
    variance: np.ndarray
    poisson: bool

    @property
    def pulls(self) -> np.ndarray:
        """(data − expected) / σ; NaN, in figures, reports and files alike, where less than one event is expected, not counted by weight."""
        typical = _typical_weight(self.data, self.data_variance)
        own = _variance_of_data(self.data_variance, self.expected, self.poisson, typical)
        return np.where(self.expected >= PULL_EVENTS * typical, _pulls(self.data, self.expected, own + self.variance), np.nan)

    @property
    def empty(self) -> np.ndarray:
        """Whether nothing was measured and nothing is expected, [cell, cell]."""
        return (self.data == 0) & (self.expected == 0)


@dataclass(frozen=True)
class Projected:
    """What ``project`` returns.

    Attributes:
        projections:  one for each axis
        grids:        one for each pair of axes
        weights:      events of signal that every phase-space event stands for, [event]
        scale:        these, divided by weight times intensity of the event
        groups:       name of a group → names of its waves
        added:        background that is a density → events of it that every phase-space event stands for, [event]
    """

    projections: tuple[Projection, ...]
    grids: tuple[Grid, ...]
    weights: np.ndarray
    scale: float
    groups: Mapping[str, tuple[str, ...]]
    added: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def all_weights(self) -> np.ndarray:
        """Events of signal and densities of background that every phase-space event stands for, [event]."""
        return self.weights + sum(self.added.values())


def _variance_of_data(data_variance: np.ndarray, expected: np.ndarray, poisson: bool, typical_weight: float) -> np.ndarray:
    """Of counts the expectation, of weighted events Σ w²; where that is 0, the other one."""
    of_expected = typical_weight * np.maximum(expected, 0)
    first, second = (of_expected, data_variance) if poisson else (data_variance, of_expected)
    return np.where(first > 0, first, second)


def _typical_weight(data: np.ndarray, data_variance: np.ndarray) -> float:
    """Σ w² / Σ w; 1 if there are no events."""
    total = float(data.sum())
    return float(data_variance.sum()) / total if total > 0 else 1.0


def _pulls(data: np.ndarray, expected: np.ndarray, variance: np.ndarray) -> np.ndarray:
    result = np.full(data.shape, np.nan)
    return np.divide(data - expected, np.sqrt(np.maximum(variance, 0)), out=result, where=variance > 0)


def _merged(expected: np.ndarray, enough: float) -> np.ndarray:
    """First bins of groups of neighbours with enough expected events each; a last group with too few joins the one before."""
    starts, sum_, begin = [], 0.0, 0
    for k, number in enumerate(expected):
        sum_ += number
        if sum_ >= enough:
            starts.append(begin)
            begin, sum_ = k + 1, 0.0
    return np.array(starts, dtype=np.int64)
