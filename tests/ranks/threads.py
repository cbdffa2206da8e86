"""Ranks that are threads of one process: everything but the network is that of processes, and they start at once.

One of them runs at a time, until it waits for the others: derivatives of torch belong to the whole process.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ctpwa.base.ranks import RanksLost, SeveralRanks

END = object()  # what a rank gives that has nothing to do any more


class _Meeting:
    def __init__(self, size):
        self.size, self.barrier, self.slots = size, threading.Barrier(size), [None] * size
        self.running = threading.Lock()

    def exchange(self, rank, content):
        self.slots[rank] = content
        self.running.release()
        try:
            self.barrier.wait()
            found = list(self.slots)
            self.barrier.wait()
        except threading.BrokenBarrierError:
            raise RanksLost("a thread is gone") from None
        finally:
            self.running.acquire()
        ended = [other for other, part in enumerate(found) if part is END]
        assert not ended or len(ended) == self.size, f"ranks {ended} ended while the others wait for them"
        return found


class ThreadRanks(SeveralRanks):
    """One of several threads.

    Attributes:
        sums:  how many numbers were added up each time
    """

    def __init__(self, rank, meeting):
        super().__init__(rank, meeting.size)
        self.meeting, self.sums = meeting, []

    def reduce(self, buffer, device):
        self.sums.append(len(buffer))
        parts = self.meeting.exchange(self.rank, buffer.copy())
        assert len({len(part) for part in parts}) == 1, "ranks add up different things"
        buffer[:] = np.sum(parts, axis=0)

    def gather(self, content):
        return self.meeting.exchange(self.rank, content)


def on_ranks(size, work):
    """What ``work(ranks)`` returns on each of ``size`` ranks; the error of the lowest rank that has one of its own."""
    meeting = _Meeting(size)

    def run(rank):
        with meeting.running:
            try:
                found = work(ThreadRanks(rank, meeting))
                meeting.exchange(rank, END)
                return found
            except BaseException:
                meeting.barrier.abort()
                raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
        errors = [error for future in futures if (error := future.exception()) is not None]
        for error in errors:
            if not isinstance(error, RanksLost):
                raise error
        return [future.result() for future in futures]
