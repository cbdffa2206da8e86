"""The text of a model file: a regular file of UTF-8 text that is not too large."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

from ctpwa.base.errors import ConfigError, Problem
from ctpwa.config.plain import MAX_BYTES

_FIX = "give the path of a YAML file, or the model as a mapping"
_OTHER_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_EVENTS = {b"root\0": "a ROOT file", b"PAR1": "a Parquet file", b"PK\3\4": "an npz file"}  # by their first bytes
_RESULT = b'{\n "schema": '  # how results of fits begin


def read_text(path: Path, what: str = "model file", fix: str = _FIX) -> str:
    """The text of a model file, or of another file that a user writes.

    Args:
        path:  the file
        what:  what it is, for messages
        fix:   what to do if it is not there

    Raises:
        ConfigError: if it cannot be read, is not a regular file, is too large, or is not UTF-8 text
    """
    try:
        data = _read(path, what, fix)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise _refused(path, (error.strerror if isinstance(error, OSError) else "") or "this is not a file path", fix, what) from None
    for mark, name in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise _refused(path, f"it is {name}, not UTF-8 text", "save it as UTF-8", what)
    for mark, name in _EVENTS.items():
        if data.startswith(mark):
            raise _refused(path, f"it is {name}", "events are named in a model file, under samples; give that", what)
    if data.startswith(_RESULT):
        raise _refused(path, "it is the result of a fit", "give the model file that was fitted, or  ctpwa fit MODEL --from RESULT", what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        what = f"not UTF-8 text: byte 0x{data[error.start]:02x} belongs to another encoding"
        raise ConfigError([Problem(what, (), "save the file as UTF-8", location=f"{path}:{line}:{column}")]) from None


def _read(path: Path, what: str, fix: str) -> bytes:
    """The bytes of a regular file; opening a pipe would wait for a writer, so it is checked first."""
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise _refused(path, "it is a folder", fix, what)
    if not stat.S_ISREG(about.st_mode):
        raise _refused(path, "it is a pipe, a device or a socket, not a file", fix, what)
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        small = f"a {what} has a few thousand bytes: this is another kind of file"
        raise _refused(path, f"it is larger than {MAX_BYTES / 1e6:g} MB", small, what)
    return data


def _refused(path: Path, reason: str, fix: str, what: str) -> ConfigError:
    return ConfigError([Problem(f"cannot read {what} {str(path)!r}: {reason}", (), fix)])
