"""A progress bar for anything that takes more than two seconds, on a terminal only."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from types import TracebackType
from typing import Any

from ctpwa.base.errors import on_one_line

PATIENCE = 2.0


class Progress:
    """Counts work done; draws nothing if the work is quick, if the output is not a terminal, or if told not to.

    Args:
        title:     what is being done
        total:     how much there is to do; None if that cannot be known
        show:      None: on a terminal after two seconds; True: at once; False: never
        patience:  seconds before a bar appears
    """

    def __init__(self, title: str, total: int | None, *, show: bool | None = None, patience: float = PATIENCE) -> None:
        self.title, self.total, self.done = title, total, 0
        self._allowed = sys.stderr.isatty() if show is None else show
        self._patience = 0.0 if show else patience
        self._timer: Timer | None = None
        self._lock, self._closed = Lock(), False
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._allowed and not self._patience:
            self._open()
        elif self._allowed:
            self._timer = Timer(self._patience, self._open)  # also when one step of the work takes long
            self._timer.daemon = True
            self._timer.start()
        return self

    def advance(self, amount: int) -> None:
        """Say that ``amount`` more is done."""
        self.done += amount
        self._draw()

    def describe(self, title: str) -> None:
        """Say what is being done now."""
        self.title = title
        self._draw()

    def _draw(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, description=on_one_line(self.title))

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        counted = (TimeElapsedColumn(),) if self.total is None else (MofNCompleteColumn(), TimeRemainingColumn())
        with self._lock:
            if self._closed:
                return
            bar = RichProgress(TextColumn("{task.description}", markup=False), BarColumn(), *counted, console=Console(stderr=True))
            bar.start()
            self._task = bar.add_task(on_one_line(self.title), total=self.total, completed=self.done)
            self._bar = bar

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._closed = True
        if self._bar is not None:
            self._bar.stop()
