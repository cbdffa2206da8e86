"""Where the time of a program goes: phases, each without those inside it.

``ctpwa --timing`` prints them. Only the main thread is followed: what other threads do happens in one of its phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from time import perf_counter

OTHER = "other"  # what is in no phase


class Timing:
    """Seconds of every phase since the beginning."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._inside = [OTHER]
        self._since = perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What happens inside belongs to this phase."""
        if current_thread() is not main_thread():
            yield
            return
        self._count()
        self._inside.append(name)
        try:
            yield
        finally:
            self._count()
            self._inside.pop()

    def _count(self) -> None:
        now = perf_counter()
        self._seconds[self._inside[-1]] = self._seconds.get(self._inside[-1], 0.0) + now - self._since
        self._since = now

    @property
    def seconds(self) -> dict[str, float]:
        """By phase, in the order in which they ended first; other things last."""
        self._count()
        return {name: s for name, s in self._seconds.items() if name != OTHER} | {OTHER: self._seconds[OTHER]}

    def table(self) -> str:
        """One line for each phase."""
        found = self.seconds
        total = sum(found.values())
        wide = max(map(len, found))
        lines = [f"{name:{wide}}  {s:9.3f} s  {100 * s / total:5.1f} %" for name, s in (found | {"all": total}).items()]
        return "\n".join(lines)


TIMING = Timing()
phase = TIMING.phase
