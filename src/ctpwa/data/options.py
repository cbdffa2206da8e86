"""How to understand the files of a sample, and which files they are."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ctpwa.base.errors import DataError, suggest
from ctpwa.data.checks import MassTolerance
from ctpwa.data.event_column import EventColumn
from ctpwa.data.naming import MomentaNames

COMPONENTS = ("E", "px", "py", "pz")
ORDERS = ("E px py pz", "px py pz E")  # the usual ones
CHUNK = 1 << 17  # events that are read or written at a time
UNITS = {"GeV": 1.0, "MeV": 1000.0}

FilePath = str | os.PathLike[str]
# event column → its column in the files, those of the components of a vector, or numbers that all events have
ColumnSources = Mapping[str, str | float | Sequence[str] | Sequence[float]]
ColumnFiles = Mapping[str, FilePath | Sequence[FilePath]]  # event column → files of its own, with one number per event


@dataclass(frozen=True)
class ReadOptions:
    """How to understand the files of a sample; ``read_events`` explains each."""

    tree: str | None = None
    momenta: MomentaNames | Sequence[str] = field(default_factory=dict)
    weight: str | bool | None = None
    order: str | None = None
    unit: str = "GeV"
    mass_tolerance: MassTolerance = None
    parent_tolerance: float | None = None
    columns: ColumnSources = field(default_factory=dict)
    chunk: int = CHUNK
    column_files: ColumnFiles = field(default_factory=dict)

    def event_columns(self, declared: Sequence[EventColumn]) -> tuple[EventColumn, ...]:
        """All event columns to read: those that a model declares, and those that are asked for besides."""
        known = {column.name for column in declared}
        sources: ColumnSources = {**dict.fromkeys(self.column_files, ""), **self.columns}
        others = {name: source for name, source in sources.items() if name not in known}
        sizes = {name: 1 if isinstance(source, (str, int, float)) else len(source) for name, source in others.items()}
        return (*declared, *(EventColumn(name, size) for name, size in sizes.items()))

    def source_of(self, column: EventColumn) -> tuple[str, ...] | tuple[float, ...]:
        """Where the numbers of an event column are in the files, or the numbers that all events have."""
        given = self.columns.get(column.name, column.parts)
        source = (given,) if isinstance(given, (str, int, float)) else tuple(given)
        whole = column.size == len(COMPONENTS) and isinstance(given, str)  # a four-momentum may be one column, or a stem
        if len(source) != column.size and not whole:
            each = "one" if column.size == 1 else f"{column.size}"
            raise DataError(f"columns: {len(source)} given for {column.name!r}\n fix: name {each}, or give as many numbers")
        if all(isinstance(entry, str) for entry in source):
            return tuple(map(str, source))
        numbers = [entry for entry in source if isinstance(entry, (int, float)) and not isinstance(entry, bool)]
        if len(numbers) < len(source):
            raise DataError(f"columns: {column.name!r} is {given!r}\n fix: name columns of the files, or give numbers for all events")
        return tuple(map(float, numbers))

    @cached_property
    def positions(self) -> list[int]:
        """Where E, px, py and pz are."""
        order = ORDERS[0] if self.order is None else self.order
        folded = [word.casefold() for word in order.replace(",", " ").split()]
        if sorted(folded) != sorted(component.casefold() for component in COMPONENTS):
            raise DataError(f"order is {order!r}\n fix: write E, px, py and pz in the order of the file, such as 'px py pz E'")
        return [folded.index(component.casefold()) for component in COMPONENTS]

    @cached_property
    def units_per_gev(self) -> float:
        """How many of the file's units are one GeV."""
        if self.unit not in UNITS:
            raise DataError(f"unknown unit {self.unit!r}\n fix: {suggest(self.unit, UNITS)}")
        return UNITS[self.unit]

    def particles_of_lines(self, labels: Sequence[str]) -> Sequence[str]:
        """The particles of a text file in the order of their lines."""
        if isinstance(self.momenta, Mapping):
            if self.momenta:
                fix = f"list the particles in the order of their lines: [{', '.join(labels)}]"
                raise DataError(f"momenta: a text file has no names of columns\n fix: {fix}")
            return labels
        if sorted(self.momenta) != sorted(labels):
            raise DataError(f"momenta: {', '.join(self.momenta)} are not the final particles\n fix: list each of {', '.join(labels)} once")
        return self.momenta


def check_chunk(chunk: int) -> None:
    """Refuse an invalid number of events at a time."""
    if chunk < 1:
        raise DataError(f"chunk is {chunk}\n fix: give a number of events, at least 1")


def expand(path: FilePath | Sequence[FilePath]) -> list[Path]:
    """All files that a path, a pattern or a list of them means; those of a pattern in the order of their names."""
    found: list[Path] = []
    for entry in [path] if isinstance(path, (str, os.PathLike)) else path:
        text = os.fspath(entry)
        if "\0" in text:
            raise DataError(f"{text!r} is not a file name\n fix: remove the zero byte")
        if not os.path.exists(text) and glob.has_magic(text):
            matches = sorted(glob.glob(text))
            if not matches:
                raise DataError(f"no file matches {text!r}\n fix: check the pattern and the folder")
            found += [Path(match) for match in matches]
        else:
            found.append(Path(text))
    if not found:
        raise DataError("an empty list of files\n fix: name at least one")
    return found
