"""Tests that are tables of mistakes."""

import pytest


def refusals(text_of, rows, line=None):
    """A test for each mistake: the text has exactly one problem, see the fixture ``refused``.

    Args:
        text_of:  what a row begins with → the text of the model file
        rows:     (what it begins with, line:column, words of the problem, words of the fix); (…, column, …) if the line is given
        line:     on which the problems are
    """

    @pytest.mark.parametrize(("entry", "where", "what", "fix"), rows)
    def test(refused, entry, where, what, fix):
        refused(text_of(entry), where if line is None else f"{line}:{where}", what, fix)

    return test
