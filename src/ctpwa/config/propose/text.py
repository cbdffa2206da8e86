"""A first model as a commented YAML file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from textwrap import wrap

from ctpwa.config.propose.candidates import Region
from ctpwa.config.propose.nonresonant import NonresonantLine
from ctpwa.config.propose.resonances import (
    ACTIVE_REACH,
    HIGHEST_J_CASCADE,
    HIGHEST_L,
    HIGHEST_L_CASCADE,
    NARROW,
    ModelProposal,
    Proposed,
    jpc_text,
)
from ctpwa.decay.catalogue import hadron
from ctpwa.decay.spin import LS, format_spin

CHANNELS = 3  # of a cascade that are named in a line
# resonances that are no Breit-Wigners: the lineshape made for them, and the multiplets of the particles it is for
BETTER: dict[str, tuple[str, set[str] | None]] = {
    "f(0)(500)": ("bugg_sigma", {"pi"}),
    "rho(770)": ("gounaris_sakurai", {"pi"}),
    "f(0)(980)": ("flatte", None),
    "a(0)(980)": ("flatte", None),
    "K(0)*(700)": ("lass", {"K", "pi"}),
    "K(0)*(1430)": ("lass", {"K", "pi"}),
}
WIDTH = 130  # of a line of remarks
UNRESOLVED = 1e-3  # GeV; width of a state that decays to leptons
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


def proposal_text(proposal: ModelProposal, file: str = "model.yml", version: str = "", data: str = "") -> str:
    """The text of a model file: it loads as it is, and with any of its commented-out resonances.

    Args:
        proposal:  the first model
        file:      its name, for the commands that the comments mention
        version:   of ctpwa
        data:      the file of measured events; if it is given, the samples are not commented out
    """
    parts = [_head(proposal, file, version)]
    if len(proposal.decay.outer.final) == 2:
        parts.append("# Two final particles: there is nothing to be resonant, and every allowed (L,S) is a wave.\n")
    else:
        parts.append(_rules(proposal) + "resonances:\n")
        parts += _groups(proposal)
    if proposal.inside:
        inside = _block("inside what is held at its mass", [], proposal.inside, [], active=True)
        parts.append(inside if len(proposal.decay.outer.final) > 2 else "resonances:\n" + inside)
    return "\n".join(parts) + _hints(file, data)


def _hints(file: str, data: str) -> str:
    text = HINTS.format(file=file)
    if not data:
        return text
    title, samples = text[: text.index("# samples:")], text[text.index("# samples:") :]
    quoted = data if re.fullmatch(r"[./]*[A-Za-z][\w/-]*\.\w+", data) else json.dumps(data)
    return title + "".join(line.removeprefix("# ") for line in samples.splitlines(keepends=True)).replace("data.root", quoted, 1)


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
    lines += [f"# {state.name} is held at its mass, {_number(state.mass)} GeV; in systems it is one particle." for state in held]
    return "\n".join(lines) + "\n"


def _rules(proposal: ModelProposal) -> str:
    n = len(proposal.decay.outer.final)
    cascade = n > 3
    rules = [
        "established: mesons that need no confirmation, baryons with four stars",
        f"nominal mass not more than {_widths(ACTIVE_REACH)} outside the range of the system",
        "a strong decay that conserves isospin" + ("; production conserves it too" if proposal.isospin_conserved else ""),
        f"produced with L <= {HIGHEST_L_CASCADE if cascade else HIGHEST_L}",
    ]
    if cascade:
        rules.append(f"J <= {HIGHEST_J_CASCADE[n]}, and the lightest of its quantum numbers in its system: all combinations become waves")
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
        remarks.append("There is none. A non-resonant structure stands in.")
    if not proposal.isospin_conserved:
        remarks.append(f"Isospin is not used where {proposal.decay.parent.name} decays: this decay breaks it anyway.")
    if cascade:
        remarks.append("L>=0 of production: it depends on what is produced with it.")
        remarks.append("ctpwa combines resonances of different systems wherever J, P and C allow; it does not know isospin.")
    return "".join(f"# {remark}\n" for remark in remarks)


def _with_sub_decay(proposal: ModelProposal, resonance: Proposed) -> str:
    """The decay line that holds a resonance at its mass."""
    decay, region = proposal.decay, resonance.regions[0]
    outside = [label for i, label in enumerate(decay.labels) if i not in region.place]
    return f"{decay.parent.name} -> {' '.join([*outside, resonance.name])}; {resonance.name} -> {region.text}"


def _widths(number: float) -> str:
    return "one width" if number == 1 else f"{number:g} widths"


def _groups(proposal: ModelProposal) -> list[str]:
    blocks = []
    structures = list(proposal.structures)
    grouped = [(regions, list(members)) for regions, members in groupby(proposal.resonances, key=lambda resonance: resonance.regions)]
    for regions, members in grouped:
        texts = tuple(region.text for region in regions)
        own = [structure for structure in structures if structure.systems == texts]
        structures = [structure for structure in structures if structure not in own]
        mine = [region.text for region in regions if _smallest_group(region, [group for group, _ in grouped]) == regions]
        blocks.append(_block(_title(regions), members, own, _remarks(proposal, mine)))
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
    rows = [(resonance.active, f"{resonance.name}:", _body(resonance), _comment(resonance)) for resonance in members]
    rows += [
        (active, f"{structure.name}:", f"{{in: {_in(structure.systems)}, JP: {structure.JP}, lineshape: constant}}", "non-resonant")
        for structure in structures
    ]
    name_width = max(len(name) + (0 if is_active else 2) for is_active, name, _, _ in rows)
    body_width = max(len(body) for _, _, body, _ in rows)
    lines = [f"  # {title}"]
    for is_active, name, body, comment in rows:
        marked = name if is_active else f"# {name}"
        lines.append(f"  {marked:<{name_width}} {body:<{body_width}}  # {comment}")
    lines += [f"  # {remark}" for remark in remarks]
    return "\n".join(lines) + "\n"


def _in(systems: Sequence[str]) -> str:
    return systems[0] if len(systems) == 1 else f"[{', '.join(systems)}]"


def _body(resonance: Proposed) -> str:
    systems = _in([region.text for region in resonance.regions])
    return f"{{in: {systems}, mass: {_number(resonance.state.mass)}, width: {_number(resonance.state.width)}}}"


def _number(value: float | None) -> str:
    """A number without an exponent: YAML would read 5e-05 as text."""
    return format(Decimal(f"{value:.10g}"), "f")


def _comment(resonance: Proposed) -> str:
    isospin = "" if resonance.two_I is None else f"I={format_spin(resonance.two_I)}"
    remarks = [", ".join(resonance.reasons)] if resonance.reasons else []
    masses = [state.mass for state in resonance.states if state.mass is not None]
    if max(masses) - min(masses) > SAME_MASS:
        remarks.append(f"mass of {resonance.state.name}")
    if (better := _better_lineshape(resonance)) is not None:
        remarks.append(f"consider lineshape: {better}")
    remarks += [f"not used: {where}" for where in resonance.elsewhere]
    numbers = f"{jpc_text(resonance.state):<4} {isospin:<5} {_production(resonance.production)} -> {_decays(resonance)}"
    return "; ".join([numbers, *remarks])


def _better_lineshape(resonance: Proposed) -> str | None:
    name, wanted = BETTER.get(resonance.name, (None, None))
    members = [hadron(particle) for region in resonance.regions for particle in region.particles]
    if any(len(region.place) != 2 for region in resonance.regions) or None in members:
        return None
    decays_to = {member.isospin.multiplet for member in members if member is not None}
    return name if wanted is None or decays_to == wanted else None


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
