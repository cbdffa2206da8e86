"""The ``production`` section: X that a beam made, its waves J^P, and the states in which each was produced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctpwa.base.errors import PhysicsError
from ctpwa.config.energy_tables import energy_table
from ctpwa.config.exposure import read_exposure
from ctpwa.config.particles import read_jpc
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.production_spec import PhotonPolarisationSpec, ProducedWaveSpec, ProductionSpec
from ctpwa.config.schema import ModelSpec
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Chain, Decay
from ctpwa.decay.made import Made, Sector, only_reflectivity
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.spin import format_spin
from ctpwa.model.model import Wave
from ctpwa.spin.diffraction import Diffraction
from ctpwa.spin.energy_table import EnergyTable
from ctpwa.spin.photoproduction import PhotonPolarisation, Photoproduction
from ctpwa.spin.produced_rows import ProducedBy
from ctpwa.spin.reaction import Reaction, Source

PRODUCTION = "production"
AMPTOOLS = "amptools"
SIGNS = (1, -1)


class ProducedStates:
    """The J^P of X in all waves, and how each was made.

    Args:
        spec:      the section
        decay:     X and what it decays to
        problems:  where problems are collected
    """

    def __init__(self, spec: ProductionSpec, decay: Decay, problems: Problems) -> None:
        self.spec, self.decay, self.problems = spec, decay, problems
        self.folded = spec.kind == "diffraction" or spec.polarisation is None
        self.states: dict[Particle, tuple[Made, ...]] = {}
        self.resonances: dict[str, Particle] = {}  # that are X itself: their states by name
        for text, own in spec.waves.items():
            with problems.collect((PRODUCTION, "waves", text)):
                state = self._state(text)
                if state in self.states:
                    raise SpecError(f"{text!r} is given twice", "write every J^P once", key=())
                self.states[state] = self._made(state, own)

    def carry(self, name: str, state: Particle) -> None:
        """Let a resonance be X in all waves with its J^P, which have no others then that are not resonances."""
        if not any(_same(state, other) for other in self.states):
            listed = ", ".join(self.spec.waves)
            raise SpecError(
                f"{name!r} is {state.label}, and no wave of X has its J^P",
                f"add it to the waves of the production ({listed}), or remove it",
            )
        self.resonances[name] = state

    def roots(self) -> list[tuple[str, Particle]]:
        """What X is in all waves: the resonances of every J^P with their names, or just X where there are none."""
        found: list[tuple[str, Particle]] = []
        for state in self.states:
            found += [own for own in self.resonances.items() if _same(own[1], state)] or [("", state)]
        return found

    def made(self, chain: Chain) -> list[Chain]:
        """The same chain with X in every state in which it was produced."""
        every = next(own for state, own in self.states.items() if _same(state, chain.root.particle))
        return [Chain(chain.decay, replace(chain.root, made=made)) for made in every]

    @property
    def sectors(self) -> tuple[Sector, ...]:
        """Reflectivity and rank of all waves."""
        used = {made.sector for every in self.states.values() for made in every}
        return tuple(sorted(used, key=lambda sector: (-sector[0], sector[1])))

    def check_found(self, chains: Sequence[Chain]) -> None:
        """Every J^P has a chain, and so has every resonance."""
        roots = [chain.root.particle for chain in chains]
        for text, state in zip(self.spec.waves, self.states, strict=True):
            if not any(_same(state, root) for root in roots):
                error = SpecError(
                    f"{text!r} has no wave: X with these quantum numbers cannot decay so", "remove it, or add resonances", key=()
                )
                self.problems.add(error, (PRODUCTION, "waves", text))
        found = {chain.root.resonance for chain in chains}
        for name, state in self.resonances.items():
            if name not in found and not self.problems.at("resonances", name):
                what = f"{name!r} has no wave: {state.label} does not decay to {' '.join(self.decay.labels)} by any chain of the model"
                self.problems.add(SpecError(what, "add resonances of smaller systems, or correct its JP", key=()), ("resonances", name))

    def rank_conditions(self, waves: Sequence[Wave]) -> list[Wave]:
        """Waves without those that a unitary mixing of ranks makes superfluous: of rank k the first k of its reflectivity   (F13.6)"""
        order: dict[int, dict[tuple[str, Made], int]] = {1: {}, -1: {}}
        kept = []
        for wave in waves:
            made = wave.chain.root.made
            assert made is not None
            known = order[made.reflectivity]
            place = known.setdefault((wave.name.removesuffix(f" k={made.rank}"), replace(made, rank=0)), len(known))
            if place >= made.rank:
                kept.append(wave)
        for sign, known in order.items():
            ranks = [rank for own, rank in self.sectors if own == sign]
            if ranks and len(known) <= max(ranks):
                error = SpecError(
                    f"rank {max(ranks) + 1} of reflectivity {sign:+d} has {len(known)} waves", "use a rank that is not above their number"
                )
                self.problems.add(error, (PRODUCTION, "rank"))
        return kept

    def _state(self, text: str) -> Particle:
        try:
            jpc = read_jpc(text)
        except SpecError as error:
            raise SpecError(error.what, error.fix, key=()) from None
        if jpc.P is None or jpc.two_J % 2:
            raise SpecError(f"{text!r} is no J^P of X", "write an integer spin and a parity, such as 2+", key=())
        if jpc.C is not None:
            raise SpecError(f"{text!r} has a C parity, which is not used here", f"write {text.strip()[:-1]}", key=())
        own = f"{format_spin(jpc.two_J)}{'+-'[jpc.P < 0]}"
        return replace(self.decay.parent, name=f"{self.decay.parent.name}({own})", two_J=jpc.two_J, P=jpc.P)

    def _made(self, state: Particle, own: ProducedWaveSpec) -> tuple[Made, ...]:
        J = state.two_J // 2
        ms = own.m if own.m is not None else list(range(0 if self.folded else -J, J + 1))
        signs = own.reflectivity if own.reflectivity is not None else list(SIGNS)
        for key, values in (("m", ms), ("reflectivity", signs)):
            if len(set(values)) != len(values) or not values:
                raise SpecError(f"{key!r} is {values}", "write every value once, and at least one", key=(key,))
        found = []
        for sign in signs:
            for m in ms:
                if self.folded and m == 0 and sign != only_reflectivity(state) and (own.reflectivity is None or own.m is None):
                    continue  # there is no such state, and nobody has asked for it
                for rank in range(self.rank(sign)):
                    made = Made(2 * m, sign, rank, self.folded)
                    try:
                        made.check(state)
                    except PhysicsError as error:
                        raise SpecError(error.what, error.fix, key=("m",)) from None
                    found.append(made)
        if not found:
            raise SpecError(
                f"{state.label} has no state of this reflectivity", f"M = 0 has reflectivity {only_reflectivity(state):+d}", key=()
            )
        return tuple(found)

    def rank(self, sign: int) -> int:
        """How many incoherent copies a reflectivity has."""
        return self.spec.rank.positive if sign > 0 else self.spec.rank.negative


def _same(one: Particle, other: Particle) -> bool:
    """Whether two states have the same J^P."""
    return (one.two_J, one.P) == (other.two_J, other.P)


def read_production(
    spec: ProductionSpec, states: ProducedStates, table: ParticleTable, problems: Problems
) -> tuple[ProducedBy | None, tuple[EventColumn, ...]]:
    """How X was made, and the event columns that this needs; None if it became a problem."""
    found: ProducedBy | None = None
    with problems.collect((PRODUCTION,)):
        proton = table.find("p")
        assert proton is not None
        target = (float(proton.mass or 0.0), 0.0, 0.0, 0.0) if spec.target is None else _source(spec.target)
        usual = "gottfried-jackson" if spec.kind == "diffraction" else "helicity"
        in_beam = spec.polarisation == AMPTOOLS
        if in_beam and not isinstance(spec.beam, str):
            raise SpecError("polarisation: amptools needs a beam that is an event column", "remove 'beam', or name a column", key=("beam",))
        reaction = Reaction(_source(spec.beam), target, spec.frame or usual, in_beam)
        light = None if spec.polarisation is None else _polarisation(spec.polarisation)
        exposure = read_exposure(spec, reaction, light, states.decay, table)
        if spec.kind == "diffraction":
            if spec.polarisation is not None:
                raise SpecError("a spinless beam has no polarisation", "remove it, or write  kind: photoproduction", key=("polarisation",))
            found = Diffraction(reaction, states.sectors, exposure=exposure)
        elif light is None:
            found = Diffraction(reaction, states.sectors, "photoproduction without polarisation", exposure)
        else:
            found = Photoproduction(reaction, states.sectors, light, exposure)
    return found, () if found is None else found.columns


def with_production_columns(declared: Sequence[EventColumn], own: Sequence[EventColumn], problems: Problems) -> tuple[EventColumn, ...]:
    """All event columns of a model: those that are declared, and those of the production, which need not be."""
    known = {column.name: column for column in declared}
    for column in own:
        other = known.get(column.name)
        if other is not None and other.size != column.size:
            error = SpecError(f"the production needs {column.size} numbers of {column.name!r}, not {other.size}", "remove it here", key=())
            problems.add(error, ("columns", column.name))
        known[column.name] = column
    return tuple(known.values())


def check_produced(spec: ModelSpec, problems: Problems) -> None:
    """What a model with a production cannot have: one spin state of the parent, generated events, charge conjugation; and what it must."""
    own = spec.production
    if own is not None and own.kind == "photoproduction" and "polarisation" not in own.model_fields_set:
        error = SpecError(
            "the polarisation of the photons is not given",
            "write  polarisation: {degree: P, angle: alpha}  with event columns or numbers, or  polarisation: null  for none",
            key=(),
        )
        problems.add(error, (PRODUCTION,))
    if "polarisation" in spec.model_fields_set:
        error = SpecError("X that is produced has no 'polarisation'", "that of the photons goes under 'production'", key=())
        problems.add(error, ("polarisation",))
    entries = {("samples",): spec.samples} | {("data_sets", name): entry for name, entry in spec.data_sets.items()}
    for path, entry in entries.items():
        if entry is None:
            continue
        if entry.conjugate:
            error = SpecError("data of the conjugate of a production cannot be fitted", "remove it", key=("conjugate",))
            problems.add(error, path)
        for kind in ("data", "phase_space", "background", "truth"):
            for i, sample in enumerate(getattr(entry, kind)):
                if sample.unit != "GeV" and own is not None and isinstance(own.beam, str):
                    error = SpecError(
                        f"'unit' converts momenta, and not the event column {own.beam!r} of the beam", "write files in GeV", key=("unit",)
                    )
                    problems.add(error, (*path, kind, i))
        for kind in ("phase_space", "truth"):
            for i, sample in enumerate(getattr(entry, kind)):
                if sample.generate is not None and (own is None or own.generate is None):
                    error = SpecError(
                        "phase space of a production cannot be generated: nothing says how s, t and the mass of X are distributed",
                        "add  generate: {energy: [8.2, 8.8], slope: 5, mass: [0.7, 2]}  to the production, or read simulated events",
                        key=("generate",),
                    )
                    problems.add(error, (*path, kind, i))


def _source(given: str | list[float]) -> Source:
    return given if isinstance(given, str) else tuple(float(number) for number in given)


def _polarisation(spec: PhotonPolarisationSpec | str) -> PhotonPolarisation:
    if isinstance(spec, str):
        return PhotonPolarisation(in_beam=True)
    direction = None if spec.direction is None else _source(spec.direction)
    degree: str | float | EnergyTable
    if isinstance(spec.degree, str | int | float):
        degree = spec.degree if isinstance(spec.degree, str) else float(spec.degree)
    elif isinstance(spec.degree, list) and not all(isinstance(point, list) for point in spec.degree):
        raise SpecError(
            f"{spec.degree} is no degree of polarisation", "write a number, or [[energy, degree], …]", key=("polarisation", "degree")
        )
    else:
        degree = energy_table(spec.degree, ("polarisation", "degree"))  # type: ignore[arg-type]
    try:
        return PhotonPolarisation(degree, direction, spec.angle, spec.circular)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, key=("polarisation",)) from None
