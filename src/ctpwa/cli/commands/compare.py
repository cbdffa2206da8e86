"""``ctpwa compare``: several results side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, out, print_json
from ctpwa.cli.result_print import print_section
from ctpwa.cli.settings import CommandSettings
from ctpwa.observables.compare import Comparison
from ctpwa.observables.compare import compare as compare_results
from ctpwa.observables.compare_text import comparison_notes, comparison_sections, comparison_text


def compare(
    context: typer.Context,
    results: Annotated[list[Path], typer.Argument(help="files that ctpwa fit wrote; differences are relative to the first")],
    same_samples: Annotated[
        bool | None,
        typer.Option("--same-samples/--other-samples", help="whether the fits are of the same events; default: as the results say"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Put results side by side: likelihoods, significance of nested models, parameters, couplings, fractions."""
    if len(results) < 2:
        raise typer.BadParameter("give at least two results")
    found = compare_results(results, same_samples=same_samples)
    if as_json:
        print_json(found.as_dict())
    elif CommandSettings.of(context).tables:
        _print(found)
    else:
        echo(comparison_text(found))


def _print(found: Comparison) -> None:
    console = out()
    for section in comparison_sections(found):
        print_section(console, section)
    for note in comparison_notes(found):
        console.print(Text(note, style="yellow"))


COMMAND = Command(compare, "ctpwa compare with.result.json without.result.json", place=70)
