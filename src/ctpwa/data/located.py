"""An open file, and where the numbers of every particle are in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.data.columns import ColumnKind, EventFile, as_doubles
from ctpwa.data.event_column import EventColumn
from ctpwa.data.naming import Place, find_column, find_momenta, find_weight, refuse_two_of_a_name
from ctpwa.data.npz_files import NpzFile
from ctpwa.data.options import ReadOptions
from ctpwa.data.parquet_files import ParquetFile
from ctpwa.data.root_files import RootFile
from ctpwa.data.text_files import TextFile
from ctpwa.decay.chain import Decay

SUFFIXES = (".root", ".parquet", ".npz", ".txt", ".dat")
TEXT = (".txt", ".dat")


def check_suffix(path: Path) -> None:
    """Refuse a file of a kind that is not known."""
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"cannot read {str(path)!r}: unknown suffix {path.suffix.lower()!r}\n fix: use one of {', '.join(SUFFIXES)}")


def open_file(path: Path, decay: Decay, options: ReadOptions) -> EventFile:
    """The file, whose suffix is known and which is a regular one, opened by its suffix."""
    suffix = path.suffix.lower()
    if options.tree is not None and suffix != ".root":
        raise DataError(f"'tree' is {options.tree!r}, but {path} is not a ROOT file\n fix: leave 'tree' out")
    if suffix in TEXT:
        return TextFile(path, options.particles_of_lines(decay.labels))
    if not isinstance(options.momenta, Mapping):
        raise DataError(f"momenta is a list, but {path} has named columns\n fix: write a mapping, particle → name")
    if suffix == ".root":
        return RootFile(path, options.tree)
    return ParquetFile(path) if suffix == ".parquet" else NpzFile(path)


@dataclass(frozen=True)
class LocatedFile:
    """An open file with the place of every momentum and of the weights.

    Attributes:
        file:      the file
        places:    final particle → its columns
        weight:    column of the weights; None if there is none
        columns:   event column → its columns in the file; those that are the same for all events are not among them
        n_events:  number of events
    """

    file: EventFile
    places: Mapping[str, Place]
    weight: str | None
    columns: Mapping[str, tuple[str, ...]]
    n_events: int

    @classmethod
    def of(cls, file: EventFile, decay: Decay, options: ReadOptions, weights_elsewhere: bool, wanted: Sequence[EventColumn]) -> LocatedFile:
        """Find everything in a file, or refuse it; ``wanted`` are the event columns."""
        sources = {column.name: options.source_of(column) for column in wanted}
        named = {name: tuple(map(str, source)) for name, source in sources.items() if isinstance(source[0], str)}
        if isinstance(file, TextFile):
            if options.weight:
                raise DataError(f"{file.place}: a text file has no column {options.weight!r}\n fix: give the weights as 'weight_file'")
            for name in named:
                raise DataError(
                    f"{file.place}: a text file has no event column {name!r}\n"
                    f" fix: give it as  column_files: {{{name}: …}}, or say  columns: {{{name}: …}}  with a number for all events"
                )
            return cls(file, {label: Place((label,)) for label in decay.labels}, None, {}, file.columns[0].n_events)
        assert isinstance(options.momenta, Mapping)
        places = find_momenta(file, decay, options.momenta, options.positions)
        _refuse_useless_order(file, places, options)
        weight = find_weight(file, options.weight)
        if weight is not None and weights_elsewhere:
            raise DataError(
                f"{file.place}: weights in {file.word} {weight!r}, and in weight files\n"
                " fix: say weight: false to use only the weight files, or leave 'weight_file' out"
            )
        columns = {column.name: find_column(file, column, named[column.name]) for column in wanted if column.name in named}
        momenta = [name for place in places.values() for name in place.columns]
        per_event = [*([] if weight is None else [weight]), *(name for source in columns.values() for name in source)]
        refuse_two_of_a_name(file, [*momenta, *per_event])
        n_events = _n_events(file, momenta[0])
        if n_events < 0:
            raise DataError(f"{file.place}: it says that it has {n_events} events\n fix: the file is damaged; write it again")
        for name in per_event:
            if _n_events(file, name) != n_events:
                what, one = ("weights", "weight") if name == weight else ("numbers", "number")
                raise DataError(
                    f"{file.place}: {_n_events(file, name)} {what} in {name!r} for {n_events} events\n fix: give one {one} per event"
                )
        file.check([*momenta, *per_event])
        return cls(file, places, weight, columns, n_events)

    def chunks(self, size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """All columns that are needed, some ``size`` events at a time, from one event to another."""
        names = [name for place in self.places.values() for name in place.columns] + ([] if self.weight is None else [self.weight])
        names += [name for source in self.columns.values() for name in source]
        return self.file.chunks(list(dict.fromkeys(names)), size, first, last)

    def momentum(self, label: str, chunk: Mapping[str, np.ndarray], options: ReadOptions) -> Tensor:
        """A particle's momentum in a chunk, [event, 4] as (E, px, py, pz) in GeV."""
        columns = self.places[label].columns
        if len(columns) == 4:
            p4 = np.stack([as_doubles(chunk[name]) for name in columns], axis=1)
        else:
            values = chunk[columns[0]]
            p4 = as_doubles(values[:, options.positions] if self._kind(columns[0]) is ColumnKind.FOUR else values)
        if options.units_per_gev != 1:
            p4 /= options.units_per_gev
        return torch.from_numpy(p4)

    def column(self, name: str, chunk: Mapping[str, np.ndarray], options: ReadOptions) -> Tensor:
        """An event column in a chunk, [event], or [event, component] of a vector."""
        first = self.columns[name][0]
        if len(self.columns[name]) == 1 and self._kind(first) is ColumnKind.FOUR:
            return torch.from_numpy(as_doubles(chunk[first][:, options.positions]))
        values = [torch.from_numpy(as_doubles(chunk[part])) for part in self.columns[name]]
        return values[0] if len(values) == 1 else torch.stack(values, dim=1)

    @property
    def order_unknown(self) -> bool:
        """Whether nothing in the file says in which order components are."""
        return all(len(place.columns) == 1 and self._kind(place.columns[0]) is ColumnKind.FOUR for place in self.places.values())

    def _kind(self, name: str) -> ColumnKind:
        column = self.file.column(name)
        assert column is not None
        return column.kind


def _refuse_useless_order(file: EventFile, places: Mapping[str, Place], options: ReadOptions) -> None:
    listed = any(not isinstance(names, str) for names in options.momenta.values()) if isinstance(options.momenta, Mapping) else True
    fours = {name for place in places.values() for name in place.columns} & set(file.of_kind(ColumnKind.FOUR))
    if options.order is not None and not listed and not fours:
        raise DataError(f"{file.place}: order is {options.order!r}, but the components have names\n fix: leave 'order' out")


def _n_events(file: EventFile, name: str) -> int:
    column = file.column(name)
    assert column is not None
    return column.n_events
