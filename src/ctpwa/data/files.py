"""``read_events``: from ROOT, Parquet, npz and text files to a checked sample, in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.ahead import ahead
from ctpwa.base.errors import DataError
from ctpwa.base.memory import available_bytes, format_bytes
from ctpwa.base.parts import one_torch_thread
from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.checks import MassTolerance, SampleChecks, WeightRange, check_weights, joined_weights, weight_range
from ctpwa.data.columns import as_doubles, sha256_of
from ctpwa.data.event_column import EventColumn
from ctpwa.data.events import Events
from ctpwa.data.located import SUFFIXES, LocatedFile, check_suffix, open_file
from ctpwa.data.momenta import reversed_momentum
from ctpwa.data.naming import MomentaNames
from ctpwa.data.options import CHUNK, ORDERS, ColumnFiles, ColumnSources, FilePath, ReadOptions, check_chunk, expand
from ctpwa.data.own_part import OwnPart
from ctpwa.data.regular import check_regular, refuse_repeated
from ctpwa.data.repeated import count_repeated, event_keys
from ctpwa.data.stream import Piece
from ctpwa.data.summary import FileRecord, SampleSummary
from ctpwa.data.weights import read_number_files
from ctpwa.decay.chain import Decay
from ctpwa.decay.conjugate import conjugate_decay


class HasEvents(Protocol):
    """A model: what its events hold is all that reading needs to know."""

    @property
    def decay(self) -> Decay:
        """Parent and final particles."""

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """Event columns besides momenta and weights."""


def read_events(
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
    device: str | torch.device = "cpu",
    progress: bool | None = None,
    ranks: Ranks | None = None,
    chunk: int = CHUNK,
    conjugate: bool = False,
) -> Events:
    """Read and check a sample; ``summary`` of what is returned says in one line what was found.

    Momenta are used in the frame they are given in. Those of massless particles are put on shell, E = |p|.

    Args:
        model:             the model, for its final particles and the mass of the parent
        path:              .root, .parquet, .npz, .txt or .dat; a pattern such as ``data_*.root`` or a list is read as one sample
        tree:              name of the tree in a ROOT file; default: the only one
        momenta:           particle → stem of its columns (``kp`` of ``kp_px``), its column, or its four columns; default: found by name.
                           For text files a list: the particles in the order of their lines; default: that of the decay
        weight:            column of the weights; default: ``weight`` or ``weights`` if there is one; False: none
        weight_file:       a separate file for the weights: one number per line, .npy or .npz
        scale:             multiplies all weights
        order:             of four numbers in a line, an array or a list of columns; default: ``E px py pz``
        unit:              of momenta and energies in the files, ``GeV`` or ``MeV``
        mass_tolerance:    GeV by which masses of final particles may differ from nominal ones, for all or by name;
                           default: 0.001 + 20 Γ
        parent_tolerance:  the same for the mass of all particles together; default: 0.005 + 20 Γ
        columns:           event column → its column in the files (for a vector those of its components), or numbers that all events have;
                           those that the model declares are looked up under their own names, others are read in addition
        column_files:      event column → a file of its own: one number per line, .npy or .npz
        name:              what the sample is, for messages
        device:            where to put the tensors
        progress:          show a progress bar; default: on a terminal when it takes more than two seconds
        ranks:             processes that share the sample: each reads its own rows, and the summary is that of the whole;
                           default: this process reads everything
        chunk:             events that are read at a time
        conjugate:         the files hold the charge-conjugate decay; each antiparticle becomes the particle at its place, with its
                           three-momentum reversed. ``momenta`` and ``mass_tolerance`` name the particles in the files

    Raises:
        DataError: if anything is missing, ambiguous or wrong; the message names file, particle and event
    """
    tolerances = mass_tolerance, parent_tolerance
    options = ReadOptions(tree, momenta or {}, weight, order, unit, *tolerances, columns or {}, chunk, column_files or {})
    try:
        reader = SampleReader(model, options, torch.device(device), ranks or ONE, scale, conjugate)
        weight_paths = [] if weight_file is None else expand(weight_file)
        return reader.read(expand(path), weight_paths, name, progress if reader.ranks.first else False)
    except DataError as error:
        if not name:
            raise
        raise DataError(f"{name}: {error}") from error.__cause__


@dataclass(frozen=True)
class Located:
    """The open files of a sample, and which of its events belong to this process.

    Attributes:
        files:           the files, in their order
        n_events:        events of all of them
        first, last:     the events of this process
        weights:         their weights, if these are in separate files
        weight_records:  these files, and those of event columns
        weighted:        whether events have weights
        columns:         event columns that are in separate files
    """

    files: tuple[LocatedFile, ...]
    n_events: int
    first: int
    last: int
    weights: np.ndarray | None
    weight_records: tuple[FileRecord, ...]
    weighted: bool
    columns: Mapping[str, np.ndarray]

    @property
    def part(self) -> OwnPart:
        """Which events of the whole sample belong to this process."""
        return OwnPart(((self.first, self.last),), self.n_events)


@dataclass(frozen=True)
class Found:
    """What a summary needs to know of the files and of the events that one process has read.

    Attributes:
        name:            of the sample
        records:         the files, with hashes on the first process
        n_events:        events of the whole sample
        weight_records:  files of weights and event columns
        checks:          what was remembered while events were checked
        weights:         sums and ranges of weights, chunk by chunk; None if there are none
        weight_notes:    weights that were found although not asked for
        keys:            of the events of this process, by which repeated ones are found; None: nobody looks for them
    """

    name: str
    records: tuple[FileRecord, ...]
    n_events: int
    weight_records: tuple[FileRecord, ...]
    checks: SampleChecks
    weights: Sequence[WeightRange] | None
    weight_notes: tuple[str, ...]
    keys: np.ndarray | None = None

    def summary(self, ranks: Ranks) -> SampleSummary:
        """Of the whole sample; files are hashed by the first process alone."""
        records, checks = self.records, self.checks.joined(ranks)
        if ranks.size > 1:
            hashes = ranks.gather("\n".join(record.sha256 for record in records).encode())[0].decode().split("\n")
            records = tuple(replace(record, sha256=sha256) for record, sha256 in zip(records, hashes, strict=True))
        weights = None if self.weights is None else joined_weights(self.weights, ranks)
        notes = (*checks.notes, *self.weight_notes)
        return SampleSummary(self.name, records, self.n_events, weights, checks.mass, self.weight_records, notes, self._repeated(ranks))

    def _repeated(self, ranks: Ranks) -> int:
        if self.keys is None:
            return 0
        return count_repeated([np.frombuffer(content, dtype=np.int64) for content in ranks.gather(self.keys.tobytes())])


class SampleReader:
    """Reads the files of one sample.

    Args:
        model:    parent, final particles and event columns
        options:  how to understand the files
        device:   where to put the tensors
        ranks:    processes that share the sample
        scale:    multiplies all weights
        conjugate:  whether the files hold the charge-conjugate decay

    Attributes:
        decay:   what is in the files
        labels:  what its particles are called in the events that are read
    """

    def __init__(
        self, model: HasEvents, options: ReadOptions, device: torch.device, ranks: Ranks = ONE, scale: float = 1.0, conjugate: bool = False
    ) -> None:
        self.options, self.device, self.ranks, self.scale, self.conjugate = options, device, ranks, scale, conjugate
        self.decay, self.labels = conjugate_decay(model.decay) if conjugate else model.decay, model.decay.labels
        self.columns = options.event_columns(model.columns)
        self._column_paths = {name: tuple(expand(files)) for name, files in options.column_files.items()}
        for name in self._column_paths:
            self._check_column_file(name)
        self._in_events = tuple(column for column in self.columns if column.name not in self._column_paths)
        sources = {column: options.source_of(column) for column in self._in_events}
        self._constants = {column.name: numbers for column, numbers in sources.items() if not isinstance(numbers[0], str)}
        for column in self._in_events:
            if column.name in self._constants:
                column.same_for_all(self._constants[column.name], 1)  # what is wrong with them is said here
        check_chunk(options.chunk)
        if not math.isfinite(scale) or scale == 0:
            raise DataError(f"scale is {scale}\n fix: give a finite number other than zero")

    def _check_column_file(self, name: str) -> None:
        column = next(column for column in self.columns if column.name == name)
        if name in self.options.columns:
            raise DataError(f"columns and column_files: both give {name!r}\n fix: leave one of them out")
        if column.size != 1:
            raise DataError(f"column_files: {name!r} is a vector\n fix: files of their own are for columns of one number")

    def read(self, paths: Sequence[Path], weight_paths: Sequence[Path], name: str, progress: bool | None) -> Events:
        """All events of all files, in their order; with several ranks those of this one."""
        with one_torch_thread():  # others would wait for each other more than they help
            events, found = self.ranks.together(lambda: self._read_own(paths, weight_paths, name, progress))
        return replace(events, summary=found.summary(self.ranks))

    def _read_own(self, paths: Sequence[Path], weight_paths: Sequence[Path], name: str, progress: bool | None) -> tuple[Events, Found]:
        checks = self.new_checks()
        with self.located(paths, weight_paths) as located:
            n = located.last - located.first
            momenta, weights, columns = self._allocate(n, located.weighted)
            with Progress(f"reading {name or paths[0].name}", n, show=progress) as bar:
                start, keys = 0, []
                for piece in self.chunks(located, checks):
                    into = slice(start, start + piece.n_events)
                    keys.append(event_keys(piece.p4))
                    for label, p in zip(self.labels, piece.p4, strict=True):
                        momenta[label][into] = p.to(self.device)
                    if weights is not None and piece.weights is not None:
                        weights[into] = piece.weights.to(self.device)
                    for column, values in piece.columns.items():
                        columns[column][into] = values.to(self.device)
                    start = into.stop
                    bar.advance(piece.n_events)
            ranges = None if weights is None else ([weight_range(weights)] if len(weights) else [])
            found = replace(self.found(located, name, checks, ranges), keys=np.concatenate([np.empty(0, dtype=np.int64), *keys]))
        return Events(momenta, weights, columns, part=located.part if self.ranks.size > 1 else None), found

    def new_checks(self) -> SampleChecks:
        """Checks of one pass over the events."""
        return SampleChecks(self.decay, self.options.mass_tolerance, self.options.parent_tolerance)

    @contextmanager
    def located(self, paths: Sequence[Path], weight_paths: Sequence[Path]) -> Iterator[Located]:
        """The files, open, with the places of everything in them."""
        if weight_paths and self.options.weight:
            raise DataError(
                f"weights from {self.options.weight!r} and from {weight_paths[0]}\n fix: give 'weight' or 'weight_file', not both"
            )
        with ExitStack() as stack:
            for path in paths:
                check_suffix(path)
            refuse_repeated(paths, [check_regular(path, SUFFIXES) for path in paths])
            opened = [stack.enter_context(open_file(path, self.decay, self.options)) for path in paths]
            files = tuple(LocatedFile.of(file, self.decay, self.options, bool(weight_paths), self._in_events) for file in opened)
            n_events = sum(file.n_events for file in files)
            if n_events == 0:
                raise DataError(f"{', '.join(file.place for file in opened)}: no events\n fix: check the selection that wrote the file")
            given, records = read_number_files(weight_paths, n_events)
            first, last = self.ranks.share(n_events)
            weighted = given is not None or self._weighted(files)
            columns: dict[str, np.ndarray] = {}
            for name, own in self._column_paths.items():
                numbers, found = read_number_files(own, n_events, name)
                assert numbers is not None
                columns[name], records = numbers[first:last], (*records, *found)
            yield Located(files, n_events, first, last, None if given is None else given[first:last], records, weighted, columns)

    def found(self, located: Located, name: str, checks: SampleChecks, weights: Sequence[WeightRange] | None) -> Found:
        """What a summary needs after a pass; hashes the files on the first process."""
        files = located.files
        hashes = [sha256_of(file.file.path) if self.ranks.first else "" for file in files]
        records = tuple(FileRecord(str(file.file.path), file.n_events, sha256) for file, sha256 in zip(files, hashes, strict=True))
        _refuse_copies(records)
        return Found(name, records, located.n_events, located.weight_records, checks, weights, self._weight_notes(files))

    def chunks(self, located: Located, checks: SampleChecks) -> Iterator[Piece]:
        """The events of this process in order, checked, some at a time."""
        before, done = 0, 0
        for file in located.files:
            first, last = max(located.first - before, 0), min(located.last - before, file.n_events)
            for piece in self._file_chunks(file, first, last, checks):
                weights = piece.weights
                if located.weights is not None:
                    weights = torch.from_numpy(located.weights[done : done + piece.n_events].copy())
                elif located.weighted and weights is None:
                    weights = torch.ones(piece.n_events, dtype=torch.float64)
                columns = {**piece.columns, **self._own_columns(located, done, piece.n_events)}
                done += piece.n_events
                weights = weights if weights is None or self.scale == 1 else weights * self.scale
                yield replace(piece, weights=weights, columns=columns)
            before += file.n_events

    def _own_columns(self, located: Located, start: int, n_events: int) -> dict[str, Tensor]:
        """Event columns from files of their own at some events of this process, checked."""
        found = {}
        for column in self.columns:
            if column.name in located.columns:
                values = torch.from_numpy(located.columns[column.name][start : start + n_events].copy())
                column.check(values, ", ".join(map(str, self._column_paths[column.name])), located.first + start)
                found[column.name] = values
        return found

    def _file_chunks(self, file: LocatedFile, first: int, last: int, checks: SampleChecks) -> Iterator[Piece]:
        """The events ``first`` to ``last`` of one file."""

        def decoded() -> Iterator[tuple[Mapping[str, np.ndarray], list[Tensor]]]:
            for chunk in file.chunks(self.options.chunk, first, last) if first < last else ():
                yield chunk, [file.momentum(label, chunk, self.options) for label in self.decay.labels]

        done = 0
        for chunk, p4 in ahead(decoded()):
            self._check(file, p4, chunk, first + done, checks)
            weights = None
            if file.weight is not None:
                weights = torch.from_numpy(as_doubles(chunk[file.weight]))
                check_weights(weights, file.file.place, first + done)
            columns = self._event_columns(file, chunk, len(p4[0]), first + done)
            done += len(p4[0])
            yield Piece([reversed_momentum(p) for p in p4] if self.conjugate else p4, weights, columns)
        if done != max(last - first, 0):
            raise DataError(f"{file.file.place}: {last - first} events expected, {done} found\n fix: the file is damaged; write it again")

    def _event_columns(self, file: LocatedFile, chunk: Mapping[str, np.ndarray], n_events: int, first_event: int) -> dict[str, Tensor]:
        """The event columns of a chunk, checked."""
        found: dict[str, Tensor] = {}
        for column in self._in_events:
            if column.name in self._constants:
                found[column.name] = column.same_for_all(self._constants[column.name], n_events)
                continue
            found[column.name] = file.column(column.name, chunk, self.options)
            column.check(found[column.name], file.file.place, first_event)
        return found

    def _allocate(self, n_events: int, weighted: bool) -> tuple[dict[str, Tensor], Tensor | None, dict[str, Tensor]]:
        """Room for all momenta and event columns, and for weights if there are any."""
        numbers = len(self.decay.labels) * 4 + sum(column.size for column in self.columns)
        needed, free = n_events * numbers * 8, available_bytes(self.device)
        if free is not None and needed > free:
            raise DataError(
                f"{n_events} events need {format_bytes(needed)}, but {self.device} has {format_bytes(free)} left\n"
                " fix: read fewer events; a likelihood takes files that open_events has opened, and reads them in pieces"
            )
        momenta = {label: torch.empty(n_events, 4, dtype=torch.float64, device=self.device) for label in self.labels}
        weights = torch.empty(n_events, dtype=torch.float64, device=self.device) if weighted else None
        columns = {
            column.name: torch.empty((n_events, *([column.size] if column.size > 1 else [])), dtype=torch.float64, device=self.device)
            for column in self.columns
        }
        return momenta, weights, columns

    def _weighted(self, files: Sequence[LocatedFile]) -> bool:
        """Whether the events get weights from the files, or from the scale alone."""
        with_weights = [file for file in files if file.weight is not None]
        if with_weights and len(with_weights) < len(files):
            without = next(file for file in files if file.weight is None)
            raise DataError(
                f"{with_weights[0].file.place} has weights, {without.file.place} has none\n"
                " fix: give all files weights, or say weight: false to use none"
            )
        return bool(with_weights) or self.scale != 1

    def _check(
        self, file: LocatedFile, p4: Sequence[Tensor], chunk: Mapping[str, np.ndarray], first_event: int, checks: SampleChecks
    ) -> None:
        try:
            checks.check(p4, first_event)
        except DataError as error:
            order = self._better_order(file, chunk)
            what, separator, fix = str(error).partition("\n fix: ")
            fix = f"the components stand in another order; say order: {order}" if order else fix
            raise DataError(f"{file.file.place}: {what}{separator}{fix}") from None

    def _better_order(self, file: LocatedFile, chunk: Mapping[str, np.ndarray]) -> str:
        """The order of components in which wrong momenta would be right, if there is one."""
        for order in ORDERS if file.order_unknown else ():
            options = replace(self.options, order=order)
            try:
                self.new_checks().check([file.momentum(label, chunk, options) for label in self.decay.labels], 0)
            except DataError:
                continue
            return order
        return ""

    def _weight_notes(self, files: Sequence[LocatedFile]) -> tuple[str, ...]:
        """Weights that were found although not asked for."""
        found = next((file for file in files if file.weight is not None), None)
        if found is None or self.options.weight is not None:
            return ()
        return (f"weights found in {found.file.word} {found.weight!r}",)


def _refuse_copies(records: Sequence[FileRecord]) -> None:
    """Refuse a file with the content of another one: the same events under two names."""
    first: dict[str, FileRecord] = {}
    for record in records:
        if record.sha256 and record.n_events and (other := first.setdefault(record.sha256, record)) is not record:
            raise DataError(
                f"{other.path!r} and {record.path!r} have the same content, so its events would count twice\n fix: name one of them"
            )
