"""Checks of a sample while it is read: finite, on the mass shell, four-momentum conserved; massless particles put on shell.

A mass m may differ from the nominal m0 by a tolerance t, and by the rounding of momenta in single precision:

    (m0 − t)² − r E² ≤ m² ≤ (m0 + t)² + r E²

with t = MASS_TOLERANCE + WIDTHS · Γ for a final particle and for a state on its mass shell, PARENT_TOLERANCE + WIDTHS · Γ for the
parent, unless the user gives t.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ctpwa.base.errors import DataError, suggest
from ctpwa.base.parts import one_torch_thread
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.momenta import check_momenta
from ctpwa.data.summary import MassSummary, WeightSummary
from ctpwa.decay.chain import Decay, Held
from ctpwa.decay.particle import Particle
from ctpwa.kinematics.lorentz import mass_squared

MASS_TOLERANCE = 1e-3  # GeV: wider than what PDG editions differ by, narrower than what two particles differ by
PARENT_TOLERANCE = 5e-3  # GeV: room for the beam energy, none for a lost particle
WIDTHS = 20.0  # how far unstable particles reach, in widths
ROUNDING = 1e-6  # r above: ten times the rounding of E² in single precision
ON_SHELL = 4 * torch.finfo(torch.float64).eps  # |E − |p||/E that counts as on shell already
NOTHING = 1e-12  # Σ w / Σ |w| that is rounding

MassTolerance = float | Mapping[str, float] | None


class SampleChecks:
    """Checks chunk after chunk of a sample and remembers what its summary needs.

    Args:
        decay:             the decay
        mass_tolerance:    GeV, for all massive final particles and states on their mass shell, or by name; default: see above
        parent_tolerance:  GeV, for the mass of all particles together
    """

    def __init__(self, decay: Decay, mass_tolerance: MassTolerance = None, parent_tolerance: float | None = None) -> None:
        self.decay = decay
        self._tolerances = _tolerances(decay, mass_tolerance)
        self._parent_tolerance = (
            PARENT_TOLERANCE + WIDTHS * (decay.parent.width or 0.0)
            if parent_tolerance is None
            else _positive(parent_tolerance, "parent_tolerance")
        )
        self._n, self._mean, self._square = 0, 0.0, 0.0
        self._shifts: dict[str, float] = {}

    def check(self, p4: Sequence[Tensor], first_event: int) -> None:
        """Refuse a chunk that is wrong; put its massless particles on shell.

        Args:
            p4:           momenta in the order of the decay, each [event, 4]; those of massless particles may be changed
            first_event:  number of the first event, for messages
        """
        with one_torch_thread():  # others would wait for each other more than they help
            self._check(p4, first_event)

    def _check(self, p4: Sequence[Tensor], first_event: int) -> None:
        decay = self.decay
        columns = [p.T.contiguous() for p in p4]
        check_momenta(columns, decay.labels, decay.final, first_event)
        for given, p, label, particle in zip(p4, columns, decay.labels, decay.final, strict=True):
            if particle.massless:
                self._put_on_shell(p, label)
                given[:, 0] = p[0]
            else:
                self._check_mass(p, label, particle, first_event)
        for state in decay.held:
            self._check_held(torch.stack([columns[i] for i in state.place]).sum(dim=0), state, first_event)
        total: Tensor = sum(columns[1:], start=columns[0])
        s = mass_squared(total)
        self._check_parent(total, s, first_event)
        self._remember(s.clamp(min=0).sqrt())

    def joined(self, ranks: Ranks) -> SampleChecks:
        """What all ranks remember together."""
        if ranks.size == 1:
            return self
        whole = SampleChecks(self.decay)
        for content in ranks.gather(json.dumps([self._n, self._mean, self._square, self._shifts]).encode()):
            n, mean, square, shifts = json.loads(content)
            whole._add(n, mean, square)
            for label in self.decay.labels:
                if label in shifts:
                    whole._shifts[label] = max(whole._shifts.get(label, 0.0), shifts[label])
        return whole

    @property
    def mass(self) -> MassSummary | None:
        """Mean and spread of the mass of the parent."""
        if self._n == 0:
            return None
        return MassSummary(self.decay.parent.name, self._mean, math.sqrt(self._square / self._n))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed."""
        return tuple(f"{label} put on shell (E = |p|, changed by up to {shift:.2g} GeV)" for label, shift in self._shifts.items())

    def _put_on_shell(self, p: Tensor, label: str) -> None:
        energy = p[1:].square().sum(dim=0).sqrt()
        shift = (energy - p[0]).abs()
        off = shift > ON_SHELL * p[0]  # what is on shell stays as it is, to the last bit
        if bool(off.any()):
            p[0] = torch.where(off, energy, p[0])
            self._shifts[label] = max(self._shifts.get(label, 0.0), float(shift[off].max()))

    def _check_mass(self, p: Tensor, label: str, particle: Particle, first_event: int) -> None:
        m0, tolerance = particle.mass, self._tolerances[label]
        if m0 is None:
            return
        m2 = mass_squared(p)
        bad = _outside(m2, m0, tolerance, p[0])
        if bool(bad.any()):
            event, number, m = _first(bad, m2)
            raise DataError(
                f"the mass of {label!r} in event {first_event + event} is {m:.6g} GeV{_others(number)}, but {particle.name} has "
                f"{m0:.6g} GeV (tolerance {tolerance:.3g} GeV)\n fix: {self._mass_advice(label, m, m0)}"
            )

    def _check_held(self, p: Tensor, state: Held, first_event: int) -> None:
        m2, tolerance = mass_squared(p), self._tolerances[state.label]
        bad = _outside(m2, state.mass, tolerance, p[0])
        if bool(bad.any()):
            event, number, m = _first(bad, m2)
            members = " ".join(self.decay.words(state.place))
            raise DataError(
                f"the mass of {members} in event {first_event + event} is {m:.6g} GeV{_others(number)}, but {state.label} is held at "
                f"{state.mass:.6g} GeV (tolerance {tolerance:.3g} GeV)\n fix: use momenta after a kinematic fit to this mass, or allow it: "
                f"mass_tolerance: {{{state.label}: …}}"
            )

    def _mass_advice(self, label: str, m: float, m0: float) -> str:
        if abs(m / m0 / 1000 - 1) < 0.05:
            return "the momenta are in MeV: say unit: MeV"
        if abs(m / m0 * 1000 - 1) < 0.05:
            return "the momenta are in GeV: leave out unit: MeV"
        for other, particle in zip(self.decay.labels, self.decay.final, strict=True):
            if other != label and particle.mass is not None and abs(particle.mass - m) < MASS_TOLERANCE:
                return f"this is the mass of {other!r}: exchange the two in 'momenta'"
        return f"check names, units (GeV) and the order of components, or allow it: mass_tolerance: {{{label}: …}}"

    def _check_parent(self, total: Tensor, s: Tensor, first_event: int) -> None:
        parent, tolerance = self.decay.parent, self._parent_tolerance
        if parent.mass is None:
            return
        bad = _outside(s, parent.mass, tolerance, total[0])
        if bool(bad.any()):
            event, number, m = _first(bad, s)
            raise DataError(
                f"four-momentum is not conserved: the final particles of event {first_event + event} have the mass {m:.6g} GeV together"
                f"{_others(number)}, but {parent.name} has {parent.mass:.6g} GeV (tolerance {tolerance:.3g} GeV)\n"
                " fix: check names and units, use momenta after a kinematic fit, or allow it: parent_tolerance: …"
            )

    def _remember(self, m: Tensor) -> None:
        """Mean and sum of squared deviations of everything so far, from those of the parts."""
        n = m.numel()
        if n == 0:
            return
        mean = float(m.mean())
        self._add(n, mean, float((m - mean).square().sum()))

    def _add(self, n: int, mean: float, square: float) -> None:
        if n == 0:
            return
        total, step = self._n + n, mean - self._mean
        self._square += square + step**2 * self._n * n / total
        self._mean += step * n / total
        self._n = total


