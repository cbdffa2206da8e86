"""Weights and event columns from files of their own: one number for each event."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.checks import check_weights
from ctpwa.data.columns import ColumnKind, as_doubles, reading, sha256_of
from ctpwa.data.naming import WEIGHTS
from ctpwa.data.npy import read_header, read_numbers
from ctpwa.data.npz_files import NpzFile
from ctpwa.data.regular import check_regular, refuse_repeated
from ctpwa.data.summary import FileRecord
from ctpwa.data.text_files import count_lines, read_column

SUFFIXES = (".txt", ".dat", ".npy", ".npz")


def read_number_files(paths: Sequence[Path], n_events: int, column: str | None = None) -> tuple[np.ndarray | None, tuple[FileRecord, ...]]:
    """Numbers from one or several files, one after the other; None if there is no file.

    Args:
        paths:     text files with one number per line, .npy, or .npz with one array or an array ``weight``
        n_events:  how many numbers there must be in all
        column:    the event column that they are; None: weights
    """
    if not paths:
        return None, ()
    what = "weight" if column is None else "number"
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            raise DataError(
                f"cannot read {what}s from {str(path)!r}: unknown suffix {path.suffix!r}\n fix: use one of {', '.join(SUFFIXES)}"
            )
    refuse_repeated(paths, [check_regular(path, SUFFIXES) for path in paths])
    parts: list[np.ndarray] = []
    for path in paths:
        parts.append(_read(path, n_events - sum(map(len, parts)), what, column))
    numbers = np.concatenate(parts)
    if len(numbers) != n_events:
        names = " + ".join(str(path) for path in paths)
        raise DataError(
            f"{names}: {counted(len(numbers), what)} for {counted(n_events, 'event')}\n fix: give one {what} per event, in the same order"
        )
    for path, part in zip(paths, parts, strict=True):
        if column is None:
            check_weights(torch.from_numpy(part), str(path))
    return numbers, tuple(FileRecord(str(path), len(part), sha256_of(path)) for path, part in zip(paths, parts, strict=True))


def _read(path: Path, wanted: int, what: str, column: str | None) -> np.ndarray:
    """All numbers of a file, which should have no more than are wanted."""
    suffix = path.suffix.lower()
    if suffix in (".txt", ".dat"):
        _check_number(path, count_lines(path), wanted, what)
        return read_column(path)
    return _read_npy(path, wanted, what) if suffix == ".npy" else _read_npz(path, wanted, what, column)


def _read_npy(path: Path, wanted: int, what: str) -> np.ndarray:
    with reading(path, "an npy file"), open(path, "rb") as file:
        header = read_header(file)
        if not header.has_one_per_row:
            raise DataError(f"{path}: {what}s of type {header}\n fix: give one real number per event")
        header.check_size(path.stat().st_size, str(path))
        _check_number(path, header.shape[0], wanted, what)
        return as_doubles(read_numbers(file, header.dtype, header.shape[0], str(path)))


def _read_npz(path: Path, wanted: int, what: str, column: str | None) -> np.ndarray:
    with NpzFile(path) as file:
        found = [own for own in file.columns if (own.name.casefold() in WEIGHTS if column is None else own.name == column)]
        if not found:
            found = [own for own in file.columns if own.kind is ColumnKind.NUMBER]
        if len(found) != 1 or found[0].kind is not ColumnKind.NUMBER:
            listed = ", ".join(f"{own.name} ({own.detail})" for own in file.columns[:10]) or "nothing"
            name = "weight" if column is None else column
            raise DataError(f"{path}: which array holds the {what}s? It has {listed}\n fix: call it {name!r}, with one number per event")
        name, n_events = found[0].name, found[0].n_events
        file.check([name])
        _check_number(path, n_events, wanted, what)
        return as_doubles(np.concatenate([np.empty(0), *(chunk[name] for chunk in file.chunks([name], max(n_events, 1)))]))


def _check_number(path: Path, found: int, wanted: int, what: str) -> None:
    """Refuse a file with too many numbers before they are read."""
    if found > wanted:
        raise DataError(f"{path}: {found} {what}s for {wanted} events\n fix: give one {what} per event, in the same order")
