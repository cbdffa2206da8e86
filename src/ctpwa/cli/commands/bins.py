"""``ctpwa bins``: a fit in every bin of a mass, or of other variables."""

from __future__ import annotations

from typing import Annotated

import typer

from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.fitting.search_settings import DISTANCE
from ctpwa.studies.bin_fit import SWEEPS
from ctpwa.studies.bins_run import STARTS
from ctpwa.studies.bins_run import bins as study


def bins(
    call: StudyCall,
    in_: Annotated[
        str, typer.Option("--in", metavar="VARIABLE: LOW..HIGH/N", help="what the bins are of, such as 'mass(eta, pi0): 1.04..2.0/40'")
    ],
    and_: Annotated[
        str | None, typer.Option("--and", metavar="VARIABLE: LOW..HIGH/N", help="a second variable, such as 't: 0.1..0.5/2'")
    ] = None,
    starts: Annotated[int, typer.Option("--starts", min=1, help="starts of the fit of every bin")] = STARTS,
    bootstrap: Annotated[
        int, typer.Option("--bootstrap", min=0, metavar="N", help="replicas of every bin, for errors that need no likelihood")
    ] = 0,
    within: Annotated[
        float, typer.Option("--within", min=0.01, help="keep other solutions that are less than this above in -ln L")
    ] = DISTANCE,
    sweeps: Annotated[
        int, typer.Option("--sweeps", min=0, metavar="N", help="start bins again from solutions of their neighbours, at most so often")
    ] = SWEEPS,
    intervals: Annotated[
        bool, typer.Option("--intervals/--no-intervals", help="look for errors that are not Gaussian, and for asymmetric ones there")
    ] = True,
    seed: SeedOption = 0,
) -> None:
    """Fit every bin of a mass on its own, from many starts: yields and phases of waves against it."""
    call.run_model(
        "bins",
        lambda analysis, run: study(
            analysis,
            in_,
            and_,
            starts=starts,
            seed=seed,
            bootstrap=bootstrap,
            distance=within,
            sweeps=sweeps,
            intervals=intervals,
            **run,
        ),
    )


COMMAND = study_command(bins, "ctpwa bins model.yml --in 'mass(eta, pi0): 1.04..2.0/40'", place=79, of_model=True)