def check_weights(weights: Tensor, place: str, first_event: int = 0) -> None:
    """Refuse weights that are not finite.

    Args:
        weights:      [event]
        place:        where they are, for messages
        first_event:  number of the first event, for messages
    """
    bad = ~weights.isfinite()
    if bool(bad.any()):
        event = int(bad.nonzero()[0, 0])
        value = float(weights[event])
        raise DataError(
            f"{place}: the weight of event {first_event + event} is {value}{_others(int(bad.sum()))}\n"
            " fix: remove these events or correct their weights"
        )


def is_positive_total(total: float, absolute: float) -> bool:
    """Whether Σ w is positive, and more than what is left of Σ |w| by rounding."""
    return total > NOTHING * absolute


WeightRange = tuple[float, float, float]  # sum, smallest, largest


def weight_range(weights: Tensor) -> WeightRange:
    """Sum, smallest and largest of some weights."""
    return float(weights.sum()), float(weights.min()), float(weights.max())


def joined_weights(own: Sequence[WeightRange], ranks: Ranks = ONE) -> WeightSummary:
    """Sum and range of weights from those of their parts, those of all ranks together; refuses weights that are all zero."""
    parts = [part for content in ranks.gather(json.dumps(own).encode()) for part in json.loads(content)] if ranks.size > 1 else own
    return ranks.together(lambda: _joined_weights(parts))


def _joined_weights(parts: Sequence[WeightRange]) -> WeightSummary:
    totals, smallest, largest = zip(*parts, strict=True)
    summary = WeightSummary(math.fsum(totals), min(smallest), max(largest))
    if summary.smallest == summary.largest == 0:
        raise DataError("all weights are zero\n fix: check the weights and 'scale'")
    return summary


def _tolerances(decay: Decay, given: MassTolerance) -> dict[str, float]:
    own = given if isinstance(given, Mapping) else {}
    particles = dict(zip(decay.labels, decay.final, strict=True)) | {state.label: state.particle for state in decay.held}
    for label in own:
        if label not in particles:
            raise DataError(f"mass_tolerance: {label!r} is not a final particle of {decay}\n fix: {suggest(label, particles)}")
    common = None if given is None or isinstance(given, Mapping) else _positive(given, "mass_tolerance")
    return {
        label: _positive(own[label], f"mass_tolerance of {label!r}")
        if label in own
        else (MASS_TOLERANCE + WIDTHS * (particle.width or 0.0) if common is None else common)
        for label, particle in particles.items()
    }


def _positive(value: float, name: str) -> float:
    if not value > 0:
        raise DataError(f"{name} is {value}\n fix: give a number of GeV > 0, or infinity to switch the check off")
    return float(value)


def _outside(m2: Tensor, m0: float, tolerance: float, energy: Tensor) -> Tensor:
    room = ROUNDING * energy.square()
    return (m2 < max(m0 - tolerance, 0.0) ** 2 - room) | (m2 > (m0 + tolerance) ** 2 + room)


def _first(bad: Tensor, m2: Tensor) -> tuple[int, int, float]:
    """Index of the first bad event, how many there are, and its mass."""
    event = int(bad.nonzero()[0, 0])
    value = float(m2[event])
    return event, int(bad.sum()), math.copysign(math.sqrt(abs(value)), value)


def _others(number: int) -> str:
    return f" (and {number - 1} more nearby)" if number > 1 else ""
