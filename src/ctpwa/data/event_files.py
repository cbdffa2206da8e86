"""``open_events``: files of events that are read in pieces while they are needed, and checked every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from ctpwa.base.errors import DataError
from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.checks import MassTolerance, WeightRange, weight_range
from ctpwa.data.events import Events
from ctpwa.data.files import Found, HasEvents, SampleReader
from ctpwa.data.naming import MomentaNames
from ctpwa.data.options import CHUNK, ColumnFiles, ColumnSources, FilePath, ReadOptions, expand
from ctpwa.data.own_part import OwnPart
from ctpwa.data.stream import EventStream
from ctpwa.data.summary import SampleSummary


class EventFiles(EventStream):
    """A sample in files, for likelihoods; made by ``open_events``.

    Args:
        reader:        how to read them
        paths:         the files, one after the other
        weight_paths:  files of weights
        name:          what the sample is, for messages
        progress:      show a progress bar when ``summary`` or ``load`` have to read the files
    """

    def __init__(
        self, reader: SampleReader, paths: Sequence[Path], weight_paths: Sequence[Path], name: str, progress: bool | None = None
    ) -> None:
        self.reader, self.name = reader, name
        self._paths, self._weight_paths = tuple(paths), tuple(weight_paths)
        self._progress = progress if reader.ranks.first else False
        self._found: Found | None = None
        self._summary: SampleSummary | None = None
        part = reader.ranks.together(self._own_part)
        self.n_events = part.count
        self.part = part if reader.ranks.size > 1 else None

    def _own_part(self) -> OwnPart:
        with self.reader.located(self._paths, self._weight_paths) as located:
            return located.part

    def pieces(self) -> Iterator[Events]:
        """All events of this process in their order, checked, some at a time.

        Raises:
            DataError: if anything is wrong; the message names file, particle and event
        """
        checks, ranges = self.reader.new_checks(), list[WeightRange]()
        labels = self.reader.labels
        try:
            with self.reader.located(self._paths, self._weight_paths) as located:
                for piece in self.reader.chunks(located, checks):
                    if piece.weights is not None:
                        ranges.append(weight_range(piece.weights))
                    yield Events(dict(zip(labels, piece.p4, strict=True)), piece.weights, piece.columns)
                if self._found is None:
                    self._found = self.reader.found(located, self.name, checks, ranges if located.weighted else None)
        except DataError as error:
            raise self._named(error) from error.__cause__

    @property
    def summary(self) -> SampleSummary:
        """What is in the files; if nobody has read them to their end yet, that is done now. All ranks must ask for it."""
        if self._summary is None:
            found = self.reader.ranks.together(self._read_through)
            try:
                self._summary = found.summary(self.reader.ranks)
            except DataError as error:
                raise self._named(error) from error.__cause__
        return self._summary

    def _read_through(self) -> Found:
        if self._found is None:
            with Progress(f"reading {self.name or self._paths[0].name}", self.n_events, show=self._progress) as bar:
                for piece in self.pieces():
                    bar.advance(piece.n_events)
        assert self._found is not None
        return self._found

    def load(self) -> Events:
        """All events in memory, as ``read_events`` reads them."""
        try:
            return self.reader.read(self._paths, self._weight_paths, self.name, self._progress)
        except DataError as error:
            raise self._named(error) from error.__cause__

    def _named(self, error: DataError) -> DataError:
        return DataError(f"{self.name}: {error}") if self.name else error


def open_events(
    model: HasEvents,
    path: FilePath | Sequence[FilePath],
    *,
    tree: str | None = None,
    momenta: MomentaNames | Sequence[str] | None = None,
    weight: str | bool | None = None,
    weight_file: FilePath | Sequence[FilePath] | None = None,
    scale: float = 1.0,
    order: str | None = None,
    unit: str = "GeV",
    mass_tolerance: MassTolerance = None,
    parent_tolerance: float | None = None,
    columns: ColumnSources | None = None,
    column_files: ColumnFiles | None = None,
    name: str = "",
    progress: bool | None = None,
    ranks: Ranks | None = None,
    chunk: int = CHUNK,
    conjugate: bool = False,
) -> EventFiles:
    """Open a sample that may be larger than main memory: a likelihood reads it in pieces, with the checks of ``read_events``.

    Only the columns are looked for now. Parquet and ROOT files are best: any part of them can be read without the rest.

    Args:
        model, path, tree, momenta, weight, weight_file, scale, order, unit, mass_tolerance, parent_tolerance, columns, column_files, name,
        conjugate:
                   as in ``read_events``
        progress:  show a progress bar when files are read for a summary; default: on a terminal when it takes more than two seconds
        ranks:     processes that share the sample: each reads its own rows; default: this process reads everything
        chunk:     events that are read at a time

    Raises:
        DataError: if files or columns are missing or ambiguous; what is wrong with events is found when they are read
    """
    tolerances = mass_tolerance, parent_tolerance
    options = ReadOptions(tree, momenta or {}, weight, order, unit, *tolerances, columns or {}, chunk, column_files or {})
    return open_files(model, path, weight_file, options, scale=scale, name=name, progress=progress, ranks=ranks, conjugate=conjugate)


def open_files(
    model: HasEvents,
    path: FilePath | Sequence[FilePath],
    weight_file: FilePath | Sequence[FilePath] | None,
    options: ReadOptions,
    *,
    scale: float,
    name: str,
    progress: bool | None,
    ranks: Ranks | None,
    conjugate: bool,
) -> EventFiles:
    """``open_events`` with options that stand together."""
    try:
        reader = SampleReader(model, options, torch.device("cpu"), ranks or ONE, scale, conjugate)
        weight_paths = [] if weight_file is None else expand(weight_file)
        return EventFiles(reader, expand(path), weight_paths, name, progress)
    except DataError as error:
        if not name:
            raise
        raise DataError(f"{name}: {error}") from error.__cause__
