"""``ctpwa export``: results as ROOT, CSV or LaTeX files, and models for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ctpwa.analysis.export import export as export_result
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_folder, check_inputs, check_output, written_whole
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json
from ctpwa.cli.output_kinds import CSV, LATEX, ROOT, SERIALIZED
from ctpwa.config.read import load_model
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.interchange.serialization.exporter import describe


def export(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote; with --format a model file will do")],
    root: Annotated[Path | None, typer.Option(metavar="FILE", help="a ROOT file for histograms and weights of every event")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FOLDER", help="a folder for CSV files")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FOLDER", help="a folder for LaTeX tables")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="write the model for other programs: amplitude-serialization")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="the file of --format")] = None,
    projections: Annotated[bool, typer.Option(help="CSV files of projections, which need the samples")] = True,
    engine: Annotated[str, typer.Option(help="auto, or a backend such as cuda, cpu or reference")] = "auto",
    device: Annotated[str | None, typer.Option(help="where to compute, such as cpu or cuda:0")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace earlier files of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the names of the files for programs")] = False,
) -> None:
    """Write the result for other programs and for papers: histograms, weights of every event, tables."""
    if format_ is not None:
        _write_model(result, format_, out, force, as_json)
        if root is None and csv is None and latex is None:
            return
    elif out is not None:
        raise typer.BadParameter("--out is the file of --format amplitude-serialization")
    if root is None and csv is None and latex is None:
        raise typer.BadParameter("say what to write: --root FILE, --csv FOLDER, --latex FOLDER or --format amplitude-serialization")
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


def _write_model(source: Path, format_: str, out: Path | None, force: bool, as_json: bool) -> None:
    """The model of a result, or of a model file, for other programs."""
    if format_ != SERIALIZATION:
        raise typer.BadParameter(f"{format_!r} is not a format: {SERIALIZATION} is")
    if out is None:
        raise typer.BadParameter("say which file to write: --out FILE")
    check_output(out, SERIALIZED, [source], force)
    if source.suffix == ".json":
        intensity = open_fit(source).intensity("reference", "cpu")
    else:
        intensity = ModelIntensity(load_model(source), engine="reference", device="cpu")
    content = describe(intensity, source.name.partition(".")[0] or "model")
    with written_whole(out) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        print_json({"files": [str(out)]})
    else:
        echo(str(out))


SERIALIZATION = "amplitude-serialization"
COMMAND = Command(export, "ctpwa export model.result.json --root fit.root --latex tables", place=80)
