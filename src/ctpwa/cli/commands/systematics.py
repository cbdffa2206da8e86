"""``ctpwa systematics``: a fit with other assumptions, and the errors that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.base.output import check_folder
from ctpwa.cli.output_kinds import CSV, LATEX
from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.studies.shifts import GROUPS, LARGER, LARGEST, TWO_SIDED
from ctpwa.studies.systematics_study import STARTS, Systematics
from ctpwa.studies.systematics_study import systematics as study


def systematics(
    call: StudyCall,
    variations: Annotated[Path, typer.Argument(help="a YAML file with a list of variations")],
    two_sided: Annotated[str, typer.Option("--two-sided", help=f"what counts of two sides: {' or '.join(TWO_SIDED)}")] = LARGER,
    groups: Annotated[str, typer.Option("--groups", help=f"what counts of a group: {' or '.join(GROUPS)}")] = LARGEST,
    starts: Annotated[int, typer.Option("--starts", min=1, help="starts of fits whose waves are others")] = STARTS,
    seed: SeedOption = 0,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FOLDER", help="a folder for CSV files")] = None,
    latex: Annotated[Path | None, typer.Option("--latex", metavar="FOLDER", help="a folder for LaTeX tables")] = None,
) -> None:
    """Fit with other assumptions: shifts and systematic errors of every parameter and fraction."""
    for folder, kinds in ((csv, CSV), (latex, LATEX)):
        if folder is not None:
            check_folder(folder, kinds, call.force)

    def tables(found: Systematics) -> list[Path]:
        return [*(found.write_csv(csv) if csv else []), *(found.write_latex(latex) if latex else [])]

    call.run(
        "systematics",
        lambda opened, run: study(opened, variations, two_sided=two_sided, groups=groups, starts=starts, seed=seed, **run),
        tables,
    )


COMMAND = study_command(systematics, "ctpwa systematics model.result.json variations.yml --latex tables", place=77)
