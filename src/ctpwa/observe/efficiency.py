"""Efficiency of phase-space events: a column of their files, a formula of variables, or a histogram in a JSON file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.event_column import EventColumn
from ctpwa.data.event_files import EventFiles
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream
from ctpwa.data.summary import FileRecord, SampleSummary
from ctpwa.decay.chain import Decay
from ctpwa.observe.histogram import Histogram, bin_numbers, not_a_histogram, read_histogram, some
from ctpwa.observe.variable import Variable, parse_variable

WHAT = "efficiency"
COLUMN = EventColumn("efficiency factor", 1, 0.0, 1.0)  # no column that a model declares can have this name


class Efficiency(Protocol):
    """The probability that an event is measured."""

    @property
    def name(self) -> str:
        """What it is, for messages and summaries."""

    def __call__(self, events: Events) -> Tensor:
        """The efficiency of every event, [event]."""

    def possible(self, events: Events) -> Tensor:
        """Whether each event can be measured, as far as that is known, [event]."""


@dataclass(frozen=True)
class ColumnEfficiency:
    """A column of the files, read as the event column ``COLUMN``, which refuses numbers outside [0, 1].

    Attributes:
        name:  of the column
    """

    name: str

    def __call__(self, events: Events) -> Tensor:
        """See ``Efficiency``."""
        return events.columns[COLUMN.name]

    def possible(self, events: Events) -> Tensor:
        """See ``Efficiency``; files of data do not have the column."""
        return torch.ones(events.n_events, dtype=torch.bool)


@dataclass(frozen=True, eq=False)
class EfficiencyOfMomenta(ABC):
    """What follows from the momenta of an event.

    Attributes:
        source:  a formula of variables of the final state, or numbers in bins of up to three variables
    """

    source: Variable | Histogram

    @property
    def name(self) -> str:
        """The formula, or the file and its variables."""
        return self.source.name

    def __call__(self, events: Events) -> Tensor:
        """See ``Efficiency``."""
        return torch.from_numpy(self.source(events))

    @abstractmethod
    def possible(self, events: Events) -> Tensor:
        """See ``Efficiency``."""


@dataclass(frozen=True)
class FormulaEfficiency(EfficiencyOfMomenta):
    """A formula of variables of the final state."""

    source: Variable

    def possible(self, events: Events) -> Tensor:
        """See ``Efficiency``."""
        return self(events) > 0


@dataclass(frozen=True, eq=False)
class HistogramEfficiency(EfficiencyOfMomenta):
    """Numbers in bins of up to three variables."""

    source: Histogram

    def possible(self, events: Events) -> Tensor:
        """See ``Efficiency``; a measured event beyond the edges is judged by the bin next to it."""
        bins = tuple(bin_numbers(variable(events), edges) for variable, edges in self.source.axes)
        return torch.from_numpy(self.source.values[bins] > 0)


def without_column(events: Events) -> Events:
    """The same events without the column that an efficiency was read from."""
    return replace(events, columns={name: values for name, values in events.columns.items() if name != COLUMN.name})


def with_efficiency(events: Events, efficiency: Efficiency) -> Events:
    """The same events, their weights multiplied by the efficiency.

    Raises:
        DataError: if it is not between 0 and 1
    """
    try:
        values = efficiency(events).to(torch.float64)
    except DataError as error:
        raise error if str(error).startswith(WHAT) else DataError(f"{WHAT}: {error}") from None
    bad = (~((values >= 0) & (values <= 1))).numpy()
    if bad.any():
        value = float(values[bad][0])
        fix = "divide by its largest value, a common factor has no meaning" if value > 1 else "correct it there"
        raise DataError(f"{WHAT}: {efficiency.name} is {value:.6g} in {some(bad)}\n fix: an efficiency is between 0 and 1; {fix}")
    return replace(without_column(events), weights=values if events.weights is None else events.weights * values)


def check_possible(events: Events, efficiencies: Sequence[Efficiency], name: str) -> None:
    """Refuse measured events where no efficiency says that any can be measured: the normalisation knows nothing of them.

    Args:
        events:        measured events
        efficiencies:  of the sources of phase space
        name:          of the sample, for messages
    """
    lost = (~torch.stack([efficiency.possible(events) for efficiency in efficiencies]).any(dim=0)).numpy()
    if lost.any():
        names = " and ".join(dict.fromkeys(efficiency.name for efficiency in efficiencies))
        raise DataError(
            f"{name}: the {WHAT} {names} is 0 at {counted(int(lost.sum()), 'event')} of {len(lost)}, and they were measured\n"
            " fix: correct it there, or leave these events out of the data"
        )


class PossibleStream(EventStream):
    """A stream of measured events, each of which ``check_possible`` has seen.

    Args:
        stream:        the events
        efficiencies:  of the sources of phase space
        name:          of the sample, for messages
    """

    def __init__(self, stream: EventStream, efficiencies: Sequence[Efficiency], name: str) -> None:
        self.stream, self.efficiencies, self.name = stream, efficiencies, name
        self.n_events, self.part = stream.n_events, stream.part

    def pieces(self) -> Iterator[Events]:
        """See ``EventStream``."""
        for piece in self.stream.pieces():
            check_possible(piece, self.efficiencies, self.name)
            yield piece


class EfficientStream(EventStream):
    """A stream of events whose weights are multiplied by an efficiency.

    Args:
        stream:      the events
        efficiency:  their efficiency
    """

    def __init__(self, stream: EventFiles, efficiency: Efficiency) -> None:
        self.stream, self.efficiency = stream, efficiency
        self.n_events, self.part = stream.n_events, stream.part

    def pieces(self) -> Iterator[Events]:
        """See ``EventStream``."""
        for piece in self.stream.pieces():
            yield with_efficiency(piece, self.efficiency)

    @property
    def summary(self) -> SampleSummary:
        """What is in the files. All ranks must ask for it."""
        return summary_with(self.stream.summary, self.efficiency)


def formula_efficiency(text: str, decay: Decay) -> FormulaEfficiency:
    """The efficiency that a formula of variables gives.

    Raises:
        VariableError: if it is not one
    """
    return FormulaEfficiency(parse_variable(text, decay))


def read_efficiency(path: Path, decay: Decay) -> HistogramEfficiency:
    """The efficiency in a JSON file.

    Raises:
        DataError: if there is no such file, or anything in it is wrong
    """
    histogram = read_histogram(path, decay, WHAT)
    bad = ~((histogram.values >= 0) & (histogram.values <= 1))
    if bad.any():
        what = f"the efficiency of a bin is {histogram.values[bad][0]:.6g}"
        raise not_a_histogram(WHAT, path, what, "give numbers from 0 to 1; a common factor has no meaning")
    return HistogramEfficiency(histogram)


def summary_with(summary: SampleSummary, efficiency: Efficiency) -> SampleSummary:
    """The summary of a sample, with the file that its efficiency comes from and a note; weights are those without it."""
    files = summary.weight_files
    if isinstance(efficiency, HistogramEfficiency):
        files += (FileRecord(str(efficiency.source.path), summary.n_events, efficiency.source.sha256),)
    return replace(summary, weight_files=files, notes=(*summary.notes, f"times the efficiency {efficiency.name}"))
