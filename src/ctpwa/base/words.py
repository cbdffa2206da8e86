"""Words of messages."""

from __future__ import annotations


def counted(n: int, one: str, many: str = "", shown: str = "") -> str:
    """``1 start``, ``3 starts``.

    Args:
        n:      how many
        one:    the word for one of them
        many:   for several; default: with an s
        shown:  the number as text; default: plain digits
    """
    return f"{shown or n} {one if n == 1 else many or f'{one}s'}"
