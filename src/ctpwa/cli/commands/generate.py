"""``ctpwa generate``: phase space or toy data of a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.analysis.reopen import described_analysis
from ctpwa.analysis.toys import COMPONENT, ToyData, generate_data
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import check_inputs, check_output
from ctpwa.base.ranks import ONE
from ctpwa.base.words import counted
from ctpwa.cli.changes import NotFitted, NotRead, SetOption, WithoutOption, load_changed, read_changes
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json, say
from ctpwa.cli.output_kinds import GENERATED, SAMPLE
from ctpwa.cli.settings import CommandSettings
from ctpwa.config.changes import Changes
from ctpwa.data.located import TEXT
from ctpwa.data.write import check_suffix
from ctpwa.decay.conjugate import conjugate_decay
from ctpwa.fitting.take_over import fitted_values
from ctpwa.generate.masses import checked_device
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
    values: SetOption = None,
    without: WithoutOption = None,
    phase_space: Annotated[bool, typer.Option("--phase-space", help="flat in phase space instead of like the model")] = False,
    signal_only: Annotated[bool, typer.Option("--signal-only", help="leave out the backgrounds of the model file")] = False,
    data_set: Annotated[
        str | None, typer.Option("--data-set", metavar="NAME", help="whose backgrounds and efficiency, if the model file has several")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="the same seed gives the same events")] = 0,
    device: Annotated[str, typer.Option(help="where to generate: cpu or cuda")] = "cpu",
    force: Annotated[bool, typer.Option("--force", help="replace an earlier sample of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
    not_fitted: NotFitted = None,
    not_read: NotRead = None,
) -> None:
    """Make events that are distributed like the data of a model, with its backgrounds, or flat in phase space, and write them to a file."""
    if phase_space and (signal_only or data_set is not None):
        raise typer.BadParameter(
            f"--phase-space has neither signal nor background: leave out {'--signal-only' if signal_only else '--data-set'}"
        )
    if fitted is not None and (values or without):
        raise typer.BadParameter(f"--from gives all values: leave out {'--set' if values else '--without'}, or --from")
    check_suffix(out)
    check_output(out, SAMPLE, [path for path in (model, fitted) if path is not None], force)
    analysis, result = _analysis_and_truth(model, fitted, read_changes(values=values, without=without))
    check_inputs(out, analysis.included)
    only = len(analysis.data_sets) == 1
    conjugate = conjugate or any(own.conjugate for own in analysis.data_sets if only or own.name == data_set)
    decay = conjugate_decay(analysis.model.decay) if conjugate else analysis.model.decay
    check_count(n, seed, len(decay.labels), checked_device(device))
    check_disk(n, len(decay.labels), out)
    columns = dict(map(_column, column or ()))
    start = time.monotonic()
    how: dict[str, Any] = {"kind": "phase space"}
    if phase_space:
        events = ctpwa.generate_phase_space(analysis.model, n, seed, columns=columns, device=device)
    else:
        if not analysis.model.coupling_values and result is None:
            say(f"{model} gives no couplings: all are 1")
        _warn_of_subtraction(analysis, data_set, model or fitted)
        settings = CommandSettings.of(context)
        data = generate_data(
            analysis,
            n,
            seed,
            values=None if result is None else fitted_values(result, analysis.model),
            of_fit=None if result is None else result.values,
            data_set=data_set,
            signal_only=signal_only,
            columns=columns,
            conjugate=conjugate,
            device=device,
            engine=settings.toy_engine,
            settings=settings.toys,
        )
        _note_efficiency(analysis, data_set, data, model or fitted)
        events, how = data.toy.events if out.suffix.lower() in TEXT else data.marked_events, _how(data)
    ctpwa.write_events(out, events, model=analysis.model, made_by=GENERATED, conjugate=conjugate)
    seconds = time.monotonic() - start
    if as_json:
        said = {"file": str(out), "decay": str(decay), "events": n, "seed": seed, "seconds": seconds, "changed": list(analysis.changed)}
        print_json(said | how)
        return
    echo(f"{out}: {counted(n, 'event')} of {decay}, {'flat in phase space' if phase_space else _accepted(data)}, {seconds:.1f} s")
    if analysis.changed:
        echo(f"  changed on the command line: {' '.join(analysis.changed)}")
    if not phase_space and len(data.names) > 1:
        echo(_components(data, COMPONENT in events.columns))
    if not phase_space and data.smeared:
        echo(f"  masses smeared: {data.smeared}")


def _how(data: ToyData) -> dict[str, Any]:
    """How toy data came about, for programs."""
    how: dict[str, Any] = {"kind": "toy", "tried": data.toy.tried, "acceptance": data.toy.acceptance, "maximum_raised": data.toy.raised}
    how |= {"components": data.counts, "efficiency": data.efficiency or None, "picked": data.picked}
    how |= {"smeared": data.smeared or None}
    how |= {"couplings": {name: [c.real, c.imag] for name, c in data.values.couplings.items()}}
    return how | {"parameters": dict(data.values.parameters)}


def _accepted(data: ToyData) -> str:
    if data.picked:
        return f"picked from {counted(data.toy.tried, 'phase-space event')}"
    efficiency = f" with the efficiency {data.efficiency}" if data.efficiency else ""
    return f"{100 * data.toy.acceptance:.3g} % of those tried were accepted{efficiency}"


def _components(data: ToyData, marked: bool) -> str:
    """A line that says how many events each component has."""
    counts = ", ".join(f"{count} {name}" for name, count in data.counts.items())
    return f"  {counts}" + (f"; column {COMPONENT!r}: {', '.join(f'{k} {name}' for k, name in enumerate(data.names))}" if marked else "")


def _warn_of_subtraction(analysis: ctpwa.Analysis, data_set: str | None, path: Path | None) -> None:
    if any(own.background for own in analysis.data_sets if data_set in (None, own.name)):
        echo(f"note: {path} subtracts a background sample, and these events do not hold any of it: fit them without it", err=True)


def _note_efficiency(analysis: ctpwa.Analysis, data_set: str | None, data: ToyData, path: Path | None) -> None:
    """Say that toys were made without an efficiency that only events of the phase-space sample know."""
    sources = [source for own in analysis.data_sets if data_set in (None, own.name) for source in own.phase_space]
    if not data.picked and not data.efficiency and any(source.efficiency for source in sources):
        why = "several sources have different ones" if len(sources) > 1 else "it is a column of the phase-space sample"
        echo(f"note: these events do not have the efficiency of {path}: {why}", err=True)


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


def _analysis_and_truth(path: Path | None, fitted: Path | None, changes: Changes) -> tuple[ctpwa.Analysis, ctpwa.FitResult | None]:
    """An analysis from its model file or from the result of a fit, and the latter."""
    if fitted is None:
        if path is None:
            raise typer.BadParameter("give a model file, or the result of a fit with --from")
        return load_changed(path, changes, ONE), None
    result = ctpwa.FitResult.load(fitted)
    if path is not None:
        return ctpwa.load_analysis(path, ONE), result
    if result.model is None:
        raise CtpwaError(f"{str(fitted)!r} does not contain the fitted model\n fix: give the model file as well")
    return described_analysis(result, str(fitted)), result


COMMAND = Command(generate, "ctpwa generate model.yml -n 100000 -o toy.root --seed 1", place=30)
