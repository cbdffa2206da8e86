"""Which files may be opened at all: regular ones, each of them once."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from ctpwa.base.errors import DataError, suggest

OTHER_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

Identity = tuple[int, int]  # what all names of a file, links included, have in common


def check_regular(path: Path, suffixes: Sequence[str]) -> Identity:
    """Refuse what is not a file before it is opened: opening a pipe waits for a writer.

    Args:
        path:      the file
        suffixes:  of files that could have been meant, for advice
    """
    try:
        about = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"there is no file {str(path)!r}\n fix: {_advice(path, suffixes)}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}\n fix: check the path") from None
    if stat.S_ISDIR(about.st_mode):
        fix = f"it is a folder; name the files in it, such as folder/*{suffixes[0]}"
        raise DataError(f"there is no file {str(path)!r}\n fix: {fix}")
    if not stat.S_ISREG(about.st_mode):
        what = next((words for test, words in OTHER_KINDS if test(about.st_mode)), "something else")
        raise DataError(f"{str(path)!r} is {what}, not a file\n fix: write the events to a file and name that; it is read more than once")
    return about.st_dev, about.st_ino


def refuse_repeated(paths: Sequence[Path], identities: Sequence[Identity]) -> None:
    """Refuse a file that is named twice, even through a link: everything in it would count twice."""
    first: dict[Identity, Path] = {}
    for path, identity in zip(paths, identities, strict=True):
        if identity in first:
            other = first[identity]
            what = f"{str(path)!r} is named twice" if path == other else f"{str(other)!r} and {str(path)!r} are the same file"
            raise DataError(f"{what}, so its content would count twice\n fix: name it once")
        first[identity] = path


def _advice(path: Path, suffixes: Sequence[str]) -> str:
    if path.is_symlink():
        return f"it is a link to {os.readlink(path)!r}, which is not there"
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r} either"
    names = [entry.name for entry in path.parent.iterdir() if entry.suffix.lower() in suffixes]
    return suggest(path.name, names) or f"check the path; the folder is {str(path.parent.resolve())!r}"
