"""``ctpwa check``: what a model file means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ctpwa.cli.changes import DataOption, FixOption, FloatOption, SetOption, WithoutOption, load_changed, read_changes
from ctpwa.cli.check_print import print_plain, print_samples, print_tables
from ctpwa.cli.check_report import CheckReport, SampleReport
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json
from ctpwa.cli.settings import CommandSettings
from ctpwa.fitting.plain import to_plain
from ctpwa.model.model import Wave


def check(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="the model file")],
    explain: Annotated[bool, typer.Option("--explain", help="show what is computed per event, per iteration, and per both")] = False,
    samples: Annotated[bool, typer.Option("--samples/--no-samples", help="read the samples that the file names")] = True,
    values: SetOption = None,
    fix: FixOption = None,
    floating: FloatOption = None,
    without: WithoutOption = None,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Validate a model file and show its waves, parameters, samples and memory."""
    analysis = load_changed(model, read_changes(fix, values, floating, without, data))
    report = CheckReport.of(analysis)
    if not as_json and analysis.changed:
        echo(f"changed on the command line: {' '.join(analysis.changed)}")
    if not as_json:
        (print_tables if CommandSettings.of(context).tables else print_plain)(report)
    read = SampleReport.of(analysis, report) if samples and analysis.data_sets else None
    if as_json:
        print_json(_description(report, read) | {"changed": list(analysis.changed)})
        return
    print_samples(report, read)
    if explain:
        echo(f"\n{report.plan.explain()}")


def _description(report: CheckReport, read: SampleReport | None) -> dict[str, Any]:
    model = report.model
    return {
        "decay": str(model.decay),
        "polarisation": str(model.production),
        "waves": [{"name": w.name, "ls": _ls(w), "coupling": w.coupling, "factor": w.factor} for w in model.waves],
        "couplings": [{"name": name, "re": value.real, "im": value.imag} for name, value in report.couplings.items()],
        "parameters": [
            {"name": p.name, "value": p.value, "lower": report.limit(p.lower), "upper": report.limit(p.upper), "fixed": p.fixed}
            | ({"formula": p.formula} if p.formula else {})
            for p in report.channels.theta
        ],
        "free_parameters": report.n_free,
        "coherent_sets": report.coherent_sets,
        "reference_phases": list(report.phases.fixed),
        "bytes_per_event": report.plan.bytes_per_event if read is None else read.memory.bytes_per_event,
        "samples": None if read is None else [summary.as_dict() for summary in read.summaries],
        "bytes": None if read is None else read.memory.samples | {"total": read.memory.total},
        "places": None if read is None else {"device": read.memory.device, "host": read.memory.host, "disk": read.memory.disk},
        "normalisation": None if read is None else to_plain(read.sizes),
        "notes": list(model.notes),
    }


def _ls(wave: Wave) -> list[list[float] | str]:
    """[L, S] of every vertex, or the name of its current."""
    return [node.current or [ls.L, float(ls.S)] for node, ls in zip(wave.chain.nodes, wave.ls, strict=True)]


COMMAND = Command(check, "ctpwa check model.yml --explain", place=20)
