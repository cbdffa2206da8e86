"""``ctpwa scan``: likelihood profiles."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ctpwa.cli.study_command import StudyCall, study_command
from ctpwa.studies.scan_study import MOST_POINTS, MOST_SIGMAS, POINTS, POINTS_2D, SIGMAS
from ctpwa.studies.scan_study import scan as study

_OTHER = re.compile(r"[^\w+]+", re.ASCII)
_RANGE = re.compile(r"\s*=[-+.\deE]*\.\.[-+.\deE]*\s*$")
LONGEST = 80


def scan(
    call: StudyCall,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME[=LOW..HIGH]…",
            help="one or two of: a parameter, fraction(RESONANCE), phase(COUPLING, COUPLING), pole(RESONANCE).mass, pole(RESONANCE).width",
        ),
    ],
    points: Annotated[
        int | None, typer.Option(min=3, max=MOST_POINTS, help=f"points along every axis; default: {POINTS}, of two quantities {POINTS_2D}")
    ] = None,
    sigmas: Annotated[
        float, typer.Option(min=1, max=MOST_SIGMAS, help="how far to go in standard deviations, where no range is given")
    ] = SIGMAS,
) -> None:
    """Profile the likelihood over one or two quantities, with all other parameters fitted again at every point."""
    call.run(f"scan-{_as_file_name(names)}", lambda opened, run: study(opened, *names, points=points, sigmas=sigmas, **run))


def _as_file_name(names: list[str]) -> str:
    """What is scanned, as part of the name of a file."""
    return "-".join(_OTHER.sub("-", _RANGE.sub("", name)).strip("-") for name in names)[:LONGEST] or "quantity"


COMMAND = study_command(scan, "ctpwa scan model.result.json 'K*(1410).mass'", place=71)
