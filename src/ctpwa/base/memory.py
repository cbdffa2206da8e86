"""How much memory there is, and sizes as people write them."""

from __future__ import annotations

import ctypes
import math
import os
import re
import resource
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

from ctpwa.base.errors import DataError

UNITS = {"B": 1, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
UNITS |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
M_TRIM_THRESHOLD = -1  # of mallopt(3): so much at the end of a thread's memory is given back as soon as it is free
M_MMAP_THRESHOLD = -3  # blocks from this size on are asked of the system, and given back, one by one
SMALL_BLOCK = 100_000  # bytes; glibc never asks the system for one
LARGEST_HEAP_BLOCK = 32 << 20  # bytes; for a larger one it always does. Twice as much is the threshold that it finds for itself
NO_LIMIT = 1 << 60  # version 1 of control groups writes a number beyond it


def available_bytes(device: torch.device, *, proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Bytes that can still be allocated on a device; None if the system does not tell.

    Args:
        device:  where
        proc:    where the system tells about itself and this process
        groups:  where it tells about control groups
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + cached
    told = (_free_of_system(proc), *_free_of_groups(proc, groups), *_free_of_limits(proc))
    return min((free for free in told if free is not None), default=None)


def keep_freed() -> None:
    """Let glibc keep up to 64 MB of what each thread frees until ``give_back_freed``: whoever soon takes as much again gets it at once.

    By itself it does so only after it has seen large blocks freed; until then every chunk of some work waits for pages of the system.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_HEAP_BLOCK)
        libc.mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_HEAP_BLOCK)


def give_back_freed(threads: int = 0) -> None:
    """Give freed memory back to the system, as far as glibc manages it.

    Args:
        threads:  that have worked and ended: up to 64 MB of what each has freed stay with glibc, for threads to come
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):
        return
    libc.malloc_trim(0)
    if threads:
        libc.mallopt(M_TRIM_THRESHOLD, SMALL_BLOCK)
        _free_a_block_in_each(threads)
        libc.mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_HEAP_BLOCK)


def _free_a_block_in_each(threads: int) -> None:
    """As many threads at once inherit what ended ones have left behind; whoever frees a block gives back what is free behind it.

    ``malloc_trim`` gives back what is free between blocks, but not the end of memory that belongs to threads.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    all_have_one = threading.Barrier(threads)

    def allocate_and_free() -> None:
        block = libc.malloc(SMALL_BLOCK)
        with suppress(threading.BrokenBarrierError):
            all_have_one.wait()
        libc.free(block)

    workers = [threading.Thread(target=allocate_and_free) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
    except RuntimeError:  # so many threads are not allowed any more: those that there are do what they can
        all_have_one.abort()
    for worker in workers:
        if worker.ident is not None:
            worker.join()


def _free_of_system(proc: Path) -> int | None:
    try:
        with open(proc / "meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _free_of_groups(proc: Path, groups: Path) -> Iterator[int | None]:
    """What a batch system or a container leaves to this process: its control groups, of both versions, and all groups above them."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, own = line.split(":", 2)
        if not controllers:
            names = "memory.max", "memory.current", "inactive_file"
            yield from (_free_of(group, *names) for group in _and_above(groups, own))
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from (_free_of(group, *names) for group in _and_above(groups / "memory", own))


def _and_above(root: Path, own: str) -> Iterator[Path]:
    """The folder of a group and those of all above it; in a container its own is often not there, and the root tells its limit."""
    parts = [part for part in own.split("/") if part not in ("", "..")]
    for n in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:n])


def _free_of(group: Path, limit_file: str, used_file: str, files: str) -> int | None:
    try:
        limit = (group / limit_file).read_text(encoding="ascii").strip()
        if limit == "max" or int(limit) >= NO_LIMIT:
            return None
        used = int((group / used_file).read_text(encoding="ascii"))
        about = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        return max(int(limit) - used + int(about.get(files, 0)), 0)  # pages of files are given up when memory is short
    except (OSError, ValueError):
        return None


def _free_of_limits(proc: Path = PROC) -> Iterator[int]:
    """What the limits of this process leave (``ulimit -v``, ``ulimit -d``)."""
    try:
        about = dict(line.split(":", 1) for line in (proc / "self" / "status").read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return
    for kind, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY and used in about:
            yield max(limit - int(about[used].split()[0]) * 1024, 0)


def processes_here() -> int:
    """How many processes of this fit share the memory of this machine; torchrun says it."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return max(int(text[:10]), 1) if text.isdecimal() else 1


def format_bytes(number: float) -> str:
    """``1.5 GB`` and the like, powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def parse_bytes(size: float | str, what: str) -> int:
    """A number of bytes from a number, or from a text such as ``2 GB`` (10⁹ bytes) or ``2 GiB`` (2³⁰ bytes).

    Args:
        size:  the number or text
        what:  its name, for messages
    """
    number, unit = (size, "B") if isinstance(size, (int, float)) and not isinstance(size, bool) else _split(str(size))
    value = float(number) * UNITS[unit] if unit in UNITS else math.nan
    if not (math.isfinite(value) and value >= 1):
        raise DataError(f"{what} is {size!r}\n fix: give a number of bytes, or a size such as '4 GB'")
    return int(value)


def _split(text: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE]\+?[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    return (math.nan, "") if match is None else (float(match[1]), match[2] or "B")
