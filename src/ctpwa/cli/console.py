"""What all commands share: where to print, how to fail, how to be interrupted.

Results go to the standard output, plain and without colours if it is not a terminal. Everything else (errors, what is being done) goes to
the standard error, and what is being done only if that is a terminal. Exit codes: 0 success, 1 an error with a message, 2 wrong
usage, 3 a fit that ended with a verdict that is not good, 130 interrupted.

Every text goes through ``echo``, ``print_json`` or a ``SafeConsole``: names, paths and messages may come from anywhere, and must not
control the terminal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typer.core import TyperGroup

from ctpwa.base.errors import CtpwaError, printable
from ctpwa.base.launch import own_rank, started_together
from ctpwa.cli.streams import prepared_streams, redirected_to_nowhere

FAILED, USAGE, NOT_GOOD, INTERRUPTED = 1, 2, 3, 130
WRONG_USAGE: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, wherever typer keeps it
EXIT_CODES = "Exit codes: 0 success, 1 an error with a message, 2 wrong usage, 130 interrupted."


class SafeConsole(Console):
    """Tables and colours in which texts are texts: no markup, and control characters are shown as escapes."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Everything printed passes here; what controls the terminal is a segment of its own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, as long as somebody reads."""
        with _readers(self.stderr):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Leave it to ``print``."""
        raise  # what is being handled


def out() -> SafeConsole:
    """The console of results: standard output."""
    return SafeConsole(soft_wrap=not sys.stdout.isatty())


def err() -> SafeConsole:
    """The console of everything that is not a result: standard error."""
    return SafeConsole(stderr=True, soft_wrap=True)


def echo(message: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text as it is, except for what would control the terminal.

    Args:
        message:  the text
        err:      on the standard error
        nl:       whether to end the line
    """
    with _readers(err):
        stream = sys.stderr if err else sys.stdout
        stream.write(printable(str(message)) + ("\n" if nl else ""))
        stream.flush()


def print_json(description: Any) -> None:
    """Print for programs, in ASCII; a number that JSON does not have (infinity, NaN) is an error of ours."""
    echo(json.dumps(description, indent=1, allow_nan=False).replace("\x7f", r"\u007f"))


@contextmanager
def _readers(err: bool) -> Iterator[None]:
    """Print something. If nobody reads any more, as after ``| head``, that is not an error, and work continues."""
    try:
        yield
    except BrokenPipeError:
        redirected_to_nowhere(sys.stderr if err else sys.stdout)
    except OSError as error:
        redirected_to_nowhere(sys.stderr if err else sys.stdout)
        if not err:
            raise CtpwaError(f"cannot print: {error.strerror or error}\n fix: check where the output goes, and free space") from None


def say(message: str, terminal: bool | None = None) -> None:
    """Tell a person at a terminal what is going on; nothing is printed without one.

    Args:
        message:   the text
        terminal:  whether there is one; None: if the standard error is one
    """
    if (sys.stderr.isatty() if terminal is None else terminal) and own_rank() == 0:
        err().print(message)


def fail(error: CtpwaError | str) -> NoReturn:
    """Print an error without a traceback, and end with exit code 1. Of several processes that say the same, one prints it."""
    if may_print(str(error)):
        echo(error, err=True)
    raise typer.Exit(FAILED)


def may_print(message: str) -> bool:
    """Whether this process prints a message that others may have as well."""
    try:
        if not started_together():
            return True
        from ctpwa.base.ranks import current_ranks

        return current_ranks().reports(message)
    except CtpwaError:  # it never met the others
        return True


def only_one_process(command: str) -> None:
    """A command that fits nothing runs in one process; the others that torchrun started end at once."""
    if not started_together():
        return
    if own_rank():
        raise typer.Exit
    from ctpwa.base.ranks import stay_alone

    stay_alone()
    echo(f"{command} runs in one process: leave torchrun out", err=True)


def epilog(example: str, own_codes: str = "") -> str:
    """The end of the help of a command: an example, and the exit codes, perhaps with some of its own."""
    return f"Example: {example}\n\n" + EXIT_CODES.replace("130", f"{own_codes}, 130" if own_codes else "130")


class Commands(TyperGroup):
    """Runs a command; an error of ctpwa ends with its message, Ctrl-C with one line, neither with a traceback."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program; of several processes all but the first print no results, and leave wrong usage to the first."""
        with prepared_streams(lambda line: echo(line, err=True)):
            try:
                rank = own_rank()
            except CtpwaError as error:  # of what torchrun should have said
                echo(error, err=True)
                sys.exit(FAILED)
            if not rank:
                return super().main(*args, **extra)
            with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
                try:
                    code = super().main(*args, **(extra | {"standalone_mode": False}))
                except WRONG_USAGE:
                    code = USAGE
            sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Understand what was asked for."""
        with _safe_usage():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was asked for."""
        try:
            with _safe_usage():
                return super().invoke(ctx)
        except CtpwaError as error:
            fail(error)
        except BrokenPipeError:  # of what prints by itself, such as help: nobody reads any more
            redirected_to_nowhere(sys.stdout)
            raise typer.Exit(0) from None
        except OSError as error:  # a file or folder that nobody looked at before
            place = "" if error.filename is None else f"{os.fsdecode(error.filename)!r}: "
            fail(f"{place}{error.strerror or error}\n fix: check paths, permissions and free space")
        except KeyboardInterrupt:
            if own_rank() == 0:
                echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _safe_usage() -> Iterator[None]:
    """Wrong usage is reported with what was typed in it."""
    try:
        yield
    except WRONG_USAGE as error:
        for name, value in vars(error).items():
            if isinstance(value, str):
                setattr(error, name, printable(value))
        raise
