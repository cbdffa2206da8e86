"""Eigenvalues and eigenvectors of many small matrices at once, in threads.

numpy lets other threads run while it decomposes, and computes each matrix of a stack as it does one alone: results do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType

import numpy as np

from ctpwa.minimise.steps import Eigen
from ctpwa.ranks import threads_per_rank

MOST_THREADS = 4  # with more, such small matrices take longer: 64 of 64 × 64 took 20, 13, 10, 11 and 12 ms in 1, 2, 4, 8 and 16 threads


def decompose(matrix: np.ndarray) -> Eigen:
    """Eigenvalues and eigenvectors of one matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return values, vectors


class Decomposer:
    """Threads that decompose matrices; they begin when they are first needed and end with the ``with`` block.

    Args:
        threads:  how many, this one included; default: as many as this process may use and as help
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = min(threads_per_rank(), MOST_THREADS) if threads is None else threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Decomposer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def __call__(self, matrices: Sequence[np.ndarray]) -> list[Eigen]:
        """Eigenvalues and eigenvectors of each."""
        n = max(min(self._threads, len(matrices)), 1)
        edges = [k * len(matrices) // n for k in range(n + 1)]
        shares = [matrices[first:last] for first, last in pairwise(edges)]
        if n > 1 and self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1, thread_name_prefix="ctpwa-eigen")
        others = [self._pool.submit(_decompose_all, share) for share in shares[1:]] if self._pool is not None else []
        found = _decompose_all(shares[0])
        for other in others:
            found += other.result()
        return found


def _decompose_all(matrices: Sequence[np.ndarray]) -> list[Eigen]:
    """In one stack if they are of one size."""
    if len({matrix.shape for matrix in matrices}) != 1:
        return [decompose(matrix) for matrix in matrices]
    values, vectors = np.linalg.eigh(np.array(matrices))
    return list(zip(values, vectors, strict=True))
