"""A file for the chunks of a sample that main memory does not hold; without a name, so that it is gone when its process ends, however."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import NoReturn

from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.memory import format_bytes

IN_MEMORY = ("tmpfs", "ramfs")
SPARE = 256 << 20  # bytes that must stay free on the disk


class ScratchFile:
    """Blocks of bytes on disk.

    Args:
        folder:  where; it must exist
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        try:
            with tempfile.TemporaryFile(dir=folder, prefix="ctpwa-") as file:
                self._file = os.dup(file.fileno())
        except OSError as error:
            raise DataError(f"cannot write into the scratch folder {folder!r}: {error.strerror}\n fix: choose another: scratch") from error
        self._end = 0
        self.close = weakref.finalize(self, os.close, self._file)  # removes the file, at the latest when nobody needs it any more

    def __reduce__(self) -> NoReturn:
        raise DataError(
            f"samples on disk, in {self.folder!r}, cannot be sent to another process\n"
            " fix: build the likelihood there, or allow more main memory: host_memory"
        )

    def append(self, block: Tensor) -> int:
        """Write a block of bytes in main memory; where it begins in the file."""
        start, view = self._end, memoryview(block.numpy().data)
        try:
            while view:
                view = view[os.pwrite(self._file, view, self._end) :]
                self._end = start + len(block) - len(view)
        except OSError as error:
            raise DataError(
                f"cannot write into the scratch folder {self.folder!r}: {error.strerror}\n"
                " fix: make room there, choose another folder: scratch, or allow more main memory: host_memory"
            ) from error
        return start

    def read(self, start: int, block: Tensor) -> None:
        """Fill a block of main memory with what begins at ``start``."""
        view = memoryview(block.numpy().data)
        try:
            while view:
                n = os.preadv(self._file, [view], start)
                if n == 0:
                    raise DataError(f"a scratch file in {self.folder!r} is shorter than it was\n fix: leave it alone while a fit runs")
                start, view = start + n, view[n:]
        except OSError as error:
            raise DataError(f"cannot read a scratch file in {self.folder!r}: {error.strerror}\n fix: check the disk") from error


def scratch_folder(folder: str | os.PathLike[str] | None) -> str:
    """The folder for scratch files: the given one, or that of the system for temporary files."""
    return tempfile.gettempdir() if folder is None else os.fspath(folder)


def check_scratch(folder: str, needed: int) -> None:
    """Refuse a folder without room for this many bytes, before anything is written."""
    if not os.path.isdir(folder):
        raise DataError(f"there is no scratch folder {folder!r}\n fix: make it, or choose another: scratch")
    if (kind := _file_system(folder)) in IN_MEMORY:
        raise DataError(
            f"the scratch folder {folder!r} is in main memory ({kind}), which cannot hold the samples\n"
            " fix: choose a folder on a disk: scratch"
        )
    free = shutil.disk_usage(folder).free
    if needed + SPARE > free:
        raise DataError(
            f"{format_bytes(needed)} of prepared events do not fit into main memory, and the scratch folder {folder!r} has only"
            f" {format_bytes(free)} left\n fix: make room there, choose another folder: scratch, allow more main memory: host_memory,"
            " or share the events among several processes"
        )


def _file_system(folder: str) -> str:
    """Kind of the file system that holds a folder; empty if the system does not tell."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    path = os.path.realpath(folder)
    mounts = [(fields[1], fields[2]) for fields in map(str.split, lines) if len(fields) > 2]
    holding = [(place, kind) for place, kind in mounts if path == place or path.startswith(place.rstrip("/") + "/")]
    return max(holding, key=lambda mount: len(mount[0]), default=("", ""))[1]
