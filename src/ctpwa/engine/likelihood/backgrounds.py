"""Backgrounds that are in the data as densities: from what a user gives to parameters and the mixture of a likelihood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.base.ranks import Ranks
from ctpwa.data.density import Density
from ctpwa.engine.likelihood.mixture import Amount, Mixture
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.prepare import added_values
from ctpwa.engine.samples.sample import Sample
from ctpwa.engine.samples.stored_sample import SampleSource
from ctpwa.model.amounts import SIGNAL, amount_names
from ctpwa.model.parameter import Parameter

SMALLEST = 1e-200  # mean of a density; products of this and smaller numbers are lost


@dataclass(frozen=True)
class Background:
    """A background in the data.

    Attributes:
        name:      its parameter is ``name.fraction``, or ``name.yield`` in an extended likelihood
        density:   what it looks like
        fraction:  of all events of the data; where the fit starts if it floats
        floating:  whether it is fitted; yields are always
    """

    name: str
    density: Density
    fraction: float
    floating: bool = False


def checked_backgrounds(backgrounds: Sequence[Background]) -> Sequence[Background]:
    """Refuse names that are given twice, and fractions that make no sense."""
    names = [own.name for own in backgrounds]
    for own in backgrounds:
        if names.count(own.name) > 1 or own.name == SIGNAL or not own.name:
            raise PhysicsError(f"{own.name!r} is no name for a background, or the name of two", "give each a name of its own")
        if not 0 <= own.fraction <= 1:
            raise PhysicsError(f"the fraction of background {own.name!r} is {own.fraction:g}", "give a number from 0 to 1")
    total = sum(own.fraction for own in backgrounds)
    if backgrounds and total >= 1:
        raise PhysicsError(f"the fractions of all backgrounds add up to {total:g}", "leave something for the signal")
    return backgrounds


def mixture_parameters(backgrounds: Sequence[Background], yields: str | None, weight: float) -> list[Parameter]:
    """Fractions, or yields of a data set whose weights add up to ``weight``; see ``amount_names``."""
    names = amount_names([own.name for own in backgrounds], yields)
    if yields is None:
        return [Parameter(names[own.name], own.fraction, not own.floating, 0.0, 1.0) for own in backgrounds]
    shares = {SIGNAL: 1 - sum(own.fraction for own in backgrounds)} | {own.name: own.fraction for own in backgrounds}
    return [Parameter(names[name], share * weight, False, 0.0) for name, share in shares.items()]


def make_mixture(backgrounds: Sequence[Background], yields: str | None, means: np.ndarray, ratio: float, weight: float) -> Mixture | None:
    """The mixture of a likelihood; None if there is only signal.

    Args:
        backgrounds:  densities with their fractions
        yields:       what names of yields begin with; None: fractions are fitted
        means:        of all densities, the last one that of the floor if there is one
        ratio:        flat events for each event of signal, if some are added to the data
        weight:       Σ w of the data
    """
    extended = yields is not None
    if not (len(means) or extended):
        return None
    names = amount_names([own.name for own in backgrounds], yields)
    signal = Amount(0.0, {names[SIGNAL]: 1.0}) if extended else Amount(1.0, dict.fromkeys(names.values(), -1.0))
    amounts = [Amount(0.0, {names[own.name]: 1.0}) for own in backgrounds]
    if ratio:
        amounts.append(Amount(ratio * weight if extended else ratio, {}))
    return Mixture(tuple(names.values()), signal, tuple(amounts), means, extended)


def events_without(data: SampleSource, plan: Plan, names: Sequence[str], ranks: Ranks) -> dict[str, int]:
    """Background → how many measured events its density is 0 at: these are explained by all others.

    Args:
        data:   the events
        plan:   says where densities are in the event table
        names:  of the first densities
        ranks:  processes that share the events
    """
    found = np.zeros(len(names))
    with closing(data.passing()) as passing:
        for sample in chain(data.resident, passing) if names else ():
            found += [int((added_values(sample, plan, b) == 0).sum()) for b in range(len(names))]
    total = ranks.sum(len(names), lambda: found, b"without background") if names else found
    return dict(zip(names, map(int, total), strict=True))


class DensitySums:
    """Adds up densities over the phase-space sample.

    Args:
        plan:       says where they are in the event table
        densities:  with their names
    """

    def __init__(self, plan: Plan, densities: Sequence[tuple[str, Density]]) -> None:
        self._plan, self._names = plan, [name for name, _ in densities]
        self._sums = np.zeros(plan.n_added)

    def add(self, sample: Sample) -> None:
        """Add Σ w b of some events."""
        row = self._plan.added_row
        self._sums += (sample.E[row : row + self._plan.n_added] @ sample.w.contiguous()).cpu().numpy()

    def passing(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The same samples, added up on their way."""
        for sample in samples:
            self.add(sample)
            yield sample
            del sample  # before the next one takes as much again

    def means(self, weight: float, ranks: Ranks) -> np.ndarray:
        """Σ w b / Σ w over the events of all processes."""
        if not self._names:
            return np.zeros(0)
        found = ranks.sum(len(self._sums), lambda: self._sums, b"densities") / weight
        for name, mean in zip(self._names, found, strict=True):
            if not SMALLEST < mean < 1 / SMALLEST:
                fix = "check it" if mean == 0 else "multiply it by a number, a common factor has no meaning"
                raise DataError(f"phase space: the density of background {name!r} has the mean {mean:.6g}\n fix: {fix}")
        return found
