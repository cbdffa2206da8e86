"""``ctpwa check``: what a model file means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.cli.check_print import print_plain, print_tables
from ctpwa.cli.check_report import CheckReport
from ctpwa.cli.console import is_terminal, print_json


def check(
    model: Annotated[Path, typer.Argument(help="the model file")],
    explain: Annotated[bool, typer.Option("--explain", help="show what is computed once per event, per iteration, and for both")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Validate a model and show its waves, parameters and memory."""
    report = CheckReport.of(ctpwa.load_model(model))
    if as_json:
        print_json(_description(report))
    elif is_terminal():
        print_tables(report)
    else:
        print_plain(report)
    if explain and not as_json:
        typer.echo(f"\n{report.plan.explain()}")


def _description(report: CheckReport) -> dict[str, Any]:
    model = report.model
    return {
        "decay": str(model.decay),
        "polarisation": str(model.polarisation),
        "waves": [
            {"name": w.name, "ls": [[ls.L, float(ls.S)] for ls in w.ls], "coupling": w.coupling, "factor": w.factor} for w in model.waves
        ],
        "couplings": [{"name": name, "re": value.real, "im": value.imag} for name, value in report.couplings.items()],
        "parameters": [
            {"name": p.name, "value": p.value, "lower": report.limit(p.lower), "upper": report.limit(p.upper), "fixed": p.fixed}
            for p in report.channels.theta
        ],
        "free_parameters": report.n_free,
        "bytes_per_event": report.plan.bytes_per_event,
        "notes": list(model.notes),
    }
