"""Files that are written whole or not at all, and that replace only earlier files of their kind."""

from __future__ import annotations

import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from ctpwa.base.errors import CtpwaError
from ctpwa.base.locks import LOCK, hold, made_here, remove_if_left_behind
from ctpwa.base.timing import phase

TEMPORARY = re.compile(r"\..*\.ctpwa-(?P<host>[0-9a-f]{8})-[0-9a-f]{8}(\.[^.]*)?")
LONG_AGO = 86400.0  # seconds after which files of another machine are nobody's


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file next to ``path`` that takes its place when the block ends without an error.

    After an error or an interruption the temporary file is removed, and what was at ``path`` before is still there. Temporary files of
    processes that were killed are removed here as well.

    Args:
        path:  the file to write; its folder must exist

    Yields:
        the file to write to, with the same suffix
    """
    goal = Path(path)
    if not goal.parent.is_dir():
        raise CtpwaError(f"cannot write {str(goal)!r}: there is no folder {str(goal.parent)!r}\n fix: make the folder, or correct the path")
    if goal.is_dir():
        raise CtpwaError(f"cannot write {str(goal)!r}: it is a folder\n fix: add the name of a file")
    remove_left_behind(goal.parent)
    held = None
    try:
        while held is None:
            held = hold(goal.parent / f".{goal.stem[:100]}.ctpwa-{_this_host()}-{secrets.token_hex(4)}{goal.suffix}")
        with phase("write"):
            yield held.path
            with open(held.path, "rb") as file:  # on disk before it replaces anything
                os.fsync(file.fileno())
            os.replace(held.path, goal)
    except OSError as error:
        raise CtpwaError(f"cannot write {str(goal)!r}: {error.strerror or error}\n fix: check permissions and free space") from error
    finally:
        if held is not None:
            with suppress(OSError):
                held.close(remove=True)


def remove_left_behind(folder: Path) -> None:
    """Remove hidden files that ctpwa made in a folder and that no process holds any more: whoever made them was killed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") and ".ctpwa-" in entry.name and entry.is_file(follow_symlinks=False):
                _remove_if_left_behind(Path(entry.path))


def _remove_if_left_behind(path: Path) -> None:
    temporary, lock = TEMPORARY.fullmatch(path.name), path.name.endswith(LOCK)
    if not temporary and not lock:
        return
    with suppress(OSError):
        # locks that a process of another machine holds may not be seen here
        near = temporary["host"] == _this_host() if temporary else made_here(path)
        if near or time.time() - path.stat().st_mtime > LONG_AGO:
            remove_if_left_behind(path)


def _this_host() -> str:
    return f"{crc32(socket.gethostname().encode()):08x}"


@dataclass(frozen=True)
class OutputKind:
    """A kind of file that a command writes.

    Attributes:
        name:     in words, such as ``a result of ctpwa fit``
        is_one:   whether a file is one of them; may raise whatever a file of another kind makes it raise
        option:   of the command line that names another file or folder
        advice:   what else to do about an existing file, for a message; may be empty
    """

    name: str
    is_one: Callable[[Path], bool]
    option: str = "--out"
    advice: str = ""

    def recognises(self, path: Path) -> bool:
        """Whether a file is of this kind."""
        try:
            return path.is_file() and self.is_one(path)
        except Exception:  # not even readable as one
            return False


def check_output(path: Path, kind: OutputKind, inputs: Iterable[str | os.PathLike[str]], force: bool) -> None:
    """Refuse to write a file where it would do harm, before anything takes time.

    No input is ever overwritten, and ``force`` replaces only a file of the same kind.

    Args:
        path:    the file to write
        kind:    what it will be
        inputs:  files that the command reads
        force:   whether an existing file may be replaced
    """
    _check_place(path)
    check_inputs(path, inputs, kind.option)
    if not os.path.lexists(path):
        return
    other = f"name another file with {kind.option}"
    if path.is_dir():
        raise CtpwaError(f"cannot write {str(path)!r}: it is a folder\n fix: {other}")
    if not kind.recognises(path):
        raise CtpwaError(f"{str(path)!r} already exists, and is not {kind.name}\n fix: {other}; ctpwa replaces only its own files")
    if not force:
        raise CtpwaError(f"{str(path)!r} already exists\n fix: {kind.advice or 'add --force to overwrite it'}, or {other}")


