"""A first model as a commented YAML file."""

from __future__ import annotations

import json
import re
from cmath import phase
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import wrap

from ctpwa.config.propose.candidates import Region
from ctpwa.config.propose.nonresonant import NonresonantLine
from ctpwa.config.propose.resonances import HIGHEST_J_CASCADE, HIGHEST_L_CASCADE, MOST, NARROW, ModelProposal, Proposed, jpc_text
from ctpwa.config.propose.shapes import number, shape_of
from ctpwa.decay.spin import LS, format_spin
from ctpwa.model.short_names import short_names

CHANNELS = 3  # of a cascade that are named in a line
WIDTH = 130  # of a line of remarks
UNRESOLVED = 1e-3  # GeV; width of a state that decays to leptons
WIDEST = 90  # keys of a resonance that others are aligned with
SAME_MASS = 0.0005  # GeV; charge states closer than this need no remark

HINTS = """
# Where the events are, and how to fit:  ctpwa fit {file}
# samples:
#   data: data.root                             # ROOT, Parquet, npz or text
#   phase_space: {{generate: 500000, seed: 1}}    # or a file of simulated events that passed the selection
# fit:
#   method: newton
#   starts: 20
"""


def proposal_text(
    proposal: ModelProposal,
    file: str = "model.yml",
    version: str = "",
    data: str = "",
    couplings: Mapping[str, complex] | None = None,
    ties: Mapping[str, tuple[str, float]] | None = None,
) -> str:
    """The text of a model file: it loads as it is, and with any of its commented-out resonances.

    Args:
        proposal:  the first model
        file:      its name, for the commands that the comments mention
        version:   of ctpwa
        data:      the file of measured events; if it is given, the samples are not commented out
        couplings: values to start from, and to generate toys with
        ties:      coupling → (other coupling, factor)
    """
    parts = [_head(proposal, file, version)]
    current = [] if proposal.current is None else [proposal.current]
    if len(proposal.decay.outer.final) == 2:
        parts.append("# Two final particles: there is nothing to be resonant, and every allowed (L,S) is a wave.\n")
    elif any(chain for chain in proposal.chains if not chain.reasons):
        alone = [replace(line, systems=()) for line in current]  # the chains say where it is
        weak = [_block("the lepton pair", [], alone, [], active=True)] if alone else []
        parts += ["\n".join([_rules(proposal) + "resonances:\n" + _cascade_lines(proposal), *weak]), _chains(proposal)]
    else:
        parts.append(_rules(proposal) + "resonances:\n")
        parts += _groups(proposal)
        parts += [_block("the lepton pair", [], current, [], active=True)] if current else []
    if proposal.inside:
        inside = _block("inside what is held at its mass", [], proposal.inside, [], active=True)
        parts.append(inside if len(proposal.decay.outer.final) > 2 else "resonances:\n" + inside)
    names = [*(couplings or {}), *(name for own, (other, _) in (ties or {}).items() for name in (own, other))]
    shown = short_names(names)
    if couplings:
        parts.append(couplings_section({shown[name]: value for name, value in couplings.items()}))
    tied = {shown[name]: (shown[other], factor) for name, (other, factor) in (ties or {}).items()}
    return "\n".join(parts) + hints(file, data, tied)


def hints(file: str, data: str, ties: Mapping[str, tuple[str, float]]) -> str:
    """Where the events are, and how to fit: comments, unless there are data."""
    text = HINTS.format(file=file)
    if data:
        title, samples = text[: text.index("# samples:")], text[text.index("# samples:") :]
        quoted = data if re.fullmatch(r"[./]*[A-Za-z][\w/-]*\.\w+", data) else json.dumps(data)
        text = title + "".join(line.removeprefix("# ") for line in samples.splitlines(keepends=True)).replace("data.root", quoted, 1)
    if not ties:
        return text
    lines = [f"    {name}: [{json.dumps(other)}, {factor:.12g}]\n" for name, (other, factor) in ties.items()]
    before, fit, after = text.rpartition("fit:\n")
    return before.removesuffix("# ") + fit + "  ties:  # charge states of one chain, by isospin\n" + "".join(lines) + after


def _head(proposal: ModelProposal, file: str, version: str) -> str:
    parent = proposal.decay.parent
    lines = [
        f"# A first model of {proposal.decay}, written by ctpwa init{f' ({version})' if version else ''}.",
        f"# ctpwa check {file} shows what it means; docs/model-format.md explains every key.",
        f"decay: {' '.join(proposal.decay_text.split())}",
    ]
    if proposal.transverse:
        lines.append(f"polarisation: transverse      # {parent.name} made in e+ e- annihilation: m = +1 and -1 along the beam")
    elif parent.two_J:
        lines.append("# polarisation: unpolarised   # or the spin density matrix of the parent")
    held = dict.fromkeys(state.particle for state in proposal.decay.held)
    lines += [f"# {state.name} is held at its mass, {number(state.mass)} GeV; in systems it is one particle." for state in held]
    return "\n".join(lines) + "\n"


