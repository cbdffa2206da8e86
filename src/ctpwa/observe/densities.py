"""Densities of background as formulas of variables, as histograms in files, and as histograms of sideband events.

Identical particles that a variable shuffles have no order: a density is the mean over all of their orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream, Piece
from ctpwa.decay.chain import Decay
from ctpwa.observe.histogram import Histogram, bin_numbers, not_a_histogram, read_histogram
from ctpwa.observe.variable import ProjectionSpec, Variable, parse_variable

MAX_BINS = 1_000_000  # of all axes together
LOST = 0.01  # part of the sideband events that may be where no phase-space event is
Momenta = dict[str, Tensor]


@dataclass(frozen=True)
class FormulaDensity:
    """A formula of variables of the final state."""

    variable: Variable

    def __call__(self, events: Piece) -> Tensor:
        """See ``Density``."""
        return _mean(self.variable, [self.variable], events)


@dataclass(frozen=True, eq=False)
class HistogramDensity:
    """Numbers in bins of up to three variables; no event may be outside."""

    histogram: Histogram

    def __call__(self, events: Piece) -> Tensor:
        """See ``Density``."""
        return _mean(self.histogram, [variable for variable, _ in self.histogram.axes], events)


@dataclass(frozen=True, eq=False)
class SidebandDensity:
    """Sideband events divided by phase-space events, in bins. The first and last bins also hold what is beyond.

    Attributes:
        axes:    variables and their edges
        values:  [bin of the first axis, …]
    """

    estimated: ClassVar[bool] = True
    axes: tuple[tuple[Variable, np.ndarray], ...]
    values: np.ndarray

    def __call__(self, events: Piece) -> Tensor:
        """See ``Density``."""
        return _mean(lambda momenta: self.values[_bins(self.axes, momenta)], [variable for variable, _ in self.axes], events)


def formula_density(text: str, decay: Decay) -> FormulaDensity:
    """The density that a formula of variables gives.

    Raises:
        VariableError: if it is not one
    """
    return FormulaDensity(parse_variable(text, decay))


def read_density(path: Path, decay: Decay, what: str) -> HistogramDensity:
    """The density in a JSON file.

    Args:
        path:   the file
        decay:  the decay whose variables it has
        what:   which background it belongs to, for messages

    Raises:
        DataError: if there is no such file, or anything in it is wrong
    """
    histogram = read_histogram(path, decay, what)
    if (histogram.values < 0).any():
        raise not_a_histogram(what, path, f"the density of a bin is {histogram.values.min():.6g}", "give numbers that are not negative")
    return HistogramDensity(histogram)


def sideband_density(
    sideband: Events,
    phase_space: Events | EventStream,
    axes: Sequence[ProjectionSpec],
    smoothing: float,
    what: str,
    ranks: Ranks = ONE,
) -> SidebandDensity:
    """The density of sideband events relative to phase space, in bins of up to three variables.

        b_i = (n_i + k v_i/V) / (v_i/V) / N,    k = smoothing × number of bins

    with n_i = Σ w of the sideband events in a bin, v_i = Σ w of phase-space events, and N, V their sums: k events that are distributed
    as phase space are added to the sideband, so that no bin is empty where data can be.

    Args:
        sideband:     events that look like the background; with several ranks the part of this one
        phase_space:  events of the normalisation, likewise
        axes:         variables with their bins and ranges; without a range that which kinematics allows
        smoothing:    events per bin that are added
        what:         which background it is, for messages
        ranks:        processes that share the events
    """
    edges = tuple((axis.variable, _edges(axis, what)) for axis in axes)
    shape = tuple(len(own) - 1 for _, own in edges)
    if prod(shape) > MAX_BINS:
        raise DataError(f"{what}: the variables have {prod(shape)} bins\n fix: use at most {MAX_BINS}")

    def counts() -> np.ndarray:
        within = float(_within(edges, sideband).sum())
        return np.concatenate([[within], *(_counted(edges, shape, own).ravel() for own in ([sideband], _pieces(phase_space)))])

    within, *sums = ranks.sum(1 + 2 * prod(shape), counts, b"sideband")
    n, v = np.array(sums).reshape(2, *shape)
    if not within:
        ranges = ", ".join(f"{variable.name} from {own[0]:g} to {own[-1]:g}" for variable, own in edges)
        raise DataError(f"{what}: no sideband event has {ranges}\n fix: correct the range, or leave it out")
    N, V = float(n.sum()), float(v.sum())
    if not (N > 0 and V > 0):
        which, total = ("sideband", N) if not N > 0 else ("phase-space", V)
        raise DataError(f"{what}: the weights of the {which} events add up to {total:.6g}\n fix: check them")
    full = v > 0
    lost = float(n[~full].sum())
    if lost > LOST * N:
        raise DataError(
            f"{what}: {lost:.6g} of {N:.6g} sideband events are in bins without phase-space events\n"
            " fix: use fewer bins, or more phase space"
        )
    values = np.full(shape, smoothing * int(full.sum()) / N)
    values[full] += n[full] * V / (v[full] * N)
    return SidebandDensity(edges, values)


def _edges(axis: ProjectionSpec, what: str) -> np.ndarray:
    range_ = axis.range if axis.range is not None else axis.variable.limits
    if range_ is None:
        raise DataError(f"{what}: nobody knows the range of {axis.variable.name}\n fix: give it: range: [lowest edge, highest edge]")
    return np.linspace(*range_, axis.bins + 1)


def _pieces(events: Events | EventStream) -> Iterator[Events]:
    return iter([events]) if isinstance(events, Events) else events.pieces()


def _counted(
    axes: Sequence[tuple[Variable, np.ndarray]], shape: tuple[int, ...], pieces: Sequence[Events] | Iterator[Events]
) -> np.ndarray:
    """Σ w of events in every bin; where orders of identical particles are many, an event is shared among their bins."""
    sums = np.zeros(shape)
    for events in pieces:
        w = np.ones(events.n_events) if events.weights is None else events.weights.cpu().numpy()
        orders = list(_orders([variable for variable, _ in axes], dict(events.momenta)))
        for momenta in orders:
            np.add.at(sums, _bins(axes, momenta), w / len(orders))
    return sums


def _within(axes: Sequence[tuple[Variable, np.ndarray]], events: Events) -> np.ndarray:
    """Whether each event is in the range of all variables, in any order of identical particles."""
    found = np.zeros(events.n_events, dtype=bool)
    for momenta in _orders([variable for variable, _ in axes], dict(events.momenta)):
        values = [(variable(momenta), edges) for variable, edges in axes]
        found |= np.all([(edges[0] <= x) & (x <= edges[-1]) for x, edges in values], axis=0)
    return found


def _bins(axes: Sequence[tuple[Variable, np.ndarray]], momenta: Momenta) -> tuple[np.ndarray, ...]:
    return tuple(bin_numbers(variable(momenta), edges) for variable, edges in axes)


def _mean(function: Callable[[Momenta], np.ndarray], variables: Sequence[Variable], events: Piece) -> Tensor:
    """The mean of a function over all orders of identical particles that its variables shuffle."""
    momenta = dict(zip(variables[0].decay.labels, events.p4, strict=True))
    values = [function(own) for own in _orders(variables, momenta)]
    mean = values[0] if len(values) == 1 else np.mean(values, axis=0)
    return torch.from_numpy(np.ascontiguousarray(mean)).to(events.p4[0].device)


def _orders(variables: Sequence[Variable], momenta: Momenta) -> Iterator[Momenta]:
    """The same events with identical particles in every order, if a variable shuffles them."""
    decay = variables[0].decay
    shuffled = {name for variable in variables for name in variable.shuffled}
    groups = [[decay.labels[i] for i in group] for group in decay.identical_groups if decay.final[group[0]].name in shuffled]
    for orders in product(*(permutations(group) for group in groups)):
        yield momenta | {
            place: momenta[own] for group, order in zip(groups, orders, strict=True) for place, own in zip(group, order, strict=True)
        }