def check_inputs(path: Path, inputs: Iterable[str | os.PathLike[str]], option: str = "--out") -> None:
    """Refuse to overwrite what a command reads, under any name."""
    for file in inputs:
        if _same_file(path, file):
            raise CtpwaError(f"{str(path)!r} is an input of this command, and would be overwritten\n fix: name another file with {option}")


def check_no_folder(path: Path, what: str) -> None:
    """Refuse a folder in the place of a file that is read; other files are next to it.

    Args:
        path:  what was given
        what:  it should be, such as ``a file that ctpwa fit wrote``
    """
    if path.is_dir():
        raise CtpwaError(f"cannot read {str(path)!r}: it is a folder\n fix: give {what}")


def check_folder(folder: Path, kinds: Mapping[str, OutputKind], force: bool) -> None:
    """Refuse to write into a folder where that would do harm, before anything takes time.

    With ``force`` files in it are replaced, if all those with suffixes that are going to be written are of their kind.

    Args:
        folder:  where to write; need not exist
        kinds:   suffix → what will be written
        force:   whether it may have files in it
    """
    option = next(iter(kinds.values())).option
    other = f"name another folder with {option}"
    if folder.exists() and not folder.is_dir():
        raise CtpwaError(f"cannot write into {str(folder)!r}: it is a file\n fix: {other}")
    if not folder.is_dir():
        _check_place(folder)
        return
    for file in sorted(folder.iterdir()):
        if not force:
            raise CtpwaError(f"{str(folder)!r} already exists and is not empty\n fix: add --force to overwrite files in it, or {other}")
        kind = kinds.get(file.suffix)
        if kind is not None and not kind.recognises(file):
            raise CtpwaError(
                f"{str(file)!r} is not {kind.name}, and might be overwritten\n fix: {other}; ctpwa replaces only its own files"
            )
    if not os.access(folder, os.W_OK):
        raise CtpwaError(f"cannot write into {str(folder)!r}\n fix: check permissions, or {other}")


def _check_place(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise CtpwaError(f"cannot write {str(path)!r}: there is no folder {str(folder)!r}\n fix: make the folder, or correct the path")
    if not os.access(folder, os.W_OK):
        raise CtpwaError(f"cannot write {str(path)!r}: the folder cannot be written\n fix: check permissions, or name another one")


def _same_file(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to the same file, through links of any kind; even if it does not exist yet."""
    try:
        return os.path.samefile(a, b)
    except OSError:
        return os.path.realpath(a) == os.path.realpath(b)


def write_texts(folder: str | os.PathLike[str], texts: Mapping[str, str]) -> list[Path]:
    """Write several text files into a folder, each whole or not at all; the folder is made if it does not exist.

    Args:
        folder:  its parent must exist
        texts:   name of a file → its content
    """
    goal = Path(folder)
    if goal.exists() and not goal.is_dir():
        raise CtpwaError(f"cannot write into {str(goal)!r}: it is a file\n fix: name a folder")
    try:
        goal.mkdir(exist_ok=True)
    except OSError as error:
        fix = "make the folder above it, or correct the path" if not goal.parent.is_dir() else "check permissions"
        raise CtpwaError(f"cannot make the folder {str(goal)!r}: {error.strerror}\n fix: {fix}") from error
    for name, text in texts.items():
        with written_whole(goal / name) as file:
            file.write_text(text, encoding="utf-8", errors="backslashreplace")  # a name need not be UTF-8
    return [goal / name for name in texts]
