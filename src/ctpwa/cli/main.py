"""The command line: the program of all commands."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
import typer.main

import ctpwa
from ctpwa.base.garbage import imported_for_good
from ctpwa.base.launch import own_rank
from ctpwa.base.timing import TIMING, phase
from ctpwa.cli.command import Command, listed_commands
from ctpwa.cli.console import Commands, echo, epilog, only_one_process
from ctpwa.cli.plugins import load_plugins


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"ctpwa {ctpwa.__version__}")
        raise typer.Exit


def make_app() -> typer.Typer:
    """The program of all commands that are known now, after those of installed packages were asked for."""
    problems = load_plugins()
    commands = listed_commands()

    class Program(Commands):
        def make_context(self, *args: Any, **extra: Any) -> Any:
            for problem in problems:
                echo(problem, err=True)
            return super().make_context(*args, **extra)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """The command itself takes the place of its line in the list."""
            name, listed, rest = super().resolve_command(ctx, args)
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # torch reads it when it is imported: threads that wait sleep
            with phase("import"), imported_for_good():
                return name, listed if name is None else _loaded(name, commands[name].load()), rest

        def invoke(self, ctx: Any) -> Any:
            """Run it, and say how long what took."""
            try:
                return super().invoke(ctx)
            finally:
                if ctx.params["timing"] and own_rank() == 0:
                    echo(TIMING.table(), err=True)

    app = typer.Typer(
        cls=Program,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Partial wave analysis of hadron decays.",
        epilog=epilog("ctpwa init 'J/psi(1S) -> K+ K- eta'"),
    )

    @app.callback()
    def main(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="print the version", callback=_print_version, is_eager=True)] = False,
        timing: Annotated[bool, typer.Option("--timing", help="print at the end how long what took")] = False,
    ) -> None:
        """Partial wave analysis of hadron decays."""
        name = context.invoked_subcommand
        if name is None or not commands[name].load().together:
            only_one_process(f"ctpwa {name}")

    for name, listed in commands.items():
        app.command(name, help=listed.help)(lambda: None)
    return app


def _loaded(name: str, command: Command) -> Any:
    """A command with its arguments, as click has it."""
    program = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    program.command(name, epilog=epilog(command.example, command.exit_codes))(command.run)
    return typer.main.get_command(program)


app = make_app()
