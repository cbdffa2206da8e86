"""``ctpwa hypotheses``: other J^P, lineshapes or (L, S) of a resonance."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ctpwa.cli.study_command import SeedOption, StudyCall, study_command
from ctpwa.config.alternatives import read_change
from ctpwa.studies.hypotheses_study import STARTS
from ctpwa.studies.hypotheses_study import hypotheses as study


def hypotheses(
    call: StudyCall,
    resonance: Annotated[str, typer.Argument(help="what the hypotheses are about")],
    jp: Annotated[list[str] | None, typer.Option("--jp", help="another J^P or J^PC, such as 2+; may be repeated")] = None,
    lineshape: Annotated[list[str] | None, typer.Option("--lineshape", help="another lineshape; may be repeated")] = None,
    ls: Annotated[
        list[str] | None, typer.Option("--ls", help="other (L, S), such as 'production (0,1)(2,1)' or 'decay (1,0)'; may be repeated")
    ] = None,
    change: Annotated[
        list[str] | None, typer.Option("--change", help="other keys of it in the model file, such as '{radius: 5}'; may be repeated")
    ] = None,
    toys: Annotated[int, typer.Option("--toys", min=0, help="separate the two best with so many toys of each")] = 0,
    starts: Annotated[int, typer.Option("--starts", min=1, help="starts of each fit")] = STARTS,
    seed: SeedOption = 0,
) -> None:
    """Fit other hypotheses about a resonance to the same events, and rank them."""
    changes = [read_change(text) for text in change or []]
    other: dict[str, Any] = {"jp": jp or [], "lineshape": lineshape or [], "ls": ls or [], "change": changes}
    call.run("hypotheses", lambda opened, run: study(opened, resonance, toys=toys, starts=starts, seed=seed, **other, **run))


COMMAND = study_command(hypotheses, "ctpwa hypotheses model.result.json 'X(1750)' --jp 0+ --jp 2+", place=73)
