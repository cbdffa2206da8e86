"""Waves with their names and couplings; charge-conjugate waves share a coupling with the sign of C (F4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctpwa.config.chains import FoundChain
from ctpwa.config.draft import Draft
from ctpwa.config.problems import SpecError
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.symmetry import Conjugation, wave_key
from ctpwa.model.model import Wave

Key = tuple[tuple[Any, ...], tuple[str, ...]]  # what makes a wave the same: quantum numbers, and names of its resonances


class WaveList:
    """Waves in the order of the model file, each once.

    Args:
        draft:  the model being built
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.conjugation = Conjugation.of(draft.decay)
        self.waves: list[Wave] = []
        self._by_key: dict[Key, tuple[Wave, int]] = {}  # a wave and the sign between it and its key
        self._names: set[str] = set()
        self._tied_chains: set[Chain] = set()

    def add(self, found: FoundChain) -> None:
        """All waves of one chain."""
        if found.tied:
            self._tied_chains.add(found.chain)
        for ls in found.choices:
            resonances = tuple(self.draft.resonances[node.resonance] for node in found.chain.carriers)
            name = self.draft.wave_name(found.chain, ls)
            wave = Wave(name, found.chain, ls, resonances, name, 1)
            quantum_numbers, sign = wave_key(found.chain, ls)
            key = (quantum_numbers, _names(wave))
            if key in self._by_key or wave.name in self._names:
                self._report_duplicate(wave, key, found)
                continue
            if found.tied:
                wave = self._tie(wave, key)
            self._by_key[key] = (wave, sign)
            self.waves.append(wave)
            self._names.add(wave.name)

    def note_missing_partners(self) -> None:
        """Say which chains should be tied to their charge conjugate and have none in the model, under whatever key."""
        if self.conjugation is None:
            return
        present = {quantum_numbers for quantum_numbers, _ in self._by_key}
        alone = [
            wave
            for wave in self.waves
            if wave.chain in self._tied_chains
            and self.conjugation.applies_to(wave.chain)
            and self.conjugation.partner(wave.chain, wave.ls)[0] not in present
        ]
        alike = {wave_key(self._anonymous(wave.chain), wave.ls)[0] for wave in alone}
        missing = {
            str(wave.chain): None for wave in alone if self.conjugation.partner(self._anonymous(wave.chain), wave.ls)[0] not in alike
        }
        self.draft.notes += [f"the charge-conjugate chain of {chain} is not in the model" for chain in missing]

    def _anonymous(self, chain: Chain) -> Chain:
        """The chain with spin, parity and charge in place of the names that a user gave to states outside the PDG."""
        return Chain(chain.decay, self._anonymous_node(chain.root))

    def _anonymous_node(self, node: Node) -> Node:
        first, second = (self._anonymous_node(d) if isinstance(d, Node) else d for d in node.daughters)
        particle = node.particle
        if self.draft.table.find(particle.name) is None:
            other = particle.conjugate()
            names = [f"{p.two_J} {p.P} {p.charge} {p.baryon}" for p in (particle, other)]
            particle = replace(particle, name=names[0], antiparticle=names[1])
        return replace(node, particle=particle, daughters=(first, second))

    def _tie(self, wave: Wave, key: Key) -> Wave:
        """The wave with the coupling of its conjugate, if that already exists."""
        if self.conjugation is None or not self.conjugation.applies_to(wave.chain):
            return wave
        partner_key, partner_sign = self.conjugation.partner(wave.chain, wave.ls)
        partner = self._by_key.get((partner_key, key[1]))
        if partner is None:
            return wave
        return replace(wave, coupling=partner[0].coupling, factor=partner[0].factor * partner_sign * partner[1])

    def _report_duplicate(self, wave: Wave, key: Key, found: FoundChain) -> None:
        if key in self._by_key:
            what = f"duplicated wave {wave.name!r}: it is the same as {self._by_key[key][0].name!r}"
            fix = "declare every chain once, under 'resonances' or under 'chains'"
        else:
            what = f"two different waves are called {wave.name!r}"
            fix = "give one of the resonances a name of its own and say  particle: … for what it is"
        self.draft.problems.add(SpecError(what, fix), found.path)


def _names(wave: Wave) -> tuple[str, ...]:
    return tuple(sorted(resonance.name for resonance in wave.resonances))
