"""The particles of a model file: the decay line and the ``particles`` section."""

from __future__ import annotations

from dataclasses import replace

from ctpwa.base.errors import Path, PhysicsError
from ctpwa.config.problems import SpecError, SpecErrors
from ctpwa.config.schema import ParticleSpec
from ctpwa.decay.chain import MAX_FINAL, MIN_FINAL, Decay
from ctpwa.decay.latex import latex_of_name
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, near_names
from ctpwa.decay.spin import JPC, parse_jpc

ARROW = "->"
OWN_PARTICLES = "One that is not in the PDG goes under 'particles'."

MAX_NAME = 100  # characters


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


def read_decay(text: str, table: ParticleTable) -> Decay:
    """``J/psi(1S) -> K+ K- eta``; ``name:particle`` gives a final particle a name of its own.

    Raises:
        SpecErrors: one for each name that is not known
    """
    left, arrow, right = text.partition(ARROW)
    if not arrow or len(left.split()) != 1 or not right.split():
        raise SpecError(f"cannot read {text!r} as a decay", f"write it as parent {ARROW} particle particle …, names separated by spaces")
    words = [_split_label(word) for word in right.split()]
    if len(words) > 4 * MAX_FINAL:  # a few too many get a message with their names
        raise SpecError(f"there are {len(words)} final particles", f"ctpwa handles {MIN_FINAL} to {MAX_FINAL}")
    for name in (left, *(part for word in words for part in word)):
        check_name(name.strip() or "-", "a particle", key=None)
    found: list[Particle] = []
    errors: list[SpecError] = []
    for name in [left.strip(), *(name for _, name in words)]:
        try:
            found.append(_known(name, table))
        except SpecError as error:
            errors.append(error)
    if errors:
        raise SpecErrors(errors)
    labels = _labels([label for label, _ in words], [name for _, name in words])
    try:
        return Decay(found[0], tuple(found[1:]), labels)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix or "correct the decay, or masses and charges under 'particles'") from None


def _known(name: str, table: ParticleTable) -> Particle:
    particle = table.find(name)
    if particle is None:
        fix = "separate names by spaces only" if name.endswith(",") else f"{near_names(name, [])} {OWN_PARTICLES}"
        raise SpecError(f"unknown particle {name!r}", fix, word=name)
    if particle.mass is None and not particle.massless:
        raise SpecError(f"the mass of {name!r} is not known", f"give it: particles: {{{name}: {{mass: …}}}} (GeV)", word=name)
    return particle


def _split_label(word: str) -> tuple[str, str]:
    label, colon, name = word.partition(":")
    return (label, name) if colon and label and name else ("", word)


def _labels(given: list[str], names: list[str]) -> tuple[str, ...]:
    """The names as written; repeated ones are numbered: pi+_1 pi- pi+_2."""
    labels = []
    for position, (label, name) in enumerate(zip(given, names, strict=True)):
        if not label and names.count(name) > 1:
            label = f"{name}_{names[: position + 1].count(name)}"
        labels.append(label or name)
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise SpecError(f"duplicated name {repeated[0]!r} in the final state", "give every final particle a name of its own")
    return tuple(labels)
