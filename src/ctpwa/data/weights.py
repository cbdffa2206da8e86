"""Weights of events from a file of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from ctpwa.data.checks import check_weights
from ctpwa.data.columns import Kind, reading, sha256_of
from ctpwa.data.naming import WEIGHTS
from ctpwa.data.npz_files import NpzFile
from ctpwa.data.summary import FileRecord
from ctpwa.data.text_files import read_numbers
from ctpwa.errors import DataError
from ctpwa.words import counted

SUFFIXES = (".txt", ".dat", ".npy", ".npz")
WHOLE_FILE = 1 << 62  # rows


def read_weight_files(paths: Sequence[Path], n_events: int) -> tuple[np.ndarray | None, tuple[FileRecord, ...]]:
    """Weights from one or several files, one after the other; None if there is no file.

    Args:
        paths:     text files with one number per line, .npy, or .npz with one array or an array ``weight``
        n_events:  how many weights there must be in all
    """
    if not paths:
        return None, ()
    parts = [_read(path) for path in paths]
    weights = np.concatenate(parts)
    if len(weights) != n_events:
        names = " + ".join(str(path) for path in paths)
        raise DataError(
            f"{names}: {counted(len(weights), 'weight')} for {counted(n_events, 'event')}\n"
            " fix: give one weight per event, in the same order"
        )
    for path, part in zip(paths, parts, strict=True):
        check_weights(torch.from_numpy(part), str(path))
    return weights, tuple(FileRecord(str(path), len(part), sha256_of(path)) for path, part in zip(paths, parts, strict=True))


def _read(path: Path) -> np.ndarray:
    suffix = path.suffix.lower()
    if suffix in (".txt", ".dat"):
        return read_numbers(path)
    if suffix == ".npy":
        with reading(path, "an npy file"):
            return _flat(np.load(path, allow_pickle=False), path)
    if suffix == ".npz":
        return _read_npz(path)
    raise DataError(f"cannot read weights from {str(path)!r}: unknown suffix {suffix!r}\n fix: use one of {', '.join(SUFFIXES)}")


def _read_npz(path: Path) -> np.ndarray:
    with NpzFile(path) as file:
        names = file.of_kind(Kind.NUMBER)
        if len(names) > 1:
            names = [name for name in names if name.casefold() in WEIGHTS]
        if len(names) != 1:
            listed = ", ".join(f"{column.name} ({column.detail})" for column in file.columns) or "nothing"
            raise DataError(f"{path}: which array holds the weights? It has {listed}\n fix: call it 'weight', with one number per event")
        chunk = next(file.chunks(names, WHOLE_FILE), {names[0]: np.empty(0)})
        return chunk[names[0]].astype(np.float64)


def _flat(array: np.ndarray, path: Path) -> np.ndarray:
    if array.dtype.kind not in "iuf" or array.ndim == 0 or array.size != array.shape[0]:
        shape = "×".join(map(str, array.shape)) or "a single number"
        raise DataError(f"{path}: weights of type {array.dtype} and shape {shape}\n fix: give one real number per event")
    return array.reshape(-1).astype(np.float64)
