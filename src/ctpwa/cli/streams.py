"""Standard streams that can always be written to: closed ones, characters that a terminal does not have, warnings from libraries."""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import ctpwa

SPELLED = {
    "±": "+-", "−": "-", "–": "-", "→": "->", "·": "*", "×": "x", "√": "sqrt", "≤": "<=", "≥": ">=", "’": "'", "∞": "inf",
    "λ": "lambda", "Λ": "Lambda",
}  # fmt: skip
SIZES = ("COLUMNS", "LINES", "TERMINAL_WIDTH")  # variables that rich and typer take for the size of a terminal
READABLE = "ctpwa.readable"
PACKAGE = Path(ctpwa.__file__).parent


@contextmanager
def prepared_streams(warn: Callable[[str], None]) -> Iterator[None]:
    """While this lasts, printing does not fail for lack of a stream or a character, and warnings are lines.

    Args:
        warn:  prints the line of a warning of ours; those of libraries are for developers, who ask for them with ``python -W``
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed; its number must not become that of the next file that is opened
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for name in SIZES:
        text = os.environ.get(name, "80")
        if not (text.isdecimal() and len(text) < 5 and int(text) > 0):  # not the size of any terminal
            del os.environ[name]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=READABLE)
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.showwarning = _shown_by(warn)
        yield


def _shown_by(warn: Callable[[str], None]) -> Callable[..., None]:
    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any) -> None:
        if Path(filename).is_relative_to(PACKAGE):
            warn(f"warning: {message}")

    return show


def redirected_to_nowhere(stream: TextIO) -> None:
    """What is still printed is lost, and what waits to be written causes no trouble at the end of the program."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _readable(error: UnicodeError) -> tuple[str, int]:
    """For characters that a terminal does not have: ``+-`` for ±, ``sigma`` for σ, or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_spelled, error.object[error.start : error.end])), error.end


def _spelled(letter: str) -> str:
    word = "".join(SPELLED.get(part, part) for part in unicodedata.normalize("NFKD", letter))
    if not word.isascii():
        script, _, last = unicodedata.name(letter, "").partition(" LETTER ")
        name = last if script.startswith("GREEK") and last.isalpha() else ""
        word = name.capitalize() if script.endswith("CAPITAL") else name.lower()
    return word or letter.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(READABLE, _readable)
