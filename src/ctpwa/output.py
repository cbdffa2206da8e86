"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ctpwa.errors import CtpwaError


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends without an error.

    After an error or an interruption the temporary file is removed, and what was at ``path`` before is still there.

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
    temporary = goal.parent / f".{goal.stem}-{secrets.token_hex(4)}{goal.suffix}"
    try:
        yield temporary
        with open(temporary, "rb") as file:  # on disk before it replaces anything
            os.fsync(file.fileno())
        os.replace(temporary, goal)
    except OSError as error:
        raise CtpwaError(f"cannot write {str(goal)!r}: {error.strerror or error}\n fix: check permissions and free space") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_texts(folder: str | os.PathLike[str], texts: Mapping[str, str]) -> list[Path]:
    """Write several text files into a folder, each whole or not at all; the folder is made if it is not there.

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
