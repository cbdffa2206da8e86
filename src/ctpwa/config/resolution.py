"""``resolution:`` of a data set: how exactly its events are measured."""

from __future__ import annotations

from math import ceil

from ctpwa.base.errors import DataError, Path
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import ResolutionSpec
from ctpwa.config.systems import System
from ctpwa.data.resolution import GivenPoints, Resolution
from ctpwa.decay.chain import Decay
from ctpwa.model.model import Model
from ctpwa.observe.mass_resolution import RANGE, MassResolution, SeveralResolutions

DEFAULT_POINTS = 11
MOST_POINTS = 10_000  # of an event
WIDEST_STEP = 0.4  # distance between points, relative to the width of a resonance: sums are right to a part in a thousand
EXAMPLE = "write  resolution: {masses: {K+ K-: 0.0012}, points: 11}  or  resolution: {rows: 8}"


def read_resolution(spec: ResolutionSpec | None, decay: Decay) -> Resolution | None:
    """What a data set says about it, which was checked."""
    if spec is None:
        return None
    if spec.rows is not None:
        return GivenPoints(tuple(decay.labels), spec.rows)
    parts = tuple(MassResolution(_pair(text, decay), sigma, spec.points or DEFAULT_POINTS) for text, sigma in spec.masses.items())
    return parts[0] if len(parts) == 1 else SeveralResolutions(parts)


def check_resolution(spec: ResolutionSpec | None, decay: Decay, path: Path, problems: Problems) -> None:
    """Everything that is wrong becomes a problem."""
    if spec is None:
        return
    with problems.collect(path):
        if (spec.rows is None) == (not spec.masses):
            raise SpecError("'resolution' needs masses of pairs, or rows of files", EXAMPLE)
        if spec.rows is not None and spec.points is not None:
            raise SpecError("'points' next to 'rows'", "leave points out: rows says how many there are", key=("points",))
        if (spec.points or DEFAULT_POINTS) ** len(spec.masses) > MOST_POINTS:
            raise SpecError(f"{spec.points or DEFAULT_POINTS} points for each of {len(spec.masses)} masses", "give fewer points")
    taken: dict[int, str] = {}
    for text in spec.masses:
        with problems.collect(path, "masses", text):
            for particle in _pair(text, decay):
                if particle in taken:
                    raise SpecError(
                        f"{decay.labels[particle]} is in {text!r} and in {taken[particle]!r}",
                        "give the resolution of pairs without a common particle, or points of each event in rows",
                    )
                taken[particle] = text


def check_spacing(resolution: Resolution | None, model: Model) -> None:
    """Refuse points that are too far apart to see a resonance between them.

    The error of a sum over points at distances h is about exp(−π Γ/h) for a peak of width Γ.
    """
    for part in resolution.parts if isinstance(resolution, SeveralResolutions) else (resolution,):
        if not isinstance(part, MassResolution):
            continue
        nodes = [node for wave in model.waves for node in wave.chain.nodes[1:] if set(node.leaves) == set(part.pair)]
        widths = {node.resonance: model.resonances[node.resonance].parameters.get("width", float("inf")) for node in nodes}
        name, width = min(widths.items(), key=lambda pair: pair[1], default=("", float("inf")))
        if part.step > WIDEST_STEP * width > 0:
            pair, least = " ".join(model.decay.labels[i] for i in part.pair), ceil(2 * RANGE * part.sigma / (WIDEST_STEP * width)) + 1
            raise DataError(
                f"resolution of {pair}: its {part.n_points} points are {1000 * part.step:.3g} MeV apart, and {name} is"
                f" {1000 * width:.3g} MeV wide\n fix: write  points: {least}  or more"
            )


def _pair(text: str, decay: Decay) -> tuple[int, int]:
    system = System.read(text, decay)
    if len(system.names) != 2:
        raise SpecError(f"{text!r} is not a pair of particles", "name two of them")
    if len(system.sets) > 1:
        raise SpecError(f"{text!r} may be several pairs", f"use the names of single particles: {', '.join(decay.labels)}")
    first, second = system.places[0]
    return first, second
