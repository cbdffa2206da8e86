"""One sum over all processes for everything that an evaluation needs, or two where one thing must be known before the next.

What a likelihood computes from its own events is a row of numbers; those of all its samples, and of all likelihoods that are added up,
travel together. With one process nothing is packed, and nothing travels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from ctpwa.base.ranks import Ranks
from ctpwa.engine.backends.expansion import NOTHING, Expansion


@dataclass(frozen=True)
class RankTask:
    """Something that all processes compute together.

    Attributes:
        local:   computes what belongs to the events of this process
        finish:  the same, summed over all processes → what was asked for, or another task that gives it
        size:    how many numbers it is as a row
        pack:    as a row of numbers
        unpack:  back from a row that was summed over all processes
    """

    local: Callable[[], Any]
    finish: Callable[[Any], Any]
    size: int
    pack: Callable[[Any], np.ndarray]
    unpack: Callable[[np.ndarray], Any]


def run_together(ranks: Ranks, tasks: Sequence[RankTask], key: bytes, device: torch.device) -> list[Any]:
    """Results of all tasks, with one sum over all processes, and one more for those that another task follows.

    Args:
        ranks:   the processes
        tasks:   what to compute
        key:     where it is computed: the same on all ranks
        device:  where the engine computes
    """
    results = _run(ranks, tasks, key, device)
    left = [i for i, result in enumerate(results) if isinstance(result, RankTask)]
    if left:
        for i, result in zip(left, run_together(ranks, [results[i] for i in left], key, device), strict=True):
            results[i] = result
    return results


def _run(ranks: Ranks, tasks: Sequence[RankTask], key: bytes, device: torch.device) -> list[Any]:
    if ranks.size == 1:
        return [task.finish(task.local()) for task in tasks]
    sizes = [task.size for task in tasks]
    summed = ranks.sum(sum(sizes), lambda: np.concatenate([task.pack(task.local()) for task in tasks] or [NOTHING]), key, device)
    parts = np.split(summed, np.cumsum(sizes)[:-1])
    return [task.finish(task.unpack(part)) for task, part in zip(tasks, parts, strict=True)]


def joined(tasks: Sequence[RankTask], finish: Callable[[list[Any]], Any]) -> RankTask:
    """Several tasks of one kind as one; ``finish`` is given all their results."""
    ends = np.cumsum([task.size for task in tasks])

    def pack(found: Sequence[Any]) -> np.ndarray:
        return np.concatenate([task.pack(own) for task, own in zip(tasks, found, strict=True)] or [NOTHING])

    def unpack(row: np.ndarray) -> list[Any]:
        return [task.unpack(part) for task, part in zip(tasks, np.split(row, ends[:-1]), strict=True)] if tasks else []

    def finish_all(found: Sequence[Any]) -> Any:
        results = [task.finish(own) for task, own in zip(tasks, found, strict=True)]
        return joined(results, finish) if any(isinstance(result, RankTask) for result in results) else finish(results)

    return RankTask(
        lambda: [task.local() for task in tasks],
        finish_all,
        int(ends[-1]) if tasks else 0,
        pack,
        unpack,
    )


def packed_size(n: int, order: int) -> int:
    """Numbers of an expansion in ``n`` variables."""
    return 1 + (n if order >= 1 else 0) + (n * (n + 1) // 2 if order >= 2 else 0)


def pack(expansions: Sequence[Expansion], n: int, order: int) -> np.ndarray:
    """Expansions as one row of numbers: value, gradient, and half of the Hessian, which is symmetric."""
    size = packed_size(n, order)
    row = np.empty(len(expansions) * size)
    for expansion, part in zip(expansions, row.reshape(-1, size), strict=True):
        part[0] = expansion.value
        if order >= 1:
            part[1 : 1 + n] = expansion.gradient
        if order >= 2:
            part[1 + n :] = expansion.hessian[_upper(n)]
    return row


def unpack(row: np.ndarray, n: int, order: int) -> list[Expansion]:
    """What ``pack`` made one row of."""
    result = []
    for part in row.reshape(-1, packed_size(n, order)):
        H = NOTHING
        if order >= 2:
            H = np.empty((n, n))
            H[_upper(n)] = part[1 + n :]
            H.T[_upper(n)] = part[1 + n :]
        result.append(Expansion(float(part[0]), part[1 : 1 + n] if order >= 1 else NOTHING, H))
    return result


@cache
def _upper(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n)
