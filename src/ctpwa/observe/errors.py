"""Errors in the text of a variable, with the place in it."""

from __future__ import annotations

from ctpwa.errors import PhysicsError


class VariableError(PhysicsError):
    """A text that is not a variable of the final state.

    Attributes:
        word:    the part of the text that is to blame
        column:  where it starts, from 1
    """

    def __init__(self, what: str, fix: str, word: str = "", column: int = 1) -> None:
        self.word = word
        self.column = column
        super().__init__(what, fix)


def error_at(text: str, start: int, word: str, what: str, fix: str) -> VariableError:
    """An error that says where in the text it is."""
    shown = text if len(text) <= 80 else text[:77] + "..."
    return VariableError(f"{what} (column {start + 1} of {shown!r})", fix, word, start + 1)
