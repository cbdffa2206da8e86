"""Packages whose names are imported when they are first used: a command that needs little starts quickly.

A package imports its names for type checkers only, and says::

    if _typing.TYPE_CHECKING:
        from ctpwa.model.model import Wave
    else:
        __getattr__, __dir__ = _on_demand(__name__)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def on_demand(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package: names that it imports for type checkers are imported when they are used."""

    @cache
    def homes() -> dict[str, str]:
        """The module of every name; that of a module is itself."""
        tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
        guarded = [node for block in tree.body if isinstance(block, ast.If) for node in block.body if isinstance(node, ast.ImportFrom)]
        return {
            alias.name: f"{package}.{alias.name}" if node.module == package else str(node.module)
            for node in guarded
            for alias in node.names
        }

    def get(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes()[name]
        found = import_module(home)
        if home != f"{package}.{name}":
            found = getattr(found, name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes()})

    return get, names
