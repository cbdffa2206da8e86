"""Remarks on where a fit ended: what is true of the numbers, and easily misread. None of them makes a verdict bad."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ctpwa.base.words import counted
from ctpwa.data.summary import SampleSummary
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.result import FoundMinimum
from ctpwa.model.model import Model

LARGE_SUM = 1.5  # of fractions: more of them cancels
WEAK = 3.0  # errors of its fraction: a wave that is nearer to 0 is no good unit for the couplings of others
ONE_START = (
    "the fit has one start, whose couplings nobody gave: it cannot tell a local minimum from the lowest one; try many starts, such as"
    " --starts 20"
)
NEAR = 3.0  # in -ln L, in units in which one standard deviation adds ½: minima that the data hardly tell apart


def large_fractions(fractions: Fractions, data_set: str = "") -> list[str]:
    """Whether fractions add up to much more than 1: large amplitudes then cancel, and each alone means little.

    Args:
        fractions:  of groups of waves that have none in common
        data_set:   its name, if there are several
    """
    if not fractions.sum > LARGE_SUM:
        return []
    pairs = np.triu(fractions.interference, 1)
    i, j = np.unravel_index(int(np.argmin(pairs)), pairs.shape)
    of = f" of {data_set}" if data_set else ""
    return [
        f"the fractions{of} add up to {100 * fractions.sum:.0f} %: amplitudes cancel, most of all {fractions.names[i]} and"
        f" {fractions.names[j]} (interference {100 * pairs[i, j]:.0f} %); try without one of them"
    ]


def weak_reference(reference: str, known: Mapping[str, float]) -> list[str]:
    """Whether the wave whose coupling is 1 is hardly there: all others are then ratios to a number that may be 0.

    Args:
        reference:  its coupling
        known:      coupling → by how many of its errors its fraction is above 0, of all that could be the reference
    """
    best = max(known, key=lambda name: known[name], default=reference)
    if not (reference in known and known[reference] < WEAK and known[best] > 2 * WEAK):
        return []
    return [
        f"the reference wave {reference} is weak: its fraction is {known[reference]:.1f} of its errors from 0, and couplings relative to it"
        f" have large errors that are not Gaussian (fractions do not depend on it): take  reference_wave: {best}"
    ]


def doubtful_minimum(minima: Sequence[FoundMinimum], n_starts: int, unit: float = 1.0, same: Collection[int] = ()) -> list[str]:
    """Whether the search may have missed the best minimum, or found another one that is as good.

    Args:
        minima:    where the starts led to, the best first
        n_starts:  number of starts
        unit:      what counts as 1 in -ln L, see ``Scaled``
        same:      places among them of ambiguities, of which all is said
    """
    if n_starts == 1:
        return []
    best, *others = minima
    remarks = []
    if best.starts <= 1:
        remarks.append(f"only {best.starts} of {n_starts} starts reached the best minimum, and there may be a better one: try more starts")
    near = [other for place, other in enumerate(others, start=1) if other.nll - best.nll < NEAR * unit and place not in same]
    if near:
        more = f", and {len(near) - 1} more within {NEAR * unit:g}" if len(near) > 1 else ""
        part = "" if near[0].refined else " (part of the events)"
        remarks.append(
            f"another minimum is only {near[0].nll - best.nll:.2f} above in -ln L{part}{more}: the data hardly tell them apart; compare"
            " their values, which are under 'minima' in the result"
        )
    return remarks


def one_arbitrary_start(likelihood: Fittable, points: np.ndarray) -> list[str]:
    """Whether a fit began at a single point whose couplings nobody has given: it ends in the minimum that is nearest by chance.

    Args:
        likelihood:  what was fitted
        points:      where the fits began, [start, parameter]
    """
    index = likelihood.coupling_index
    given = any(term.model.coupling_values for term in terms_of(likelihood))
    if len(points) > 1 or given or not len(index) or (points[0] != likelihood.start)[index].any():
        return []
    return [ONE_START]


def events_without_background(counts: Mapping[str, int], n_events: int, data_set: str = "") -> list[str]:
    """Backgrounds that cannot be at some of the measured events, which may be meant, or a histogram or formula with a gap.

    Args:
        counts:    background → how many measured events its density is 0 at
        n_events:  of the data
        data_set:  its name, if there are several
    """
    of = f" of {data_set}" if data_set else ""
    return [
        f"the density of background {name!r}{of} is 0 at {count} of {counted(n_events, 'measured event')}, which all else has to explain:"
        " correct it if it could be there"
        for name, count in counts.items()
        if count
    ]


def repeated_events(data: Sequence[SampleSummary]) -> list[str]:
    """Measured events that are in a file several times, which makes errors too small and is seen nowhere else.

    Args:
        data:  the samples of measured events
    """
    return [
        f"{counted(sample.repeated, 'event repeats', 'events repeat')} the momenta of others among the {sample.n_events} of {sample.name}:"
        " if these are the same events, errors are too small; keep each of them once"
        for sample in data
        if sample.repeated
    ]


def mass_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """Resonance → the smallest and the largest mass that events of the decay have there, GeV."""
    ranges: dict[str, tuple[float, float]] = {}
    for wave in model.waves:
        for node, resonance in zip(wave.chain.carriers, wave.resonances, strict=True):
            own, (low, high) = model.decay.mass_range(node.leaves), ranges.get(resonance.name, (float("inf"), 0.0))
            ranges[resonance.name] = min(low, own[0]), max(high, own[1])
    return ranges


def masses_out_of_range(model: Model, values: Mapping[str, float]) -> list[str]:
    """Fitted masses that no event of the decay can have: the resonance is then a broad background, or the fit has lost it.

    Args:
        model:   what was fitted
        values:  free parameters by name
    """
    remarks = []
    for name, (low, high) in mass_ranges(model).items():
        mass = values.get(f"{name}.mass")
        if mass is not None and not low <= mass <= high:
            place = f"outside {low:.4g} to {high:.4g} GeV, where events are"
            remarks.append(f"{name}.mass is {mass:.4g} GeV, {place}: give it limits, or leave {name} out")
    return remarks
