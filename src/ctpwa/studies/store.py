"""The finished fits of a study: one Parquet file, and beside it what came since it was last written.

The first fit that ends is written to the Parquet file, which says what the study is; every later one is added to a hidden file at once,
one line of JSON each; a line that a killed process left unfinished is dropped. Now and then, and when the study ends, all of them are
written to the Parquet file, whole or not at all. So a study that is killed at any moment has all fits that had ended, and goes on with
the others. Of several processes each has a hidden file of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from ctpwa.base.errors import CtpwaError
from ctpwa.data.marks import mark_of
from ctpwa.data.table_files import read_table, write_table
from ctpwa.fitting.json_file import no_such_file, parse_json, read_bounded
from ctpwa.studies.about import About
from ctpwa.studies.fit_record import FitRecord, from_columns, to_columns

MADE_BY = "ctpwa study"
WHAT, FIX = "study of ctpwa", "give a file that a study of ctpwa wrote"
LARGEST = 2**32  # bytes of a hidden file: of processes other than the first it holds all their fits
EVERY = 30.0  # seconds after which the Parquet file is written again


class StudyStore:
    """The finished fits of a study, in a file or in memory.

    Args:
        about:  the study
        path:   its Parquet file; None: fits are kept in memory alone
        rank:   number of this process; the first one writes the Parquet file
        every:  seconds after which it is written again

    Raises:
        CtpwaError: if the file is of another study
    """

    def __init__(self, about: About, path: Path | None = None, *, rank: int = 0, every: float = EVERY) -> None:
        self.about, self.path, self._rank, self._every = about, path, rank, every
        self.records: dict[str, FitRecord] = {}
        self._journal: int | None = None
        self._written = time.monotonic()
        if path is not None and path.exists():
            found, records = read_study(path)
            if found.identity != about.identity:
                why = "; ".join(about.differences(found)) if found.study == about.study else f"it is of ctpwa {found.study}"
                raise self._another(why)
            self.records |= {record.key: record for record in records}
        self.join_journals()

    def _another(self, why: str) -> CtpwaError:
        return CtpwaError(f"{str(self.path)!r} holds another study: {why}\n fix: name another file with --out, or start over with --force")

    def join_journals(self) -> None:
        """Take over what was not in the Parquet file yet, and what the first process has moved there from its hidden file since."""
        for journal in [] if self.path is None else _journals(self.path):
            for identity, record in _lines(journal):
                if identity != self.about.identity:
                    raise self._another("fits that had ended when it was killed")
                self.records[record.key] = record
        if self._rank and self.path is not None and self.path.exists():
            self.records = {record.key: record for record in read_study(self.path)[1]} | self.records

    def __enter__(self) -> StudyStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._journal is not None:
            os.close(self._journal)
            self._journal = None
        if self._rank == 0 and kind is not None and self.path is not None and self.records:
            with suppress(CtpwaError):  # the hidden file has them
                self.write()

    def add(self, *records: FitRecord) -> None:
        """Keep fits that have ended; they are on disk when this returns."""
        self.records |= {record.key: record for record in records}
        if self.path is None:
            return
        if self._rank == 0 and not self.path.exists():
            self.write()
            return
        if self._journal is None:
            self._journal = self._open_journal()
        lines = [json.dumps({"of": self.about.identity} | own.as_dict(), ensure_ascii=True, allow_nan=False) + "\n" for own in records]
        try:
            left = "".join(lines).encode()
            while left:
                left = left[os.write(self._journal, left) :]
            os.fsync(self._journal)
        except OSError as error:
            raise self._unwritable(error) from None
        if self._rank == 0 and time.monotonic() - self._written > self._every:
            self.write()

    def _open_journal(self) -> int:
        assert self.path is not None
        name = self.path.parent / f".{self.path.name}.{self._rank}.journal"
        try:
            number = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            end = os.fstat(number).st_size
            if end and os.pread(number, 1, end - 1) != b"\n":  # of a process that was killed
                os.write(number, b"\n")
            return number
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> CtpwaError:
        return CtpwaError(f"cannot write {str(self.path)!r}: {error.strerror or error}\n fix: check permissions and free space")

    def write(self) -> None:
        """Write all fits to the Parquet file."""
        if self.path is not None:
            save_study(self.path, self.about, list(self.records.values()))
            if self._journal is not None:
                os.ftruncate(self._journal, 0)  # all of it is in the Parquet file
        self._written = time.monotonic()

    def finish(self) -> None:
        """The study has ended: what all processes have found goes to the Parquet file, and the hidden files are removed."""
        self.join_journals()
        self.write()
        for journal in [] if self.path is None else _journals(self.path):
            journal.unlink(missing_ok=True)


def save_study(path: str | os.PathLike[str], about: About, records: Sequence[FitRecord]) -> None:
    """Write a study to a Parquet file, whole or not at all.

    Args:
        path:     the file
        about:    the study
        records:  its fits
    """
    write_table(path, to_columns(records), about.as_text(), MADE_BY)


def read_study(path: str | os.PathLike[str]) -> tuple[About, list[FitRecord]]:
    """The study of a Parquet file, and its fits in the order in which they ended."""
    table = read_table(path, WHAT, FIX)
    try:
        if table.made_by != MADE_BY:
            raise ValueError("another program made it")
        records = from_columns(table.columns)
        if len({record.key for record in records}) < len(records):
            raise ValueError("a fit is in it twice")
        return About.from_content(parse_json(table.about)), records
    except (ValueError, RecursionError) as error:
        raise no_such_file(path, WHAT, error, FIX) from None


def is_study(path: Path) -> bool:
    """Whether a file was written by a study, as far as its mark says."""
    try:
        return path.is_file() and mark_of(path) == MADE_BY
    except Exception:  # not even readable as a table
        return False


def remove_study(path: Path) -> None:
    """Remove the file of a study, and what belongs to it.

    Raises:
        CtpwaError: if it is another file
    """
    if path.exists() and not is_study(path):
        raise CtpwaError(f"{str(path)!r} is not a {WHAT}, and is not removed\n fix: name another file with --out")
    try:
        for journal in _journals(path):
            journal.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise CtpwaError(f"cannot remove {str(path)!r}: {error.strerror or error}\n fix: check permissions") from None


def _journals(path: Path) -> list[Path]:
    """Hidden files of a study, of all processes."""
    return sorted(path.parent.glob(f".{_escaped(path.name)}.*.journal"))


def _lines(path: Path) -> Iterator[tuple[str, FitRecord]]:
    """The fits of a hidden file that are whole, each with the identity of its study."""
    with suppress(OSError):
        for line in read_bounded(path, LARGEST).decode("utf-8", errors="replace").splitlines():
            with suppress(ValueError, RecursionError):
                content: Any = parse_json(line)
                if isinstance(content, dict):
                    yield str(content.pop("of", "")), FitRecord.from_dict(content)


def _escaped(name: str) -> str:
    """A name in a pattern of files."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
