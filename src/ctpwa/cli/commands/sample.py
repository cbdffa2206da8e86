"""``ctpwa sample``: points of the posterior of a fit."""

from __future__ import annotations

from typing import Annotated

import typer

from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.studies.sample_study import CHAINS, ROUNDS, WARM_UP
from ctpwa.studies.sample_study import sample as study


def sample(
    call: StudyCall,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--points",
            min=4,
            help="points of every chain, in pieces of 25; more later go on with those that exist; default: until they have converged,"
            f" at most {ROUNDS[-1]}",
        ),
    ] = None,
    chains: Annotated[int, typer.Option("--chains", min=1, help="how many chains")] = CHAINS,
    warm_up: Annotated[int, typer.Option("--warm-up", min=10, help="points of every chain that are thrown away first")] = WARM_UP,
    shown: Annotated[
        list[str] | None, typer.Option("--show", metavar="NAME", help="a parameter of the corner plot; may be repeated")
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Sample the posterior by Hamiltonian Monte Carlo: credible intervals where −ln L is no parabola."""
    call.run("sample", lambda opened, run: study(opened, n, chains=chains, warm_up=warm_up, shown=shown or (), seed=seed, **run))


COMMAND = study_command(sample, "ctpwa sample model.result.json", place=78)
