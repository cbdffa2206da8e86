"""Projections: measured events, the fit and all its contributions in bins of a variable.

The model is drawn with the phase-space sample, every event of it weighted with w I and all together scaled to the measured signal. In
every bin stands the whole Hermitian form of the groups of waves,

    M_gh = Re Σ_events w Σ_rows conj(ψ_g) ψ_h · scale,       ψ_g = Σ_{waves in g} c F K

so that contributions (M_gg), interferences (2 M_gh) and the coherent sum of any choice of groups all come from the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ctpwa.base.errors import DataError
from ctpwa.base.parts import get_num_threads
from ctpwa.data.density import Density, checked_density
from ctpwa.data.events import Events
from ctpwa.data.stream import Piece
from ctpwa.decay.chain import Decay
from ctpwa.engine.likelihood.intensity import ModelIntensity, Sums
from ctpwa.fitting.labels import chain_name
from ctpwa.minimise.drive import one_thread
from ctpwa.model.model import Model
from ctpwa.model.spin_parity import spin_parity
from ctpwa.observables.histograms import JP, WAVES, Grid, Projected, Projection
from ctpwa.observe.variable import KeptValues, ProjectionSpec, parse_variable

FINEST = 5  # bins of the model in a bin of the data
CELL_EVENTS, FEWEST_CELLS, MOST_CELLS = 10, 12, 80  # of a Dalitz plot: events in a square cell on average, cells in either direction
SLICE = 32_768  # events at a time


def resonance_groups(model: Model) -> dict[str, list[int]]:
    """Waves with the same resonances, all charge states and (L, S) together; every wave is in one group."""
    groups: dict[str, list[int]] = {}
    for index, wave in enumerate(model.waves):
        groups.setdefault(chain_name(wave), []).append(index)
    return groups


def dalitz_order(decay: Decay) -> tuple[tuple[int, int, int], int]:
    """Particles 1, 2, 3 of a Dalitz plot of m²_13 and m²_23, and how many of them, from the first, are identical: 3, 2 or 1."""
    group = max(decay.identical_groups, key=len, default=(0,))
    first, second, third = (*group, *(index for index in range(3) if index not in group))
    return (first, second, third), len(group)


def dalitz_pair(decay: Decay, n_events: float) -> tuple[ProjectionSpec, ProjectionSpec] | None:
    """m²_13 and m²_23 of a decay to three particles, with cells for this many events; None for other decays.

    If particles 1 and 2 are identical, these are the smaller and the larger one: the plot is folded along its diagonal. If all three are,
    they are the smallest and the largest m² of any pair, and of six equal parts one is left. States on their mass shell count as particles.
    """
    outer = decay.outer
    if len(outer.final) != 3:
        return None
    (i, j, k), n_identical = dalitz_order(outer)
    pairs = [(i, k), (j, k), (i, j)]
    texts = [f"mass2({outer.labels[a]}, {outer.labels[b]})" for a, b in pairs]
    plain = [parse_variable(text, decay) for text in texts[:2]]
    if n_identical > 1:
        among = ", ".join(texts[: n_identical if n_identical == 3 else 2])
        names = f"{outer.final[i].latex}{outer.final[k].latex}"
        variables = [
            replace(parse_variable(f"{word}({among})", decay), label=rf"$M^{{2}}_{{\mathrm{{{word}}}}}({names})$", limits=limits)
            for word, limits in zip(("min", "max"), _folded_limits(decay, plain[0].limits), strict=True)
        ]
    else:
        variables = plain
    cells = int(np.clip(np.sqrt(n_events / CELL_EVENTS), FEWEST_CELLS, MOST_CELLS))
    first, second = (ProjectionSpec(variable, cells, variable.limits) for variable in variables)
    return first, second


def _folded_limits(decay: Decay, limits: tuple[float, float] | None) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Of the smaller and the larger m²: the smaller one is largest where both are equal, the largest of three is never below their mean."""
    (i, j, _), n_identical = dalitz_order(decay)
    masses = [0.0 if particle.massless else particle.mass for particle in (decay.parent, *decay.final)]
    known = [mass for mass in masses if mass is not None]
    if limits is None or len(known) < 4:
        return limits, limits
    low, high = limits
    total = sum(mass**2 for mass in known)
    if n_identical == 3:
        return (low, total / 3), (total / 3, high)
    return (low, (total - (known[1 + i] + known[1 + j]) ** 2) / 2), limits


