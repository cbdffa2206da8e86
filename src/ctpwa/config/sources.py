"""Where samples, efficiencies and backgrounds come from: what a model file says about them, with paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from ctpwa.base.words import counted
from ctpwa.data.options import ReadOptions
from ctpwa.data.resolution import Resolution
from ctpwa.model.amounts import amount_names
from ctpwa.observe.sideband_model import PHASE_SPACE, Peak
from ctpwa.observe.variable import ProjectionSpec


@dataclass(frozen=True)
class EfficiencySource:
    """Where the efficiency of phase space comes from: one of these is given.

    Attributes:
        formula:    of variables of the final state
        column:     of the files
        histogram:  a JSON file
    """

    formula: str | None = None
    column: str | None = None
    histogram: FilePath | None = None


@dataclass(frozen=True)
class FileSource:
    """Files of events and how to understand them.

    Attributes:
        files:         paths or patterns, relative to the working directory or absolute
        options:       how to understand them
        weight_files:  where the weights are, if not in ``files``
        scale:         multiplies all weights
        efficiency:    multiplies them as well; None: all events are measured
        column_files:  event columns in files of their own
    """

    files: tuple[FilePath, ...]
    options: ReadOptions
    weight_files: tuple[FilePath, ...] = ()
    scale: float = 1.0
    efficiency: EfficiencySource | None = None
    column_files: Mapping[str, tuple[FilePath, ...]] = field(default_factory=dict)

    @property
    def all_files(self) -> tuple[FilePath, ...]:
        """Files of events, weights and event columns."""
        return (*self.files, *self.weight_files, *(file for own in self.column_files.values() for file in own))

    def __str__(self) -> str:
        return ", ".join(map(str, self.files))


@dataclass(frozen=True)
class GeneratedSource:
    """Phase space that is generated.

    Attributes:
        n_events:  how many events
        seed:      seed of the random numbers
        columns:   event columns, with the numbers that all events have
        proposal:  ``model``: most events at its resonances, with weights; ``flat``: without weights
        efficiency:  multiplies the weights; None: all events are measured
    """

    n_events: int
    seed: int
    columns: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    proposal: str = "model"
    efficiency: EfficiencySource | None = None

    def __str__(self) -> str:
        return f"{counted(self.n_events, 'generated event')}, seed {self.seed}"


Source = FileSource | GeneratedSource


@dataclass(frozen=True)
class SidebandSource:
    """A density made from sideband events: a histogram of them, divided by that of phase space, or a model that is fitted to them.

    Attributes:
        sources:    where the events come from
        axes:       variables with their bins; empty for a model
        smoothing:  phase-space events for each bin that are added
        peaks:      resonances of the model; empty for a histogram
    """

    sources: tuple[Source, ...]
    axes: tuple[ProjectionSpec, ...] = ()
    smoothing: float = 0.0
    peaks: tuple[Peak, ...] = ()

    def __str__(self) -> str:
        if self.peaks:
            return f"sideband as {', '.join(peak.name for peak in self.peaks)} and {PHASE_SPACE}"
        return f"sideband in {' and '.join(axis.variable.name for axis in self.axes)}"


@dataclass(frozen=True)
class DensitySource:
    """Where the density of a background comes from: one of these is given, or none if it is flat.

    Attributes:
        formula:    of variables of the final state
        column:     event column of the samples
        histogram:  a JSON file
        sideband:   events
        efficiency: event column that a column is divided by; None: it holds no efficiency
    """

    formula: str | None = None
    column: str | None = None
    histogram: FilePath | None = None
    sideband: SidebandSource | None = None
    efficiency: str | None = None

    def __str__(self) -> str:
        if self.sideband is not None:
            return str(self.sideband)
        if self.histogram is not None:
            return self.histogram.name
        return self.formula or (f"column {self.column}" if self.column is not None else "flat")


@dataclass(frozen=True)
class BackgroundSource:
    """A background that is in the data as a density.

    Attributes:
        name:      of the background
        density:   what it looks like
        fraction:  its part of all events
        floating:  whether it is fitted
    """

    name: str
    density: DensitySource
    fraction: float
    floating: bool


@dataclass(frozen=True)
class DataSet:
    """Where the samples of one data set come from; each may have several sources, which are read as one.

    Attributes:
        name:         empty if there is only one data set
        data:         measured events
        phase_space:  events for the normalisation
        background:   events whose contribution is subtracted; may be empty
        truth:        phase space before acceptance; may be empty
        backgrounds:  backgrounds in the data as densities
        resolution:   how exactly events are measured; None: exactly
        conjugate:    whether its files hold the charge-conjugate decay
        yields:       what the names of its yields begin with, in an extended fit; None: fractions are fitted
    """

    name: str
    data: tuple[Source, ...]
    phase_space: tuple[Source, ...]
    background: tuple[Source, ...] = ()
    truth: tuple[Source, ...] = ()
    backgrounds: tuple[BackgroundSource, ...] = ()
    resolution: Resolution | None = None
    conjugate: bool = False
    yields: str | None = None

    @property
    def amounts(self) -> dict[str, str]:
        """Signal and backgrounds → the parameter that says how much there is; see ``amount_names``."""
        return amount_names([own.name for own in self.backgrounds], self.yields)
