"""``ctpwa generate``: phase space or toy data of a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_output
from ctpwa.base.words import counted
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json, say
from ctpwa.cli.output_kinds import GENERATED, SAMPLE
from ctpwa.cli.settings import CommandSettings
from ctpwa.data.write import check_suffix
from ctpwa.decay.conjugate import conjugate_decay
from ctpwa.fitting.take_over import fitted_values
from ctpwa.generate.phase_space import checked_device
from ctpwa.generate.room import check_count, check_disk


def generate(
    context: typer.Context,
    n: Annotated[int, typer.Option("-n", "--events", min=1, help="how many events")],
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write: .root, .parquet, .npz, .txt or .dat")],
    model: Annotated[Path | None, typer.Argument(help="the model file; its masses, widths and couplings are the truth")] = None,
    fitted: Annotated[
        Path | None,
        typer.Option("--from", metavar="RESULT", help="a result of ctpwa fit: its values are the truth, and its model if none is given"),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="NAME=NUMBER", help="an event column, with the number that all events get")
    ] = None,
    conjugate: Annotated[
        bool,
        typer.Option("--conjugate", help="the charge-conjugate decay: antiparticles, with couplings c(1 - delta)"),
    ] = False,
    phase_space: Annotated[bool, typer.Option("--phase-space", help="flat in phase space instead of like the model")] = False,
    seed: Annotated[int, typer.Option(min=0, help="the same seed gives the same events")] = 0,
    device: Annotated[str, typer.Option(help="where to generate: cpu or cuda")] = "cpu",
    force: Annotated[bool, typer.Option("--force", help="replace an earlier sample of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Make events that are distributed like the intensity of a model, or flat in phase space, and write them to a file."""
    check_suffix(out)
    check_output(out, SAMPLE, [path for path in (model, fitted) if path is not None], force)
    loaded, values = _model_and_truth(model, fitted)
    decay = conjugate_decay(loaded.decay) if conjugate else loaded.decay
    check_count(n, seed, len(loaded.final_names), checked_device(device))
    check_disk(n, len(loaded.final_names), out)
    columns = dict(map(_column, column or ()))
    start = time.monotonic()
    how: dict[str, Any]
    if phase_space:
        events = ctpwa.generate_phase_space(loaded, n, seed, columns=columns, device=device)
        how = {"kind": "phase space"}
    else:
        if not loaded.coupling_values and values is None:
            say(f"{model} gives no couplings: all are 1")
        couplings, parameters = (None, None) if values is None else (values.couplings, values.parameters)
        settings = CommandSettings.of(context)
        generator = ctpwa.generate.ToyGenerator(
            loaded,
            couplings=couplings,
            parameters=parameters,
            columns=columns,
            device=device,
            engine=settings.toy_engine,
            settings=settings.toys,
            conjugate=conjugate,
        )
        toy = generator.generate(n, seed)
        events = toy.events
        how = {"kind": "toy", "tried": toy.tried, "acceptance": toy.acceptance, "maximum_raised": toy.raised}
        how |= {"couplings": {name: [c.real, c.imag] for name, c in generator.intensity.couplings.items()}}
        how |= {"parameters": generator.intensity.parameters}
    ctpwa.write_events(out, events, model=loaded, made_by=GENERATED, conjugate=conjugate)
    seconds = time.monotonic() - start
    if as_json:
        print_json({"file": str(out), "decay": str(decay), "events": n, "seed": seed, "seconds": seconds} | how)
        return
    accepted = "flat in phase space" if phase_space else f"{100 * how['acceptance']:.3g} % of those tried were accepted"
    echo(f"{out}: {counted(n, 'event')} of {decay}, {accepted}, {seconds:.1f} s")


def _column(text: str) -> tuple[str, float | list[float]]:
    """Name and numbers of ``t=1.5``, or ``e=0,0,1`` for a vector."""
    name, equals, numbers = text.partition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if not (name and equals and values):
        raise typer.BadParameter(f"--column {text}: write NAME=NUMBER, or NAME=NUMBER,NUMBER,… for a vector")
    return name, values[0] if len(values) == 1 else values


def _model_and_truth(path: Path | None, fitted: Path | None) -> tuple[ctpwa.Model, ctpwa.engine.ModelValues | None]:
    """A model from its file or from the result of a fit, and the values of the latter."""
    if fitted is None:
        if path is None:
            raise typer.BadParameter("give a model file, or the result of a fit with --from")
        return ctpwa.load_model(path), None
    result = ctpwa.FitResult.load(fitted)
    if path is None and result.model is None:
        raise CtpwaError(f"{str(fitted)!r} does not contain the fitted model\n fix: give the model file as well")
    model = ctpwa.load_model(path if path is not None else result.model or {})
    return model, fitted_values(result, model)


COMMAND = Command(generate, "ctpwa generate model.yml -n 100000 -o toy.root --seed 1", place=30)
