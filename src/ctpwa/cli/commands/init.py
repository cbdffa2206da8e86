"""``ctpwa init``: a first model file of a decay."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.analysis.start_couplings import start_couplings
from ctpwa.base.errors import PhysicsError
from ctpwa.base.output import check_output, written_whole
from ctpwa.base.words import counted
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json, say
from ctpwa.cli.output_kinds import MODEL
from ctpwa.config.decay_line import ARROW
from ctpwa.config.propose.production import Isobar, propose_production
from ctpwa.config.propose.production_text import production_text
from ctpwa.config.propose.resonances import ModelProposal, jpc_text, propose_resonances
from ctpwa.config.propose.text import proposal_text
from ctpwa.config.propose.ties import isospin_ties

VERSION = f"ctpwa {ctpwa.__version__}"


def init(
    decay: Annotated[
        str,
        typer.Argument(help="what decays into what, in quotes, such as 'J/psi(1S) -> K+ K- eta'; or a reaction, 'gamma p -> eta pi0 p'"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="the file to write; - prints it")] = Path("model.yml"),
    data: Annotated[Path | None, typer.Option(help="the file of measured events, which need not exist yet")] = None,
    production: Annotated[
        str | None, typer.Option(metavar="KIND", help="of a reaction: photoproduction, or diffraction by a beam without spin")
    ] = None,
    isospin: Annotated[bool, typer.Option("--isospin/--no-isospin", help="tie couplings of charge states by isospin")] = True,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier model file of this command")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the resonances for programs, and write no file")] = False,
) -> None:
    """Write a commented model file with the PDG resonances that quantum numbers and masses allow in a decay, or of X that a beam made."""
    writes = not as_json and str(out) != "-"
    if writes:
        check_output(out, MODEL, [] if data is None else [data], force)
    first = _of_decay(decay, isospin) if production is None else _of_reaction(production, decay)
    if as_json:
        print_json(first.description)
        return
    # paths in a model file are relative to it
    events = "" if data is None else Path(os.path.relpath(data, Path() if str(out) == "-" else out.parent)).as_posix()
    text, model = first.write("model.yml" if str(out) == "-" else out.name, events)
    if not writes:
        echo(text, nl=False)
        return
    with written_whole(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
        ctpwa.load_model(temporary)
    in_use, possible = first.resonances
    say(f"{out}: {in_use} of {counted(possible, 'possible resonance')} in use, {counted(len(model.waves), 'wave')}")
    say(f"look at it, choose, and see what it means:  ctpwa check {out}")


@dataclass(frozen=True)
class _First:
    """A first model.

    Attributes:
        description:  for programs
        resonances:   how many are in use, and how many are possible
        write:        the text of the model file from its name and that of data, and its model
    """

    description: dict[str, Any]
    resonances: tuple[int, int]
    write: Callable[[str, str], tuple[str, ctpwa.Model]]


def _of_decay(decay: str, isospin: bool) -> _First:
    if len(decay.partition(ARROW)[0].split()) == 2:
        raise PhysicsError(f"{decay!r} has a beam and a target", "say how X is made:  --production photoproduction  or diffraction")
    proposal = propose_resonances(decay)

    def write(file: str, events: str) -> tuple[str, ctpwa.Model]:
        model = _loaded(proposal_text(proposal))
        ties = isospin_ties(model, proposal.isospin_conserved) if isospin else {}
        return proposal_text(proposal, file, VERSION, events, start_couplings(model, ties), ties), model

    in_use = sum(resonance.active for resonance in proposal.resonances)
    return _First(_description(proposal), (in_use, len(proposal.resonances)), write)


def _of_reaction(kind: str, reaction: str) -> _First:
    proposal = propose_production(kind, reaction)

    def write(file: str, events: str) -> tuple[str, ctpwa.Model]:
        model = _loaded(production_text(proposal))
        return production_text(proposal, file, VERSION, events, start_couplings(model, {})), model

    listed = [*proposal.isobars, *proposal.resonances]
    description = {
        "decay": proposal.line,
        "production": kind,
        "recoil": proposal.recoil.name,
        "waves": {text: list(ms) for text, ms in proposal.waves.items()},
        "isobars": [_isobar(own) for own in proposal.isobars],
        "resonances": [_isobar(own) for own in proposal.resonances],
    }
    return _First(description, (sum(not own.reason for own in proposal.isobars), len(listed)), write)


def _isobar(own: Isobar) -> dict[str, Any]:
    systems = [region.text for region in own.regions]
    return {
        "name": own.name,
        "in": systems,
        "JP": jpc_text(own.state),
        "mass": own.state.mass,
        "width": own.state.width,
        "reason": own.reason,
    }


def _loaded(text: str) -> ctpwa.Model:
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "model.yml"
        bare.write_text(text, encoding="utf-8")
        return ctpwa.load_model(bare)


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
