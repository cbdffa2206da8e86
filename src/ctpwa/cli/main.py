"""The command line: parsing and printing only."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

import ctpwa
from ctpwa.engine.channels import model_channels
from ctpwa.errors import CtpwaError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="Partial wave analysis of hadron decays."
)


@app.callback()
def main() -> None:
    """Partial wave analysis of hadron decays."""


@app.command(epilog="Example: ctpwa check model.yml --explain")
def check(
    model: Annotated[Path, typer.Argument(help="the model file")],
    explain: Annotated[bool, typer.Option(help="show what is computed once per event, per iteration, and for both")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Validate a model and show its waves, parameters and memory per event."""
    try:
        loaded = ctpwa.load_model(model)
        channels = model_channels(loaded)
        plan = channels.plan(loaded)
    except CtpwaError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise typer.Exit(1) from None
    if as_json:
        description = {
            "decay": str(loaded.decay),
            "waves": [{"name": w.name, "coupling": w.coupling, "factor": w.factor} for w in loaded.waves],
            "parameters": [{"name": p.name, "value": p.value, "fixed": p.fixed} for p in channels.theta],
            "bytes_per_event": plan.bytes_per_event,
            "notes": list(loaded.notes),
        }
        typer.echo(json.dumps(description, indent=1, ensure_ascii=False))
        return
    typer.echo(str(loaded))
    typer.echo("\nlineshape parameters")
    for parameter in channels.theta:
        typer.echo(f"  {parameter.name:<32} {parameter.value:<12g} {'fixed' if parameter.fixed else 'floating'}")
    typer.echo(f"\nmemory: {plan.bytes_per_event} bytes per event")
    if explain:
        typer.echo(f"\n{plan.explain()}")
