"""``ctpwa report``: everything a fit found, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.analysis.by_hand import open_by_hand
from ctpwa.analysis.export import export
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.analysis.write_report import PHASE_SPACE, write_report
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_folder, check_inputs, check_no_folder, check_output
from ctpwa.cli.changes import DataOption, NotFitted, SetOption, WithoutOption, of_options, read_changes
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo
from ctpwa.cli.output_kinds import FIGURES, PAPER, REPORT
from ctpwa.cli.study_command import DeviceOption, EngineOption
from ctpwa.report.content import StudyView
from ctpwa.studies.files import SUFFIX as STUDY_SUFFIX
from ctpwa.studies.files import find_studies
from ctpwa.studies.store import is_study
from ctpwa.studies.study import Study, load_study
from ctpwa.studies.systematics_study import Systematics


def report(
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote, or a study")],
    output: Annotated[Path | None, typer.Option("--out", "-o", help="the HTML file; default: next to the result")] = None,
    figures: Annotated[Path | None, typer.Option("--figures", help="a folder for all figures as PDF and PNG")] = None,
    paper: Annotated[
        Path | None, typer.Option("--paper", metavar="FOLDER", help="a folder for LaTeX tables, with systematic errors if there is a study")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier report, earlier figures and tables")] = False,
    phase_space: Annotated[
        int | None,
        typer.Option("--phase-space", help=f"draw the fit with at most this many phase-space events; default: {PHASE_SPACE}", min=1),
    ] = None,
    values: SetOption = None,
    without: WithoutOption = None,
    data: DataOption = None,
    engine: EngineOption = None,
    device: DeviceOption = None,
    not_fitted: NotFitted = None,
) -> None:
    """Write a report with tables, projections, Dalitz plots and more: one HTML file that works offline.

    Studies of the fit that lie next to its file, such as model.toys.parquet next to model.result.json, get a chapter each. Of the file
    of a study, such as model.bins.parquet, the report is of that study alone.

    With --set, --without or --data what follows from them is computed again; nothing is fitted, and studies are left out.
    """
    changes = read_changes(values=values, without=without, data=data)
    check_no_folder(result, "a file that ctpwa fit wrote, or a study")
    if is_study(result):
        of_fit: dict[str, object] = {"--paper": paper, "--set": values, "--without": without, "--data": data}
        of_fit |= {"--phase-space": phase_space, "--engine": engine, "--device": device}
        if given := [option for option, value in of_fit.items() if value]:
            raise typer.BadParameter(f"{result} is the file of a study, whose numbers are all in it: leave out {' and '.join(given)}")
        _report_of_study(result, output, figures, force)
        return
    if result.suffix == STUDY_SUFFIX and result.exists():
        raise CtpwaError(f"{str(result)!r} is no study of ctpwa, or is damaged\n fix: give the result of a fit, or do the study again")
    if changes.in_place and paper is not None:
        raise typer.BadParameter("--paper writes tables of a fit: leave out --set, --without and --data, or fit again")
    path = output if output is not None else result.with_suffix(".changed.html" if changes.in_place else ".html")
    check_output(path, REPORT, [result], force)
    if figures is not None:
        check_folder(figures, FIGURES, force)
    if paper is not None:
        check_folder(paper, PAPER, force)
    with of_options():
        opened = open_by_hand(result, changes, engine=engine or "auto", device=device) if changes.in_place else open_fit(result)
    check_inputs(path, opened.analysis.files)
    studies = {} if changes.in_place else _studies(result, opened)
    views = list(studies.values())
    written = write_report(
        opened, path, figures=figures, studies=views, engine=engine or "auto", device=device, phase_space=phase_space or PHASE_SPACE
    )
    if paper is not None:
        written += _tables(opened, paper, list(studies))
    echo("\n".join(map(str, written)))


def _report_of_study(path: Path, output: Path | None, figures: Path | None, force: bool) -> None:
    """The page of one study, and its figures."""
    page = output if output is not None else path.with_suffix(".html")
    check_output(page, REPORT, [path], force)
    if figures is not None:
        check_folder(figures, FIGURES, force)
    study = load_study(path)
    study.write_report(page)
    echo("\n".join(map(str, [page, *(study.write_figures(figures) if figures is not None else [])])))


def _studies(path: Path, opened: OpenedFit) -> dict[Study, StudyView]:
    """The studies next to a result and their chapters; what is left out is said."""
    found = find_studies(path, opened.result)
    views, left_out = {}, dict(found.left_out)
    for file, study in found.studies.items():
        try:
            views[study] = study.view()
        except CtpwaError as error:
            left_out[file] = str(error)
    for file, why in left_out.items():
        echo(f"left out of the report: {file}: {why}", err=True)
    return views


def _tables(opened: OpenedFit, folder: Path, studies: list[Study]) -> list[Path]:
    """Tables of a paper, with the systematic errors of the study of them."""
    found = [study for study in studies if isinstance(study, Systematics)]
    if len(found) > 1:
        names = "several studies of systematic errors are next to the result"
        raise CtpwaError(f"{names}: the tables of a paper need one\n fix: move the others to another folder")
    if not found:
        echo("no study of systematic errors is next to the result: tables have the errors of the fit alone", err=True)
    for study in found:
        if not study.complete:
            echo(f"systematic errors in the tables are not complete: {study.headline}", err=True)
    return export(opened, latex=folder, systematic=found[0].errors if found else None)


COMMAND = Command(report, "ctpwa report model.result.json", place=60)
