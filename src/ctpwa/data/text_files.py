"""Events in plain text: one particle per line, four numbers each, the particles of an event one after the other."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted, is_number
from ctpwa.data.columns import Column, ColumnKind, EventFile, reading, short

COMMENT = "#"
MAX_LINES = 1 << 16  # at a time: lines of text need more memory than the numbers in them
MAX_LENGTH = 1 << 14  # characters of a line: four numbers have a hundred


class TextFile(EventFile):
    """A text file; its columns are the particles in the order of their lines. Empty lines and lines after ``#`` do not count.

    Args:
        path:       the file
        particles:  the particles in the order of the lines of an event
    """

    word = "particle"

    def __init__(self, path: Path, particles: Sequence[str], max_lines: int = MAX_LINES) -> None:
        self.path, self.place, self._max_lines = path, str(path), max_lines
        self._particles = tuple(particles)
        lines = count_lines(path)
        rows, rest = divmod(lines, len(particles))
        if rest:
            raise DataError(
                f"{path}: {counted(lines, 'line of numbers is', 'lines of numbers are')} not a whole number of events"
                f" with {counted(len(particles), 'particle')}\n"
                f" fix: give every event {counted(len(particles), 'line')}: {', '.join(particles)}"
            )
        self.columns = tuple(Column(name, ColumnKind.FOUR, rows) for name in particles)

    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """See ``EventFile``."""
        with reading(self.path, "a text file"), closing(lines_of_numbers(self.path)) as lines:
            n_events = max(min(size, self._max_lines // len(self._particles)), 1)
            per_event = len(self._particles)
            wanted = islice((line for _, line in lines), first * per_event, None if last is None else last * per_event)
            yield from self._chunks(wanted, names, n_events * per_event)

    def _chunks(self, lines: Iterator[str], names: Sequence[str], n_lines: int) -> Iterator[dict[str, np.ndarray]]:
        while taken := list(islice(lines, n_lines)):
            table = numbers(taken, self.path, 4).reshape(-1, len(self._particles), 4)
            yield {name: table[:, self._particles.index(name)] for name in names}


def count_lines(path: Path) -> int:
    """How many lines of a text file hold numbers."""
    with reading(path, "a text file"):
        return sum(1 for _ in lines_of_numbers(path))


def read_column(path: Path, max_lines: int = MAX_LINES) -> np.ndarray:
    """A text file with one number per line, [line]; some lines at a time."""
    with reading(path, "a text file"), closing(lines_of_numbers(path)) as lines:
        parts = [np.empty(0)]
        while taken := [line for _, line in islice(lines, max_lines)]:
            parts.append(numbers(taken, path, 1)[:, 0])
        return np.concatenate(parts)


def lines_of_numbers(path: Path) -> Generator[tuple[int, str]]:
    """The lines of a text file that hold anything but a comment, with their numbers in the file."""
    with open(path, encoding="utf-8-sig") as file:
        number = 0
        while line := file.readline(MAX_LENGTH):
            number += 1
            if len(line) == MAX_LENGTH and not line.endswith("\n"):
                raise DataError(f"{path}:{number}: a line of more than {MAX_LENGTH} characters\n fix: write one particle per line")
            start = line.lstrip()
            if start and not start.startswith(COMMENT):
                yield number, line


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
    for number, line in lines_of_numbers(path):
        words = line.split(COMMENT)[0].split()
        bad = next((word for word in words if not is_number(word)), None)
        if bad is not None:
            return DataError(f"{path}:{number}: {short(bad, 40)!r} is not a number\n fix: write {expected} per line, separated by spaces")
        if len(words) != columns:
            found = f"{len(words)} number{'s' * (len(words) != 1)}"
            return DataError(f"{path}:{number}: {found} instead of {columns}\n fix: write {expected} per line, separated by spaces")
    return DataError(f"{path}: its lines do not hold {expected} each\n fix: write {expected} per line, separated by spaces")
