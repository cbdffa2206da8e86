"""Efficiency of phase-space events: a column of their files, a formula of variables, or a histogram in a JSON file.

    {"axes": [{"variable": "mass(K+, K-)", "edges": [0.98, 1.5, 2.6]}, …], "values": [0.31, 0.35]}

``values`` are lists inside each other, one level for each of up to three axes, the first axis outermost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.event_column import EventColumn
from ctpwa.data.event_files import EventFiles
from ctpwa.data.events import Events
from ctpwa.data.regular import check_regular
from ctpwa.data.stream import EventStream
from ctpwa.data.summary import FileRecord, SampleSummary
from ctpwa.decay.chain import Decay
from ctpwa.observe.errors import VariableError
from ctpwa.observe.variable import Variable, parse_variable

MAX_AXES = 3
MAX_BYTES = 64 * 2**20
COLUMN = EventColumn("efficiency factor", 1, 0.0, 1.0)  # no column that a model declares can have this name
FORMAT = 'write {"axes": [{"variable": "mass(K+, K-)", "edges": [0.98, 1.5, 2.6]}], "values": [0.31, 0.35]}'


class Efficiency(Protocol):
    """The probability that an event is measured."""

    @property
    def name(self) -> str:
        """What it is, for messages and summaries."""

    def __call__(self, events: Events) -> Tensor:
        """The efficiency of every event, [event]."""


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


@dataclass(frozen=True)
class FormulaEfficiency:
    """A formula of variables of the final state."""

    variable: Variable

    @property
    def name(self) -> str:
        """Its text."""
        return self.variable.name

    def __call__(self, events: Events) -> Tensor:
        """See ``Efficiency``."""
        return torch.from_numpy(self.variable(events))


@dataclass(frozen=True, eq=False)
class HistogramEfficiency:
    """Numbers in bins of up to three variables. A bin holds its lower edge, the last one both.

    Attributes:
        path:    the file
        sha256:  hash of its content
        axes:    variables and their edges, rising
        values:  [bin of the first axis, …]
    """

    path: Path
    sha256: str
    axes: tuple[tuple[Variable, np.ndarray], ...]
    values: np.ndarray

    @property
    def name(self) -> str:
        """The file and its variables."""
        return f"{self.path.name} in {' and '.join(variable.name for variable, _ in self.axes)}"

    def __call__(self, events: Events) -> Tensor:
        """See ``Efficiency``."""
        bins = []
        for variable, edges in self.axes:
            x = variable(events)
            outside = (x < edges[0]) | (x > edges[-1])
            if outside.any():
                raise DataError(
                    f"efficiency: {variable.name} is {x[outside][0]:.6g} in {_some(outside)}, and {self.path.name!r} covers"
                    f" {edges[0]:.6g} to {edges[-1]:.6g}\n fix: make the histogram as wide as phase space"
                )
            bins.append(np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2))
        return torch.from_numpy(self.values[tuple(bins)])


def without_column(events: Events) -> Events:
    """The same events without the column that an efficiency was read from."""
    return replace(events, columns={name: values for name, values in events.columns.items() if name != COLUMN.name})


def with_efficiency(events: Events, efficiency: Efficiency) -> Events:
    """The same events, their weights multiplied by the efficiency.

    Raises:
        DataError: if it is not between 0 and 1
    """
    values = efficiency(events).to(torch.float64)
    bad = (~((values >= 0) & (values <= 1))).numpy()
    if bad.any():
        raise DataError(
            f"efficiency: {efficiency.name} is {float(values[bad][0]):.6g} in {_some(bad)}\n"
            " fix: an efficiency is between 0 and 1; divide by its largest value, a common factor has no meaning"
        )
    return replace(without_column(events), weights=values if events.weights is None else events.weights * values)


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
    check_regular(path, (".json",))
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}\n fix: check the path") from None
    if len(content) > MAX_BYTES:
        raise _wrong(path, f"it is larger than {MAX_BYTES >> 20} MiB", "use fewer bins")
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _wrong(path, "it is not JSON", FORMAT) from None
    if not isinstance(found, dict) or set(found) != {"axes", "values"} or not isinstance(found["axes"], list):
        raise _wrong(path, "it does not have the keys axes and values", FORMAT)
    if not 1 <= len(found["axes"]) <= MAX_AXES:
        raise _wrong(path, f"it has {counted(len(found['axes']), 'axis', 'axes')}", f"give one to {MAX_AXES}")
    axes = tuple(_axis(path, axis, decay) for axis in found["axes"])
    values = _numbers(path, found["values"], "values")
    wanted = tuple(len(edges) - 1 for _, edges in axes)
    if values.shape != wanted:
        shape, bins = ("×".join(map(str, numbers)) for numbers in (values.shape, wanted))
        raise _wrong(path, f"its values are {shape or 'one number'}, and its edges make {bins} bins", "give one value for each bin")
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        raise _wrong(path, f"the efficiency of a bin is {values[bad][0]:.6g}", "give numbers from 0 to 1; a common factor has no meaning")
    return HistogramEfficiency(path, hashlib.sha256(content).hexdigest(), axes, values)


def summary_with(summary: SampleSummary, efficiency: Efficiency) -> SampleSummary:
    """The summary of a sample, with the file that its efficiency comes from and a note; weights are those without it."""
    files = summary.weight_files
    if isinstance(efficiency, HistogramEfficiency):
        files += (FileRecord(str(efficiency.path), summary.n_events, efficiency.sha256),)
    return replace(summary, weight_files=files, notes=(*summary.notes, f"times the efficiency {efficiency.name}"))


def _axis(path: Path, axis: Any, decay: Decay) -> tuple[Variable, np.ndarray]:
    if not isinstance(axis, dict) or set(axis) != {"variable", "edges"} or not isinstance(axis["variable"], str):
        raise _wrong(path, "an axis does not have the keys variable and edges", FORMAT)
    try:
        variable = parse_variable(axis["variable"], decay)
    except VariableError as error:
        raise _wrong(path, error.what, error.fix) from None
    edges = _numbers(path, axis["edges"], f"edges of {variable.name}")
    if edges.ndim != 1 or len(edges) < 2 or not np.all(np.diff(edges) > 0):
        raise _wrong(path, f"the edges of {variable.name} do not rise", "give at least two numbers, each larger than the one before")
    return variable, edges


def _numbers(path: Path, given: Any, what: str) -> np.ndarray:
    """Numbers in lists of equal length inside each other."""
    try:
        values = np.array(given, dtype=object)
        plain = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values.ravel())
        numbers = values.astype(np.float64) if plain and values.size else None
    except (ValueError, OverflowError):
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise _wrong(path, f"its {what} are not numbers in lists of equal length", FORMAT)
    return numbers


def _wrong(path: Path, what: str, fix: str) -> DataError:
    return DataError(f"efficiency: {str(path)!r} is not a histogram: {what}\n fix: {fix}")


def _some(bad: np.ndarray) -> str:
    return "an event" if bad.sum() == 1 else f"one of {counted(int(bad.sum()), 'such event')}"
