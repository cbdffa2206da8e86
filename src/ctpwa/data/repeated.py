"""Events that are in a sample more than once, as in files that were merged twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

FACTOR = 0x9E3779B97F4A7C15 - 2**64  # odd, with bits everywhere


def event_keys(momenta: Iterable[Tensor]) -> np.ndarray:
    """A number of 64 bits for each event, equal if and, but for one in 10¹⁹ pairs, only if all its momenta are, to the last bit.

    Args:
        momenta:  of each particle, [event, 4]
    """
    key = None
    for p in momenta:
        for bits in (p.detach().cpu() + 0.0).contiguous().view(torch.int64).unbind(dim=1):  # −0 is 0
            mixed = bits if key is None else key * FACTOR + bits
            key = mixed ^ (mixed >> 29)
    return np.zeros(0, dtype=np.int64) if key is None else key.numpy()


def count_repeated(keys: Sequence[np.ndarray]) -> int:
    """How many events repeat an earlier one.

    Args:
        keys:  of all parts of the sample
    """
    joined = np.sort(np.concatenate([*keys, np.zeros(0, dtype=np.int64)]))
    return int((joined[1:] == joined[:-1]).sum())
