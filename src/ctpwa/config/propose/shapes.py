"""Lineshapes of states that no Breit-Wigner describes: those at a threshold, broad scalars, and those that decay to resonances."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from ctpwa.config.propose.candidates import Region
from ctpwa.config.propose.strong import ETA_PI, K_K, K_PI, LASS, N_K, PI_PI, SIGMA_PI, group_of
from ctpwa.decay.particle import Particle

BROAD = "f(0)(500)"  # its lineshape holds below and above any range
LASS_MASS, LASS_WIDTH = 1.412, 0.294  # GeV: LASS, NPB 296, 493 (1988), which go with the a and r that the lineshape has
LASS_CUTOFF, LASS_RANGE = 1.8, 2.0  # GeV: where its background ends, in systems that reach further than this


class FlatteNumbers(NamedTuple):
    """Numbers of a Flatté with couplings in GeV².

    Attributes:
        mass:      GeV
        channels:  by group of particles: label, coupling in GeV², masses of the particles in GeV
    """

    mass: float
    channels: dict[tuple[str, str], tuple[str, float, tuple[float, float]]]


FLATTE = {
    # BES, PLB 607, 243 (2005): 0.965 GeV, 0.165 GeV² and 4.21 times as much
    "f(0)(980)": FlatteNumbers(0.965, {PI_PI: ("pipi", 0.165, (0.13957, 0.13957)), K_K: ("KK", 0.695, (0.49368, 0.49368))}),
    # BESIII, PRD 95, 032002 (2017): 0.990 GeV, 0.341 GeV² and 0.892 times as much, without the small coupling to eta' pi
    "a(0)(980)": FlatteNumbers(0.99, {ETA_PI: ("etapi", 0.341, (0.54786, 0.13957)), K_K: ("KK", 0.304, (0.49368, 0.49368))}),
    # mass and width of the PDG in Sigma pi, and the same coupling to N K: LHCb, PRL 115, 072001 (2015)
    "Lambda(1405)": FlatteNumbers(1.4051, {SIGMA_PI: ("Sigmapi", 0.328, (1.18937, 0.13957)), N_K: ("NK", 0.328, (0.93827, 0.49368))}),
}


def shape_of(name: str, regions: Sequence[Region], state: Particle) -> str:
    """What a line says about mass, width and lineshape, between the braces and after ``in``.

    Args:
        name:     of the multiplet
        regions:  the final particles it decays to
        state:    gives mass and width
    """
    groups = {group_of(region.particles) for region in regions}
    if name in FLATTE and groups <= set(FLATTE[name].channels):
        return _flatte(FLATTE[name], groups)
    if name == BROAD and groups == {PI_PI}:
        return "lineshape: bugg_sigma"
    plain = f"mass: {number(state.mass)}, width: {number(state.width)}"
    if name == LASS and groups == {K_PI}:
        far = max(region.high for region in regions) > LASS_RANGE
        return f"lineshape: lass, mass: {LASS_MASS}, width: {LASS_WIDTH}" + (f", options: {{cutoff: {LASS_CUTOFF}}}" if far else "")
    if name == "rho(770)" and groups == {PI_PI}:
        return f"lineshape: gounaris_sakurai, {plain}"
    if all(len(region.place) > 2 for region in regions):  # what it decays to may be heavier, so that no width runs from there
        return f"lineshape: breit_wigner_constant_width, {plain}"
    return plain


def _flatte(numbers: FlatteNumbers, groups: set[tuple[str, ...]]) -> str:
    own = next(iter(groups)) if len(groups) == 1 else None
    couplings = ", ".join(f"g_{label}: {g}" for label, g, _ in numbers.channels.values())
    channels = ", ".join(
        f"{label}: own" if group == own else f"{label}: [{masses[0]}, {masses[1]}]"
        for group, (label, _, masses) in numbers.channels.items()
    )
    options = f"{{channels: {{{channels}}}, convention: linear}}"
    return f"lineshape: flatte, mass: {number(numbers.mass)}, parameters: {{{couplings}}}, options: {options}"


def number(value: float | None) -> str:
    """A number without an exponent: YAML would read 5e-05 as text."""
    return format(Decimal(f"{value:.10g}"), "f")
