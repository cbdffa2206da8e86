"""Files that a living process holds.

The lock is that of the kernel (``flock``), which lets go of it when the process ends, however it ends; a file that nobody holds was left
behind. Over NFS locks count between machines too, unless it is mounted with ``nolock`` or ``local_lock``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path

from ctpwa.base.errors import CtpwaError

LOCK = ".ctpwa-lock"  # how names of locks end
NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}  # what file systems say that have none


class HeldFile:
    """A file of this process alone; made by ``hold``.

    Attributes:
        path:    where it is
        locked:  whether others can see that it is held; some file systems have no locks
    """

    def __init__(self, path: Path, descriptor: int, locked: bool) -> None:
        self.path, self.locked = path, locked
        self._descriptor = descriptor

    def note(self, text: str) -> None:
        """Write into it who holds it."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(), 0)

    def close(self, remove: bool = False) -> None:
        """Let go of it.

        Args:
            remove:  the file as well
        """
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


def hold(path: Path) -> HeldFile | None:
    """Hold a file, which is made if it does not exist; None if another process, or this one, already holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        locked = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(descriptor)
                raise
            locked = False
        if _is_at(descriptor, path):
            return HeldFile(path, descriptor, locked)
        os.close(descriptor)  # it was removed by the one who held it, just before


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def remove_if_left_behind(path: Path) -> None:
    """Remove a file that ``hold`` has made if nobody holds it any more; it stays where locks do not tell."""
    held = hold(path)
    if held is not None:
        held.close(remove=held.locked)


def made_here(path: Path) -> bool:
    """Whether a lock is that of a process of this machine."""
    return f" on {socket.gethostname()}, " in path.read_text(encoding="utf-8", errors="replace")


class OutputLock:
    """While this lasts no other fit can have the same output.

    Args:
        goal:    what will be written
        option:  of the command line that names another one
    """

    def __init__(self, goal: Path, option: str = "--out") -> None:
        self._goal, self._option = goal, option
        self._path = goal.with_name(f".{goal.name}{LOCK}")
        self._held: HeldFile | None = None

    @property
    def locked(self) -> bool:
        """Whether the file system keeps others away."""
        return self._held is not None and self._held.locked

    def acquire(self) -> None:
        """Take it, or say who has it."""
        try:
            self._held = hold(self._path)
            if self._held is not None:
                self._held.note(f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        except OSError as error:
            self.release()
            raise CtpwaError(
                f"cannot write {str(self._goal)!r}: {error.strerror or error}\n"
                f" fix: check permissions and free space, or name another file with {self._option}"
            ) from None
        if self._held is None:
            raise CtpwaError(
                f"another fit is writing {str(self._goal)!r}: {self._holder()}\n"
                f" fix: wait until it has ended, or name another file with {self._option}"
            )

    def release(self) -> None:
        """Others may have it."""
        if self._held is not None:
            self._held.close(remove=True)
            self._held = None

    def _holder(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8", errors="replace") or "it has just begun"
        except OSError:
            return "it does not say who it is"
