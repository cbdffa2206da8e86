"""``ctpwa show``: the result of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.cli.console import is_terminal, print_json
from ctpwa.cli.result_print import print_result
from ctpwa.results.result import FitResult
from ctpwa.results.text import result_text


def show(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote")],
    waves: Annotated[bool, typer.Option("--waves", help="also fractions of every wave, and interferences")] = False,
    correlations: Annotated[bool, typer.Option("--correlations", help="also correlations of the parameters")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print everything for programs")] = False,
) -> None:
    """Show verdict, parameters, couplings and fractions of a result."""
    found = FitResult.load(result)
    if as_json:
        print_json(found.as_dict() | {"correlation": found.correlation.tolist()})
    elif is_terminal():
        print_result(found, waves, correlations)
    else:
        typer.echo(result_text(found, waves, correlations))
