"""``ctpwa import``: models of other programs as model files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_output, written_whole
from ctpwa.base.words import counted
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json, say
from ctpwa.cli.output_kinds import IMPORTED
from ctpwa.config.merged import moved
from ctpwa.config.model_text import model_text
from ctpwa.interchange.model_file import ImportedModel
from ctpwa.interchange.serialization.checksums import CheckedSum
from ctpwa.interchange.serialization.files import read_serialization
from ctpwa.interchange.tfpwa.importer import read_tfpwa


def import_model(
    file: Annotated[Path, typer.Argument(help="a JSON file of amplitude-serialization, or config.yml of TF-PWA")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the model file to write")] = Path("model.yml"),
    params: Annotated[Path | None, typer.Option(metavar="FILE", help="final_params.json of TF-PWA: values of its parameters")] = None,
    name: Annotated[str | None, typer.Option(help="which model, if the file has several")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier model file of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print checksums and notes for programs")] = False,
) -> None:
    """Write the model of another program as a model file, and compare it with the numbers that its file gives."""
    check_output(out, IMPORTED, [file] if params is None else [file, params], force)
    checksums: list[CheckedSum] | None = None
    if file.suffix in (".yml", ".yaml"):
        if name is not None:
            raise typer.BadParameter("--name is for files of amplitude-serialization")
        imported = read_tfpwa(file, params)
    else:
        if params is not None:
            raise typer.BadParameter("--params is for a config.yml of TF-PWA")
        found = read_serialization(file)
        checksums = list(found.checksums)
        imported = _chosen(list(found.models), name)
    source = file.name if imported.name == file.name else f"{file.name}: {imported.name}"
    head = [f"written by ctpwa import, ctpwa {ctpwa.__version__}, from {source}", *imported.notes]
    content = moved(imported.content, file.parent, out.parent)  # paths of samples
    with written_whole(out) as temporary:
        temporary.write_text(model_text(content, head), encoding="utf-8")
        model = ctpwa.load_model(temporary)
    if as_json:
        print_json(
            {
                "file": str(out),
                "model": imported.name,
                "waves": len(model.waves),
                "notes": list(imported.notes),
                "checksums": [
                    {"of": c.of, "point": c.point, "expected": str(c.expected), "computed": str(c.computed), "deviation": c.deviation}
                    for c in checksums or ()
                ],
            }
        )
        return
    for line in [] if checksums is None else _lines(checksums):
        echo(line)
    for note in imported.notes:
        echo(f"note: {note}")
    say(f"{out}: {counted(len(model.waves), 'wave')}; see what it means:  ctpwa check {out}")


def _chosen(models: list[ImportedModel], name: str | None) -> ImportedModel:
    names = ", ".join(model.name for model in models)
    if name is None:
        if len(models) > 1:
            raise CtpwaError(f"the file has {len(models)} models: {names}\n fix: choose one of them with --name")
        return models[0]
    for model in models:
        if model.name == name:
            return model
    raise CtpwaError(f"the file has no model {name!r}\n fix: choose one of {names}")


def _lines(checksums: list[CheckedSum]) -> list[str]:
    """A line for every checksum."""
    if not checksums:
        return ["the file has no checksums"]
    lines = [
        f"{c.of} at {c.point}: {_number(c.computed)}, the file says {_number(c.expected)}, deviation {c.deviation:.1e}" for c in checksums
    ]
    return [*lines, f"largest deviation of {counted(len(checksums), 'checksum')}: {max(c.deviation for c in checksums):.1e}"]


def _number(value: complex) -> str:
    return f"{value.real:.12g}" if not value.imag else f"{value.real:.12g}{value.imag:+.12g}i"


COMMAND = Command(import_model, "ctpwa import lc2pkpi.json --out model.yml", place=15)
