"""``ctpwa export``: results as ROOT, CSV or LaTeX files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.analysis.export import export as export_result
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_folder, check_inputs, check_output
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json
from ctpwa.cli.output_kinds import CSV, LATEX, ROOT


def export(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote")],
    root: Annotated[Path | None, typer.Option(metavar="FILE", help="a ROOT file for histograms and weights of every event")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FOLDER", help="a folder for CSV files")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FOLDER", help="a folder for LaTeX tables")] = None,
    projections: Annotated[bool, typer.Option(help="CSV files of projections, which need the samples")] = True,
    engine: Annotated[str, typer.Option(help="auto, or a backend such as cuda, cpu or reference")] = "auto",
    device: Annotated[str | None, typer.Option(help="where to compute, such as cpu or cuda:0")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace earlier files of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the names of the files for programs")] = False,
) -> None:
    """Write the result for other programs and for papers: histograms, weights of every event, tables."""
    if root is None and csv is None and latex is None:
        raise typer.BadParameter("say what to write: --root FILE, --csv FOLDER or --latex FOLDER")
    if root is not None and root.suffix != ".root":
        raise CtpwaError(f"cannot write {str(root)!r} as a ROOT file\n fix: give a name that ends with .root")
    if root is not None:
        check_output(root, ROOT, [result], force)
    for folder, kinds in ((csv, CSV), (latex, LATEX)):
        if folder is not None:
            check_folder(folder, kinds, force)
    found: Path | OpenedFit = result
    if root is not None:
        found = open_fit(result)
        check_inputs(root, found.analysis.files, "--root")
    files = export_result(found, root=root, csv=csv, latex=latex, projections=projections, engine=engine, device=device)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        echo("\n".join(map(str, files)))


COMMAND = Command(export, "ctpwa export model.result.json --root fit.root --latex tables", place=80)
