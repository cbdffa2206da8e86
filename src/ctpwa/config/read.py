"""``load_model``: from a YAML file or a mapping to a ``Model``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

from ctpwa.config.chains import ChainReader, System, VertexRules, generate_chains
from ctpwa.config.particles import own_particle, read_decay
from ctpwa.config.resonances import build_resonance, check_on_shell, resonance_state
from ctpwa.config.schema import ChainSpec, ModelSpec, ResonanceSpec
from ctpwa.config.source import Source
from ctpwa.config.validate import validate
from ctpwa.decay.chain import Chain, Decay, Node
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, normalise, split_charge
from ctpwa.decay.spin import LS
from ctpwa.decay.symmetry import Conjugation, wave_key
from ctpwa.decay.waves import chain_waves, vertex_ls
from ctpwa.errors import ConfigError, Path, PhysicsError, Problem
from ctpwa.model.model import Model, Wave
from ctpwa.model.resonance import Resonance
from ctpwa.spin.polarisation import Polarisation

FoundChain = tuple[Chain, list[tuple[LS, ...]], bool]  # a chain, its (L, S) choices, and whether conjugates are tied


def load_model(path_or_mapping: str | os.PathLike[str] | Mapping[str, Any]) -> Model:
    """Read a model file, or a mapping of the same form, and build all its waves.

    Raises:
        ConfigError: with every problem found, each with file, line, column and what to do
    """
    if isinstance(path_or_mapping, Mapping):
        return _Builder(validate(_plain(path_or_mapping))).build()
    path = FilePath(path_or_mapping)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError([Problem(f"cannot read model file {str(path)!r}: {reason}", (), "give the path of a YAML file")]) from None
    source = Source(text, str(path))
    try:
        return _Builder(validate(source.data)).build()
    except ConfigError as error:
        raise ConfigError([source.locate(p, at_key=p.what.startswith("unknown key")) for p in error.problems]) from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


class _Builder:
    """Builds a model step by step and collects what is wrong on the way."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.table = ParticleTable()
        self.resonances: dict[str, Resonance] = {}
        self.implicit: dict[str, ResonanceSpec] = {}

    @contextmanager
    def _collect(self, *path: str | int) -> Iterator[None]:
        try:
            yield
        except PhysicsError as error:
            self.problems.append(Problem(error.what, path, error.fix))

    def _stop_on_problems(self) -> None:
        if self.problems:
            raise ConfigError(self.problems)

    def build(self) -> Model:
        own: dict[str, Particle] = {}
        for name, particle_spec in self.spec.particles.items():
            with self._collect("particles", name):
                own[name] = own_particle(name, particle_spec)
        self.table = ParticleTable(own)
        decay: Decay | None = None
        with self._collect("decay"):
            decay = read_decay(self.spec.decay, self.table)
        self._stop_on_problems()
        assert decay is not None
        polarisation: Polarisation | None = None
        with self._collect("polarisation"):
            polarisation = Polarisation.of(self.spec.polarisation, decay.parent)
        waves = self._waves(decay)
        if not waves and not self.problems:
            self.problems.append(Problem("the model has no waves", (), "add resonances with 'in', or chains"))
        self._stop_on_problems()
        assert polarisation is not None
        return Model(decay, tuple(waves), self.resonances, polarisation, self.spec.formalism == "zou-bugg", tuple(self.notes))

    def _waves(self, decay: Decay) -> list[Wave]:
        rules = VertexRules(self._weak, self._radius)
        found: list[FoundChain] = []
        found += self._generated(decay, rules)
        found += self._written(decay, rules)
        if len(decay.final) == 2 and not found:
            found += self._direct(decay, rules)
        self._check_unused()
        return self._tie(decay, found)

    def _generated(self, decay: Decay, rules: VertexRules) -> list[FoundChain]:
        """Chains of all resonances that say where they are."""
        systems: list[tuple[str, System, Particle]] = []
        for name, spec in self.spec.resonances.items():
            for index, text in enumerate(spec.in_):
                with self._collect("resonances", name, "in", *((index,) if len(spec.in_) > 1 else ())):
                    system = System.read(text, decay)
                    place = system.places(decay)[0]
                    state = resonance_state(name, spec, tuple(decay.final[i] for i in place), self.table)
                    self._add_resonance(name, spec, state, decay, place)
                    systems.append((name, system, state))
        chains: list[FoundChain] = []
        refused: dict[str, list[str]] = {}
        for chain in sorted(generate_chains(decay, systems, rules), key=lambda chain: _file_order(chain, systems)):
            names = [node.resonance for node in chain.nodes[1:]]
            try:
                waves = chain_waves(chain, [self._vertex_choice(chain, node) for node in chain.nodes])
            except PhysicsError as error:
                for name in names:
                    refused.setdefault(name, []).append(error.what)
                if len(names) > 1:
                    self.notes.append(f"no wave for {chain}: {error.what}")
            else:
                chains.append((chain, waves, all(self._tied(name) for name in names)))
        self._report_refused(systems, chains, refused, decay)
        return chains

    def _report_refused(
        self, systems: Sequence[tuple[str, System, Particle]], chains: Sequence[FoundChain], refused: Mapping[str, list[str]], decay: Decay
    ) -> None:
        """A resonance in a system that got no wave at all is an error."""
        for name, system, _ in systems:
            places = {tuple(sorted(place)) for place in system.places(decay)}
            used = any(node.resonance == name and tuple(sorted(node.leaves)) in places for chain, _, _ in chains for node in chain.nodes)
            if not used:
                spec = self.spec.resonances[name]
                path: Path = ("resonances", name, "in") + ((spec.in_.index(system.text),) if len(spec.in_) > 1 else ())
                reasons = list(dict.fromkeys(refused.get(name, [])))
                rest = [label for i, label in enumerate(decay.labels) if i not in system.places(decay)[0]]
                what = reasons[0] if reasons else f"no chain leads to {name!r} in {system.text}: nothing is declared for {' '.join(rest)}"
                fix = (
                    "remove it, or correct its JP"
                    if reasons
                    else "add a resonance for the other particles, or spell the chain out under 'chains'"
                )
                self.problems.append(Problem(what, path, fix))

    def _written(self, decay: Decay, rules: VertexRules) -> list[FoundChain]:
        """Chains of the ``chains`` section."""
        found = []
        for index, spec in enumerate(self.spec.chains):
            with self._collect("chains", index):
                chain = ChainReader(spec.decay, decay, lambda name, leaves: self._find_state(name, leaves, decay), rules).read()
                start = self.table.find(spec.decay.partition("->")[0].strip())
                if start is None or start.name != decay.parent.name:
                    raise PhysicsError(f"{spec.decay!r} does not start with {decay.parent.name}", f"begin with {decay.parent.name} -> …")
                waves = chain_waves(chain, self._chain_choices(chain, spec))
                tied = spec.tie if spec.tie is not None else all(self._tied(node.resonance) for node in chain.nodes[1:])
                found.append((chain, waves, tied))
        return found

    def _direct(self, decay: Decay, rules: VertexRules) -> list[FoundChain]:
        """A two-body decay is one vertex."""
        with self._collect("decay"):
            chain = Chain(decay, rules.node(decay, "", decay.parent, (0, 1)))
            return [(chain, chain_waves(chain, [self._vertex_choice(chain, chain.root)]), self.spec.tie_conjugates)]
        return []

    def _find_state(self, name: str, leaves: tuple[int, ...], decay: Decay) -> tuple[str, Particle]:
        system = tuple(decay.final[i] for i in leaves)
        key = self._declared(name)
        spec = self.spec.resonances[key] if key is not None else ResonanceSpec.model_validate({})
        exact = self.table.find(name)
        if exact is not None and split_charge(name)[1] is not None:
            state = resonance_state(exact.name, ResonanceSpec.model_validate({"JP": spec.JP}), system, self.table)
            if state.name != exact.name:
                raise PhysicsError(
                    f"charge is not conserved: {exact.name} cannot decay to {' '.join(p.name for p in system)}", f"{state.name} could"
                )
        else:
            state = resonance_state(key or name, spec, system, self.table)
        if key is None:
            key = state.name if (state.baryon, state.charge) >= (0, 0) else state.antiparticle
            self.implicit[key] = spec
        self._add_resonance(key, spec, state, decay, leaves)
        return key, state

    def _declared(self, name: str) -> str | None:
        """The key under ``resonances`` that a name in a chain means, with or without its charge."""
        for spelling in (normalise(name), normalise(split_charge(name)[0]), normalise(split_charge(name)[0].removesuffix("~"))):
            for key in self.spec.resonances:
                if normalise(key) == spelling:
                    return key
        return None

    def _add_resonance(self, name: str, spec: ResonanceSpec, state: Particle, decay: Decay, leaves: tuple[int, ...]) -> None:
        resonance = build_resonance(name, spec, state, self.spec.radius)
        if not spec.off_shell:
            check_on_shell(resonance, decay, leaves)
        self.resonances.setdefault(name, resonance)

    def _check_unused(self) -> None:
        failed = {problem.path[1] for problem in self.problems if problem.path[:1] == ("resonances",)}
        broken_chains = any(problem.path[:1] == ("chains",) for problem in self.problems)
        for name, spec in self.spec.resonances.items():
            if name not in self.resonances and name not in failed and not broken_chains and not spec.in_:
                self.problems.append(
                    Problem(
                        f"resonance {name!r} is in no chain",
                        ("resonances", name),
                        "say which particles it decays to (in: …), or use it under 'chains'",
                    )
                )

    def _spec_of(self, name: str) -> ResonanceSpec | None:
        return self.spec.resonances.get(name) or self.implicit.get(name)

    def _weak(self, name: str) -> bool | None:
        spec = self._spec_of(name)
        return self.spec.weak if not name else (None if spec is None else spec.weak)

    def _radius(self, name: str) -> float:
        spec = self._spec_of(name)
        return spec.radius if spec is not None and spec.radius is not None else self.spec.radius

    def _tied(self, name: str) -> bool:
        spec = self._spec_of(name)
        return spec.tie if spec is not None and spec.tie is not None else self.spec.tie_conjugates

    def _chain_choices(self, chain: Chain, spec: ChainSpec) -> list[list[LS]]:
        if spec.ls is not None and len(spec.ls) != len(chain.nodes):
            raise PhysicsError(
                f"'ls' has {len(spec.ls)} entries for {len(chain.nodes)} vertices: {chain}",
                "give one entry per vertex in this order; null allows all",
            )
        own = spec.ls or [None] * len(chain.nodes)
        return [self._vertex_choice(chain, node, only, spec.max_L) for node, only in zip(chain.nodes, own, strict=True)]

    def _vertex_choice(self, chain: Chain, node: Node, only: Sequence[Any] | None = None, max_L: int | None = None) -> list[LS]:
        """The (L, S) pairs of a vertex under the limits of the model, the chain and the resonances at it."""
        limits = [self.spec.max_L, max_L]
        choices = [] if only is None else [_ls_list(only)]
        own = self._spec_of(node.resonance)
        if own is not None:
            limits.append(own.max_L)
            choices += [] if own.decay_ls is None else [_ls_list(own.decay_ls)]
        for daughter in node.daughters:
            spec = self._spec_of(daughter.resonance) if isinstance(daughter, Node) else None
            if spec is not None:
                limits.append(spec.max_L)
                choices += [] if spec.production_ls is None else [_ls_list(spec.production_ls)]
        limit = min((value for value in limits if value is not None), default=None)
        if not choices:
            return vertex_ls(chain, node, max_L=limit)
        common = [ls for ls in choices[0] if all(ls in other for other in choices[1:])]
        if not common:
            raise PhysicsError(
                f"the (L, S) lists for {chain.vertex(node)} have nothing in common", "make the lists of its resonances agree"
            )
        return vertex_ls(chain, node, only=common, max_L=limit)

    def _tie(self, decay: Decay, found: list[FoundChain]) -> list[Wave]:
        """Waves with names and couplings; conjugate waves share a coupling with the sign of C      (F4)."""
        conjugation = Conjugation.of(decay)
        waves: list[Wave] = []
        by_key: dict[tuple, tuple[Wave, int]] = {}
        for chain, choices, tied in found:
            for ls in choices:
                wave = Wave(_wave_name(chain, ls), chain, ls, tuple(self.resonances[n.resonance] for n in chain.nodes[1:]), "", 1)
                key, sign = wave_key(chain, ls)
                resonant_key = (key, tuple(sorted(r.name for r in wave.resonances)))
                if resonant_key in by_key:
                    self.problems.append(
                        Problem(
                            f"duplicated wave {wave.name!r}: it is the same as {by_key[resonant_key][0].name!r}",
                            (),
                            "declare every chain once",
                        )
                    )
                    continue
                coupling, factor = wave.name, 1
                if tied and conjugation is not None and conjugation.applies_to(chain):
                    partner_key, partner_sign = conjugation.partner(chain, ls)
                    partner = by_key.get((partner_key, resonant_key[1]))
                    if partner is not None and partner_key != key:
                        coupling, factor = partner[0].coupling, partner[0].factor * partner_sign * partner[1]
                wave = Wave(wave.name, chain, ls, wave.resonances, coupling, factor)
                by_key[resonant_key] = (wave, sign)
                waves.append(wave)
        self._note_missing_partners(conjugation, waves, by_key)
        return waves

    def _note_missing_partners(self, conjugation: Conjugation | None, waves: list[Wave], by_key: dict) -> None:
        if conjugation is None:
            return
        lonely = {}
        for wave in waves:
            if conjugation.applies_to(wave.chain):
                key = conjugation.partner(wave.chain, wave.ls)[0]
                if (key, tuple(sorted(r.name for r in wave.resonances))) not in by_key:
                    lonely[str(wave.chain)] = wave
        self.notes += [f"the charge-conjugate chain of {chain} is not in the model" for chain in lonely]


def _file_order(chain: Chain, systems: Sequence[tuple[str, System, Particle]]) -> list[int]:
    """Where the model file declares the states of a chain."""
    declared = [(name, state.name) for name, _, state in systems]
    return [declared.index((node.resonance, node.particle.name)) for node in chain.nodes[1:]]


def _wave_name(chain: Chain, ls: Sequence[LS]) -> str:
    parts = []
    for node in chain.nodes[1:]:
        system = " ".join(chain.decay.labels[i] for i in node.leaves)
        parts.append(f"{node.particle.name}[{system}]")
    return " ".join([*parts, "".join(str(pair) for pair in ls)])


def _ls_list(pairs: Sequence[Sequence[Any]]) -> list[LS]:
    result = []
    for L, S in pairs:
        try:
            pair = LS(int(L), Fraction(str(S)))
        except ValueError:
            pair = None
        if pair is None or float(L) != pair.L or pair.L < 0 or (2 * pair.S).denominator != 1 or pair.S < 0:
            raise PhysicsError(f"[{L}, {S}] is not an (L, S) pair", "write pairs such as [1, 1] or [0, 1/2]")
        result.append(pair)
    return result
