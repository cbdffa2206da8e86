"""``ctpwa generate``: phase space or toy data of a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.cli.console import print_json, say
from ctpwa.data.write import check_suffix
from ctpwa.errors import CtpwaError


def generate(
    model: Annotated[Path, typer.Argument(help="the model file; its masses, widths and couplings are the truth")],
    n: Annotated[int, typer.Option("-n", "--events", min=1, help="how many events")],
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write: .root, .parquet, .npz, .txt or .dat")],
    phase_space: Annotated[bool, typer.Option("--phase-space", help="flat in phase space instead of like the model")] = False,
    seed: Annotated[int, typer.Option(min=0, help="the same seed gives the same events")] = 0,
    device: Annotated[str, typer.Option(help="where to generate: cpu or cuda")] = "cpu",
    force: Annotated[bool, typer.Option("--force", help="overwrite the file if it is there")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print for programs")] = False,
) -> None:
    """Make events that are distributed like the intensity of a model, or flat in phase space, and write them to a file."""
    check_suffix(out)
    if out.exists() and not force:
        raise CtpwaError(f"{str(out)!r} is there already\n fix: add --force to overwrite it, or name another file with --out")
    if not out.parent.is_dir():
        raise CtpwaError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}\n fix: make the folder, or correct the path")
    loaded = ctpwa.load_model(model)
    start = time.monotonic()
    how: dict[str, Any]
    if phase_space:
        events = ctpwa.generate_phase_space(loaded, n, seed, device=device)
        how = {"kind": "phase space"}
    else:
        if not loaded.coupling_values:
            say(f"{model} gives no couplings: all are 1")
        generator = ctpwa.ToyGenerator(loaded, device=device)
        toy = generator.generate(n, seed)
        events = toy.events
        how = {"kind": "toy", "tried": toy.tried, "acceptance": toy.acceptance, "maximum_raised": toy.raised}
        how |= {"couplings": {name: [c.real, c.imag] for name, c in generator.intensity.couplings.items()}}
        how |= {"parameters": generator.intensity.parameters}
    ctpwa.write_events(out, events, model=loaded)
    seconds = time.monotonic() - start
    if as_json:
        print_json({"file": str(out), "decay": str(loaded.decay), "events": n, "seed": seed, "seconds": seconds} | how)
        return
    accepted = "flat in phase space" if phase_space else f"{100 * how['acceptance']:.3g} % of those tried were accepted"
    typer.echo(f"{out}: {n} events of {loaded.decay}, {accepted}, {seconds:.1f} s")
