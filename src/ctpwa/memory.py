"""How much memory there is, and sizes as people write them."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import torch

from ctpwa.errors import DataError

UNITS = {"B": 1, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
UNITS |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
CGROUPS = Path("/sys/fs/cgroup")


def available_bytes(device: torch.device) -> int | None:
    """Bytes that can still be allocated on a device; None if the system does not tell."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + cached
    known = [free for free in (_free_of_system(), _free_of_group()) if free is not None]
    return min(known, default=None)


def _free_of_system() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _free_of_group() -> int | None:
    """What a batch system or a container leaves to this process (control groups, version 2); None if it has no limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    own = next((line[3:] for line in lines if line.startswith("0::")), None)
    found = []
    group = None if own is None else CGROUPS / own.lstrip("/")
    while group is not None and group != CGROUPS.parent:
        found.append(_free_of(group))
        group = group.parent
    return min((free for free in found if free is not None), default=None)


def _free_of(group: Path) -> int | None:
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit == "max":
            return None
        used = int((group / "memory.current").read_text(encoding="ascii"))
        about = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        return max(int(limit) - used + int(about.get("inactive_file", 0)), 0)  # pages of files are given up when memory is short
    except (OSError, ValueError):
        return None


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
