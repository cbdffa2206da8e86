"""Plain data of bounded size: what a model description is made of, whether it comes from a file or from Python."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from typing import Any

from ctpwa.base.errors import ConfigError, Path, Problem

MAX_BYTES = 1_000_000  # of a model file
MAX_VALUES = 30_000  # keys and values, those behind YAML aliases included
MAX_DEPTH = 30
MAX_TEXT = 10_000  # characters of one text
MAX_KEY = 1000  # characters of a key: names of waves are long
MAX_INTEGER = 2**63 - 1
FORBIDDEN = {"Cc": "control", "Cf": "invisible", "Cs": "surrogate", "Zl": "line-separating", "Zp": "line-separating"}  # Unicode categories


class Plain:
    """Turns any mapping, sequence and array into dict and list, and refuses what is too large, too deep or not printable.

    Args:
        text_keys:  whether keys that are no text become text, as in mappings made by programs
    """

    def __init__(self, text_keys: bool = False) -> None:
        self._text_keys = text_keys
        self._n_values = 0

    def of(self, value: Any, path: Path = ()) -> Any:
        """The same as YAML would have made it; complex numbers become text.

        Raises:
            ConfigError: with the path of what cannot be used
        """
        self._n_values += 1
        if self._n_values > MAX_VALUES:
            raise _refused(f"there are more than {MAX_VALUES} values", path, "a model has hundreds: remove what does not belong to it")
        if len(path) > MAX_DEPTH:
            raise _refused(f"it is nested deeper than {MAX_DEPTH} levels", path[:3], "no part of a model is nested this deeply")
        if isinstance(value, Mapping):
            return {self._key(key, path): self.of(item, (*path, _step(key))) for key, item in value.items()}
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, (list, tuple)):
            return [self.of(item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, complex):
            value = str(value)
        return self._single(value, path)

    def _key(self, key: Any, path: Path) -> Any:
        self._n_values += 1
        key = str(key) if self._text_keys else key
        if isinstance(key, str):
            where = (*path, key)
            if len(key) > MAX_KEY:
                raise _refused(f"a name of {len(key)} characters", path, f"keep names below {MAX_KEY} characters")
            _check_characters(key, where, "\t\n", at_key=True)
        elif isinstance(key, int) and abs(key) > MAX_INTEGER:
            raise _refused("a whole number of too many digits is a key", path, "give it a name")
        return key

    @staticmethod
    def _single(value: Any, path: Path) -> Any:
        if isinstance(value, str):
            if len(value) > MAX_TEXT:
                raise _refused(f"a text of {len(value)} characters", path, f"keep texts below {MAX_TEXT} characters")
            _check_characters(value, path)
        elif isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise _refused("a whole number of too many digits", path, f"keep whole numbers below {MAX_INTEGER:.2g}")
        elif "options" in path and not (value is None or isinstance(value, (int, float))):
            raise _refused(f"a {type(value).__name__} is not a value of an option", path, "write text, numbers, lists and mappings")
        return value


def _step(key: Any) -> str | int:
    return key if isinstance(key, str) else str(key)


def _check_characters(text: str, path: Path, forbidden: str = "", at_key: bool = False) -> None:
    for offset, character in enumerate(text):
        kind = FORBIDDEN.get(unicodedata.category(character))
        if kind is not None and (character not in "\t\n" or character in forbidden):
            raise _refused(
                f"the {kind} character U+{ord(character):04X} at position {offset + 1} of a {'name' if at_key else 'text'}",
                path,
                "remove it: names and texts are made of characters that can be printed",
                at_key,
            )


def _refused(what: str, path: Path, fix: str, at_key: bool = False) -> ConfigError:
    return ConfigError([Problem(what, path, fix, at_key=at_key)])
