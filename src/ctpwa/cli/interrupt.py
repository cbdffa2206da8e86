"""What happens to a fit that is interrupted: the best point so far survives."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from ctpwa.base.errors import CtpwaError
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.cli.console import echo
from ctpwa.fitting.checkpoint import Checkpoint
from ctpwa.fitting.journal import Journal

TWICE = 1.0  # seconds within which two signals to one of several ranks are one
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what batch systems send before they kill
NOTICE = b"\ninterrupted: errors at the best point so far are computed; Ctrl-C again ends at once\n"


class EndNow(BaseException):
    """The second Ctrl-C. Nothing but the command line catches it."""


class Interrupts:
    """The first Ctrl-C or SIGTERM raises KeyboardInterrupt, the next one ``EndNow``.

    With several ranks the first one is raised on all of them the next time they add something up.

    Args:
        ranks:  processes that fit together

    Attributes:
        count:     how many there were
        on_first:  what to do at once when the first one comes
        held:      while true they are counted and nothing is raised
    """

    def __init__(self, ranks: Ranks = ONE) -> None:
        self.count, self.held = 0, False
        self._ranks, self._last = ranks, -TWICE
        self.on_first: Callable[[], None] = lambda: None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # signals are handled nowhere else
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._ranks.size > 1 and now - self._last < TWICE:  # once from the batch system, once more from torchrun
            return
        self.count, self._last = self.count + 1, now
        if self.held:
            return
        if self.count > 1:
            raise EndNow
        self.on_first()
        self._ranks.interrupt()

    @property
    def seen(self) -> int:
        """How many there were as far as all ranks know."""
        return self._ranks.interrupts if self._ranks.size > 1 else self.count

    def notice(self) -> None:
        """Tell a person at a terminal what is going on; safe while something else is being printed."""
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), NOTICE)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is EndNow:
            raise KeyboardInterrupt from None


class BestPoint:
    """Watches a fit, keeps its best point and what its starts have found, and writes them to a file now and then.

    Args:
        path:       the file
        names:      free parameters
        hashes:     of model and samples
        version:    of ctpwa
        now_and_then:  whether to write while the fit goes on; of several ranks the first does
        journal:    of the fit
        every:      seconds between two files
    """

    def __init__(
        self,
        path: Path,
        names: tuple[str, ...],
        hashes: tuple[str, str],
        version: str,
        now_and_then: bool = True,
        journal: Journal | None = None,
        *,
        every: float,
    ) -> None:
        self.path, self._now_and_then, self._every = path, now_and_then, every
        self._names, self._hashes, self._version = names, hashes, version
        self._journal = Journal() if journal is None else journal
        self._journal.told = self._changed
        self.best: tuple[float, tuple[float, ...]] | None = None
        self._changes = self._written = 0  # how many there were, and how many are in the file
        self._last = time.monotonic()
        self._warned = False

    def __call__(self, x: np.ndarray, value: float) -> None:
        """Look at a point."""
        if self.best is None or value < self.best[0]:
            self.best = (float(value), tuple(map(float, x)))
            self._changed()

    def _changed(self) -> None:
        self._changes += 1
        if self._now_and_then and time.monotonic() - self._last >= self._every:
            self.write()

    def write(self) -> bool:
        """Write what is known; a failure is reported once and does not end the fit. Whether it is in the file now."""
        self._last, now = time.monotonic(), self._changes
        if self.best is None or now == self._written:
            return self.best is not None
        journal = self._journal if self._journal.unfinished else None
        try:
            Checkpoint(self._names, self.best[1], self.best[0], *self._hashes, self._version, journal).save(self.path)
        except CtpwaError as error:
            if not self._warned:
                echo(f"warning: no checkpoint, {error}", err=True)
            self._warned = True
            return False
        self._written = now
        return True


def lost_message(what: str, saved: Path | None) -> str:
    """What to say when other ranks are gone."""
    return f"{what}\n" + (f"the best point so far is in {saved}; continue with --resume" if saved else "there was no point to save yet")
