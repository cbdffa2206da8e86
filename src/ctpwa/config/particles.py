"""The particles of a model file: the decay line and the ``particles`` section."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ctpwa.base.errors import Path, PhysicsError
from ctpwa.config.decay_line import LineParticle, read_line
from ctpwa.config.problems import SpecError, SpecErrors
from ctpwa.config.schema import ModelSpec, ParticleSpec
from ctpwa.decay.chain import Decay, Held
from ctpwa.decay.latex import latex_of_name
from ctpwa.decay.particle import Particle, combined_flavours
from ctpwa.decay.pdg import ParticleTable, near_names
from ctpwa.decay.spin import JPC, format_spin, parse_jpc

OWN_PARTICLES = "One that is not in the PDG goes under 'particles'."

MAX_NAME = 100  # characters
WIDEST_HELD = 0.01  # GeV; of a state that is held at its mass


def check_name(name: str, what: str, key: Path | None = ()) -> None:
    """Names can be read, and written into a list; ``key`` is where this one is."""
    if len(name) > MAX_NAME:
        raise SpecError(f"the name of {what} has {len(name)} characters", f"keep names below {MAX_NAME} characters", key=key)
    if not name or name != " ".join(name.split()):
        raise SpecError(f"the name {name!r} of {what} is blank, or has blanks at its ends", "give it a name of letters and digits", key=key)


def read_jpc(text: str) -> JPC:
    """Spin and parities, with errors at the key ``JP``."""
    try:
        return parse_jpc(text)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, key=("JP",)) from None


def own_particle(name: str, spec: ParticleSpec) -> Particle:
    """A particle of the ``particles`` section: changes to the PDG's, or a new one."""
    known = ParticleTable().find(name)
    if known is None:
        missing = [key for key in ("JP", "mass", "charge") if getattr(spec, key) is None]
        if missing:
            raise SpecError(f"{name!r} is not in the PDG and lacks {', '.join(missing)}", f"add {', '.join(missing)}", key=())
        known = Particle(
            name=name, two_J=0, P=None, C=None, mass=None, width=None, charge=0, massless=spec.mass == 0,
            antiparticle=name if spec.charge == 0 else f"{name}~", baryon=0, flavours=frozenset({(0, 0, 0)}), latex=latex_of_name(name),
        )  # fmt: skip
    changes = spec.model_dump(exclude_none=True, exclude={"JP"})
    if "mass" in changes and "massless" not in changes:
        changes["massless"] = changes["mass"] == 0
    if spec.JP is not None:
        jpc = read_jpc(spec.JP)
        changes |= {"two_J": jpc.two_J, "P": jpc.P, "C": jpc.C if jpc.C is not None else known.C}
    return replace(known, **changes)


def name_collisions(spec: ModelSpec) -> list[str]:
    """Notes on names of the PDG that stand for something else here, and on photons that are given a mass."""
    table, notes = ParticleTable(), []
    for section, charges in ((spec.particles, ("",)), (spec.resonances, ("", "0", "+", "-"))):
        for name, entry in section.items():
            known = next((found for charge in charges if (found := table.find(name + charge)) is not None), None)
            if known is None:
                continue
            jpc = None
            with suppress(PhysicsError):
                jpc = parse_jpc(entry.JP) if entry.JP is not None else None
            if jpc is not None and (jpc.two_J != known.two_J or (jpc.P is not None and known.P is not None and jpc.P != known.P)):
                signs = {1: "+", -1: "-", None: ""}
                notes.append(
                    f"{name!r} is a name of the PDG, where it has J^P {format_spin(known.two_J)}{signs[known.P]}; "
                    f"here it has {format_spin(jpc.two_J)}{signs[jpc.P]}"
                )
            if isinstance(entry, ParticleSpec) and known.massless and entry.mass and not entry.massless:
                notes.append(f"{name!r} has {known.two_J + 1} helicities, since its mass is not 0")
    return notes


