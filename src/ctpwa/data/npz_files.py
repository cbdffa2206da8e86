"""Events in npz files: one array per particle, or one per component; read in pieces, never as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import prod
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.data.columns import Column, ColumnKind, OpenFile, reading
from ctpwa.data.npy import Header, read_header, read_numbers

MAX_ARRAYS = 10_000
WRITTEN_BY_NUMPY = (ZIP_STORED, ZIP_DEFLATED)  # others unpack without a limit of memory


class NpzFile(OpenFile):
    """The arrays of an npz file.

    Args:
        path:  the file
    """

    word = "array"

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)
        with reading(path, "an npz file"):
            self._file = ZipFile(path)
        try:
            with reading(path, "an npz file"):
                self._check_members()
                self._members = {name.removesuffix(".npy"): name for name in self._file.namelist()}
                self._headers = {name: self._header(member) for name, member in self._members.items()}
                names = [name.removesuffix(".npy") for name in self._file.namelist()]  # one that is given twice stays so
                self.columns = tuple(_column(name, self._headers[name]) for name in names)
        except BaseException:
            self.close()
            raise

    def check(self, names: Sequence[str]) -> None:
        """See ``EventFile``."""
        for name in names:
            self._headers[name].check_size(self._file.getinfo(self._members[name]).file_size, f"{self.place}, array {name!r}")

    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """See ``EventFile``."""
        with ExitStack() as stack:
            with reading(self.path, "an npz file"):
                pieces = {name: self._pieces(stack, name, size, first, last) for name in names}
            while True:
                with reading(self.path, "an npz file"):
                    chunk = {name: piece for name, piece in ((name, next(pieces[name], None)) for name in names) if piece is not None}
                if len(chunk) < len(pieces):
                    return
                yield chunk

    def _check_members(self) -> None:
        members = self._file.infolist()
        if len(members) > MAX_ARRAYS:
            raise DataError(f"{self.place}: {len(members)} arrays\n fix: write only those of the events; at most {MAX_ARRAYS} are read")
        for member in members:
            if member.compress_type not in WRITTEN_BY_NUMPY:
                raise DataError(f"{self.place}: {member.filename!r} is not packed as numpy does it\n fix: write it with numpy.savez")

    def _header(self, member: str) -> Header:
        with self._file.open(member) as file:
            return read_header(file)

    def _pieces(self, stack: ExitStack, name: str, size: int, first: int, last: int | None) -> Iterator[np.ndarray]:
        """Rows of an array, some at a time. Where columns stand one after the other, each is read on its own."""
        header = self._headers[name]
        rows, inner = header.shape[0], header.shape[1:]
        stop, per_row = rows if last is None else last, prod(inner)
        columns = per_row if header.fortran else 1
        files = []
        for k in range(columns):
            files.append(stack.enter_context(self._file.open(self._members[name])))
            before = k * rows + first if header.fortran else first * per_row
            files[k].seek(
                header.length + before * header.dtype.itemsize
            )  # at once: zipfile loses its place when another one is opened first
        for start in range(first, stop, size):
            n = min(size, stop - start)
            parts = [read_numbers(file, header.dtype, n * per_row // columns, f"array {name!r}") for file in files]
            values = np.stack(parts, axis=1) if header.fortran else parts[0]
            yield values.reshape(n) if header.has_one_per_row else values.reshape(n, *inner)


def _column(name: str, header: Header) -> Column:
    kind = ColumnKind.OTHER
    if header.has_one_per_row:
        kind = ColumnKind.NUMBER
    elif header.is_real and len(header.shape) == 2 and header.shape[1] == 4:
        kind = ColumnKind.FOUR
    return Column(name, kind, header.shape[0] if header.shape else 1, str(header))
