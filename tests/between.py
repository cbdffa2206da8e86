"""Something else happens between any two calls that a function makes, as another process may."""

from __future__ import annotations

import sys
from pathlib import Path


def between_calls(work, other):
    """Run ``work()``; before and after every call in it, of Python or C, ``other(i)`` runs, with the number of times it ran before.

    Returns what ``work`` returns, and how often the other ran.
    """
    count = 0

    def look(frame, event, argument):
        nonlocal count
        sys.setprofile(None)
        try:
            other(count)
            count += 1
        finally:
            sys.setprofile(look)

    sys.setprofile(look)
    try:
        found = work()
    finally:
        sys.setprofile(None)
    return found, count


def seen_by_a_reader(path, write):
    """All contents of a file that a reader finds while ``write()`` runs; None: there is no file."""
    path, found = Path(path), []

    def look(_):
        content = path.read_bytes() if path.exists() else None
        if not found or found[-1] != content:
            found.append(content)

    between_calls(write, look)
    return found
