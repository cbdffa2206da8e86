"""``ctpwa report``: everything that was found, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.cli.console import echo
from ctpwa.errors import CtpwaError
from ctpwa.reporting import PHASE_SPACE, write_report


def report(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote")],
    output: Annotated[Path | None, typer.Option("--out", "-o", help="the HTML file; default: beside the result")] = None,
    figures: Annotated[Path | None, typer.Option("--figures", help="a folder for all figures as PDF and PNG")] = None,
    force: Annotated[bool, typer.Option("--force", help="write over files that are there")] = False,
    phase_space: Annotated[
        int, typer.Option("--phase-space", help="draw the fit with at most so many phase-space events", min=1)
    ] = PHASE_SPACE,
    engine: Annotated[str, typer.Option("--engine", help="auto, cuda, cpu or reference")] = "auto",
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda or cuda:1")] = None,
) -> None:
    """Write a report with tables, projections, Dalitz plots and all the rest: one HTML file that needs no network."""
    path = output if output is not None else result.with_suffix(".html")
    if path.exists() and not force:
        raise CtpwaError(f"{str(path)!r} is there already\n fix: add --force to overwrite it, or name another file with --out")
    if not path.parent.is_dir():
        raise CtpwaError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}\n fix: make the folder, or correct the path")
    if figures is not None and figures.exists() and (not figures.is_dir() or (any(figures.iterdir()) and not force)):
        raise CtpwaError(f"{str(figures)!r} is there already\n fix: add --force to write into it, or name another folder with --figures")
    for file in write_report(result, path, figures=figures, engine=engine, device=device, phase_space=phase_space):
        echo(str(file))