def read_decay(text: str, table: ParticleTable, produced: bool = False) -> Decay:
    """``J/psi(1S) -> K+ K- eta``; ``name:particle`` gives a final particle a name of its own; sub-decays follow after ``;``.

    Args:
        text:      the line
        table:     known particles
        produced:  whether the parent is no particle but all that a beam makes of these final particles

    Raises:
        SpecErrors: one for each name that is not known
    """
    line = read_line(text, lambda name: getattr(table.find(name), "name", name))
    for name in (*line.names, *(word.label or word.name for word in [*line.final, *(word for word, _ in line.held)])):
        check_name(name or "-", "a particle", key=None)
    found: dict[str, Particle] = {}
    errors: list[SpecError] = []
    for name in dict.fromkeys(name for name in line.names if not produced or name != line.parent):
        try:
            found[name] = _known(name, table)
        except SpecError as error:
            errors.append(error)
    if errors:
        raise SpecErrors(errors)
    if produced:
        if table.find(line.parent) is not None:
            raise SpecError(f"{line.parent!r} is a particle, but a production makes X of any mass and J^P", "call it X", word=line.parent)
        found[line.parent] = _produced(line.parent, [found[word.name] for word in line.final])
    states = [word for word, _ in line.held]
    labels = _labels([*line.final, *states])
    n = len(line.final)
    for word in states:
        _check_narrow(word.name, found[word.name])
    held = tuple(Held(found[word.name], place, label) for (word, place), label in zip(line.held, labels[n:], strict=True))
    try:
        return Decay(found[line.parent], tuple(found[word.name] for word in line.final), labels[:n], held)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix or "correct the decay, or masses and charges under 'particles'") from None


def _produced(name: str, final: Sequence[Particle]) -> Particle:
    """X that decays to these final particles, whatever its mass and J^P."""
    charge = sum(particle.charge for particle in final)
    return Particle(
        name=name, two_J=0, P=None, C=None, mass=None, width=None, charge=charge, massless=False,
        antiparticle=name if charge == 0 else f"{name}~", baryon=sum(particle.baryon for particle in final),
        flavours=combined_flavours(tuple(final)), latex=latex_of_name(name),
    )  # fmt: skip


def _check_narrow(name: str, particle: Particle) -> None:
    """A state that is held at its mass has no lineshape."""
    if particle.massless or not particle.mass:
        raise SpecError(f"{name!r} cannot decay: it has no mass", "remove its sub-decay", word=name)
    if (particle.width or 0.0) > WIDEST_HELD:
        raise SpecError(
            f"{name!r} is {1000 * (particle.width or 0.0):.3g} MeV wide, too wide to be held at its mass",
            f"name what it decays to in its place, and give it under 'resonances'; up to {1000 * WIDEST_HELD:g} MeV can be held",
            word=name,
        )


def _known(name: str, table: ParticleTable) -> Particle:
    particle = table.find(name)
    if particle is None:
        fix = "separate names by spaces only" if name.endswith(",") else f"{near_names(name, [])} {OWN_PARTICLES}"
        raise SpecError(f"unknown particle {name!r}", fix, word=name)
    if particle.mass is None and not particle.massless:
        raise SpecError(f"the mass of {name!r} is not known", f"give it: particles: {{{name}: {{mass: …}}}} (GeV)", word=name)
    return particle


def _labels(words: Sequence[LineParticle]) -> tuple[str, ...]:
    """The names as written; repeated ones are numbered: pi+_1 pi- pi+_2."""
    labels = []
    names = [word.name for word in words]
    for position, (label, name) in enumerate(words):
        if not label and names.count(name) > 1:
            label = f"{name}_{names[: position + 1].count(name)}"
        labels.append(label or name)
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise SpecError(f"duplicated name {repeated[0]!r} in the final state", "give every final particle a name of its own")
    return tuple(labels)
