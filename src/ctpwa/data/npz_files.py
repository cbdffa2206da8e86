"""Events in npz files: one array per particle, or one per component; read in pieces, never as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import ZipFile

import numpy as np

from ctpwa.data.columns import Column, EventFile, Kind, reading
from ctpwa.errors import DataError


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype


class NpzFile(EventFile):
    """The arrays of an npz file.

    Args:
        path:  the file
    """

    word = "array"

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)
        with reading(path, "an npz file"):
            self._zip = ZipFile(path)
        try:
            with reading(path, "an npz file"):
                self._headers = {name.removesuffix(".npy"): self._header(name) for name in self._zip.namelist()}
        except BaseException:
            self.close()
            raise
        self.columns = tuple(_column(name, header) for name, header in self._headers.items())

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """See ``EventFile``."""
        with ExitStack() as stack:
            with reading(self.path, "an npz file"):
                pieces = {name: self._pieces(stack.enter_context(self._zip.open(f"{name}.npy")), name, size, first, last) for name in names}
            while True:
                with reading(self.path, "an npz file"):
                    chunk = {name: piece for name, piece in ((name, next(pieces[name], None)) for name in names) if piece is not None}
                if len(chunk) < len(pieces):
                    return
                yield chunk

    def _header(self, name: str) -> _Header:
        with self._zip.open(name) as file:
            return _read_header(file)

    def _pieces(self, file: IO[bytes], name: str, size: int, first: int, last: int | None) -> Iterator[np.ndarray]:
        header = _read_header(file)
        rows, stop = header.shape[0], header.shape[0] if last is None else last
        if header.fortran and len(header.shape) > 1:
            whole = _read(file, header.dtype, rows * int(np.prod(header.shape[1:])), name).reshape(header.shape, order="F")
            yield from (whole[start : min(start + size, stop)] for start in range(first, stop, size))
            return
        per_row = int(np.prod(header.shape[1:]))
        if first:
            file.seek(first * per_row * header.dtype.itemsize, os.SEEK_CUR)
        for start in range(first, stop, size):
            n = min(size, stop - start)
            yield _read(file, header.dtype, n * per_row, name).reshape(n, *header.shape[1:])


def _read_header(file: IO[bytes]) -> _Header:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return _Header(*read(file))


def _read(file: IO[bytes], dtype: np.dtype, count: int, name: str) -> np.ndarray:
    content = file.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise DataError(f"array {name!r} is shorter than its header says\n fix: the file is damaged; write it again")
    return np.frombuffer(content, dtype)


def _column(name: str, header: _Header) -> Column:
    shape = "×".join(map(str, header.shape)) or "a single number"
    kind = Kind.OTHER
    if header.dtype.kind in "iuf" and len(header.shape) in (1, 2):
        kind = Kind.NUMBER if len(header.shape) == 1 else (Kind.FOUR if header.shape[1] == 4 else Kind.OTHER)
    return Column(name, kind, header.shape[0] if header.shape else 1, f"{header.dtype}, {shape}")
