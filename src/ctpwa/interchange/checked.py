"""Values of a file that is not ours, each with its place: what is asked of one is checked first."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from ctpwa.base.errors import shortened, suggest
from ctpwa.interchange.errors import InterchangeError

_COMPLEX = re.compile(
    r"\s*(?P<re>[-+]?[0-9.]+(?:e[-+]?[0-9]+)?)(?:\s*(?P<sign>[-+])\s*(?P<im>[0-9.]+(?:e[-+]?[0-9]+)?)\s*(?:i|im|j))?\s*", re.I
)
_SPIN = re.compile(r"\s*(?P<sign>[-+]?)(?P<whole>[0-9]{1,3})(?P<half>/2)?\s*")


@dataclass(frozen=True)
class Entry:
    """A value, and where it stands."""

    value: Any
    path: str = ""

    def error(self, what: str, fix: str) -> InterchangeError:
        """An error at this place."""
        return InterchangeError(what, self.path, fix)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def __getitem__(self, key: str) -> Entry:
        """What a key holds; it must be there."""
        if not isinstance(self.value, dict):
            raise self.error(f"a mapping with {key!r} is expected, not {self.shown}", "correct the file")
        if key not in self.value:
            raise self.error(f"there is no {key!r}", f"add it; {suggest(key, map(str, self.value)) or 'the mapping is empty'}")
        return Entry(self.value[key], f"{self.path}.{key}" if self.path else key)

    def get(self, key: str) -> Entry | None:
        """What a key holds; None if it is left out or null."""
        return self[key] if key in self and self.value[key] is not None else None

    def __iter__(self) -> Iterator[Entry]:
        """The members of a list."""
        if not isinstance(self.value, list):
            raise self.error(f"a list is expected, not {self.shown}", "correct the file")
        return (Entry(value, f"{self.path}[{i}]") for i, value in enumerate(self.value))

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Keys and values of a mapping."""
        if not isinstance(self.value, dict):
            raise self.error(f"a mapping is expected, not {self.shown}", "correct the file")
        return ((str(key), Entry(value, f"{self.path}.{key}" if self.path else str(key))) for key, value in self.value.items())

    @property
    def shown(self) -> str:
        """The value in a message."""
        return shortened(repr(self.value), 80)

    @property
    def text(self) -> str:
        """A text of letters that can be printed."""
        if not isinstance(self.value, str) or not self.value.isprintable():
            raise self.error(f"a text is expected, not {self.shown}", "correct it")
        return self.value

    @property
    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not math.isfinite(self.value):
            raise self.error(f"a number is expected, not {self.shown}", "correct it")
        return float(self.value)

    @property
    def whole(self) -> int:
        """A whole number of at least 0, which may be written as text."""
        value = int(self.value) if isinstance(self.value, str) and self.value.strip().isdecimal() and len(self.value) < 6 else self.value
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**6:
            raise self.error(f"a whole number is expected, not {self.shown}", "correct it")
        return value

    @property
    def two_spin(self) -> int:
        """Twice a spin, helicity or S, written as ``3/2`` or ``-1``."""
        match = _SPIN.fullmatch(str(self.value)) if isinstance(self.value, str | int) and not isinstance(self.value, bool) else None
        if match is None:
            raise self.error(f"a spin such as 1 or 3/2 is expected, not {self.shown}", "correct it")
        return int(match["sign"] + match["whole"]) * (1 if match["half"] else 2)

    @property
    def complex(self) -> complex:
        """A complex number, written as ``1.0 - 2.0i``."""
        if isinstance(self.value, str) and (match := _COMPLEX.fullmatch(self.value)):
            try:
                number = complex(float(match["re"]), float((match["sign"] or "+") + (match["im"] or "0")))
            except ValueError:
                number = complex(math.nan)
            if math.isfinite(number.real) and math.isfinite(number.imag):
                return number
        if isinstance(self.value, str):
            raise self.error(f"a complex number is expected, not {self.shown}", "write it like 1.0 - 2.0i")
        return complex(self.number)

    def only(self, known: Collection[str], fix: str) -> None:
        """Refuse keys of a mapping that are not known."""
        for key, entry in self.items():
            if key not in known:
                raise entry.error(f"{key!r} is not known here", fix)