def project(
    intensity: ModelIntensity,
    data: Events,
    phase_space: Events,
    background: Events | None = None,
    *,
    axes: Sequence[ProjectionSpec] = (),
    grids: Sequence[tuple[ProjectionSpec, ProjectionSpec]] = (),
    groups: Mapping[str, Sequence[int]] | None = None,
    added: Mapping[str, tuple[Density, float]] | None = None,
    signal: float | None = None,
    measured: Events | None = None,
    values: KeptValues | None = None,
    progress: bool | None = None,
    at_once: int = SLICE,
) -> Projected:
    """Fill all histograms in one pass over the phase-space events.

    Args:
        intensity:    the model with fitted couplings and parameters
        data:         measured events
        phase_space:  events of the normalisation, with their weights
        background:   events whose contribution was subtracted in the fit
        axes:         variables and their bins
        grids:        pairs of them
        groups:       name → waves that are drawn together, every wave in exactly one; default: by resonance
        added:        background → its density, and how many events of it are in the data
        signal:       how many events are signal; default: all that are not background
        measured:     the phase-space events as they would be measured, which are drawn; default: exactly
        values:       values of variables that are known already, or will be needed again
        progress:     show a progress bar; default: on a terminal when it takes more than two seconds
        at_once:      events whose contributions are in memory at a time
    """
    model = intensity.model
    own = resonance_groups(model) if groups is None else groups
    if sorted(index for waves in own.values() for index in waves) != list(range(len(model.waves))):
        raise DataError("some wave is in no group, or in several\n fix: put every wave into exactly one group")
    of_events = _added_weights(added or {}, phase_space, model.decay)
    samples = _Samples(
        data, phase_space if measured is None else measured, background, sum(number for _, number in (added or {}).values()), signal
    )
    known = KeptValues() if values is None else values
    fillers = [_line(axis, samples, known) for axis in axes]
    cells = [_plane(pair, samples, known) for pair in grids]
    columns = _Columns(model, own)
    weights = np.empty(phase_space.n_events)
    with ThreadPoolExecutor(get_num_threads()) as pool, one_thread():  # a histogram each: products are too small to share
        for start, psi, I in _gathered(intensity, phase_space, at_once, progress):
            w = samples.w["phase space"][start : start + len(I)]
            weights[start : start + len(I)] = w * I
            single, together = columns.of(psi, I, w), columns.by_group(psi)
            filled = [pool.submit(filler.fill, start, single, together, w) for filler in fillers]
            filled += [pool.submit(cell.add, start, single[:, -2:]) for cell in cells]
            for one in filled:
                one.result()
    if not weights.sum() > 0:
        raise DataError("the intensities of the phase-space events do not add up to more than 0\n fix: check couplings and weights")
    scale = samples.signal / float(weights.sum())
    drawn = _Drawn(scale * weights, of_events)
    return Projected(
        tuple(_projection(axis, filler, columns, samples, scale, drawn) for axis, filler in zip(axes, fillers, strict=True)),
        tuple(_grid(pair, cell, samples, scale, drawn) for pair, cell in zip(grids, cells, strict=True)),
        scale * weights,
        scale,
        {name: tuple(model.waves[i].name for i in waves) for name, waves in own.items()},
        of_events,
    )


