"""A first model of a production as a commented YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctpwa.config.propose.production import HIGHEST_L, Isobar, ProductionProposal
from ctpwa.config.propose.resonances import jpc_text
from ctpwa.config.propose.shapes import number, shape_of
from ctpwa.config.propose.text import aligned, couplings_section, hints
from ctpwa.model.short_names import short_names

POLARISATION = "polarisation: {degree: P, angle: alpha}   # event columns; or numbers, a table, amptools; null: none"
ANGLES = "[0, 0.7854, 1.5708, 2.3562]"


def production_text(
    proposal: ProductionProposal, file: str = "model.yml", version: str = "", data: str = "", couplings: Mapping[str, complex] | None = None
) -> str:
    """The text of a model file: it loads as it is, can be generated and fitted.

    Args:
        proposal:   the first model
        file:       its name, for the commands that the comments mention
        version:    of ctpwa
        data:       the file of measured events; if it is given, the samples are not commented out
        couplings:  values to start from, and to generate toys with
    """
    parts = [_head(proposal, file, version), _production(proposal), _resonances(proposal)]
    if couplings:
        shown = short_names(couplings)
        parts.append(couplings_section({shown[name]: value for name, value in couplings.items()}))
    return "\n".join(parts) + hints(file, data, {})


def _head(proposal: ProductionProposal, file: str, version: str) -> str:
    lines = [
        f"# A first model of {proposal.text}, written by ctpwa init{f' ({version})' if version else ''}.",
        f"# ctpwa check {file} shows what it means; docs/how-to/production.md explains every key.",
        f"decay: {proposal.line}   # {proposal.recoil.name} recoils",
    ]
    if len(proposal.decay.outer.final) == 3:
        lines.append(f"max_L: {HIGHEST_L}")
    return "\n".join(lines) + "\n"


def _production(proposal: ProductionProposal) -> str:
    photons = proposal.kind == "photoproduction"
    columns = "beam_1 to beam_4 (E, px, py, pz in GeV)" + (", P and alpha (radians)" if photons else "")
    lines = [f"# Events have the columns {columns} besides the momenta of {' '.join(proposal.decay.labels)}.", "production:"]
    lines.append(f"  kind: {proposal.kind}")
    lines.append("  frame: helicity                           # or gottfried-jackson, adair" if photons else "  frame: gottfried-jackson")
    lines += [f"  {POLARISATION}"] if photons else []
    if proposal.target.name != "p":
        lines.append(f"  target: [{number(proposal.target.mass)}, 0, 0, 0]")
    lines += [
        "  # J^P of X, and spin projections m on the z axis of the frame. Without reflectivity both are waves, 1 is natural exchange.",
        "  waves:",
    ]
    both = photons and len(proposal.decay.outer.final) == 2
    for text, ms in proposal.waves.items():
        m = str(ms[0]) if len(ms) == 1 else f"[{', '.join(map(str, ms))}]"
        lines.append(f"    {text}: {{m: {m}{'' if both else ', reflectivity: 1'}}}")
    lines += ["  # rank: 2                                 # nucleon spin flip besides non-flip"]
    low, high = proposal.energy
    lines += [
        "  # What phase space and toys are generated with: f(E) exp(bt) times phase space, m(X) in a range.",
        "  generate:",
        f"    energy: {number(low) if low == high else f'[{number(low)}, {number(high)}]'}",
        *([] if photons else [f"    beam: {proposal.beam.name}"]),
        f"    recoil: {proposal.recoil.name}",
        f"    mass: [{number(proposal.mass[0])}, {number(proposal.mass[1])}]",
        "    slope: 5",
        *(["    degree: 0.35", f"    angle: {ANGLES}"] if photons else []),
    ]
    return "\n".join(lines) + "\n"


def _resonances(proposal: ProductionProposal) -> str:
    """Isobars, and what X itself may be, commented out."""
    active = [own for own in proposal.isobars if not own.reason]
    lines = []
    if proposal.isobars:
        lines.append("# Isobars: what X decays to besides the particle that is left over. Remove the # in front of a line to use it.")
    lines.append("resonances:" if active or proposal.inside else "# resonances:")
    rows = [(not own.reason, own.name, _body(own), _comment(own)) for own in proposal.isobars]
    rows += [(True, own.name, f"{{in: {_in(own.systems)}, JP: {own.JP}, lineshape: constant}}", "non-resonant") for own in proposal.inside]
    lines += aligned(rows) if rows else []
    lines += [
        "  # X itself. Waves of X have no lineshape: they are fitted in bins of m(X), by ctpwa bins. A resonance in all final particles is",
        "  # X in all waves with its J^P, with a lineshape of m(X): a mass-dependent fit. Waves have other names then: drop the couplings.",
    ]
    lines += aligned([(False, own.name, _body(own), _comment(own)) for own in proposal.resonances]) if proposal.resonances else []
    return "\n".join(lines) + "\n"


def _in(systems: Sequence[str]) -> str:
    return systems[0] if len(systems) == 1 else f"[{', '.join(systems)}]"


def _body(own: Isobar) -> str:
    return f"{{in: {_in([region.text for region in own.regions])}, {shape_of(own.multiplet, own.regions, own.state)}}}"


def _comment(own: Isobar) -> str:
    return jpc_text(own.state) + (f"; {own.reason}" if own.reason else "")
