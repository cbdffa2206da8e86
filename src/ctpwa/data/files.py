"""``read_events``: from ROOT, Parquet, npz and text files to a checked sample, in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ctpwa.data.checks import MassTolerance, SampleChecks, check_weights, summarise_weights
from ctpwa.data.columns import sha256_of
from ctpwa.data.events import Events
from ctpwa.data.located import LocatedFile, open_events
from ctpwa.data.naming import MomentaNames
from ctpwa.data.options import ORDERS, FilePath, ReadOptions, expand
from ctpwa.data.rows import Rows
from ctpwa.data.summary import FileRecord, SampleSummary
from ctpwa.data.weights import read_weight_files
from ctpwa.decay.chain import Decay
from ctpwa.errors import DataError
from ctpwa.memory import available_bytes, format_bytes
from ctpwa.progress import Progress
from ctpwa.ranks import ONE, Ranks

CHUNK = 1 << 17  # events at a time


class HasDecay(Protocol):
    """A model: what decays into what is all that reading needs to know."""

    @property
    def decay(self) -> Decay:
        """Parent and final particles."""


def read_events(
    model: HasDecay,
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
    name: str = "",
    device: str | torch.device = "cpu",
    progress: bool | None = None,
    ranks: Ranks | None = None,
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
        weight_file:       a file of its own for the weights: one number per line, .npy or .npz
        scale:             multiplies all weights
        order:             of four numbers in a line, an array or a list of columns; default: ``E px py pz``
        unit:              of momenta and energies in the files, ``GeV`` or ``MeV``
        mass_tolerance:    GeV by which masses of final particles may differ from nominal ones, for all or by name;
                           default: 0.001 + 20 Γ
        parent_tolerance:  the same for the mass of all particles together; default: 0.005 + 20 Γ
        name:              what the sample is, for messages
        device:            where to put the tensors
        progress:          show a progress bar; default: on a terminal when it takes more than two seconds
        ranks:             processes that share the sample: each reads its own rows, and the summary is that of the whole;
                           default: this process reads everything

    Raises:
        DataError: if anything is missing, ambiguous or wrong; the message names file, particle and event
    """
    options = ReadOptions(tree, {} if momenta is None else momenta, weight, order, unit, mass_tolerance, parent_tolerance)
    try:
        reader = SampleReader(model.decay, options, torch.device(device), ranks or ONE)
        weight_paths = [] if weight_file is None else expand(weight_file)
        return reader.read(expand(path), weight_paths, scale, name, progress if reader.ranks.first else False)
    except DataError as error:
        if not name:
            raise
        raise DataError(f"{name}: {error}") from error.__cause__


@dataclass(frozen=True)
class _Share:
    """What one process has read of a sample."""

    events: Events
    name: str
    records: tuple[FileRecord, ...]
    n_events: int
    weight_records: tuple[FileRecord, ...]
    checks: SampleChecks
    weight_notes: tuple[str, ...]

    def summary(self, ranks: Ranks) -> SampleSummary:
        """Of the whole sample; files are hashed by the first process alone."""
        records, checks = self.records, self.checks.joined(ranks)
        if ranks.size > 1:
            hashes = ranks.gather("\n".join(record.sha256 for record in records).encode())[0].decode().split("\n")
            records = tuple(replace(record, sha256=sha256) for record, sha256 in zip(records, hashes, strict=True))
        weights = None if self.events.weights is None else summarise_weights(self.events.weights, ranks)
        notes = (*checks.notes, *self.weight_notes)
        return SampleSummary(self.name, records, self.n_events, weights, checks.mass, self.weight_records, notes)