def _gathered(
    intensity: ModelIntensity, events: Events, at_once: int, progress: bool | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """ψ of every wave [wave, row, event] and I of some events at a time, after the number of the first of them."""
    kept: list[Sums] = []
    for sums in intensity.sums(events, {wave.name: [wave.name] for wave in intensity.model.waves}, progress=progress):
        kept.append(sums)
        if sums.stop - kept[0].start >= at_once or sums.stop == events.n_events:
            psi = np.concatenate([part.psi.cpu().numpy() for part in kept], axis=2)
            yield kept[0].start, psi, np.concatenate([part.intensity.cpu().numpy() for part in kept])
            kept = []


def _added_weights(added: Mapping[str, tuple[Density, float]], phase_space: Events, decay: Decay) -> dict[str, np.ndarray]:
    """Events of every background that a phase-space event stands for: N v b / Σ v b."""
    piece = Piece([phase_space[label] for label in decay.labels], phase_space.weights, dict(phase_space.columns))
    v, found = event_weights(phase_space), {}
    for name, (density, number) in added.items():
        b = checked_density(density(piece), name, "phase space", 0, positive=False).cpu().numpy()
        total = float((v * b).sum())
        if not total > 0:
            raise DataError(f"phase space: the density of background {name!r} adds up to {total:.6g}\n fix: check it")
        found[name] = number / total * v * b
    return found


@dataclass(frozen=True)
class _Drawn:
    """What every phase-space event stands for: events of signal, and of each background."""

    signal: np.ndarray
    added: Mapping[str, np.ndarray]

    def sums(self, index: np.ndarray, n: int) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
        """Events of each background in bins, those outside in the last; and what they add to the variance: Σ (s + b)² − Σ s²."""
        if not self.added:
            return {}, None
        all_ = sum(self.added.values())
        variance = np.bincount(index, all_ * (2 * self.signal + all_), minlength=n + 1)
        return {name: np.bincount(index, own, minlength=n + 1) for name, own in self.added.items()}, variance


class _Samples:
    """All samples with their weights."""

    def __init__(
        self, data: Events, phase_space: Events, background: Events | None, added: float = 0.0, signal: float | None = None
    ) -> None:
        self.events = {"data": data, "phase space": phase_space} | ({} if background is None else {"background": background})
        self.w = {name: event_weights(events) for name, events in self.events.items()}
        self.poisson = bool((self.w["data"] == 1).all())
        left = float(self.w["data"].sum()) - (float(self.w["background"].sum()) if background is not None else 0.0)
        self.signal = left - added if signal is None else signal
        if self.signal <= 0:
            raise DataError(f"the weights of the data minus the background add up to {self.signal:.6g}\n fix: check the weights")


def event_weights(events: Events) -> np.ndarray:
    """The weight of every event, [event]; 1 if they have none."""
    return np.ones(events.n_events) if events.weights is None else events.weights.cpu().numpy()


class _Columns:
    """What is summed up in every bin: pairs of groups, other contributions, the total and its square."""

    def __init__(self, model: Model, groups: Mapping[str, Sequence[int]]) -> None:
        self.groups = tuple(groups)
        self._members = _membership(groups, len(model.waves))
        jp: dict[str, list[int]] = {}
        for index, wave in enumerate(model.waves):
            jp.setdefault(spin_parity(wave), []).append(index)
        self.jp = tuple(jp)
        self._jp = _membership(jp, len(model.waves))
        self.waves = tuple(wave.name for wave in model.waves)

    def by_group(self, psi: np.ndarray) -> np.ndarray:
        """Real and imaginary parts of ψ of every group in every row, [event, 2 rows, group], from ψ of every wave [wave, row, event]."""
        parts = np.einsum("gw,wre->erg", self._members, psi, optimize=True)
        return np.concatenate([parts.real, parts.imag], axis=1)

    def of(self, psi: np.ndarray, I: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Contributions of waves and J^P, the total and its square [event, column] from ψ of every wave [wave, row, event]."""
        by_jp = np.einsum("jw,wre->jre", self._jp, psi, optimize=True)
        squares = [(own.real**2 + own.imag**2).sum(axis=1) for own in (psi, by_jp)]
        values = np.concatenate([*squares, I[None]]) * w
        return np.ascontiguousarray(np.concatenate([values, values[-1:] ** 2]).T)

    def split(self, sums: np.ndarray) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
        """Contributions of waves and J^P, and the total, from [bin, column]."""
        rest = iter(sums.T)
        others = {kind: {name: next(rest).copy() for name in names} for kind, names in ((WAVES, self.waves), (JP, self.jp))}
        return others, sums[:, -2].copy()


def _membership(groups: Mapping[str, Sequence[int]], n_waves: int) -> np.ndarray:
    members = np.zeros((len(groups), n_waves))
    for k, waves in enumerate(groups.values()):
        members[k, list(waves)] = 1.0
    return members


class _Filler:
    """Sums of columns in bins; events outside go into a bin of their own at the end."""

    def __init__(self, index: np.ndarray, n_bins: int) -> None:
        self.index, self.n_bins = index, n_bins
        self.sums: np.ndarray | float = 0.0
        self.matrix: np.ndarray | None = None

    def fill(self, start: int, values: np.ndarray, together: np.ndarray, w: np.ndarray) -> None:
        """Add some events: their columns, and products of what groups have together."""
        self.add(start, values)
        self.add_pairs(start, together, w)

    def add(self, start: int, values: np.ndarray) -> None:
        """Add the columns of some events."""
        n = len(values)
        into = sparse.csc_array((np.ones(n), self.index[start : start + n], np.arange(n + 1)), shape=(self.n_bins + 1, n))
        self.sums = self.sums + into @ values

    def add_pairs(self, start: int, together: np.ndarray, w: np.ndarray) -> None:
        """Σ w ψ_g ψ_h of real numbers ψ [event, number, group], in every bin one product of matrices."""
        index = self.index[start : start + len(w)]
        order = np.argsort(index, kind="stable")
        ends = np.searchsorted(index[order], np.arange(self.n_bins + 1))  # events beyond the last bin come last
        ordered, weights = together[order], w[order]
        if self.matrix is None:
            self.matrix = np.zeros((self.n_bins, together.shape[2], together.shape[2]))
        for k in np.flatnonzero(np.diff(ends)):
            own = ordered[ends[k] : ends[k + 1]]
            weighted = own * weights[ends[k] : ends[k + 1], None, None]
            self.matrix[k] += own.reshape(-1, own.shape[2]).T @ weighted.reshape(-1, own.shape[2])


class _Line(_Filler):
    """Bins of one variable."""

    def __init__(self, edges: np.ndarray, fine: int, values: Mapping[str, np.ndarray]) -> None:
        self.edges, self.fine, self.values = edges, fine, values
        n = (len(edges) - 1) * fine
        super().__init__(_bin(values["phase space"], np.linspace(edges[0], edges[-1], n + 1)), n)


class _Plane(_Filler):
    """Cells of two variables."""

    def __init__(self, edges: tuple[np.ndarray, np.ndarray], values: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        self.edges, self.values = edges, values
        self.shape = (len(edges[0]) - 1, len(edges[1]) - 1)
        super().__init__(self.cell(*values["phase space"]), self.shape[0] * self.shape[1])

    def cell(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Number of the cell of every event."""
        i, j = _bin(x, self.edges[0]), _bin(y, self.edges[1])
        outside = (i == self.shape[0]) | (j == self.shape[1])
        return np.where(outside, self.shape[0] * self.shape[1], i * self.shape[1] + j).astype(np.int32)


def _bin(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Number of the bin of every value, the last edge included; the number of bins for those outside."""
    n = len(edges) - 1
    inside = (values >= edges[0]) & (values <= edges[-1])
    index = np.clip((np.where(inside, values, edges[0]) - edges[0]) * (n / (edges[-1] - edges[0])), 0, n - 1).astype(np.int32)
    index -= values < edges[index]  # the product is rounded: what decides is on which side of an edge a value is
    index += (values >= edges[index + 1]) & (index < n - 1)
    return np.where(inside, index, n).astype(np.int32)


def _line(axis: ProjectionSpec, samples: _Samples, known: KeptValues) -> _Line:
    values = {name: known(axis.variable, events) for name, events in samples.events.items()}
    edges = _edges(axis, values.values())
    inside = int(((values["phase space"] >= edges[0]) & (values["phase space"] <= edges[-1])).sum())
    fine = int(np.clip(inside / (axis.fine_events * axis.bins), 1, FINEST))
    return _Line(np.linspace(edges[0], edges[-1], axis.bins * fine + 1)[::fine], fine, values)  # every edge is one of the fine ones


def _plane(pair: tuple[ProjectionSpec, ProjectionSpec], samples: _Samples, known: KeptValues) -> _Plane:
    values = {name: (known(pair[0].variable, events), known(pair[1].variable, events)) for name, events in samples.events.items()}
    edges = tuple(_edges(axis, [both[k] for both in values.values()]) for k, axis in enumerate(pair))
    return _Plane((edges[0], edges[1]), values)


def _edges(axis: ProjectionSpec, values: Any) -> np.ndarray:
    if axis.bins < 1:
        raise DataError(f"{axis.variable.name}: {axis.bins} bins\n fix: give at least 1")
    if axis.range is not None:
        low, high = axis.range
    else:
        low = min(float(own.min(initial=np.inf)) for own in values)
        high = max(float(own.max(initial=-np.inf)) for own in values)
    if not high > low:
        raise DataError(f"{axis.variable.name}: there is nothing between {low:g} and {high:g}\n fix: give a range with room in it")
    return np.linspace(low, high, axis.bins + 1)


def _projection(axis: ProjectionSpec, line: _Line, columns: _Columns, samples: _Samples, scale: float, drawn: _Drawn) -> Projection:
    def count(name: str) -> tuple[np.ndarray, np.ndarray]:
        return _counted(lambda: _bin(line.values[name], line.edges), samples.w.get(name), axis.bins)

    sums = np.asarray(line.sums)
    others, total = columns.split(scale * sums[:-1])
    matrix = scale * np.asarray(line.matrix)
    (data, data_variance), (background, background_variance) = count("data"), count("background")
    added, added_variance = drawn.sums(line.index, line.n_bins)
    w = samples.w
    measured = float(w["data"].sum() - data.sum())
    expected = float(scale * sums[-1, -2]) + (float(w["background"].sum() - background.sum()) if "background" in w else 0.0)
    expected += sum(float(own[-1]) for own in added.values())
    return Projection(
        variable=axis.variable,
        edges=line.edges,
        data=data,
        data_variance=data_variance,
        background=background,
        background_variance=background_variance,
        fine=line.fine,
        groups=columns.groups,
        matrix=matrix,
        others=others,
        total=total,
        variance=scale**2 * sums[:-1, -1],
        outside=(measured, expected),
        poisson=samples.poisson,
        added={name: own[:-1] for name, own in added.items()},
        added_variance=None if added_variance is None else added_variance[:-1],
    )


def _grid(pair: tuple[ProjectionSpec, ProjectionSpec], plane: _Plane, samples: _Samples, scale: float, drawn: _Drawn) -> Grid:
    def count(name: str) -> tuple[np.ndarray, np.ndarray]:
        n = plane.shape[0] * plane.shape[1]
        sums, squares = _counted(lambda: plane.cell(*plane.values[name]), samples.w.get(name), n)
        return sums.reshape(plane.shape), squares.reshape(plane.shape)

    signal, variance = np.asarray(plane.sums)[:-1].T.reshape(2, *plane.shape)
    (data, data_variance), (background, background_variance) = count("data"), count("background")
    added, added_variance = drawn.sums(plane.index, plane.n_bins)
    if added_variance is not None:
        background = background + np.sum([own[:-1] for own in added.values()], axis=0).reshape(plane.shape)
        background_variance = background_variance + added_variance[:-1].reshape(plane.shape)
    return Grid(
        (pair[0].variable, pair[1].variable),
        plane.edges,
        data,
        data_variance,
        scale * signal + background,
        scale**2 * variance + background_variance,
        samples.poisson,
    )


def _counted(index: Callable[[], np.ndarray], w: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Σ w and Σ w² in every bin; zeros for a sample that is not there."""
    if w is None:
        return np.zeros(n), np.zeros(n)
    where = index()
    return np.bincount(where, w, minlength=n + 1)[:n], np.bincount(where, w**2, minlength=n + 1)[:n]
