"""``ctpwa bootstrap``: the data of a fit with other multiplicities, fitted again."""

from __future__ import annotations

from typing import Annotated

import typer

from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.studies.bootstrap_study import REPLICAS
from ctpwa.studies.bootstrap_study import bootstrap as study


def bootstrap(
    call: StudyCall,
    n: Annotated[int, typer.Option("-n", "--replicas", min=2, help="how many replicas; more later go on with those that exist")] = REPLICAS,
    seed: SeedOption = 0,
) -> None:
    """Fit the data with events counted as often as chance has it: errors that need no likelihood."""
    call.run("bootstrap", lambda opened, run: study(opened, n, seed=seed, **run))


COMMAND = study_command(bootstrap, "ctpwa bootstrap model.result.json", place=76)
