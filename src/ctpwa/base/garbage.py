"""Collecting garbage where there is some: a program that imports a hundred thousand objects need not look through them again and again."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

HEAVY = "numpy"  # what every command needs that does anything
COUNTED = "triton"  # its C++ part complains at the end about each of its objects that is still there


@contextmanager
def imported_for_good() -> Iterator[None]:
    """What a new program imports here stays until it ends, and nothing in it is looked through for garbage, neither now nor at the end.

    A program in which there is more than that, such as an interpreter or a test, is left alone.
    """
    if HEAVY in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    atexit.register(_leave_garbage)
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _leave_garbage() -> None:
    if COUNTED not in sys.modules:
        gc.freeze()
