"""Errors in the text of a variable, with the place in it."""

from __future__ import annotations

from ctpwa.base.errors import TextError


class VariableError(TextError):
    """A text that is not a variable of the final state."""


def error_at(text: str, start: int, word: str, what: str, fix: str) -> VariableError:
    """An error that says where in the text it is."""
    shown = text if len(text) <= 80 else text[:77] + "..."
    return VariableError(f"{what} (column {start + 1} of {shown!r})", fix, word, start + 1)
