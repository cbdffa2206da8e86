"""All trees of two-body vertices over a set of final particles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

Tree = int | tuple["Tree", "Tree"]


def binary_trees(leaves: tuple[int, ...], allowed: Callable[[tuple[int, ...]], bool]) -> Iterator[Tree]:
    """Every tree over ``leaves`` whose inner systems are all ``allowed``; the top system need not be.

    The first daughter is the larger system, or the one with the lowest index among equals.
    """
    if len(leaves) == 1:
        yield leaves[0]
        return
    rest = leaves[1:]
    for size in range(len(rest)):
        for extra in combinations(rest, size):
            first = (leaves[0], *extra)
            second = tuple(leaf for leaf in rest if leaf not in extra)
            if all(len(part) == 1 or allowed(part) for part in (first, second)):
                if len(second) > len(first):
                    first, second = second, first
                for left in binary_trees(first, allowed):
                    for right in binary_trees(second, allowed):
                        yield left, right


def tree_leaves(tree: Tree) -> tuple[int, ...]:
    """Leaves of a tree, in daughter order."""
    return (tree,) if isinstance(tree, int) else tree_leaves(tree[0]) + tree_leaves(tree[1])
