"""The command line: the program of all commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.cli.command import all_commands
from ctpwa.cli.console import Commands, echo, epilog, only_one_process
from ctpwa.cli.plugins import load_plugins


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"ctpwa {ctpwa.__version__}")
        raise typer.Exit


def make_app() -> typer.Typer:
    """The program of all commands that are known now, after those of installed packages were asked for."""
    problems = load_plugins()
    commands = all_commands()

    class Program(Commands):
        def make_context(self, *args: Any, **extra: Any) -> Any:
            for problem in problems:
                echo(problem, err=True)
            return super().make_context(*args, **extra)

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
    ) -> None:
        """Partial wave analysis of hadron decays."""
        name = context.invoked_subcommand
        if name is None or not commands[name].together:
            only_one_process(f"ctpwa {name}")

    for name, command in commands.items():
        app.command(name, epilog=epilog(command.example, command.exit_codes))(command.run)
    return app


app = make_app()
