"""All commands: the files of ``cli/commands``, and those of other packages.

A file is imported when its command is run; for the list of commands it is only looked at. That works as long as it ends with
``COMMAND = Command(function, "example", place=20, …)`` or a function that is called in the same way.
"""

from __future__ import annotations

import ast
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


@dataclass(frozen=True)
class ListedCommand:
    """A command in the list of all.

    Attributes:
        place:  its position
        help:   the docstring of its function
        load:   gives the command, and imports what it needs
    """

    place: int
    help: str
    load: Callable[[], Command]


@cache
def _own() -> dict[str, ListedCommand]:
    """The commands of the files here, by name."""
    folder = Path(__file__).parent / "commands"
    return {module.name.replace("_", "-"): _listed(folder, module.name) for module in iter_modules([str(folder)])}


def _listed(folder: Path, name: str) -> ListedCommand:
    def load() -> Command:
        command: Command = import_module(f"{__package__}.commands.{name}").COMMAND
        return command

    seen = _look_at((folder / f"{name}.py").read_text(encoding="utf-8"))
    if seen is None:
        return _with_record(load())
    return ListedCommand(*seen, load)


def _with_record(command: Command) -> ListedCommand:
    return ListedCommand(command.place, command.run.__doc__ or "", lambda: command)


def _look_at(source: str) -> tuple[int, str] | None:
    """The place and the help of the command in a file, which is not run; None if they are not written there."""
    for node in (tree := ast.parse(source)).body:
        match node:
            case ast.Assign(targets=[ast.Name("COMMAND")], value=ast.Call(args=[ast.Name(function), *_], keywords=keywords)):
                places = [k.value.value for k in keywords if k.arg == "place" and isinstance(k.value, ast.Constant)]
                helps = [ast.get_docstring(f) for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == function]
                if len(places) == len(helps) == 1 and isinstance(places[0], int) and helps[0]:
                    return places[0], helps[0]
    return None


def listed_commands() -> dict[str, ListedCommand]:
    """Commands by name, in the order in which they are shown; what they need is not imported."""
    found = _own() | {name: _with_record(command) for name, command in _registered.items()}
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))


def all_commands() -> dict[str, Command]:
    """Commands by name, in the order in which they are shown."""
    return {name: listed.load() for name, listed in listed_commands().items()}


def register_command(name: str, command: Command) -> None:
    """Add a command of another package.

    Args:
        name:     as users type it; it must be new
        command:  its record
    """
    if name in listed_commands():
        raise CtpwaError(f"a command {name!r} already exists\n fix: give it another name")
    _registered[name] = command


def unregister_command(name: str) -> None:
    """Remove a command that ``register_command`` added."""
    _registered.pop(name, None)
