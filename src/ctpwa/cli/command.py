"""All commands: the files of ``cli/commands``, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from ctpwa.base.errors import CtpwaError


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes:
        run:         its function, with arguments as in typer; the docstring is its help
        example:     an example for its help
        place:       its position among the commands; those of other packages come last
        exit_codes:  those of its own, such as ``3 the fit is bad``
        together:    whether several processes run it together; else all but one of them end at once
    """

    run: Callable[..., None]
    example: str
    place: int = 1000
    exit_codes: str = ""
    together: bool = False


_registered: dict[str, Command] = {}


@cache
def _own() -> dict[str, Command]:
    """The commands of the files here, by name."""
    names = [module.name for module in iter_modules([str(Path(__file__).parent / "commands")])]
    return {name.replace("_", "-"): import_module(f"{__package__}.commands.{name}").COMMAND for name in names}


def all_commands() -> dict[str, Command]:
    """Commands by name, in the order in which they are shown."""
    found = _own() | _registered
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))


def register_command(name: str, command: Command) -> None:
    """Add a command of another package.

    Args:
        name:     as users type it; it must be new
        command:  its record
    """
    if name in all_commands():
        raise CtpwaError(f"a command {name!r} already exists\n fix: give it another name")
    _registered[name] = command


def unregister_command(name: str) -> None:
    """Remove a command that ``register_command`` added."""
    _registered.pop(name, None)
