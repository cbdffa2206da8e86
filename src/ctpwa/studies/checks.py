"""Options that studies share, checked before anything takes time."""

from __future__ import annotations

import numpy as np

from ctpwa.base.errors import DataError

MOST = 1_000_000


def checked_count(what: str, n: int, least: int = 1) -> int:
    """A number of fits.

    Args:
        what:   of what, for the message
        n:      the number
        least:  the smallest that makes sense
    """
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or not least <= n <= MOST:
        raise DataError(f"the number of {what} is {n!r}\n fix: give a whole number from {least} to {MOST}")
    return int(n)


def checked_seed(seed: int) -> int:
    """A seed of random numbers."""
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise DataError(f"the seed is {seed!r}\n fix: give a whole number, at least 0")
    return int(seed)
