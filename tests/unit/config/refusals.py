"""Mistakes in model files: each is one problem, at its place, with what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import dedent

import pytest


def refusals(text_of: Callable[[str], str], mistakes: str | Sequence[tuple[str, str, str, str]], line: int | None = None):
    """A test for each mistake: the text has exactly one problem, see the fixture ``refused``.

    Args:
        text_of:   what a row begins with → the text of the model file
        mistakes:  a table, see ``rows_of``, or rows: what it begins with, line:column, words of the problem, words of the fix
        line:      on which all problems are; then there are only columns in the rows
    """

    @pytest.mark.parametrize(("entry", "where", "what", "fix"), rows_of(mistakes) if isinstance(mistakes, str) else mistakes)
    def test(refused, entry, where, what, fix):
        refused(text_of(entry), where if line is None else f"{line}:{where}", what, fix)

    return test


def rows_of(table: str) -> list[tuple[str, ...]]:
    r"""The rows of a table in text, with bars between cells; a line that begins with a bar goes on with the row above.

    In a cell, ``\n`` is the end of a line.
    """
    lines = re.sub(r"\n\s*\| ", " | ", dedent(table).strip("\n")).splitlines()
    return [tuple(cell.replace("\\n", "\n") for cell in line.split(" | ")) for line in lines]
