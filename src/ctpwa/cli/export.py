"""``ctpwa export``: what was found as ROOT, CSV or LaTeX files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ctpwa.cli.console import echo, print_json
from ctpwa.errors import CtpwaError
from ctpwa.exporting import export as export_result


def export(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote")],
    root: Annotated[Path | None, typer.Option(metavar="FILE", help="a ROOT file for histograms and weights of every event")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FOLDER", help="a folder for CSV files")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FOLDER", help="a folder for LaTeX tables")] = None,
    projections: Annotated[bool, typer.Option(help="CSV files of projections, which need the samples")] = True,
    engine: Annotated[str, typer.Option(help="auto, cuda, cpu or reference")] = "auto",
    device: Annotated[str | None, typer.Option(help="where to compute, such as cpu or cuda:0")] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite files that are there")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the names of the files for programs")] = False,
) -> None:
    """Write what was found for other programs and for papers: histograms, weights of every event, tables."""
    if root is None and csv is None and latex is None:
        raise typer.BadParameter("say what to write: --root FILE, --csv FOLDER or --latex FOLDER")
    _check_root(root, force)
    for folder in (csv, latex):
        _check_folder(folder, force)
    files = export_result(result, root=root, csv=csv, latex=latex, projections=projections, engine=engine, device=device)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        echo("\n".join(map(str, files)))


def _check_root(path: Path | None, force: bool) -> None:
    """Before anything is computed."""
    if path is None:
        return
    if path.suffix != ".root":
        raise CtpwaError(f"cannot write {str(path)!r} as a ROOT file\n fix: give a name that ends with .root")
    if path.exists() and not force:
        raise CtpwaError(f"{str(path)!r} is there already\n fix: add --force to overwrite it, or name another file with --root")
    if not path.parent.is_dir():
        raise CtpwaError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}\n fix: make the folder, or correct the path")
    _check_writable(path.parent)


def _check_folder(folder: Path | None, force: bool) -> None:
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise CtpwaError(f"cannot write into {str(folder)!r}: it is a file\n fix: name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise CtpwaError(
            f"{str(folder)!r} is there already and not empty\n fix: add --force to overwrite files in it, or name another folder"
        )
    if not folder.parent.is_dir():
        raise CtpwaError(
            f"cannot make {str(folder)!r}: there is no folder {str(folder.parent)!r}\n fix: make the folder, or correct the path"
        )
    _check_writable(folder if folder.is_dir() else folder.parent)


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CtpwaError(f"cannot write into {str(folder)!r}: permission denied\n fix: change its permissions, or name another folder")
