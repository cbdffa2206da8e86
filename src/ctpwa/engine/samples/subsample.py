"""Some of the events of a sample, for a quick search of good starts.

Which ones depends on their numbers in the whole sample and on a seed alone: neither on chunks nor on which process holds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from ctpwa.data.own_part import OwnPart
from ctpwa.engine.samples.sample import Sample

ROUNDS = 6
MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def kept_number(share: float, total: int) -> int:
    """How many of ``total`` events a share is; at least one if there is any."""
    return max(round(share * total), min(total, 1))


def shuffled(numbers: np.ndarray, total: int, seed: int) -> np.ndarray:
    """Where a random permutation of 0 … total − 1 puts these numbers, without the rest of it.

    Two halves of the bits are mixed in turn (Feistel), which maps a power of 4 onto itself one to one; a number that lands at ``total``
    or above is mapped again until it does not.
    """
    half = max((max(total - 1, 1).bit_length() + 1) // 2, 1)
    mask = np.uint64((1 << half) - 1)
    result = numbers.astype(np.uint64)
    waiting = np.arange(len(result))
    while len(waiting):
        left, right = result[waiting] >> np.uint64(half), result[waiting] & mask
        for k in range(ROUNDS):
            left, right = right, left ^ (_mixed(right, int(seed), k) & mask)
        result[waiting] = left << np.uint64(half) | right
        waiting = waiting[result[waiting] >= total]
    return result.astype(np.int64)


def _mixed(values: np.ndarray, seed: int, k: int) -> np.ndarray:
    """Bits that look random."""
    key = (seed * 0x2545F4914F6CDD1D + (k + 1) * MIX[0]) % (1 << 64)
    x = (values + np.uint64(key)) * np.uint64(MIX[0])
    x = (x ^ (x >> np.uint64(30))) * np.uint64(MIX[1])
    x = (x ^ (x >> np.uint64(27))) * np.uint64(MIX[2])
    return x ^ (x >> np.uint64(31))


def random_part(sample: Sample, numbers: np.ndarray, total: int, n: int, seed: int, device: torch.device) -> Sample:
    """Those events of a sample that belong to a random ``n`` of the whole, on a device, with weights that make up for the others.

    Args:
        sample:   the events
        numbers:  their numbers in the whole sample, in the order in which they came in
        total:    events of the whole sample
        n:        how many of them to keep
        seed:     which ones
        device:   where to put them
    """
    kept = np.sort(shuffled(np.arange(n), total, seed))
    by_number = np.argsort(numbers, kind="stable") if np.any(numbers[1:] < numbers[:-1]) else None
    at = np.searchsorted(numbers, kept, sorter=by_number)
    at = at[at < len(numbers)]
    places = at if by_number is None else by_number[at]
    here = np.zeros(len(numbers), dtype=bool)
    here[places[np.isin(numbers[places], kept)]] = True
    keep = torch.from_numpy(here).to(sample.w.device)
    chosen = (keep if sample.order is None else keep[sample.order]).nonzero()[:, 0]
    return sample.picked(chosen, sample.w[chosen] * (total / n), None).to(device)


def random_part_of(samples: Iterable[Sample], own: OwnPart, share: float, seed: int, device: torch.device) -> Sample | None:
    """A share of the events of a sample in several pieces, as one piece; None if this process has none of them.

    Args:
        samples:  the pieces, in the order of the input, each used before the next is asked for
        own:      which events of the whole sample they are
        share:    how much to keep of the whole
        seed:     which events
        device:   where to put them
    """
    parts, done = [], 0
    for sample in samples:
        numbers = own.numbers(done, done + sample.n_events)
        done += sample.n_events
        part = random_part(sample, numbers, own.total, kept_number(share, own.total), seed, device)
        parts += [part] if part.n_events else []
    return _joined(parts) if len(parts) > 1 else (parts[0] if parts else None)


def _joined(parts: Sequence[Sample]) -> Sample:
    """Several samples as one, those with weight ≥ 0 first."""
    w = torch.cat([part.w for part in parts])
    order = torch.argsort((w < 0).to(torch.int8), stable=True)

    def points(tensors: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(tensors), dim=-1)

    inputs = {place: tuple(map(points, zip(*(part.inputs[place] for part in parts), strict=True))) for place in parts[0].inputs}
    v = None if parts[0].v is None else torch.cat([part.v for part in parts if part.v is not None])
    whole = Sample(points([part.K for part in parts]), points([part.E for part in parts]), w, 0, None, inputs, v)
    return whole.picked(order, w[order], None)
