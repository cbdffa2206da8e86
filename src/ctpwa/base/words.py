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


def is_number(word: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def between(lower: float | None, upper: float | None) -> str:
    """Limits, of which each may be missing: ``> 0``, ``< 1``, ``0 to 1`` or nothing."""
    if lower is None and upper is None:
        return ""
    if upper is None:
        return f"> {lower:g}"
    return f"< {upper:g}" if lower is None else f"{lower:g} to {upper:g}"
