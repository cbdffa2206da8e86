"""Our JSON files, whatever may have happened to them: read in bounded time and memory, or refused with a message."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterable
from typing import Any, NoReturn

from ctpwa.base.errors import CtpwaError

LARGEST = 64 * 2**20  # bytes; a fit of a thousand parameters takes a third of it
DEEPEST = 40  # lists and mappings inside each other
MOST_DIGITS = 100  # of a whole number
SHOWN = 300  # letters of what is wrong with a file


def read_json(path: str | os.PathLike[str], what: str, fix: str) -> Any:
    """The content of a file: strict JSON with finite numbers, no key twice.

    Args:
        path:  the file
        what:  what it should be, for messages: ``result of a fit``
        fix:   what to do if it is not
    """
    try:
        return parse_json(read_bounded(path).decode("utf-8"))
    except OSError as error:
        raise CtpwaError(f"cannot read {str(path)!r}: {error.strerror or error}\n fix: {fix}") from None
    except RecursionError:
        raise no_such_file(path, what, TOO_DEEP, fix) from None
    except ValueError as error:  # also of letters that are not UTF-8, and of a path with a NUL
        raise no_such_file(path, what, error, fix) from None


def no_such_file(path: str | os.PathLike[str], what: str, why: object, fix: str) -> CtpwaError:
    """The error that a file is not what it should be; long quotes from it are cut."""
    text = str(why)
    return CtpwaError(f"{str(path)!r} is not a {what}: {text if len(text) <= SHOWN else text[:SHOWN] + '…'}\n fix: {fix}")


TOO_DEEP = f"it has more than {DEEPEST} lists and mappings inside each other"


def read_bounded(path: str | os.PathLike[str], largest: int = LARGEST) -> bytes:
    """What is in a regular file; a pipe or a device is neither waited for nor read without end."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(number, "rb") as file:
        mode = os.fstat(number).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(None, "it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file")
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest >> 20} MiB")
    return content


def parse_json(text: str) -> Any:
    """Strict JSON with finite numbers, no key twice, not too deep; a ValueError says what is wrong."""
    content = json.loads(text, object_pairs_hook=_mapping, parse_float=_number, parse_int=_integer, parse_constant=_no_constant)
    level = [content]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise ValueError(TOO_DEEP)
    return content


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} is given twice")
    return mapping


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number with {len(text)} digits")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number in JSON")
