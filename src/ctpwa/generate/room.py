"""Whether this many events can be made at all, checked before any of them is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from ctpwa.base.errors import GenerationError
from ctpwa.base.memory import available_bytes, format_bytes

MOMENTUM_BYTES = 32  # E, px, py, pz in double precision
TEXT_BYTES = 100  # of a line that holds them
COPIES = 2  # momenta as they are made, and put together
MAX_SEED = 2**64 - 1  # what the random numbers of torch take


def check_count(n: Any, seed: Any, n_particles: int, device: torch.device, share: int = 1, name: str = "") -> int:
    """How many events to make; refuses what is not a number of events, and more than fit into memory.

    Args:
        n:            number of events
        seed:         seed of the random numbers
        n_particles:  final particles of each
        device:       where they are made
        share:        processes that share them
        name:         of the sample, for messages
    """
    place = f"{name}: " if name else ""
    if isinstance(n, bool) or not hasattr(n, "__index__") or n < 0:
        raise GenerationError(f"{place}cannot generate {n!r} events\n fix: give a whole number, at least 0")
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= seed <= MAX_SEED:
        raise GenerationError(f"{place}the seed is {seed!r}\n fix: give a whole number from 0 to {MAX_SEED}")
    count = n.__index__()
    needed, free = COPIES * MOMENTUM_BYTES * n_particles * count // share, available_bytes(device)
    if free is not None and needed > free:
        most = free * share // (COPIES * MOMENTUM_BYTES * n_particles)
        raise GenerationError(
            f"{place}{_number(count)} events of {n_particles} particles need {_size(needed)} to generate,"
            f" but {device} has {format_bytes(free)} left\n"
            f" fix: generate at most {_number(most)} at a time, or several files with different seeds"
        )
    return count


def check_disk(n: int, n_particles: int, path: Path) -> None:
    """Refuse events that would not fit on the disk they are written to; compression saves little on momenta.

    Args:
        n:            number of events
        n_particles:  final particles of each
        path:         the file to write
    """
    per_momentum = TEXT_BYTES if path.suffix.lower() in (".txt", ".dat") else MOMENTUM_BYTES
    needed, free = per_momentum * n_particles * n, shutil.disk_usage(path.parent).free
    if needed > free:
        raise GenerationError(
            f"{_number(n)} events of {n_particles} particles take about {_size(needed)} in {path.name!r}, but the disk of its folder has"
            f" {format_bytes(free)} left\n fix: generate fewer events, or write to another disk"
        )


def _number(n: int) -> str:
    """A readable number, whatever its size."""
    return f"{n:,}".replace(",", " ") if n < 10**15 else f"about 10^{len(str(n)) - 1}" if n < 10**4000 else "too many"


def _size(n_bytes: int) -> str:
    return format_bytes(n_bytes) if n_bytes < 10**18 else f"more than {format_bytes(10**18)}"
