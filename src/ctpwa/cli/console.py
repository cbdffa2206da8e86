"""What all commands share: where to print, how to fail, how to be interrupted.

Results go to the standard output, plain and without colours when it is no terminal. Everything else (errors, what is being done) goes to
the standard error, and what is being done only if that is a terminal. Exit codes: 0 all is well, 1 an error with a message, 2 wrong
usage, 3 a fit that ended with a verdict that is not good, 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from ctpwa.errors import CtpwaError
from ctpwa.ranks import current_ranks, own_rank, started_together, stay_alone

FAILED, USAGE, NOT_GOOD, INTERRUPTED = 1, 2, 3, 130
WRONG_USAGE: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, wherever typer keeps it
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
    if sys.stderr.isatty() and own_rank() == 0:
        err().print(message, markup=False)


def fail(error: CtpwaError | str) -> NoReturn:
    """Print an error without a traceback, and end with exit code 1. Of several processes that say the same, one prints it."""
    if may_print(str(error)):
        typer.echo(str(error), err=True)
    raise typer.Exit(FAILED)


def may_print(message: str) -> bool:
    """Whether this process prints a message that others may have as well."""
    try:
        return current_ranks().reports(message)
    except CtpwaError:  # it never met the others
        return True


def only_one_process(command: str) -> None:
    """A command that fits nothing runs in one process; the others that torchrun started end at once."""
    if not started_together():
        return
    if own_rank():
        raise typer.Exit
    stay_alone()
    typer.echo(f"{command} runs in one process: leave torchrun out", err=True)


def epilog(example: str, more_codes: str = "") -> str:
    """The end of the help of a command: an example, and the exit codes, perhaps with one of its own."""
    return f"Example: {example}\n\n" + EXIT_CODES.replace("130", f"{more_codes}130")


class Commands(TyperGroup):
    """Runs a command; an error of ctpwa ends with its message, Ctrl-C with one line, neither with a traceback."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program; of several processes all but the first print no results, and leave wrong usage to the first."""
        try:
            first = own_rank() == 0
        except CtpwaError as error:  # variables of torchrun that make no sense
            typer.echo(str(error), err=True)
            sys.exit(FAILED)
        if first:
            return super().main(*args, **extra)
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            try:
                code = super().main(*args, **(extra | {"standalone_mode": False}))
            except WRONG_USAGE:
                code = USAGE
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except CtpwaError as error:
            fail(error)
        except KeyboardInterrupt:
            if own_rank() == 0:
                typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
