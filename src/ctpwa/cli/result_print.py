"""A result as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctpwa.base.errors import on_one_line
from ctpwa.cli.console import out
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section, changed_lines, headline, minima_lines, remarks, sections, verdict_lines


def print_result(
    result: FitResult, waves: bool = False, correlations: bool = False, more: Sequence[Section] = (), reasons: bool = False
) -> None:
    """Print tables with colours.

    Args:
        result, waves, correlations, more, reasons:
            as in ``result_text``
    """
    console = out()
    for line in changed_lines(result):
        console.print(Text(line, style="bold yellow"))
    console.print(Text(headline(result), style="bold"))
    for line in verdict_lines(result, reasons):
        console.print(Text(line, style="green" if result.verdict.good else "bold red"))
    for line in [*minima_lines(result), *remarks(result)]:
        console.print(Text(line))
    for section in [*sections(result, waves, correlations), *more]:
        print_section(console, section)


def print_section(console: Console, section: Section) -> None:
    """A title, a table, and notes below it."""
    console.print(Text(f"\n{section.title}", style="bold"))
    console.print(_table(section))
    if section.foot:
        console.print(Text(section.foot, style="dim"))


def _table(section: Section) -> Table:
    """Columns that are empty in every row are left out."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    used = [k for k in range(len(section.columns)) if any(row[k] for row in section.rows)]
    for k in used:
        table.add_column(Text(on_one_line(section.columns[k])), overflow="fold", justify="left")
    for row in section.rows:
        table.add_row(*(Text(on_one_line(row[k])) for k in used), style="dim" if row[0] == "sum" else "")
    return table