class SampleReader:
    """Reads the files of one sample into tensors.

    Args:
        decay:    parent and final particles
        options:  how to understand the files
        device:   where to put the tensors
        ranks:    processes that share the sample
    """

    def __init__(self, decay: Decay, options: ReadOptions, device: torch.device, ranks: Ranks = ONE) -> None:
        self.decay, self.options, self.device, self.ranks = decay, options, device, ranks
        self._checks = self._new_checks()

    def read(self, paths: Sequence[Path], weight_paths: Sequence[Path], scale: float, name: str, progress: bool | None) -> Events:
        """All events of all files, in their order; with several ranks those of this one."""
        own = self.ranks.together(lambda: self._read_own(paths, weight_paths, scale, name, progress))
        return replace(own.events, summary=own.summary(self.ranks))

    def _read_own(self, paths: Sequence[Path], weight_paths: Sequence[Path], scale: float, name: str, progress: bool | None) -> _Share:
        if not math.isfinite(scale) or scale == 0:
            raise DataError(f"scale is {scale}\n fix: give a finite number other than zero")
        if weight_paths and self.options.weight:
            raise DataError(
                f"weights from {self.options.weight!r} and from {weight_paths[0]}\n fix: give 'weight' or 'weight_file', not both"
            )
        with ExitStack() as stack:
            opened = [stack.enter_context(open_events(path, self.decay, self.options)) for path in paths]
            files = [LocatedFile.of(file, self.decay, self.options, bool(weight_paths)) for file in opened]
            n_events = sum(file.rows for file in files)
            if n_events == 0:
                raise DataError(f"{', '.join(file.place for file in opened)}: no events\n fix: check the selection that wrote the file")
            given, weight_records = read_weight_files(weight_paths, n_events)
            first, last = self.ranks.share(n_events)
            momenta, weights = self._allocate(last - first, None if given is None else given[first:last], files, scale)
            with Progress(f"reading {name or paths[0].name}", last - first, show=progress) as bar:
                before = start = 0
                for file in files:
                    for n in self._read_file(file, momenta, weights, start, max(first - before, 0), min(last - before, file.rows)):
                        bar.advance(n)
                        start += n
                    before += file.rows
        if weights is not None and scale != 1:
            weights *= scale
        rows = Rows(((first, last),), n_events) if self.ranks.size > 1 else None
        hashes = [sha256_of(file.file.path) if self.ranks.first else "" for file in files]
        records = tuple(FileRecord(str(file.file.path), file.rows, sha256) for file, sha256 in zip(files, hashes, strict=True))
        return _Share(Events(momenta, weights, rows=rows), name, records, n_events, weight_records, self._checks, self._weight_notes(files))

    def _new_checks(self) -> SampleChecks:
        return SampleChecks(self.decay, self.options.mass_tolerance, self.options.parent_tolerance)

    def _allocate(
        self, n_events: int, given: np.ndarray | None, files: Sequence[LocatedFile], scale: float
    ) -> tuple[dict[str, Tensor], Tensor | None]:
        """Room for all momenta; and the weights if they are known already, or room for them."""
        needed, free = n_events * len(self.decay.labels) * 4 * 8, available_bytes(self.device)
        if free is not None and needed > free:
            raise DataError(
                f"{n_events} events need {format_bytes(needed)}, but {self.device} has {format_bytes(free)} left\n fix: read fewer events"
            )
        momenta = {label: torch.empty(n_events, 4, dtype=torch.float64, device=self.device) for label in self.decay.labels}
        if given is not None:
            return momenta, torch.from_numpy(given).to(self.device)
        with_weights = [file for file in files if file.weight is not None]
        if with_weights and len(with_weights) < len(files):
            without = next(file for file in files if file.weight is None)
            raise DataError(
                f"{with_weights[0].file.place} has weights, {without.file.place} has none\n"
                " fix: give all files weights, or say weight: false to use none"
            )
        wanted = bool(with_weights) or scale != 1
        return momenta, torch.ones(n_events, dtype=torch.float64, device=self.device) if wanted else None

    def _read_file(
        self, file: LocatedFile, momenta: Mapping[str, Tensor], weights: Tensor | None, start: int, first: int, last: int
    ) -> Iterator[int]:
        """Fill in the events ``first`` to ``last`` of one file from ``start`` on; yields how many more it has read."""
        done = 0
        for chunk in file.chunks(CHUNK, first, last) if first < last else ():
            p4 = [file.momentum(label, chunk, self.options) for label in self.decay.labels]
            n = len(p4[0])
            self._check(file, p4, chunk, first + done)
            into = slice(start + done, start + done + n)
            for label, p in zip(self.decay.labels, p4, strict=True):
                momenta[label][into] = p.to(self.device)
            if file.weight is not None and weights is not None:
                own = torch.from_numpy(chunk[file.weight].astype(np.float64))
                check_weights(own, file.file.place, first + done)
                weights[into] = own.to(self.device)
            done += n
            yield n
        if done != max(last - first, 0):
            raise DataError(f"{file.file.place}: {last - first} events expected, {done} found\n fix: the file is damaged; write it again")

    def _check(self, file: LocatedFile, p4: Sequence[Tensor], chunk: Mapping[str, np.ndarray], first_event: int) -> None:
        try:
            self._checks.check(p4, first_event)
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
                self._new_checks().check([file.momentum(label, chunk, options) for label in self.decay.labels], 0)
            except DataError:
                continue
            return order
        return ""

    def _weight_notes(self, files: Sequence[LocatedFile]) -> tuple[str, ...]:
        """Weights that were found without being asked for."""
        found = next((file for file in files if file.weight is not None), None)
        if found is None or self.options.weight is not None:
            return ()
        return (f"weights found in {found.file.word} {found.weight!r}",)
