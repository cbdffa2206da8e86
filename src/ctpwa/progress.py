"""A progress bar for anything that takes more than two seconds, on a terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 2.0  # seconds before a bar appears


class Progress:
    """Counts work done; draws nothing when it is quick, when the output is no terminal, or when told not to.

    Args:
        title:  what is being done
        total:  how much there is to do
        show:   None: on a terminal after two seconds; True: at once; False: never
    """

    def __init__(self, title: str, total: int, *, show: bool | None = None) -> None:
        self.title, self.total, self.done = title, total, 0
        self._allowed = sys.stderr.isatty() if show is None else show
        self._patience = 0.0 if show else PATIENCE
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def advance(self, amount: int) -> None:
        """Say that ``amount`` more is done."""
        self.done += amount
        if self._bar is None and self._allowed and time.monotonic() - self._start > self._patience:
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True)
        )
        self._bar.start()
        self._task = self._bar.add_task(self.title, total=self.total)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
