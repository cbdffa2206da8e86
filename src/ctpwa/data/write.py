"""``write_events``: a sample into a file that ``read_events`` understands without help, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.output import written_whole
from ctpwa.base.progress import Progress
from ctpwa.base.words import counted
from ctpwa.data.event_column import EventColumn
from ctpwa.data.files import HasEvents
from ctpwa.data.marks import MARK
from ctpwa.data.momenta import read_momenta, reversed_momentum
from ctpwa.data.naming import written_stems
from ctpwa.data.options import CHUNK, COMPONENTS, FilePath, check_chunk
from ctpwa.decay.conjugate import conjugate_decay

TREE = "events"
WEIGHT = "weight"
DIGITS = "%.17g"  # enough to find every double again


def write_events(
    path: FilePath,
    events: Mapping[str, Any],
    *,
    model: HasEvents | None = None,
    weight_file: FilePath | None = None,
    made_by: str = "",
    progress: bool | None = None,
    chunk: int = CHUNK,
    conjugate: bool = False,
) -> None:
    """Write a sample; if anything goes wrong or it is interrupted, what was at ``path`` before is still there.

    ROOT and Parquet files get columns ``Kp_E``, ``Kp_px``, … in double precision, npz files one array [event, 4] per particle, text files
    one line ``E px py pz`` per particle with 17 digits. Weights are called ``weight``; event columns have their own names, the components
    of a vector ``e`` are ``e_1``, ``e_2``, ….

    Args:
        path:         .root, .parquet, .npz, .txt or .dat
        events:       momenta by name; weights and event columns if it is an ``Events``
        model:        gives the order of the particles, and checks that they are all there; default: as in ``events``
        weight_file:  .txt or .dat, for the weights of text files, which have no room for them
        made_by:      a mark by which the file can be recognised, see ``mark_of``; text files have no room for it
        progress:     show a progress bar; default: on a terminal when it takes more than two seconds
        chunk:        events that are written at a time; npz files are written by particles
        conjugate:    write the charge-conjugate decay of ``model``: antiparticles, with reversed three-momenta; ``read_events`` with
                      ``conjugate`` gives the events back
    """
    goal = Path(path)
    check_suffix(goal)
    check_chunk(chunk)
    writer = _WRITERS[goal.suffix.lower()]
    labels = tuple(events) if model is None else model.decay.labels
    if not labels:
        raise DataError("no particles to write\n fix: give momenta by name")
    p4 = read_momenta(dict(events), labels)
    if conjugate:
        if model is None:
            raise DataError("the charge conjugates of unknown particles\n fix: give the model")
        labels, p4 = conjugate_decay(model.decay).labels, [reversed_momentum(p) for p in p4]
    sample = _Sample(labels, p4, events, goal.name, made_by, progress, chunk)
    text = goal.suffix.lower() in (".txt", ".dat")
    for name in sample.numbers.keys() - {WEIGHT} if text else ():
        raise DataError(f"{goal.name} has no place for the event column {name!r}\n fix: write another format")
    if weight_file is not None and not text:
        raise DataError(f"{goal.name} holds its weights itself\n fix: leave weight_file out")
    if text and (WEIGHT not in sample.numbers) != (weight_file is None):
        fix = "give weight_file" if weight_file is None else "leave weight_file out"
        raise DataError(f"{'weights' if weight_file is None else 'no weights'} to write with {goal.name}\n fix: {fix}")
    with ExitStack() as stack:
        if weight_file is not None:
            _write_weights(stack.enter_context(written_whole(weight_file)), sample)
        writer(stack.enter_context(written_whole(goal)), sample)


def check_suffix(path: FilePath) -> None:
    """Refuse a file that ``write_events`` cannot write, before there is anything to write."""
    goal = Path(path)
    if goal.suffix.lower() not in _WRITERS:
        raise DataError(f"cannot write {str(goal)!r}: unknown suffix {goal.suffix!r}\n fix: use one of {', '.join(_WRITERS)}")


class _Sample:
    """What is to be written, in chunks.

    Attributes:
        p4:       momenta, each [event, 4]
        numbers:  weights and event columns, each [event]
    """

    def __init__(
        self,
        labels: Sequence[str],
        p4: Sequence[Tensor],
        events: Mapping[str, Any],
        title: str,
        made_by: str,
        progress: bool | None,
        chunk: int,
    ) -> None:
        self.labels, self.p4, self.title, self.made_by = tuple(labels), tuple(p4), title, made_by
        self.progress, self.chunk = progress, chunk
        self.n_events = len(p4[0])
        self.numbers: dict[str, np.ndarray] = {}
        weights = getattr(events, "weights", None)
        if weights is not None:
            self._add(WEIGHT, weights, "weight")
        for name, values in getattr(events, "columns", {}).items():
            column = EventColumn(name, 1 if values.ndim == 1 else values.shape[1])
            for i, part in enumerate(column.parts):
                self._add(part, values if column.size == 1 else values[:, i], f"number of {name!r}")

    def _add(self, name: str, values: Any, what: str) -> None:
        own = np.asarray(values.cpu() if isinstance(values, Tensor) else values, dtype=np.float64)
        if own.shape != (self.n_events,):
            shape = "×".join(map(str, own.shape))
            raise DataError(f"{what}s of shape {shape} for {counted(self.n_events, 'event')}\n fix: give one {what} per event")
        if name in self.numbers or name in self._components() or name in self.labels:
            raise DataError(f"{name!r} would be the name of two columns\n fix: rename the event column")
        self.numbers[name] = own

    def chunks(self) -> Iterator[list[np.ndarray]]:
        """Momenta of some events at a time."""
        with Progress(f"writing {self.title}", self.n_events, show=self.progress) as bar:
            for start in range(0, self.n_events, self.chunk):
                yield [p[start : start + self.chunk].cpu().numpy() for p in self.p4]
                bar.advance(min(self.chunk, self.n_events - start))

    def _components(self) -> list[str]:
        stems = written_stems(self.labels)
        return [f"{stems[label]}_{component}" for label in self.labels for component in COMPONENTS]

    def columns(self) -> list[str]:
        """Names of all columns of numbers."""
        return [*self._components(), *self.numbers]

    def tables(self) -> Iterator[dict[str, np.ndarray]]:
        """Column → numbers, for some events at a time."""
        names, start = self.columns(), 0
        for p4 in self.chunks():
            here = slice(start, start + len(p4[0]))
            values = [np.ascontiguousarray(p[:, i]) for p in p4 for i in range(4)]
            yield dict(zip(names, [*values, *(np.ascontiguousarray(own[here]) for own in self.numbers.values())], strict=True))
            start = here.stop


def _write_root(path: Path, sample: _Sample) -> None:
    import uproot

    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        tree = file.mktree(TREE, dict.fromkeys(sample.columns(), "float64"))
        for table in sample.tables():
            tree.extend(table)
        if sample.made_by:
            file[MARK] = sample.made_by


def _write_parquet(path: Path, sample: _Sample) -> None:
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema(
        [(name, pyarrow.float64()) for name in sample.columns()], metadata={MARK: sample.made_by} if sample.made_by else None
    )
    with parquet.ParquetWriter(path, schema, compression="zstd", use_dictionary=False, write_page_checksum=True) as writer:
        for table in sample.tables():
            writer.write_table(pyarrow.table(table, schema=schema))


def _write_npz(path: Path, sample: _Sample) -> None:
    arrays: list[tuple[str, np.ndarray | Tensor]] = [*zip(sample.labels, sample.p4, strict=True)]
    arrays += sample.numbers.items()
    with ZipFile(path, "w") as file, Progress(f"writing {sample.title}", len(arrays), show=sample.progress) as bar:
        for name, values in arrays:
            array = values.cpu().numpy() if isinstance(values, Tensor) else values
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
            bar.advance(1)
        file.comment = sample.made_by.encode()


def _write_text(path: Path, sample: _Sample) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for p4 in sample.chunks():
            np.savetxt(file, np.stack(p4, axis=1).reshape(-1, 4), fmt=DIGITS)


def _write_weights(path: Path, sample: _Sample) -> None:
    if path.suffix.lower() not in (".txt", ".dat"):
        raise DataError(f"cannot write weights with suffix {path.suffix!r}\n fix: use .txt or .dat")
    np.savetxt(path, sample.numbers[WEIGHT], fmt=DIGITS)


_WRITERS: dict[str, Callable[[Path, _Sample], None]] = {
    ".root": _write_root,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
    ".txt": _write_text,
    ".dat": _write_text,
}
