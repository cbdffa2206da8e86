"""Generated and compiled code on disk: private, whole or absent, of bounded size, safe with several processes.

A module ``NAME`` is kept as ``NAME.py`` and ``NAME.*.bin``. What is damaged, or not written by this user, counts as absent.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from ctpwa.engine.codegen.private_folder import is_own_file, make_private

MOST_BYTES = 500 * 1000**2  # of all files; modules that were used longest ago are removed beyond
NOT_KEPT = (
    "compiled kernels are not kept, and every process compiles them again: {reason}\n"
    " fix: set CTPWA_CACHE to a folder that only you can write, with room in it"
)


def cache_folder() -> Path:
    """Where code is kept: in ``$CTPWA_CACHE``, else in the user's cache folder."""
    given = os.environ.get("CTPWA_CACHE")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ctpwa"
    return Path(os.path.abspath(base)) / "kernels"


def usable_folder() -> Path | None:
    """The same folder, which now exists; None, with a warning, if it cannot."""
    try:
        folder = cache_folder()
        make_private(folder, "CTPWA_CACHE")
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home
        _warn(error)
        return None
    return folder


def read_kept(path: Path) -> bytes | None:
    """The content of a file that this user has written; None if there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(file, "rb", closefd=False) as content:
            return content.read() if is_own_file(os.fstat(file)) else None
    except OSError:
        return None
    finally:
        os.close(file)


def keep(path: Path, content: bytes, most_bytes: int = MOST_BYTES) -> None:
    """Keep a file if that is possible, and remove old ones if there are too many."""
    try:
        _write_whole(path, content)
        remove_oldest(path.parent, most_bytes)
    except OSError as error:
        _warn(error)


def mark_used(path: Path) -> None:
    """Modules that were used lately are kept longest."""
    with suppress(OSError):
        os.utime(path)


def remove_oldest(folder: Path, most_bytes: int = MOST_BYTES) -> None:
    """Remove modules, each with its machine code, until the rest takes at most ``most_bytes``; the one used last stays."""
    sizes: dict[str, int] = {}
    used: dict[str, int] = {}
    files: dict[str, list[str]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another process is quicker
                about = entry.stat(follow_symlinks=False)
                name = entry.name.partition(".")[0]
                sizes[name] = sizes.get(name, 0) + about.st_size
                used[name] = max(used.get(name, 0), about.st_mtime_ns)
                files.setdefault(name, []).append(entry.path)
    total = sum(sizes.values())
    for name in sorted(used, key=used.__getitem__)[:-1]:
        if total <= most_bytes:
            return
        total -= sizes[name]
        for path in files[name]:
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(path)


def _write_whole(path: Path, content: bytes) -> None:
    """The file is there with all its content or not at all, whatever other processes do."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _warn(error: Exception) -> None:
    where = f" ({error.filename!r})" if isinstance(error, OSError) and error.filename else ""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    warnings.warn(NOT_KEPT.format(reason=f"{reason}{where}"), stacklevel=2)
