"""``write_events``: a sample into a file that ``read_events`` understands by itself, whole or not at all."""

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
from ctpwa.data.files import CHUNK, HasDecay
from ctpwa.data.marks import MARK
from ctpwa.data.momenta import read_momenta
from ctpwa.data.naming import written_stems
from ctpwa.data.options import COMPONENTS, FilePath

TREE = "events"
WEIGHT = "weight"
DIGITS = "%.17g"  # enough to find every double again

Chunk = tuple[list[np.ndarray], np.ndarray | None]  # momenta [event, 4] in the order of the particles, weights


def write_events(
    path: FilePath,
    events: Mapping[str, Any],
    *,
    model: HasDecay | None = None,
    weight_file: FilePath | None = None,
    made_by: str = "",
    progress: bool | None = None,
) -> None:
    """Write a sample; if anything goes wrong or it is interrupted, what was at ``path`` before is still there.

    ROOT and Parquet files get columns ``Kp_E``, ``Kp_px``, … in double precision, npz files one array [event, 4] per particle, text files
    one line ``E px py pz`` per particle with 17 digits. Weights are called ``weight``.

    Args:
        path:         .root, .parquet, .npz, .txt or .dat
        events:       momenta by name, weights if it is an ``Events``
        model:        gives the order of the particles, and checks that they are all there; default: as in ``events``
        weight_file:  .txt or .dat, for the weights of text files, which have no place for them
        made_by:      a mark by which the file can be recognised, see ``mark_of``; text files have no place for it
        progress:     show a progress bar; default: on a terminal when it takes more than two seconds
    """
    goal = Path(path)
    check_suffix(goal)
    writer = _WRITERS[goal.suffix.lower()]
    labels = tuple(events) if model is None else model.decay.labels
    if not labels:
        raise DataError("no particles to write\n fix: give momenta by name")
    sample = _Sample(labels, read_momenta(dict(events), labels), getattr(events, "weights", None), goal.name, made_by, progress)
    text = goal.suffix.lower() in (".txt", ".dat")
    if weight_file is not None and not text:
        raise DataError(f"{goal.name} holds its weights itself\n fix: leave weight_file out")
    if text and (sample.weights is None) != (weight_file is None):
        fix = "give weight_file" if weight_file is None else "leave weight_file out"
        raise DataError(f"{'weights' if weight_file is None else 'no weights'} to write beside {goal.name}\n fix: {fix}")
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
    """What is to be written, in chunks."""

    def __init__(self, labels: Sequence[str], p4: Sequence[Tensor], weights: Any, title: str, made_by: str, progress: bool | None) -> None:
        self.labels, self.p4, self.title, self.made_by, self.progress = tuple(labels), tuple(p4), title, made_by, progress
        self.n_events = len(p4[0])
        self.weights: np.ndarray | None = None
        if weights is not None:
            self.weights = np.asarray(weights.cpu() if isinstance(weights, Tensor) else weights, dtype=np.float64)
            if self.weights.shape != (self.n_events,):
                shape = "×".join(map(str, self.weights.shape))
                raise DataError(f"weights of shape {shape} for {counted(self.n_events, 'event')}\n fix: give one weight per event")

    def chunks(self) -> Iterator[Chunk]:
        """Momenta and weights of some events at a time."""
        with Progress(f"writing {self.title}", self.n_events, show=self.progress) as bar:
            for start in range(0, self.n_events, CHUNK):
                part = slice(start, start + CHUNK)
                yield [p[part].cpu().numpy() for p in self.p4], None if self.weights is None else self.weights[part]
                bar.advance(min(CHUNK, self.n_events - start))

    def columns(self) -> list[str]:
        """Names of all columns of numbers."""
        stems = written_stems(self.labels)
        names = [f"{stems[label]}_{component}" for label in self.labels for component in COMPONENTS]
        return names if self.weights is None else [*names, WEIGHT]

    def tables(self) -> Iterator[dict[str, np.ndarray]]:
        """Column → numbers, for some events at a time."""
        names = self.columns()
        for p4, weights in self.chunks():
            values = [np.ascontiguousarray(p[:, i]) for p in p4 for i in range(4)]
            yield dict(zip(names, values if weights is None else [*values, weights], strict=True))


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
    if sample.weights is not None:
        arrays.append((WEIGHT, sample.weights))
    with ZipFile(path, "w") as file, Progress(f"writing {sample.title}", len(arrays), show=sample.progress) as bar:
        for name, values in arrays:
            array = values.cpu().numpy() if isinstance(values, Tensor) else values
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
            bar.advance(1)
        file.comment = sample.made_by.encode()


def _write_text(path: Path, sample: _Sample) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for p4, _ in sample.chunks():
            np.savetxt(file, np.stack(p4, axis=1).reshape(-1, 4), fmt=DIGITS)


def _write_weights(path: Path, sample: _Sample) -> None:
    if path.suffix.lower() not in (".txt", ".dat"):
        raise DataError(f"cannot write weights with suffix {path.suffix!r}\n fix: use .txt or .dat")
    assert sample.weights is not None
    np.savetxt(path, sample.weights, fmt=DIGITS)


_WRITERS: dict[str, Callable[[Path, _Sample], None]] = {
    ".root": _write_root,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
    ".txt": _write_text,
    ".dat": _write_text,
}
