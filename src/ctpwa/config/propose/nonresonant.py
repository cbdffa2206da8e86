"""The simplest non-resonant structures of a decay: spin structures without a propagator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from ctpwa.base.errors import PhysicsError
from ctpwa.config.chains import Carrier, VertexRules, generate_chains
from ctpwa.config.propose.candidates import Region, final_words
from ctpwa.config.resonances import resonance_state
from ctpwa.config.schema import ResonanceSpec
from ctpwa.config.systems import System
from ctpwa.decay.chain import Decay, changes_flavour
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.spin import format_spin
from ctpwa.decay.waves import chain_waves, vertex_ls

SPINS = 3  # how many are tried, from 0 or 1/2 on
RULES = VertexRules(lambda name: None, lambda name: 3.0)


@dataclass(frozen=True)
class NonresonantLine:
    """A non-resonant line of a model file.

    Attributes:
        name:     its key
        systems:  what stands after ``in``
        JP:       the lowest J^P that has a wave
        shape:    its lineshape
        remark:   what is said about it
    """

    name: str
    systems: tuple[str, ...]
    JP: str
    shape: str = "lineshape: constant"
    remark: str = "non-resonant"


def structures_in(decay: Decay, groups: Sequence[Sequence[Region]]) -> list[NonresonantLine]:
    """One structure for each group of regions of a three-body decay that can have one."""
    found: list[NonresonantLine] = []
    for group in groups:
        for (JP,) in _choices(decay, [group[0].place]):
            name = f"NR{len(found) + 1}"
            texts = tuple(region.text for region in group)
            if all(_refused(decay, [(name, text, JP)]) is None for text in texts):
                found.append(NonresonantLine(name, texts, JP))
                break
    return found


def simplest_structures(decay: Decay) -> list[NonresonantLine]:
    """Nested structures over the first two, three, … final particles that together have a wave; an error if none do."""
    words = final_words(decay)
    places = [tuple(range(size)) for size in range(2, len(words))]
    error: PhysicsError | None = None
    for JPs in _choices(decay, places):
        lines = [(f"NR{i + 1}", " ".join(words[k] for k in place), JP) for i, (place, JP) in enumerate(zip(places, JPs, strict=True))]
        error = _refused(decay, lines)
        if error is None:
            return [NonresonantLine(name, (text,), JP) for name, text, JP in lines]
    assert error is not None
    raise _c_parity_broken(decay) or PhysicsError(f"no wave is known for {decay}: {error.what}", error.fix or "correct the decay")


def structures_inside(decay: Decay, n_known: int) -> tuple[NonresonantLine, ...]:
    """The simplest structures of states that are held at their mass and decay to three particles or more.

    Args:
        decay:    the decay with these states
        n_known:  structures that have names already
    """
    found: list[NonresonantLine] = []
    for state in decay.held:
        if len(decay.parts(state.place)) > 2:
            inner = Decay(state.particle, decay.particles(state.place), tuple(decay.words(state.place)))
            found += simplest_structures(inner)
    return tuple(replace(line, name=f"NR{n_known + k}") for k, line in enumerate(found, 1))


def _c_parity_broken(decay: Decay) -> PhysicsError | None:
    """The plain reason why J/psi does not decay to three eta."""
    product_C = 1
    for particle in decay.final:
        product_C *= particle.C or 0
    if changes_flavour(decay.parent, decay.final) or product_C * (decay.parent.C or 0) != -1:
        return None
    return PhysicsError(
        f"{decay} has no wave: C of the parent is {decay.parent.C:+d}, C of the final state {product_C:+d}", "correct the decay"
    )


def _choices(decay: Decay, places: Sequence[tuple[int, ...]]) -> list[tuple[str, ...]]:
    """J^P for every place, those with the smallest spins first."""
    options = []
    for place in places:
        lowest = sum(decay.final[i].two_J for i in place) % 2
        options.append([(two_J, sign) for two_J in range(lowest, lowest + 2 * SPINS, 2) for sign in "+-"])
    ordered = sorted(product(*options), key=lambda choice: sum(two_J for two_J, _ in choice))
    return [tuple(format_spin(two_J) + sign for two_J, sign in choice) for choice in ordered]


def _refused(decay: Decay, lines: Sequence[tuple[str, str, str]]) -> PhysicsError | None:
    """Why structures (name, system, J^P) have no wave together; None if they have one."""
    carriers = []
    for name, text, JP in lines:
        system = System.read(text, decay)
        spec = ResonanceSpec.model_validate({"in": [text], "JP": JP, "lineshape": "constant"})
        state = resonance_state(name, spec, tuple(decay.final[i] for i in system.places[0]), ParticleTable())
        carriers.append(Carrier(name, state, system, ()))
    error = PhysicsError("there is no chain")
    for chain in generate_chains(decay, carriers, RULES):
        if len(chain.nodes) == len(lines) + 1:
            try:
                chain_waves(chain, [vertex_ls(chain, node) for node in chain.nodes])
            except PhysicsError as refusal:
                error = refusal
            else:
                return None
    return error
