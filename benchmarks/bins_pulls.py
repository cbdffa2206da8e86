"""Pulls of numbers of events and of phase differences in bins, each in three ways.

*Nearest*: of the solutions that are kept in a bin the one that is nearest to the truth, with its Gaussian errors; that flatters. *Best*:
the best one, whatever the truth is, by as many standard deviations as its error says, or the interval in place of it: lines lead to the
ends of one, two and three standard deviations, and on (as ``BinCurve.deviations`` has it).
*Profile*: ± √(2 Δ(−ln L)), where the true value is held and everything else is fitted, from all solutions and from the truth; it needs
neither a Gaussian error nor the right solution, and is divided by what finite phase space adds to errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bins_toys import Truth
from ctpwa.engine.likelihood.values import free_parameters
from ctpwa.report.content import deviations
from ctpwa.studies import Bins
from ctpwa.studies.bin_fit import BinFit, BinOptions
from ctpwa.studies.bin_intervals import Interval, ProfileWalk
from ctpwa.studies.bin_profiles import BinProfiles
from ctpwa.studies.bin_samples import BinnedSamples
from ctpwa.studies.bin_solutions import Solution, apart

KNOWN = 30.0  # degrees: phases with larger errors have no Gaussian pull
WAYS = ("nearest", "best", "profile")
KINDS = ("events", "phases")


@dataclass
class Pulls:
    """Pulls of one or several toys.

    Attributes:
        values:   kind, way → pulls
        missed:   bins in which a fit from the truth ends below the best solution
        second:   bins in which another solution is better than the nearest one
        intervals:  kind → numbers that have an interval in place of an error
        joint:    2 Δ(−ln L) of the truth in every bin
    """

    values: dict[tuple[str, str], list[float]] = field(default_factory=lambda: {(kind, way): [] for kind in KINDS for way in WAYS})
    missed: int = 0
    second: int = 0
    intervals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    joint: list[float] = field(default_factory=list)

    def rows(self) -> list[list[str]]:
        """Mean and width of pulls with their errors, and the largest."""
        found = []
        for (kind, way), values in self.values.items():
            own = np.array(values)[np.isfinite(values)]
            n, width = len(own), float(own.std(ddof=1))
            spread = f"{width:.3f} ± {width / np.sqrt(2 * n):.3f}"
            found.append([kind, way, str(n), f"{own.mean():+.3f} ± {width / np.sqrt(n):.3f}", spread, f"{np.abs(own).max():.2f}"])
        return found

    def text(self) -> str:
        """What else there is to say."""
        return (
            f"{self.second} bins have the nearest solution not as the best; a fit from the truth ends below the best one in {self.missed};"
            f" intervals in place of errors: {self.intervals['events']} of events, {self.intervals['phases']} of phases"
        )


def add_pulls(pulls: Pulls, study: Bins, binned: BinnedSamples, truth: Truth) -> None:
    """The pulls of a toy."""
    strongest = truth.names[int(truth.events.sum(axis=1).argmax())]
    order = [study.couplings.index(name) for name in truth.names]
    for b, row in enumerate(study.solutions):
        if not row:
            continue
        c = np.sqrt(truth.events[:, b]) * np.exp(1j * np.angle(truth.values[:, b]))
        own = min(row, key=lambda one: apart(c, one.values[order], True))
        pulls.second += own.k > 0
        for way, solution in zip(WAYS, (own, row[0]), strict=False):
            turned = _nearer(solution, c, order)
            for kind, pull, ends in _of_solution(turned, c, truth.names, strongest, way == "best"):
                pulls.values[kind, way].append(pull)
                pulls.intervals[kind] += ends
        _of_profiles(pulls, study, BinFit(binned, BinOptions(1), b, study.bins[b]), c, truth.names)


def _of_solution(own: Solution, c: np.ndarray, names: tuple[str, ...], other: str, with_ends: bool) -> Iterator[tuple[str, float, bool]]:
    for w, name in enumerate(names):
        value, error = own.events[name]
        ends = own.of_events.get(name) if with_ends else None
        yield "events", _pull(value - abs(c[w]) ** 2, error, ends), ends is not None
        if name != other:
            angle, sigma = own.phase(name, other)
            ends = own.of_phases.get(name) if with_ends else None
            off = math.degrees(np.angle(np.exp(1j * math.radians(angle)) * np.conj(c[w] * np.conj(c[names.index(other)]))))
            if sigma < KNOWN or ends is not None:
                yield "phases", _pull(off, sigma, ends), ends is not None


def _pull(off: float, error: float, ends: Interval | None) -> float:
    """Of a value that is off by so much above the truth."""
    if ends is None:
        return off / error
    return math.copysign(deviations(abs(off), ends.below if off > 0 else ends.above), off)


def _nearer(own: Solution, c: np.ndarray, order: list[int]) -> Solution:
    """A solution with the sign of all phases that is nearer to the truth."""
    plain, conjugate = (abs(np.vdot(c, z[order])) for z in (own.values, own.values.conj()))
    return own.conjugated([0]) if conjugate > plain else own


def _of_profiles(pulls: Pulls, study: Bins, fit: BinFit, c: np.ndarray, names: tuple[str, ...]) -> None:
    """Profiles are of couplings as they were fitted: the truth is conjugated where that brings it nearer."""
    row = study.solutions[study.bins.index(fit.bin)]
    solutions = [Solution.of(fit.bin, own.k, own.record, own.names, own.sets) for own in row]
    best, order = solutions[0], [study.couplings.index(name) for name in names]
    plain, conjugate = (abs(np.vdot(z, best.values[order])) for z in (c, c.conj()))
    true = c.conj() if conjugate > plain else c
    profiles = BinProfiles(fit, solutions, study.references)
    likelihood = fit.at(best.record)[0]
    sizes = np.array([best.record.numbers[f"size {name}"] for name in names])
    x = free_parameters(likelihood, dict(zip(names, (true / sizes).tolist(), strict=True)), {})
    pulls.joint.append(2 * (float(likelihood.value(x)) - best.record.nll))
    pulls.missed += fit.fitted(likelihood, x[None]).nll < best.record.nll - 1e-3
    for w, name in enumerate(names):
        at, value = abs(c[w]), math.sqrt(best.events[name][0])
        pulls.values["events", "profile"].append(_signed(profiles.event_walks[name], at, value - at, np.append(x, 0.0)))
        if name in profiles.phase_walks:
            walk = profiles.phase_walks[name]
            angle = float(np.angle(true[w] * np.conj(true[names.index(study.references[0])])))
            off = math.remainder(walk.places[0].value - angle, 2 * math.pi)
            pulls.values["phases", "profile"].append(_signed(walk, walk.places[0].value - off, off, x))


def _signed(walk: ProfileWalk, t: float, off: float, start: np.ndarray) -> float:
    return math.copysign(walk.root(t, start) / walk.sigmas, off)
