"""``ctpwa check``: what a model file means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ctpwa
from ctpwa.cli.console import print_json
from ctpwa.engine.channels import model_channels


def check(
    model: Annotated[Path, typer.Argument(help="the model file")],
    explain: Annotated[bool, typer.Option("--explain", help="show what is computed once per event, per iteration, and for both")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Validate a model and show its waves, parameters and memory per event."""
    loaded = ctpwa.load_model(model)
    channels = model_channels(loaded)
    plan = channels.plan(loaded)
    if as_json:
        description = {
            "decay": str(loaded.decay),
            "waves": [{"name": w.name, "coupling": w.coupling, "factor": w.factor} for w in loaded.waves],
            "parameters": [{"name": p.name, "value": p.value, "fixed": p.fixed} for p in channels.theta],
            "bytes_per_event": plan.bytes_per_event,
            "notes": list(loaded.notes),
        }
        print_json(description)
        return
    typer.echo(str(loaded))
    typer.echo("\nlineshape parameters")
    for parameter in channels.theta:
        typer.echo(f"  {parameter.name:<32} {parameter.value:<12g} {'fixed' if parameter.fixed else 'floating'}")
    typer.echo(f"\nmemory: {plan.bytes_per_event} bytes per event")
    if explain:
        typer.echo(f"\n{plan.explain()}")
