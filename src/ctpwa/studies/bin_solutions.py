"""Solutions of many bins: which of neighbouring bins belong together, and phases that follow them.

Couplings of a coherent set have a common phase that means nothing, and, where its sign is open, so have their complex conjugates. Two
vectors of couplings u, v of a set are therefore as far apart as they are after the best turn and the better of both signs:

    d² = |u|² + |v|² − 2 max(|u†v|, |uᵀv|)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ctpwa.fitting.event_couplings import Number
from ctpwa.studies.bin_axes import Bin
from ctpwa.studies.bin_intervals import Interval
from ctpwa.studies.bin_records import OPEN_SIGN, couplings_of, covariance_of, events_of, intervals_of
from ctpwa.studies.fit_record import FitRecord

HALF_TURN = 180.0
KNOWN = 60.0  # degrees: an angle with a larger error tells little about the next one
HARDLY = 2.0  # times as far apart, d²: it is not clear which sign of phases is the nearer one
PRESENT = 2.0  # standard deviations of the events of a wave: with fewer it may be absent


@dataclass(frozen=True, eq=False)
class Solution:
    """One solution of a bin.

    Attributes:
        bin:         the bin
        k:           0 for the best, then 1, 2, …
        record:      of its fit
        names:       of the couplings
        sets:        number of the coherent set of each
        values:      couplings in events; those of sets whose sign is open may be conjugate to what was fitted
        covariance:  of all real, then all imaginary parts
        branch:      which solutions of other bins it continues
        of_events:   intervals of numbers of events whose errors are not Gaussian, by wave
        of_phases:   those of phases relative to the reference of their sets, in degrees
    """

    bin: Bin
    k: int
    record: FitRecord
    names: tuple[str, ...]
    sets: tuple[int, ...]
    values: np.ndarray
    covariance: np.ndarray
    branch: int = 0
    of_events: Mapping[str, Interval] = field(default_factory=dict)
    of_phases: Mapping[str, Interval] = field(default_factory=dict)

    @classmethod
    def of(cls, own: Bin, k: int, record: FitRecord, names: Sequence[str], sets: Sequence[int]) -> Solution:
        """From what a fit has left."""
        return cls(own, k, record, tuple(names), tuple(sets), couplings_of(record, list(names)), covariance_of(record, len(names)))

    def with_intervals(self, record: FitRecord | None) -> Solution:
        """The same with intervals, if there is a record of them."""
        return replace(self, of_events=intervals_of(record, "events"), of_phases=intervals_of(record, "phase"))

    @cached_property
    def events(self) -> Mapping[str, Number]:
        """Groups of waves with their events."""
        return events_of(self.record)

    @property
    def open_sets(self) -> frozenset[int]:
        """Sets whose sign of all phases is open."""
        return frozenset(own for own in set(self.sets) if self.record.numbers.get(f"{OPEN_SIGN} {own}") == 1.0)

    def phase(self, a: str, b: str) -> Number:
        """Arg c_a − arg c_b in degrees, between −180 and 180.

        The error is not finite where the events of one of them are less than ``PRESENT`` of their errors: a wave that may be absent
        has no phase.
        """
        i, k, n = self.names.index(a), self.names.index(b), len(self.names)
        slope = np.zeros(2 * n)
        for place, sign in ((i, 1.0), (k, -1.0)):
            z = self.values[place]
            if z == 0:
                return 0.0, np.inf
            slope[place] -= sign * z.imag / abs(z) ** 2
            slope[n + place] += sign * z.real / abs(z) ** 2
        angle = np.degrees(np.angle(self.values[i] * np.conj(self.values[k])))
        if any(self.events[name][0] < PRESENT * self.events[name][1] for name in (a, b) if name in self.events):
            return float(angle), np.inf
        return float(angle), float(np.degrees(np.sqrt(max(slope @ self.covariance @ slope, 0.0))))

    def conjugated(self, sets: Sequence[int]) -> Solution:
        """The same with conjugate couplings of some sets."""
        if not sets:
            return self
        turned = np.isin(self.sets, list(sets))
        signs = np.concatenate([np.ones(len(turned)), np.where(turned, -1.0, 1.0)])
        values, covariance = np.where(turned, self.values.conj(), self.values), self.covariance * np.outer(signs, signs)
        other = {name for name, sign in zip(self.names, turned, strict=True) if sign}
        of_phases = {name: own.turned if name in other else own for name, own in self.of_phases.items()}
        return replace(self, values=values, covariance=covariance, of_phases=of_phases)

    def near(self, other: Solution) -> Solution:
        """The same, each set with the sign that is nearer to another solution, where signs are open."""
        overlaps = {own: _overlaps(other.members(own), self.members(own)) for own in self.open_sets}
        return self.conjugated([own for own, (plain, conjugate) in overlaps.items() if conjugate > plain])

    def images(self, other: Solution) -> list[Solution]:
        """With the signs that are nearer to another solution, and with others of one set if these are hardly further away."""
        near = self.near(other)
        found = [near]
        for own in sorted(self.open_sets):
            image = near.conjugated([own])
            distances = [apart(other.members(own), one.members(own), False) for one in (near, image)]
            if distances[0] < distances[1] <= HARDLY * distances[0]:
                found.append(image)
        return found

    def members(self, own: int) -> np.ndarray:
        """Couplings of a set, relative to the events of the bin."""
        total = np.sqrt((np.abs(self.values) ** 2).sum())
        return self.values[np.array(self.sets) == own] / (total if total > 0 else 1.0)

    def distance(self, other: Solution) -> float:
        """d² to another solution, of all sets, if both are scaled to 1 event."""
        return sum(apart(other.members(own), self.members(own), own in self.open_sets) for own in sorted(set(self.sets)))


def _overlaps(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """|u†v|, and that with conjugate v."""
    return float(abs(np.vdot(u, v))), float(abs(np.vdot(u, v.conj())))


def apart(u: np.ndarray, v: np.ndarray, conjugable: bool) -> float:
    """d² of two vectors of couplings.

    Args:
        u, v:        the vectors
        conjugable:  whether one may be conjugated
    """
    overlap = max(_overlaps(u, v)) if conjugable else _overlaps(u, v)[0]
    return max(float((np.abs(u) ** 2).sum() + (np.abs(v) ** 2).sum() - 2 * overlap), 0.0)


def followed(rows: Sequence[Sequence[Solution]]) -> list[list[Solution]]:
    """Solutions with their branches: those of a bin continue the nearest ones of the bin before it, each at most once.

    Args:
        rows:  solutions of every bin, in the order of the bins; bins without any are passed over

    Returns:
        the same rows, with signs that are open as in the bin before
    """
    result: list[list[Solution]] = []
    before: dict[int, Solution] = {}
    n_branches = 0
    for row in rows:
        pairs = sorted(
            ((own.distance(last), k, branch) for k, own in enumerate(row) for branch, last in before.items()), key=lambda pair: pair[0]
        )
        branches: dict[int, int] = {}
        for _, k, branch in pairs:
            if k not in branches and branch not in branches.values():
                branches[k] = branch
        found = []
        for k, own in enumerate(row):
            if k not in branches:
                branches[k], n_branches = n_branches, n_branches + 1
            near = before.get(branches[k]) or (min(before.values(), key=own.distance) if before else None)
            found.append(replace(own if near is None else own.near(near), branch=branches[k]))
        before |= {own.branch: own for own in found}
        result.append(found)
    return result


def unwrapped(angles: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Angles in degrees without jumps of more than half a turn from one that is known to the next."""
    result: list[float] = []
    last = 0.0
    for angle, error in zip(angles, errors, strict=True):
        result.append(near_angle(angle, last))
        last = result[-1] if error < KNOWN else last
    return result


def near_angle(angle: float, other: float) -> float:
    """The same angle in degrees, within half a turn of another one."""
    return float(angle - 2 * HALF_TURN * np.round((angle - other) / (2 * HALF_TURN)))
