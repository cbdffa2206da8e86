"""Errors in files of other programs, with the place in the file."""

from __future__ import annotations

from ctpwa.base.errors import CtpwaError, shortened


class InterchangeError(CtpwaError):
    """A file of another program that is wrong, or that says what ctpwa cannot.

    Attributes:
        what:   what is wrong
        where:  the keys that lead to it, or file, line and column
        fix:    what to do
    """

    def __init__(self, what: str, where: str, fix: str) -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(f"{where}: {shortened(what)}\n fix: {fix}" if where else f"{shortened(what)}\n fix: {fix}")
