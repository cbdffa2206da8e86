"""Work in parts, which threads take one after the other.

Threads of OpenMP have equal shares before they begin, and wait for each other in a loop: beside another process that computes, all of them
wait for the one whose core is taken. Here whoever is free takes the next part, the calling thread as well, and who waits sleeps. At the end
the calling thread does again what others have begun and do not finish, so that it never needs much longer than it would alone. Parts do not
depend on the number of threads, and neither do results.

Torch uses one thread in each of those that help; ``one_torch_thread`` is for the calling one. How many threads work together is a number
of its own, ``get_num_threads``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Condition, Event, Lock, Thread
from time import perf_counter

import torch
from torch import Tensor

PATIENCE = 0.1  # how long to wait for others at the end, relative to what the calling thread would need for all parts

Part = Callable[[int], None]


def given_threads() -> int | None:
    """As many as OMP_NUM_THREADS says; None if it does not."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and 0 < int(text[:10]) < 2**16 else None


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads share the work of kernels."""
    return _HELPERS.n_threads


def set_num_threads(number: int) -> None:
    """So many threads share it from now on, in this process."""
    _HELPERS.n_threads = max(number, 1)


def in_parts(work: Part, n_parts: int, n_threads: int) -> bool:
    """Do all parts of some work; the first error ends it.

    Args:
        work:       does one part, from 0; several threads call it, and two may do the same part at the same time
        n_parts:    how many there are
        n_threads:  that work at the same time, at most

    Returns:
        whether all calls have ended; if not, some thread may still write what is there already
    """
    if min(n_parts, n_threads) < 2:
        for part in range(n_parts):
            work(part)
        return True
    job = _Job(work, n_parts)
    _HELPERS.call(job, min(n_parts, n_threads) - 1)
    try:
        begin, n_own = perf_counter(), 0
        while (own := job.take()) is not None:
            work(own)
            n_own += 1
        late = job.wait(PATIENCE * n_parts * (perf_counter() - begin) / max(n_own, 1))
        for part in late:
            if not job.has_done(part):
                work(part)
    finally:
        job.end()
    if job.error is not None:
        raise job.error
    return not late


def sum_in_parts(work: Callable[[int], Tensor], n_parts: int, n_threads: int) -> Tensor:
    """The sum of what parts give, added in their order as soon as it is there: few of them lie in memory at a time.

    Args:
        work:       gives a new tensor, which may be changed; of at least one part; torch uses one thread in it
        n_parts:    how many there are
        n_threads:  that work at the same time, at most
    """
    lock = Lock()
    waiting: dict[int, Tensor] = {}
    total: Tensor | None = None
    n_added = 0

    def add(part: int) -> None:
        nonlocal total, n_added
        found = work(part)
        with lock:
            if part >= n_added:  # otherwise another thread was quicker
                waiting[part] = found
            while (following := waiting.pop(n_added, None)) is not None:
                total = following if total is None else total.add_(following)
                n_added += 1

    with one_torch_thread():
        in_parts(add, n_parts, n_threads)
    assert total is not None
    return total


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Torch uses one thread in the calling one."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Job:
    """Parts that nobody has taken yet, and those that helpers work on."""

    def __init__(self, work: Part, n_parts: int) -> None:
        self._work: Part | None = work
        self._left = iter(range(n_parts))
        self._changed = Condition()
        self._begun: set[int] = set()  # by helpers, and not done
        self.error: BaseException | None = None  # of a helper

    def take(self) -> int | None:
        """The next part, for the calling thread; None if there is none."""
        with self._changed:
            return next(self._left, None)

    def help(self) -> None:
        """Do parts in a helper until there are none."""
        while True:
            with self._changed:
                part, work = next(self._left, None), self._work
                if part is None or work is None:
                    return
                self._begun.add(part)
            error: BaseException | None = None
            try:
                work(part)
            except BaseException as raised:
                error = raised
            del work  # what it holds must not wait for this thread
            with self._changed:
                self._begun.discard(part)
                if error is not None:
                    self.error, self._left = self.error or error, iter(())
                    self._begun.clear()
                if not self._begun:
                    self._changed.notify()

    def wait(self, seconds: float) -> list[int]:
        """Wait for helpers, but not for ever; the parts that they have not done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._begun, seconds)
            return sorted(self._begun)

    def has_done(self, part: int) -> bool:
        """Whether a helper has done a part that it began."""
        with self._changed:
            return part not in self._begun

    def end(self) -> None:
        """Nobody takes a part any more."""
        with self._changed:
            self._left, self._work = iter(()), None


class _Helpers:
    """Threads that sleep until there is something to do; made when they are first needed."""

    def __init__(self) -> None:
        self.n_threads = given_threads() or available_cores()
        self.forget()

    def forget(self) -> None:
        """In a process that was forked there are none."""
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._n = 0

    def call(self, job: _Job, n: int) -> None:
        """Wake so many of them; one that comes too late finds nothing left."""
        while self._n < n and self._another():
            pass
        for _ in range(min(n, self._n)):
            self._jobs.put(job)

    def _another(self) -> bool:
        ready = Event()
        threads = torch.get_num_threads()
        with suppress(RuntimeError):  # so many threads are not allowed: there are fewer then
            Thread(target=_sleep_and_help, args=(self._jobs, ready), name="ctpwa-helper", daemon=True).start()
            ready.wait()
            torch.set_num_threads(threads)  # of threads to come, which a helper has set to 1
            self._n += 1
            return True
        return False


def _sleep_and_help(jobs: SimpleQueue[_Job], ready: Event) -> None:
    torch.set_num_threads(1)
    ready.set()
    while True:
        job = jobs.get()
        job.help()
        del job


_HELPERS = _Helpers()
os.register_at_fork(after_in_child=_HELPERS.forget)
