"""Evaluations take turns, whichever threads ask for them.

An engine has only one set of numbers, buffers, recordings and streams, and kernels already use all cores: a second
evaluation at the same time would gain nothing. A turn is for what a process computes of its own events: nobody waits for other processes
in it.

After a ``fork`` only the first process has the threads of the kernels; the other would wait for them for ever, and is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

from ctpwa.base.errors import CtpwaError

P = ParamSpec("P")
R = TypeVar("R")


class _Turn:
    """The turn of this process; a context, which the same thread may enter again."""

    def __init__(self) -> None:
        self._lock = RLock()
        self.process: int | None = None  # where something was computed first

    def check(self) -> None:
        """Refuse to compute in a process that was forked too late."""
        if self.process not in (None, os.getpid()):
            raise CtpwaError(
                "this process was forked from one that had already computed, and the computing threads do not survive a fork\n"
                " fix: start workers with multiprocessing.get_context('spawn'), or fork before anything is computed, or use threads"
            )

    def __enter__(self) -> None:
        self.check()  # before the lock, which another thread may have held at the fork
        self._lock.acquire()
        self.process = os.getpid()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


TURN = _Turn()


def in_turn(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which waits until no other thread computes."""

    @wraps(function)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> R:
        with TURN:
            return function(*args, **kwargs)

    return waiting
