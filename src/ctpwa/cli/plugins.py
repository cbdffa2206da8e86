"""Installed packages that add lineshapes, backends or commands to the command line."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

GROUP = "ctpwa.plugins"


def load_plugins(found: Iterable[EntryPoint] | None = None) -> list[str]:
    """Import the modules that installed packages name in this group of entry points: they call ``register_lineshape`` and its relatives.

    Args:
        found:  the entry points; None: those of all packages

    Returns:
        what is wrong with those that cannot be imported
    """
    problems = []
    for entry in entry_points(group=GROUP) if found is None else found:
        try:
            entry.load()
        except Exception as error:  # of code that others wrote
            package = entry.dist.name if entry.dist is not None else entry.value
            problems.append(f"{entry.value!r} of package {package!r} is left out: {error}\n fix: update this package, or remove it")
    return problems
