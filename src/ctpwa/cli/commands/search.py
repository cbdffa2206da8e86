"""``ctpwa search``: which resonances are missing in a model, and which are not needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_inputs
from ctpwa.cli.console import say
from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.studies.candidates import Given, candidates_in_file
from ctpwa.studies.mass_scan_study import mass_scan
from ctpwa.studies.run import RunOptions
from ctpwa.studies.scanned import MassRange
from ctpwa.studies.search_study import search as study
from ctpwa.studies.selection import CRITERIA
from ctpwa.studies.selection_study import Selection, select_model
from ctpwa.studies.study import Study
from ctpwa.studies.tried import REFIT, STARTS

ALL = "all"
YAML = (".yml", ".yaml")


def search(
    call: StudyCall,
    add: Annotated[
        list[str] | None,
        typer.Option(
            "--add",
            metavar="STATE",
            help="a candidate: a name of the PDG, 'X: {in: K+ K-, JP: 1-, mass: 1.6, width: 0.1}', or a YAML file; may be repeated;"
            " default: all that ctpwa init lists and the model does not have",
        ),
    ] = None,
    scan: Annotated[
        str | None, typer.Option("--scan", metavar="TEXT", help="scan the mass of one more: 'X: 1- in K+ K-, mass 1.0..2.5/60, width 0.1'")
    ] = None,
    select: Annotated[
        str | None, typer.Option("--select", metavar="|".join(CRITERIA), help="add and remove resonances until nothing changes")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="standard deviations that each needs, with --select significance [default: 5]")
    ] = None,
    refit: Annotated[
        str, typer.Option("--refit", metavar="N|all", help="how many candidates or masses are fitted, the best by their score")
    ] = str(REFIT),
    toys: Annotated[int, typer.Option("--toys", min=0, help="with --scan: toys that say how large a gain chance makes")] = 0,
    starts: Annotated[int, typer.Option("--starts", min=1, help="of every fit")] = STARTS,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="MODEL", help="with --select: the model file to write in the end")
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Look for missing resonances: by the score test, which needs no fit, and by fits of the best."""
    _check_together(add, scan, select, threshold, toys, write)
    most, given = _refit(refit), None if add is None else _candidates(add)
    scanned = None if scan is None else MassRange.read(scan)
    suffix = "search" if select is None else f"search-{select}"
    if scanned is not None:
        suffix = f"search-{''.join(letter if letter.isalnum() else '_' for letter in scanned.name)}"

    def work(opened: OpenedFit, run: RunOptions) -> Study:
        if scanned is not None:
            return mass_scan(opened, scanned, refit=most, toys=toys, starts=starts, seed=seed, **run)
        if select is None:
            return study(opened, given, refit=most, starts=starts, seed=seed, **run)
        if write is not None:
            goal = write
            run["ranks"].together(lambda: _check_written(goal, [call.fit, *opened.analysis.files]))
        found = select_model(opened, given, by=select, threshold=threshold, refit=most, starts=starts, seed=seed, **run)
        if write is not None:
            goal = write
            run["ranks"].on_first(lambda: _write(found, goal))
        return found

    call.run(suffix, work)


def _check_together(
    add: list[str] | None, scan: str | None, select: str | None, threshold: float | None, toys: int, write: Path | None
) -> None:
    """Options that contradict each other are wrong usage."""
    if scan is not None and (add or select):
        raise typer.BadParameter(f"--scan and {'--add' if add else '--select'} exclude each other")
    if select is not None and select not in CRITERIA:
        raise typer.BadParameter(f"--select {select!r}: give {', '.join(CRITERIA[:-1])} or {CRITERIA[-1]}")
    if threshold is not None and (select != CRITERIA[-1] or not threshold > 0):
        raise typer.BadParameter(f"--threshold is a positive number, and belongs to --select {CRITERIA[-1]}")
    if toys and scan is None:
        raise typer.BadParameter("--toys belongs to --scan")
    if write is not None and select is None:
        raise typer.BadParameter("--write belongs to --select")


def _refit(text: str) -> int | None:
    if text == ALL:
        return None
    if not text.isascii() or not text.isdigit():
        raise typer.BadParameter(f"--refit {text!r}: give a whole number, or {ALL}")
    return int(text)


def _candidates(texts: list[str]) -> Given:
    """What --add says; a file stands alone."""
    files = [text for text in texts if text.lower().endswith(YAML)]
    if not files:
        return texts
    if len(texts) > 1:
        raise typer.BadParameter(f"--add {files[0]!r} is a file, and stands alone")
    return candidates_in_file(Path(files[0]))


def _check_written(path: Path, inputs: list[Path]) -> None:
    """Refuse to write where something is, before anything takes time."""
    check_inputs(path, inputs, "--write")
    if path.exists() or path.is_symlink():
        raise CtpwaError(f"{str(path)!r} already exists\n fix: name another file with --write")
    if not path.parent.is_dir():
        raise CtpwaError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}\n fix: make the folder, or correct the path")


def _write(found: Selection, path: Path) -> None:
    found.write_model(path)
    say(f"{path}: {len(found.resonances)} resonances")


COMMAND = study_command(search, "ctpwa search model.result.json", place=74)
