"""A thread is one step ahead: it makes the next of some items while the present one is used."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Generator[T]:
    """The same items. What goes wrong with one is raised when its turn comes; whoever stops early waits for the one that is being made.

    Args:
        items:  are run through in another thread
    """
    waiting = iter(items)

    def following() -> list[T]:
        return list(islice(waiting, 1))

    with ThreadPoolExecutor(1, thread_name_prefix="ctpwa-ahead") as thread:
        made: Future[list[T]] = thread.submit(following)
        try:
            while found := made.result():
                made = thread.submit(following)
                yield found.pop()
        finally:
            made.cancel()
            wait([made])
            if isinstance(waiting, Generator):
                waiting.close()
