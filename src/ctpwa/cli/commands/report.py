"""``ctpwa report``: everything a fit found, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.analysis.reopen import open_fit
from ctpwa.analysis.write_report import PHASE_SPACE, write_report
from ctpwa.base.output import check_folder, check_inputs, check_output
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo
from ctpwa.cli.output_kinds import FIGURES, REPORT


def report(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote")],
    output: Annotated[Path | None, typer.Option("--out", "-o", help="the HTML file; default: next to the result")] = None,
    figures: Annotated[Path | None, typer.Option("--figures", help="a folder for all figures as PDF and PNG")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier report and earlier figures")] = False,
    phase_space: Annotated[
        int, typer.Option("--phase-space", help="draw the fit with at most this many phase-space events", min=1)
    ] = PHASE_SPACE,
    engine: Annotated[str, typer.Option("--engine", help="auto, or a backend such as cuda, cpu or reference")] = "auto",
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda or cuda:1")] = None,
) -> None:
    """Write a report with tables, projections, Dalitz plots and more: one HTML file that works offline."""
    path = output if output is not None else result.with_suffix(".html")
    check_output(path, REPORT, [result], force)
    if figures is not None:
        check_folder(figures, FIGURES, force)
    opened = open_fit(result)
    check_inputs(path, opened.analysis.files)
    for file in write_report(opened, path, figures=figures, engine=engine, device=device, phase_space=phase_space):
        echo(str(file))


COMMAND = Command(report, "ctpwa report model.result.json", place=60)