def _rules(proposal: ModelProposal) -> str:
    n = len(proposal.decay.outer.final)
    cascade = bool(proposal.chains)
    rules = [
        f"at most {MOST[n]}, those with the strongest known couplings to their system; where none are known, established states of the PDG",
        "nominal mass inside the range of the system, unless the lineshape is made for a threshold",
        "a strong decay that conserves isospin" + ("; production conserves it too" if proposal.isospin_conserved else ""),
    ]
    if cascade:
        rules.append(f"J <= {HIGHEST_J_CASCADE[n]}, and the parent decays with L <= {HIGHEST_L_CASCADE}")
    remarks = [
        "What charge, flavour, J^PC and mass allow, with masses and widths of the PDG in GeV. Remove the # in front of a line to use it.",
        "To fit a mass or width, add  float: mass  or  float: [mass, width]  inside the braces.",
        "Behind each: J^PC, isospin I, (L,S) of production -> (L,S) of decay; then why it is commented out. Those in use are",
        *(f"  - {rule}" for rule in rules),
    ]
    for resonance in proposal.resonances:
        width = resonance.state.width or 0.0
        if resonance.active and resonance.regions[0].leptonic and width < UNRESOLVED:
            remarks.append(f"{resonance.name} is {1000 * width:.2g} MeV wide, which no detector resolves. To hold it at its mass:")
            remarks.append(f"  ctpwa init '{_with_sub_decay(proposal, resonance)}'")
    if not any(resonance.active for resonance in proposal.resonances):
        remarks.append("There is none." + (" A non-resonant structure stands in." if proposal.structures else ""))
    if not proposal.isospin_conserved:
        remarks.append(f"Isospin is not used where {proposal.decay.parent.name} decays: this decay breaks it anyway.")
    if cascade:
        remarks.append("L>=0 of production: it depends on what is produced with it.")
    return "".join(f"# {remark}\n" for remark in remarks)


def _with_sub_decay(proposal: ModelProposal, resonance: Proposed) -> str:
    """The decay line that holds a resonance at its mass."""
    decay, region = proposal.decay, resonance.regions[0]
    outside = [label for i, label in enumerate(decay.labels) if i not in region.place]
    return f"{decay.parent.name} -> {' '.join([*outside, resonance.name])}; {resonance.name} -> {region.text}"


def _cascade_lines(proposal: ModelProposal) -> str:
    """The resonances of decays to four or more particles, without their systems: the chains say where they are."""
    rows = []
    listed = {chain.of for chain in proposal.chains}
    for resonance in proposal.resonances:
        shape = shape_of(resonance.multiplet, resonance.regions, resonance.state)
        if resonance.active or (resonance.name in listed and "lineshape" in shape):  # no line is needed for a Breit-Wigner of the PDG
            rows.append((resonance.active, resonance.name, f"{{{shape}}}", _comment(resonance)))
    lines = aligned(rows)
    texts = list(dict.fromkeys(text for found in (proposal.left_out, proposal.incomplete) for text in found))
    lines += [f"  # {remark}" for remark in _remarks(proposal, texts)]
    return "\n".join(lines) + "\n"


def _chains(proposal: ModelProposal) -> str:
    """One line per chain; those of one resonance that is not in use together."""
    lines = [
        "# Every way from the parent to the final state that isospin and energy allow; states without a line above have mass and width of",
        "# the PDG. A resonance of the list above needs a chain, and the other way round.",
        "chains:",
    ]
    for chain in proposal.chains:
        if chain.reasons:
            lines.append(f"  # - {chain.text}  # {chain.of}: {', '.join(chain.reasons)}")
        elif chain.ls:
            pairs = ", ".join(f"[{ls.L}, {ls.S}]" for ls in chain.ls)
            rest = ", null" * (len(chain.names))
            lines.append(f"  - {{decay: {chain.text}, ls: [[{pairs}]{rest}]}}")
        else:
            lines.append(f"  - {chain.text}")
    return "\n".join(lines) + "\n"


def couplings_section(couplings: Mapping[str, complex]) -> str:
    """The ``couplings`` section."""
    lines = [
        "# Where a fit starts, and what ctpwa generate takes: all waves about equally strong. The first coupling is 1.",
        "couplings:",
    ]
    lines += [f"  {name}: {{abs: {abs(value):.3g}, phase: {phase(value):.1f}}}" for name, value in couplings.items()]
    return "\n".join(lines) + "\n"


