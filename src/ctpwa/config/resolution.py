"""``resolution:`` of a data set: how exactly its events are measured."""

from __future__ import annotations

from dataclasses import replace

from ctpwa.base.errors import Path, suggest
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import MomentumErrorSpec, ResolutionSpec
from ctpwa.config.systems import System
from ctpwa.data.resolution import GivenPoints, Resolution
from ctpwa.decay.chain import Decay
from ctpwa.decay.pdg import normalise
from ctpwa.model.model import Model
from ctpwa.observe.mass_resolution import MassResolution, NarrowState, SeveralResolutions
from ctpwa.observe.momentum_errors import MomentumErrors

DEFAULT_POINTS = 11
MOST_POINTS = 10_000  # of an event
EXAMPLE = "write  resolution: {masses: {K+ K-: 0.0012}, points: 11}  or  resolution: {rows: 8}"
ERRORS = "{magnitude: 0.005, angle: 0.002}"  # an example


def read_resolution(spec: ResolutionSpec | None, decay: Decay) -> Resolution | None:
    """What a data set says about it, which was checked."""
    if spec is None:
        return None
    if spec.rows is not None:
        return GivenPoints(tuple(decay.labels), spec.rows)
    n_points = spec.points or DEFAULT_POINTS
    if isinstance(spec.masses, dict):
        parts = tuple(MassResolution(_pair(text, decay), float(sigma), n_points) for text, sigma in spec.masses.items())
    else:
        own = list(_momentum_errors(spec, decay).values())
        errors = MomentumErrors(tuple(e.magnitude for e in own), tuple(e.angle for e in own))
        parts = tuple(MassResolution(_pair(text, decay), errors, n_points) for text in spec.masses)
    return parts[0] if len(parts) == 1 else SeveralResolutions(parts)


def check_resolution(spec: ResolutionSpec | None, decay: Decay, path: Path, problems: Problems) -> None:
    """Everything that is wrong becomes a problem."""
    if spec is None:
        return
    with problems.collect(path):
        if (spec.rows is None) == (not spec.masses):
            what = "needs masses of pairs, or rows of files" if spec.rows is None else "has masses of pairs and rows of files"
            raise SpecError(f"'resolution' {what}", EXAMPLE)
        if spec.rows is not None and spec.points is not None:
            raise SpecError("'points' next to 'rows'", "leave points out: rows says how many there are", key=("points",))
        if (spec.points or DEFAULT_POINTS) ** len(spec.masses) > MOST_POINTS:
            raise SpecError(f"{spec.points or DEFAULT_POINTS} points for each of {len(spec.masses)} masses", "give fewer points")
        _check_momenta(spec, decay)
    taken: dict[int, str] = {}
    for i, text in enumerate(spec.masses):
        with problems.collect(path, "masses", text if isinstance(spec.masses, dict) else i):
            for particle in _pair(text, decay):
                if particle in taken:
                    raise SpecError(
                        f"{decay.labels[particle]} is in {text!r} and in {taken[particle]!r}",
                        "give the resolution of pairs without a common particle, or points of each event in rows",
                    )
                taken[particle] = text


def _check_momenta(spec: ResolutionSpec, decay: Decay) -> None:
    """Momenta go with a list of pairs, and all of them are needed: energy and momentum of the event are conserved."""
    if spec.momenta and isinstance(spec.masses, dict):
        raise SpecError("'momenta' next to standard deviations of masses", "write a list of pairs  masses: [K+ K-]  or leave momenta out")
    if isinstance(spec.masses, list) and not spec.momenta:
        raise SpecError("a list of 'masses' without 'momenta'", f"write  momenta: {{{decay.labels[0]}: {ERRORS}}}", key=("masses",))
    if not spec.momenta:
        return
    known = {normalise(name) for name in (*decay.labels, *(particle.name for particle in decay.final))}
    for name in spec.momenta:
        if normalise(name) not in known:
            raise SpecError(f"{name!r} is not a final particle of {decay}", suggest(name, decay.labels), key=("momenta", name))
    if missing := [label for label in decay.labels if label not in _momentum_errors(spec, decay)]:
        raise SpecError(f"'momenta' does not have {' and '.join(missing)}", f"write  {missing[0]}: {ERRORS}", key=("momenta",))


def _momentum_errors(spec: ResolutionSpec, decay: Decay) -> dict[str, MomentumErrorSpec]:
    """What is said about every final particle, by its label, or by the name that it shares with identical ones."""
    given = {normalise(name): errors for name, errors in spec.momenta.items()}
    names = {label: [normalise(name) for name in (label, particle.name)] for label, particle in zip(decay.labels, decay.final, strict=True)}
    return {label: next(given[name] for name in own if name in given) for label, own in names.items() if given.keys() & set(own)}


def with_narrow_states(resolution: Resolution | None, model: Model) -> Resolution | None:
    """The same resolution of masses, which knows the narrowest state of each pair and refuses points that are too far apart for it."""
    if isinstance(resolution, SeveralResolutions):
        return SeveralResolutions(tuple(part for own in resolution.parts if (part := with_narrow_states(own, model)) is not None))
    if not isinstance(resolution, MassResolution):
        return resolution
    nodes = [node for wave in model.waves for node in wave.chain.carriers if set(node.leaves) == set(resolution.pair)]
    own = {node.resonance: model.resonances[node.resonance].parameters for node in nodes}
    narrow = [NarrowState(name, "", p["mass"], p["width"]) for name, p in own.items() if "mass" in p and "width" in p]
    if not narrow:
        return resolution
    pair = " ".join(model.decay.labels[i] for i in resolution.pair)
    return replace(resolution, narrow=replace(min(narrow, key=lambda state: state.width), pair=pair))


def _pair(text: str, decay: Decay) -> tuple[int, int]:
    system = System.read(text, decay)
    if len(system.names) != 2:
        raise SpecError(f"{text!r} is not a pair of particles", "name two of them")
    if len(system.sets) > 1:
        raise SpecError(f"{text!r} may be several pairs", f"use the names of single particles: {', '.join(decay.labels)}")
    place = system.places[0]
    held = next((state for state in decay.held if set(state.place) <= set(place)), None)
    if held is not None:
        raise SpecError(
            f"{held.label} in {text!r} is held at its mass, and the resolution of a pair moves two final particles",
            "name two that do not come from it, or give points of each event in rows",
        )
    first, second = place
    return first, second
