"""Folders for code that is kept and run later: nobody but the user may be able to put code there."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from ctpwa.base.errors import CtpwaError

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40


def make_private(folder: Path, variable: str) -> None:
    """Make a folder that only its owner can use, or check the existing one.

    Args:
        folder:    its path, absolute
        variable:  environment variable that names another one, for messages

    Raises:
        CtpwaError:  somebody else can write there, or put another folder in its place
        OSError:     there can be no such folder, or it cannot be written
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not os.path.lexists(path)]):
        missing.mkdir(mode=0o700, exist_ok=True)
    *way, (end, about) = _way_to(folder)
    found = next((reason for path, on_the_way in way if (reason := _open_to_others(path, on_the_way))), None)
    found = found or _foreign(end, about) or (f"others can write into {end!r}" if about.st_mode & OTHERS_WRITE else None)
    if found is not None:
        raise CtpwaError(
            f"{str(folder)!r} is no place for code that is kept and run later: {found}\n"
            f" fix: set {variable} to a folder that only you can write, or remove this one, and take write permission from others"
        )
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), end)
    if not os.access(end, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), end)


def is_own_file(about: os.stat_result) -> bool:
    """Whether something is a plain file that only this user can have written."""
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & OTHERS_WRITE


def _way_to(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every folder and link on the path to a folder, from the root on, and what it is; links are followed."""
    at, left, links = "/", list(folder.parts[1:]), 0
    yield at, os.lstat(at)
    while left:
        name = left.pop(0)
        if name == "..":
            at = os.path.dirname(at)
            continue
        path = os.path.join(at, name)
        about = os.lstat(path)
        yield path, about
        if stat.S_ISLNK(about.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
            target = os.readlink(path)
            left = [part for part in target.split("/") if part not in ("", ".")] + left
            at = "/" if target.startswith("/") else at
        else:
            at = path


def _open_to_others(path: str, about: os.stat_result) -> str | None:
    """Why somebody else can put something in the place of what lies in a folder, or of what a link leads to; None if nobody can."""
    mode = about.st_mode
    if stat.S_ISLNK(mode) or mode & stat.S_ISVTX:  # in a folder such as /tmp only the owner can move what is there
        return _foreign(path, about)
    writers = mode & OTHERS_WRITE
    if writers & stat.S_IWOTH or (writers and not _is_group_of_one(about.st_gid)):
        return f"others can write into {path!r}"
    return _foreign(path, about)


def _foreign(path: str, about: os.stat_result) -> str | None:
    """Whose it is, unless it belongs to this user or to whoever administers the system."""
    if about.st_uid in (os.geteuid(), 0, os.lstat("/").st_uid):
        return None
    return f"{path!r} belongs to another user (number {about.st_uid})"


def _is_group_of_one(number: int) -> bool:
    """Whether a group has this user alone, as many systems give one to everybody."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
