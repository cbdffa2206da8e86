"""``ctpwa init``: a first model file of a decay."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.analysis.start_couplings import start_couplings
from ctpwa.base.output import check_output, written_whole
from ctpwa.base.words import counted
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json, say
from ctpwa.cli.output_kinds import MODEL
from ctpwa.config.propose.resonances import ModelProposal, jpc_text, propose_resonances
from ctpwa.config.propose.text import proposal_text
from ctpwa.config.propose.ties import isospin_ties


def init(
    decay: Annotated[str, typer.Argument(help="what decays into what, in quotes, such as 'J/psi(1S) -> K+ K- eta'")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the file to write; - prints it")] = Path("model.yml"),
    data: Annotated[Path | None, typer.Option(help="the file of measured events, which need not exist yet")] = None,
    isospin: Annotated[bool, typer.Option("--isospin/--no-isospin", help="tie couplings of charge states by isospin")] = True,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier model file of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the resonances for programs, and write no file")] = False,
) -> None:
    """Write a commented model file with the PDG resonances that quantum numbers and masses allow in a decay."""
    writes = not as_json and str(out) != "-"
    if writes:
        check_output(out, MODEL, [] if data is None else [data], force)
    proposal = propose_resonances(decay)
    if as_json:
        print_json(_description(proposal))
        return
    # paths in a model file are relative to it
    events = "" if data is None else Path(os.path.relpath(data, Path() if str(out) == "-" else out.parent)).as_posix()
    text, model = _text(proposal, "model.yml" if str(out) == "-" else out.name, events, isospin)
    if not writes:
        echo(text, nl=False)
        return
    with written_whole(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
        ctpwa.load_model(temporary)
    in_use = sum(resonance.active for resonance in proposal.resonances)
    say(f"{out}: {in_use} of {counted(len(proposal.resonances), 'possible resonance')} in use, {counted(len(model.waves), 'wave')}")
    say(f"look at it, choose, and see what it means:  ctpwa check {out}")


def _text(proposal: ModelProposal, file: str, events: str, isospin: bool) -> tuple[str, ctpwa.Model]:
    """The text of the model file, and its model."""
    version = f"ctpwa {ctpwa.__version__}"
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "model.yml"
        bare.write_text(proposal_text(proposal), encoding="utf-8")
        model = ctpwa.load_model(bare)
    ties = isospin_ties(model, proposal.isospin_conserved) if isospin else {}
    return proposal_text(proposal, file, version, events, start_couplings(model, ties), ties), model


def _description(proposal: ModelProposal) -> dict[str, Any]:
    return {
        "decay": str(proposal.decay),
        "polarisation": "transverse" if proposal.transverse else "unpolarised",
        "resonances": [
            {
                "name": resonance.name,
                "in": [region.text for region in resonance.regions],
                "JP": jpc_text(resonance.state),
                "mass": resonance.state.mass,
                "width": resonance.state.width,
                "isospin": None if resonance.two_I is None else resonance.two_I / 2,
                "production_ls": {name: _pairs(pairs) for name, pairs in resonance.production.items()},
                "decay_ls": {name: _pairs(pairs) for name, pairs in resonance.decays.items()},
                "active": resonance.active,
                "reasons": list(resonance.reasons),
            }
            for resonance in proposal.resonances
        ],
        "chains": [{"decay": chain.text, "active": not chain.reasons, "reasons": list(chain.reasons)} for chain in proposal.chains],
        "left_out": {text: list(names) for text, names in proposal.left_out.items()},
        "incomplete": {text: list(names) for text, names in proposal.incomplete.items()},
    }


def _pairs(pairs: tuple[Any, ...]) -> list[list[float]]:
    return [[ls.L, float(ls.S)] for ls in pairs]


COMMAND = Command(init, "ctpwa init 'J/psi(1S) -> K+ K- eta' --out model.yml", place=10)
