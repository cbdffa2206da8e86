"""What all event files have in common: named columns that are read in chunks."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ctpwa.base.errors import CtpwaError, DataError

FINAL_STATE = "FinalState"  # what files of AmpTools call their particles, which have numbers


class ColumnKind(Enum):
    """What a column holds for every event."""

    NUMBER = "a number"
    FOUR = "four numbers"  # in an order that the file does not tell
    VECTOR = "a four-vector"  # that knows its components
    OTHER = "something else"


@dataclass(frozen=True)
class Column:
    """A branch of a ROOT tree, a Parquet column, an array of an npz file, or a particle of a text file.

    Attributes:
        name:      how the file calls it
        kind:      what it holds
        n_events:  number of events
        detail:    its type in the file's own words
    """

    name: str
    kind: ColumnKind
    n_events: int
    detail: str = ""


class EventFile(ABC):
    """A file of events, open for reading.

    Attributes:
        path:     where it is
        place:    how to call it in messages
        word:     what its columns are called
        columns:  all columns, also those that hold no numbers
    """

    path: Path
    place: str
    word: str = "column"
    columns: tuple[Column, ...]

    @abstractmethod
    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """The columns of these names, some ``size`` events at a time.

        Args:
            names:  the columns
            size:   events at a time
            first:  the event to begin with
            last:   the event to end before; default: all

        Yields:
            name → [event] for numbers, [event, 4] as in the file for four numbers, [event, 4] as (E, px, py, pz) for four-vectors
        """

    def check(self, names: Sequence[str]) -> None:  # noqa: B027 - text files count their lines
        """Refuse columns that cannot hold as many rows as the file says, before anything of that size is made."""

    def close(self) -> None:  # noqa: B027 - a file that is opened for each pass has nothing to close
        """Close the file."""

    def column(self, name: str) -> Column | None:
        """The column of this name."""
        return next((column for column in self.columns if column.name == name), None)

    def of_stem(self, stem: str) -> list[str]:
        """Energies of particles that have numbers: ``E_FinalState[0]``, ``E_FinalState[1]``, …"""
        return [column.name for column in self.columns if column.name.startswith(f"E_{stem}[")]

    def of_kind(self, *kinds: ColumnKind) -> list[str]:
        """Names of all columns that hold this."""
        return [column.name for column in self.columns if column.kind in kinds]

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class OpenFile(EventFile):
    """A file that stays open between passes; ``_file`` is what the library of its format has opened."""

    _file: Any

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Any error of a library that reads ``path`` becomes one message that names the file.

    Args:
        path:  the file
        what:  what it should be, such as ``a ROOT file``
    """
    try:
        yield
    except (CtpwaError, GeneratorExit):
        raise
    except MemoryError as error:
        raise DataError(
            f"cannot read {str(path)!r} as {what}: it needs more memory than there is\n"
            " fix: the file is damaged, or has too much in one piece; write it again"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:  # else it is of a library, about what is in the file
            raise DataError(f"cannot read {str(path)!r}: {error.strerror}\n fix: check the path and the file") from error
        raise DataError(
            f"cannot read {str(path)!r} as {what}: {_first_line(error)}\n"
            " fix: the file is damaged, cut short or of another kind; write it again"
        ) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return short(text.splitlines()[0].rstrip(",:")) if text else type(error).__name__


def short(text: str, most: int = 200) -> str:
    """A text that comes from a file, no longer than a message should be."""
    return text if len(text) <= most else f"{text[:most]}…"


def as_doubles(values: np.ndarray) -> np.ndarray:
    """Numbers of any real type in double precision, in an array of their own; those that are too large for it are infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float64)


def sha256_of(path: Path) -> str:
    """Hash of a file's content."""
    with reading(path, "a file"), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fours_of_lists(values: np.ndarray, lengths: np.ndarray, place: str, first_event: int) -> np.ndarray:
    """Lists of numbers as [event, 4].

    Args:
        values:       all numbers, one list after the other
        lengths:      [event], the length of each list
        place:        the column, for messages
        first_event:  number of the first event, for messages
    """
    bad = np.flatnonzero(lengths != 4)
    if bad.size:
        event = first_event + int(bad[0])
        raise DataError(f"{place}: {lengths[bad[0]]} numbers in event {event}, not four\n fix: one list E, px, py, pz for every event")
    return values.reshape(-1, 4)
