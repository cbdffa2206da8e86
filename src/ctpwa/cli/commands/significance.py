"""``ctpwa significance``: fits without resonances."""

from __future__ import annotations

from typing import Annotated

import typer

from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.studies.significance_study import STARTS
from ctpwa.studies.significance_study import significance as study


def significance(
    call: StudyCall,
    resonances: Annotated[list[str] | None, typer.Argument(help="removed one by one; default: each; with --together: one set")] = None,
    together: Annotated[bool, typer.Option("--together", help="remove the resonances together")] = False,
    toys: Annotated[int, typer.Option("--toys", min=0, help="calibrate with so many toys of the fit without each")] = 0,
    starts: Annotated[int, typer.Option("--starts", min=1, help="starts of each fit")] = STARTS,
    seed: SeedOption = 0,
) -> None:
    """Remove each resonance, or a set of them, and fit again: change of ln L, degrees of freedom, significance."""
    names = resonances or []
    if together and len(names) < 2:
        raise typer.BadParameter("--together needs at least two resonances")
    sets = {"together": [names]} if together else {"resonances": names}
    call.run("significance", lambda opened, run: study(opened, toys=toys, starts=starts, seed=seed, **sets, **run))


COMMAND = study_command(significance, "ctpwa significance model.result.json --toys 200", place=72)
