"""Walks through trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def walk(node: T, below: Callable[[T], Iterable[object]]) -> Iterator[T]:
    """A node and all below it, parents before daughters, first daughters first.

    Args:
        node:   where to begin
        below:  its daughters; those of another type than the node are leaves, which are left out
    """
    yield node
    for daughter in below(node):
        if isinstance(daughter, type(node)):
            yield from walk(daughter, below)