def _groups(proposal: ModelProposal) -> list[str]:
    blocks = []
    structures, needed = list(proposal.structures), not any(resonance.active for resonance in proposal.resonances)
    grouped = [(regions, list(members)) for regions, members in groupby(proposal.resonances, key=lambda resonance: resonance.regions)]
    for regions, members in grouped:
        texts = tuple(region.text for region in regions)
        own = [structure for structure in structures if structure.systems == texts]
        structures = [structure for structure in structures if structure not in own]
        mine = [region.text for region in regions if _smallest_group(region, [group for group, _ in grouped]) == regions]
        blocks.append(_block(_title(regions), members, own, _remarks(proposal, mine), active=needed))
    if structures:
        blocks.append(_block("non-resonant", [], structures, [], active=True))
    return blocks


def _smallest_group(region: Region, groups: Sequence[tuple[Region, ...]]) -> tuple[Region, ...]:
    return min((group for group in groups if region in group), key=len)


def _title(regions: Sequence[Region]) -> str:
    ranges = list(dict.fromkeys(f"{region.low:.3f} to {region.high:.3f} GeV" for region in regions))
    if len(ranges) == 1:
        return f"{' and '.join(region.text for region in regions)}: {ranges[0]}"
    return ", ".join(f"{region.text}: {region.low:.3f} to {region.high:.3f}" for region in regions) + " GeV"


def _remarks(proposal: ModelProposal, texts: Sequence[str]) -> list[str]:
    """What is not listed in these systems."""
    heads = (
        (f"not listed, being wider than {NARROW:g} GeV with a decay that is electromagnetic or violates isospin: ", proposal.left_out),
        ("not listed, since the tables lack mass, width or parity (give mass, width and JP to use them): ", proposal.incomplete),
    )
    remarks = []
    for head, found in heads:
        names = list(dict.fromkeys(name for text in texts for name in found.get(text, ())))
        if names:
            remarks += wrap(head + ", ".join(names), WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return remarks


def _block(
    title: str, members: Sequence[Proposed], structures: Sequence[NonresonantLine], remarks: Sequence[str], active: bool = False
) -> str:
    rows = [(resonance.active, resonance.name, _body(resonance), _comment(resonance)) for resonance in members]
    rows += [(active, structure.name, _keys(structure), structure.remark) for structure in structures]
    return "\n".join([f"  # {title}", *aligned(rows), *(f"  # {remark}" for remark in remarks)]) + "\n"


def aligned(rows: Sequence[tuple[bool, str, str, str]]) -> list[str]:
    """Lines of resonances: whether each is in use, its name, its keys, and what is said about it; long lines do not widen others."""
    name_width = max(len(name) + (1 if active else 3) for active, name, _, _ in rows)
    body_width = max((len(body) for _, _, body, _ in rows if len(body) <= WIDEST), default=0)
    return [
        f"  {'' if active else '# '}{name + ':':<{name_width - (0 if active else 2)}} {body:<{body_width}}  # {comment}"
        for active, name, body, comment in rows
    ]


def _keys(structure: NonresonantLine) -> str:
    where = f"in: {_in(structure.systems)}, " if structure.systems else ""
    return f"{{{where}JP: {structure.JP}, {structure.shape}}}"


def _in(systems: Sequence[str]) -> str:
    return systems[0] if len(systems) == 1 else f"[{', '.join(systems)}]"


def _body(resonance: Proposed) -> str:
    systems = _in([region.text for region in resonance.regions])
    return f"{{in: {systems}, {shape_of(resonance.multiplet, resonance.regions, resonance.state)}}}"


def _comment(resonance: Proposed) -> str:
    isospin = "" if resonance.two_I is None else f"I={format_spin(resonance.two_I)}"
    remarks = [", ".join(resonance.reasons)] if resonance.reasons else []
    masses = [state.mass for state in resonance.states if state.mass is not None]
    if max(masses) - min(masses) > SAME_MASS:
        remarks.append(f"mass of {resonance.state.name}")
    remarks += [f"not used: {where}" for where in resonance.elsewhere]
    numbers = f"{jpc_text(resonance.state):<4} {isospin:<5} {_production(resonance.production)} -> {_decays(resonance)}"
    return "; ".join([numbers, *remarks])


def _production(production: dict[str, tuple[LS, ...]]) -> str:
    choices = set(production.values())
    if len(choices) == 1:
        return _listed(next(iter(choices)))
    return f"L>={min(ls.L for pairs in choices for ls in pairs)}"


def _decays(resonance: Proposed) -> str:
    decays = resonance.decays
    if all(len(region.place) == 2 for region in resonance.regions) and len(set(decays.values())) == 1:
        return _listed(next(iter(decays.values())))
    channels: dict[str, str] = {}
    for daughters, pairs in decays.items():
        channels.setdefault(daughters.replace("+", "").replace("-", ""), f"{daughters} {_listed(pairs)}")  # a(0)(980) pi+ stands for both
    more = len(channels) - CHANNELS
    return ", ".join(list(channels.values())[:CHANNELS]) + (f" and {more} more" if more > 0 else "")


def _listed(pairs: Sequence[LS]) -> str:
    return "".join(str(ls) for ls in pairs)
