"""What all commands share: where to print, how to fail, how to be interrupted.

Results go to the standard output, plain and without colours when it is no terminal. Everything else (errors, what is being done) goes to
the standard error, and what is being done only if that is a terminal. Exit codes: 0 all is well, 1 an error with a message, 2 wrong
usage, 3 a fit that ended with a verdict that is not good, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from ctpwa.errors import CtpwaError

FAILED, NOT_GOOD, INTERRUPTED = 1, 3, 130
EXIT_CODES = "Exit codes: 0 all is well, 1 an error with a message, 2 wrong usage, 130 interrupted."


def out() -> Console:
    """The console of results: standard output."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def err() -> Console:
    """The console of everything that is no result: standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def is_terminal() -> bool:
    """Whether results are read by a person; if not they are printed plain."""
    return sys.stdout.isatty()


def print_json(description: Any) -> None:
    """Print for programs; a number that JSON does not have (infinity, NaN) is an error of ours."""
    typer.echo(json.dumps(description, indent=1, ensure_ascii=False, allow_nan=False))


def say(message: str) -> None:
    """Tell a person at a terminal what is going on; nothing is printed without one."""
    if sys.stderr.isatty():
        err().print(message, markup=False)


def fail(error: CtpwaError | str) -> NoReturn:
    """Print an error without a traceback, and end with exit code 1."""
    typer.echo(str(error), err=True)
    raise typer.Exit(FAILED)


def epilog(example: str, more_codes: str = "") -> str:
    """The end of the help of a command: an example, and the exit codes, perhaps with one of its own."""
    return f"Example: {example}\n\n" + EXIT_CODES.replace("130", f"{more_codes}130")


class Commands(TyperGroup):
    """Runs a command; an error of ctpwa ends with its message, Ctrl-C with one line, neither with a traceback."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except CtpwaError as error:
            fail(error)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
