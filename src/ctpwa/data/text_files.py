"""Events in plain text: one particle per line, four numbers each, the particles of an event one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from ctpwa.data.columns import Column, EventFile, Kind, reading
from ctpwa.errors import DataError
from ctpwa.words import counted

COMMENT = "#"
MAX_LINES = 1 << 16  # at a time: lines of text need more memory than the numbers in them


class TextFile(EventFile):
    """A text file; its columns are the particles in the order of their lines. Empty lines and lines after ``#`` do not count.

    Args:
        path:       the file
        particles:  the particles in the order of the lines of an event
    """

    word = "particle"

    def __init__(self, path: Path, particles: Sequence[str]) -> None:
        self.path, self.place = path, str(path)
        self._particles = tuple(particles)
        with reading(path, "a text file"), open(path, encoding="utf-8") as file:
            lines = sum(1 for line in file if _counts(line))
        rows, rest = divmod(lines, len(particles))
        if rest:
            raise DataError(
                f"{path}: {counted(lines, 'line of numbers is', 'lines of numbers are')} no whole number of events"
                f" with {counted(len(particles), 'particle')}\n"
                f" fix: give every event {counted(len(particles), 'line')}: {', '.join(particles)}"
            )
        self.columns = tuple(Column(name, Kind.FOUR, rows) for name in particles)

    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """See ``EventFile``."""
        with reading(self.path, "a text file"), open(self.path, encoding="utf-8") as file:
            n_events = max(min(size, MAX_LINES // len(self._particles)), 1)
            lines = (line for line in file if _counts(line))
            per_event = len(self._particles)
            wanted = islice(lines, first * per_event, None if last is None else last * per_event)
            yield from self._chunks(wanted, names, n_events * per_event)

    def _chunks(self, lines: Iterator[str], names: Sequence[str], n_lines: int) -> Iterator[dict[str, np.ndarray]]:
        while taken := list(islice(lines, n_lines)):
            table = numbers(taken, self.path, 4).reshape(-1, len(self._particles), 4)
            yield {name: table[:, self._particles.index(name)] for name in names}


def read_numbers(path: Path) -> np.ndarray:
    """A text file with one number per line, [line]."""
    with reading(path, "a text file"), open(path, encoding="utf-8") as file:
        return numbers([line for line in file if _counts(line)], path, 1)[:, 0]


def numbers(lines: Sequence[str], path: Path, columns: int) -> np.ndarray:
    """Lines of text as an array [line, column]; a line that is wrong is named with its number in the file."""
    if not lines:
        return np.empty((0, columns))
    try:
        table = np.loadtxt(lines, comments=COMMENT, ndmin=2, dtype=np.float64)
        if table.shape == (len(lines), columns):
            return table
    except ValueError:
        pass
    raise _wrong_line(path, columns)


def _wrong_line(path: Path, columns: int) -> DataError:
    """The first line of a file that does not hold that many numbers."""
    expected = "one number" if columns == 1 else f"{columns} numbers"
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not _counts(line):
                continue
            words = line.split(COMMENT)[0].split()
            bad = next((word for word in words if not _is_number(word)), None)
            if bad is not None:
                return DataError(f"{path}:{number}: {bad!r} is not a number\n fix: write {expected} per line, separated by spaces")
            if len(words) != columns:
                found = f"{len(words)} number{'s' * (len(words) != 1)}"
                return DataError(f"{path}:{number}: {found} instead of {columns}\n fix: write {expected} per line, separated by spaces")
    return DataError(f"{path}: its lines do not hold {expected} each\n fix: write {expected} per line, separated by spaces")


def _counts(line: str) -> bool:
    """Whether a line holds anything but a comment."""
    start = line.lstrip()
    return bool(start) and not start.startswith(COMMENT)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
