"""``ctpwa toys``: toys of a fit, fitted back."""

from __future__ import annotations

from typing import Annotated

import typer

from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.studies.toy_study import TOYS
from ctpwa.studies.toy_study import toys as study


def toys(
    call: StudyCall,
    n: Annotated[int, typer.Option("-n", "--toys", min=1, help="how many toys; more later go on with those that exist")] = TOYS,
    seed: SeedOption = 0,
) -> None:
    """Fit toys of a fit: pulls, biases and coverage of every parameter and fraction."""
    call.run("toys", lambda opened, run: study(opened, n, seed=seed, **run))


COMMAND = study_command(toys, "ctpwa toys model.result.json -n 500", place=75)
