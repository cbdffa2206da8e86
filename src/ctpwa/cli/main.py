"""The command line: one file per command, all registered here."""

from __future__ import annotations

from typing import Annotated

import typer

import ctpwa
from ctpwa.cli.check import check
from ctpwa.cli.compare import compare
from ctpwa.cli.console import Commands, echo, epilog, only_one_process
from ctpwa.cli.demo import demo
from ctpwa.cli.export import export
from ctpwa.cli.fit import fit
from ctpwa.cli.generate import generate
from ctpwa.cli.init import init
from ctpwa.cli.report import report
from ctpwa.cli.show import show

SHARED = ("fit",)  # what several processes do together

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Partial wave analysis of hadron decays.",
    epilog=epilog("ctpwa init 'J/psi(1S) -> K+ K- eta'"),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"ctpwa {ctpwa.__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="print the version", callback=_print_version, is_eager=True)] = False,
) -> None:
    """Partial wave analysis of hadron decays."""
    if context.invoked_subcommand not in SHARED:
        only_one_process(f"ctpwa {context.invoked_subcommand}")


app.command(epilog=epilog("ctpwa init 'J/psi(1S) -> K+ K- eta' --out model.yml"))(init)
app.command(epilog=epilog("ctpwa check model.yml --explain"))(check)
app.command(epilog=epilog("ctpwa generate model.yml -n 100000 -o toy.root --seed 1"))(generate)
app.command(epilog=epilog("ctpwa fit model.yml --starts 20", "3 the fit ended but its verdict is not good, "))(fit)
app.command(epilog=epilog("ctpwa show model.result.json --waves"))(show)
app.command(epilog=epilog("ctpwa report model.result.json"))(report)
app.command(epilog=epilog("ctpwa compare with.result.json without.result.json"))(compare)
app.command(epilog=epilog("ctpwa export model.result.json --root fit.root --latex tables"))(export)
app.command(epilog=epilog("ctpwa demo --out demo-output", "3 the fit ended but its verdict is not good, "))(demo)
