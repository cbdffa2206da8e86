"""``ctpwa demo``: toy data, fitted back, with figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.cli.command import Command
from ctpwa.cli.console import NOT_GOOD
from ctpwa.cli.demonstration import N_EVENTS, N_PHASE_SPACE, N_STARTS, OUTPUT, main


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="the folder for all output")] = OUTPUT,
    n: Annotated[int, typer.Option("-n", "--events", min=100, help="how many toy events")] = N_EVENTS,
    phase_space: Annotated[int, typer.Option(min=1000, help="how many phase-space events")] = N_PHASE_SPACE,
    starts: Annotated[int, typer.Option(min=1, help="how many random starts")] = N_STARTS,
) -> None:
    """Generate toy data of J/psi -> K+ K- eta, fit them back from random couplings, compare and draw. Takes about a minute."""
    if not main(n, phase_space, starts, out).verdict.good:
        raise typer.Exit(NOT_GOOD)


COMMAND = Command(demo, "ctpwa demo --out demo-output", place=90, exit_codes="3 the fit has ended, but its verdict is not good")
