"""By how much variations move values, what of it is chance, and how it adds up to systematic errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.config.variations import INDEPENDENT, NONE, Cause
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.spread import FRACTION, PARAMETER, deviations

LARGER, HALF = "larger", "half"
LARGEST, ENVELOPE = "largest", "envelope"
TWO_SIDED = {
    LARGER: "of two sides the larger shift counts",
    HALF: "of two sides half of their difference counts",
}
GROUPS = {
    LARGEST: "of the variations of a group the largest shift counts",
    ENVELOPE: "of the variations of a group half of the range counts that they and the fit span",
}


@dataclass(frozen=True)
class VariedFits(Cause):
    """A variation and its fits; ``scatter`` is never empty.

    Attributes:
        data:         whether measured events are others
        phase_space:  whether the phase-space sample is another
        keys:         of its fits: one, or upwards and downwards
    """

    data: bool
    phase_space: bool
    keys: tuple[str, ...]


@dataclass(frozen=True)
class FittedQuantity:
    """A parameter or fraction of the fit.

    Attributes:
        name:   of it
        kind:   ``parameter`` or ``fraction``
        value:  that was fitted
        error:  of the fit; None if there is none
    """

    name: str
    kind: str
    value: float
    error: float | None


@dataclass(frozen=True)
class Shift:
    """By how much a variation moves a quantity.

    Attributes:
        sides:    each of its fits minus the fit; not a number where a fit does not have it, or is not good
        value:    both sides together, with the sign of the upper one; not a number if there is none
        scatter:  standard deviation that chance alone gives it, because the variation has other events; 0 if it has the same
    """

    sides: tuple[float, ...]
    value: float
    scatter: float = 0.0

    @property
    def counted(self) -> bool:
        """Whether it is more than chance."""
        return abs(self.value) > self.scatter

    @property
    def effect(self) -> float:
        """What counts of it, which is what chance leaves of its square, with its sign; not a number if there is none."""
        if math.isnan(self.value):
            return math.nan
        return math.copysign(math.sqrt(max(self.value**2 - self.scatter**2, 0.0)), self.value)


def quantities(base: FitRecord) -> list[FittedQuantity]:
    """All parameters and fractions of a fit."""
    return [
        *(FittedQuantity(name, PARAMETER, value, base.errors.get(name)) for name, value in base.values.items()),
        *(FittedQuantity(name, FRACTION, value, base.fraction_errors.get(name)) for name, value in base.fractions.items()),
    ]


def shift_of(own: FittedQuantity, varied: VariedFits, base: FitRecord, records: Mapping[str, FitRecord], two_sided: str = LARGER) -> Shift:
    """By how much a variation moves a quantity.

    Args:
        own:        the quantity
        varied:     the variation
        base:       the fit
        records:    finished fits by their keys
        two_sided:  ``larger`` or ``half``, see ``TWO_SIDED``
    """
    found = [records.get(key) for key in varied.keys]
    good = [record if record is not None and record.good and own.name in _values(own, record) else None for record in found]
    sides = tuple(math.nan if record is None else _apart(own, record) for record in good)
    scatters = [0.0 if record is None else _scatter(own, varied, base, record) for record in good]
    there = [k for k, side in enumerate(sides) if not math.isnan(side)]
    if not there:
        return Shift(sides, math.nan)
    signed = [-side if k else side for k, side in enumerate(sides)]  # the second side is downwards
    if two_sided == HALF and len(there) == 2:
        return Shift(sides, sum(signed) / 2, math.hypot(*scatters) / 2)
    k = max(there, key=lambda k: abs(sides[k]))
    return Shift(sides, signed[k], scatters[k])


def _values(own: FittedQuantity, record: FitRecord) -> Mapping[str, float]:
    return record.values if own.kind == PARAMETER else record.fractions


def _apart(own: FittedQuantity, record: FitRecord) -> float:
    return float(deviations(own.name, np.array(_values(own, record)[own.name]), own.value))


def _scatter(own: FittedQuantity, varied: VariedFits, base: FitRecord, record: FitRecord) -> float:
    """What chance gives the difference of two fits with partly other events; 0 if errors are not known.

    If the events of one fit are among those of the other, σ² = |σ₁² − σ₂²|; if none is, σ² = σ₁² + σ₂².
    """
    if varied.scatter == NONE:
        return 0.0
    sign = 1 if varied.scatter == INDEPENDENT else -1
    variance = 0.0
    if varied.data:
        first, second = (_error_of_data(own, each) for each in (base, record))
        variance += abs(first**2 + sign * second**2)
    if varied.phase_space and own.kind == PARAMETER:
        first, second = (_error_of_simulation(own.name, each) for each in (base, record))
        variance += abs(first**2 + sign * second**2)
    return math.sqrt(variance) if math.isfinite(variance) else 0.0


def _error_of_data(own: FittedQuantity, record: FitRecord) -> float:
    if own.kind == FRACTION:
        return record.fraction_errors.get(own.name, math.nan)
    return record.statistical.get(own.name, record.errors.get(own.name, math.nan))


def _error_of_simulation(name: str, record: FitRecord) -> float:
    whole, statistical = record.errors.get(name, math.nan), record.statistical.get(name, math.nan)
    return math.sqrt(max(whole**2 - statistical**2, 0.0))


def group_effect(effects: Sequence[float], groups: str = LARGEST) -> float:
    """What variations of one group give together, with the sign of the largest.

    Args:
        effects:  of each; not a number where there is none
        groups:   ``largest`` or ``envelope``, see ``GROUPS``
    """
    there = [effect for effect in effects if not math.isnan(effect)]
    if not there:
        return math.nan
    largest = max(there, key=abs)
    if groups == LARGEST or len(effects) == 1:
        return largest
    return math.copysign((max(0.0, *there) - min(0.0, *there)) / 2, largest)
