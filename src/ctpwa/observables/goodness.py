"""How well a model describes data: χ² in adaptive bins, and unbinned tests. ``docs/goodness.md`` says what they assume.

    adaptive_chi2(data, data_weights, model, model_weights, *, n_parameters=0, per_bin=50) -> AdaptiveChi2
    mixed_sample_test(data, model, model_weights=None, *, neighbours=10, seed=0) -> MixedSampleTest
    point_to_point(data, model, model_weights=None, *, permutations=500, max_events=4000, seed=0) -> PointToPointTest

Values are arrays [event] or [event, variable]; weights are arrays [event], or None if all are 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree

from ctpwa.base.errors import DataError
from ctpwa.base.parts import sum_in_parts
from ctpwa.base.words import counted
from ctpwa.minimise.drive import one_thread
from ctpwa.observables.tails import chi2_tail, normal_tail

Array = np.ndarray
MIN_SAMPLE = 50  # events below which a test without bins says nothing
MODEL_PER_DATA = 10  # model events for each data event in the mixed-sample test
CORE = 1e-3  # −ln r stops growing below this distance, in standard deviations
BLOCK = 2**21  # numbers of a matrix that are in memory at a time


@dataclass(frozen=True)
class AdaptiveChi2:
    """χ² of data and model in cells of equal model content.

    Attributes:
        edges:     lower and upper edge of every cell in every variable, [cell, variable, 2]
        observed:  Σ of the data weights in every cell
        expected:  the same of the model, scaled to the data
        error:     standard deviation of observed − expected, from the statistics of data and model sample
        pull:      (observed − expected) / error
        chi2:      Σ pull²
        ndf:       lowest and highest number of degrees of freedom: cells − 1 − fitted parameters, and cells − 1
        p_values:  probability of a larger χ² for each of the two
    """

    edges: Array
    observed: Array
    expected: Array
    error: Array
    pull: Array
    chi2: float
    ndf: tuple[int, int]
    p_values: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.ndf
        between = f"{high}" if low == high else f"{low} … {high}"
        values = " … ".join(f"{p:.3g}" for p in dict.fromkeys(self.p_values))
        return f"χ² = {self.chi2:.1f} in {counted(len(self.pull), 'cell')}, ndf = {between}, p = {values}"


@dataclass(frozen=True)
class MixedSampleTest:
    """Fraction of nearest neighbours that are of the same sample.

    Attributes:
        statistic:        T, the fraction
        mean, error:      mean and standard deviation of T if both samples have the same distribution
        pull:             (T − mean) / error; large if the samples differ
        p_value:          probability of a larger T
        neighbours:       number of neighbours of every event
        n_data, n_model:  events that were compared
    """

    statistic: float
    mean: float
    error: float
    pull: float
    p_value: float
    neighbours: int
    n_data: int
    n_model: int

    def __str__(self) -> str:
        expected = f"expected {self.mean:.4f} ± {self.error:.4f}"
        return f"mixed sample: T = {self.statistic:.4f}, {expected}, pull {self.pull:+.2f}, p = {self.p_value:.3g}"


@dataclass(frozen=True)
class PointToPointTest:
    """Energy of two samples as charges of opposite sign.

    Attributes:
        statistic:        T; large if the samples differ
        mean, error:      average and standard deviation of T after permutations
        p_value:          (1 + number of permutations with at least T) / (1 + number of permutations)
        permutations:     number of permutations
        n_data, n_model:  events that were compared
    """

    statistic: float
    mean: float
    error: float
    p_value: float
    permutations: int
    n_data: int
    n_model: int

    def __str__(self) -> str:
        shown = f"p = {self.p_value:.3g}" if self.p_value * (self.permutations + 1) > 1.5 else f"p < {self.p_value:.3g}"
        return f"point to point: T = {self.statistic:.5f}, permuted {self.mean:.5f} ± {self.error:.5f}, {shown}"


def adaptive_chi2(
    data: Any, data_weights: Any, model: Any, model_weights: Any, *, n_parameters: int = 0, per_bin: float = 50
) -> AdaptiveChi2:
    """χ² in cells that are made by halving the model sample along one variable after the other.

    Cells do not depend on the data: each has the same weight of the model, within the weight of one event. With n the effective number
    of data events (Σw)²/Σw² there are 2^k cells, as many as leave at least ``per_bin`` events in each on average.

        χ² = Σ (O − E)² / (V + f² Σ v²),   O = Σ w,   E = f Σ v,   f = Σ_all w / Σ_all v
        V = Σ w² − b (O − E),   b = Σ_all w³ / Σ_all w²

    V is the variance of the data; without weights it is E. The term with b makes it independent of O, to first order: Σ w² alone is too
    small where the data fluctuate down, which would make χ² too large.

    Args:
        data:           values of the data, [event] or [event, variable]
        data_weights:   weights w, of any sign; None if all are 1
        model:          values of phase-space events
        model_weights:  intensity times weight v of these, not negative; None if all are 1
        n_parameters:   number of parameters that were fitted to these data
        per_bin:        data events in a cell, at least
    """
    x, y = _same_variables(data, model)
    w, v = _weights(data_weights, len(x), "data"), _weights(model_weights, len(y), "model")
    if not per_bin > 0 or n_parameters < 0:
        raise DataError(f"per_bin = {per_bin:g}, n_parameters = {n_parameters}\n fix: give per_bin > 0 and n_parameters >= 0")
    _check_model_weights(v)
    if w.sum() <= 0:
        raise DataError(f"the weights of the data add up to {w.sum():.6g}\n fix: give data with a positive total weight")
    depth = int(np.floor(np.log2(max(w.sum() ** 2 / (w @ w) / per_bin, 1.0))))
    scale = w.sum() / v.sum()
    cells = equal_cells(x, y, v, depth)
    if len(cells) - 1 - n_parameters < 1:
        raise DataError(
            f"{counted(len(cells), 'cell is', 'cells are')} too few for {counted(n_parameters, 'parameter')}\n"
            f" fix: more data, or a smaller per_bin than {per_bin:g}; n_parameters=0 gives the upper limit of the p-value"
        )
    observed, squares = (np.array([f[inside].sum() for inside, _, _ in cells]) for f in (w, w**2))
    expected, spread = (np.array([f[inside].sum() for _, inside, _ in cells]) for f in (scale * v, (scale * v) ** 2))
    variance = squares - (w**3).sum() / (w**2).sum() * (observed - expected)
    variance = np.where(variance > 0, variance, expected * (w @ w) / w.sum()) + spread
    pull = (observed - expected) / np.sqrt(variance)
    ndf = (len(cells) - 1 - n_parameters, len(cells) - 1)
    chi2 = float(pull @ pull)
    low, high = (chi2_tail(chi2, n) for n in ndf)
    return AdaptiveChi2(np.array([box for _, _, box in cells]), observed, expected, np.sqrt(variance), pull, chi2, ndf, (low, high))


Cell = tuple[Array, Array, Array]  # indices of data, indices of model, edges [variable, 2]


def equal_cells(x: Array, y: Array, v: Array, depth: int) -> list[Cell]:
    """Cells of equal model weight, cut ``depth`` times along the variables in turn.

    Args:
        x, y:   values of data and of model events, [event, variable]
        v:      weights of the latter
        depth:  how often to cut
    """
    box = np.stack([np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))], axis=1)
    cells: list[Cell] = [(np.arange(len(x)), np.arange(len(y)), box)]
    for level in range(depth):
        cells = [part for cell in cells for part in _halves(cell, x, y, v, level)]
    return cells


def _halves(cell: Cell, x: Array, y: Array, v: Array, level: int) -> list[Cell]:
    """A cell cut at the median of the model; along the next variable if all values are equal, and not at all if all variables are so."""
    in_data, in_model, box = cell
    for step in range(x.shape[1]):
        axis = (level + step) % x.shape[1]
        cut = _weighted_median(y[in_model, axis], v[in_model])
        if cut is None:
            continue
        parts = []
        for side in (0, 1):
            edges = box.copy()
            edges[axis, 1 - side] = cut
            chosen = [inside[(values[inside, axis] >= cut) == bool(side)] for inside, values in ((in_data, x), (in_model, y))]
            parts.append((chosen[0], chosen[1], edges))
        return parts
    return [cell]


def _weighted_median(values: Array, weights: Array) -> float | None:
    """A number with about half of the weight below it, between two different values; None if there are not two."""
    counted = weights > 0
    order = np.argsort(values[counted], kind="stable")
    sorted_values, sums = values[counted][order], np.cumsum(weights[counted][order])
    places = np.flatnonzero(np.diff(sorted_values) > 0)
    if len(places) == 0:
        return None
    place = places[np.argmin(np.abs(sums[places] - sums[-1] / 2))]
    below, above = sorted_values[place], sorted_values[place + 1]
    middle = below + (above - below) / 2
    return float(middle if middle > below else above)


def mixed_sample_test(data: Any, model: Any, model_weights: Any = None, *, neighbours: int = 10, seed: int = 0) -> MixedSampleTest:
    """Whether data and model mix: do the nearest neighbours of an event belong to its own sample more often than they should?

        T = (1 / n k) Σ_i Σ_j [j is one of the k nearest neighbours of i, and of the same sample]

    Mean and variance are those over all ways to call n_data of the n events data; they are exact sums over the graph of neighbours, and T
    is normally distributed for many events. Distances are Euclidean, with each variable in units of its standard deviation.

    Args:
        data:           values of the data, [event] or [event, variable]; every event has weight 1
        model:          values of phase-space events
        model_weights:  intensity times weight of these; None if they follow the model
        neighbours:     k
        seed:           for the choice of model events in proportion to their weights, at most ten for each data event
    """
    x, y = _two_samples(data, model, model_weights, MODEL_PER_DATA, None, seed)
    points, n = _standardised(np.concatenate([x, y])), len(x) + len(y)
    if not 1 <= neighbours < n:
        raise DataError(f"{counted(neighbours, 'neighbour')} of {counted(n, 'event')}\n fix: choose between 1 and {n - 1}")
    near = _nearest(points, neighbours)
    is_data = np.arange(n) < len(x)
    same = int((is_data[near] == is_data[:, None]).sum())
    mean, variance = _permutation_moments(near, len(x))
    edges = n * neighbours
    pull = (same - mean) / np.sqrt(variance)
    return MixedSampleTest(
        same / edges, mean / edges, float(np.sqrt(variance)) / edges, float(pull), normal_tail(float(pull)), neighbours, len(x), len(y)
    )


def _nearest(points: Array, k: int) -> Array:
    """Indices of the k nearest other points, [point, k]; points at the same place are each other's neighbours."""
    found = cKDTree(points).query(points, k=k + 1)[1]
    own = found == np.arange(len(points))[:, None]
    own[~own.any(axis=1), k] = True  # itself is not among the nearest: more than k others are at the same place
    return found[~own].reshape(len(points), k)


def _permutation_moments(near: Array, n_first: int) -> tuple[float, float]:
    """Mean and variance of the number of arrows within one sample, over all choices of n_first points.

    Two arrows join the same two points, share one point, or none; the probability that both stay within a sample depends on that only.
    """
    n, k = near.shape
    n_second = n - n_first
    arrows = n * k
    degrees = k + np.bincount(near.ravel(), minlength=n).astype(float)
    codes = np.sort(np.stack([np.repeat(np.arange(n), k), near.ravel()]), axis=0)
    mutual = arrows - len(np.unique(codes[0] * n + codes[1]))
    same = arrows + 2.0 * mutual
    sharing = float(degrees @ degrees) - 2 * same
    apart = float(arrows) ** 2 - same - sharing
    two, three, four = (_falling(n_first, i) / _falling(n, i) + _falling(n_second, i) / _falling(n, i) for i in (2, 3, 4))
    four += 2 * _falling(n_first, 2) * _falling(n_second, 2) / _falling(n, 4)
    mean = arrows * two
    return mean, same * two + sharing * three + apart * four - mean**2


def _falling(n: int, count: int) -> float:
    """The product n (n − 1) … of ``count`` factors."""
    return float(np.prod([float(n - i) for i in range(count)]))


def point_to_point(
    data: Any, model: Any, model_weights: Any = None, *, permutations: int = 500, max_events: int = 4000, seed: int = 0
) -> PointToPointTest:
    """Energy test: data and model as positive and negative charges with potential −ln r; the energy is lowest where they cancel.

        T = Σ_{i<j} ψ(d_i, d_j) / n² + Σ_{i<j} ψ(m_i, m_j) / m² − Σ_{i,j} ψ(d_i, m_j) / n m,    ψ = −½ ln(r² + 10⁻⁶)

    r is the Euclidean distance, with each variable in units of its standard deviation. The p-value is that of T among random
    permutations of all events; it does not depend on any approximation. Time is proportional to (number of events)² · permutations.

    Args:
        data:           values of the data, [event] or [event, variable]; every event has weight 1
        model:          values of phase-space events
        model_weights:  intensity times weight of these; None if they follow the model
        permutations:   number of random permutations
        max_events:     of each sample; a random part of a larger one is used
        seed:           for the choice of events and for the permutations
    """
    if permutations < 1 or max_events < MIN_SAMPLE:
        raise DataError(f"permutations = {permutations}, max_events = {max_events}\n fix: at least 1 permutation and {MIN_SAMPLE} events")
    x, y = _two_samples(data, model, model_weights, 1, max_events, seed)
    points = _standardised(np.concatenate([x, y]))
    rng = np.random.default_rng([seed, 1])
    charges = np.repeat([1 / len(x), -1 / len(y)], [len(x), len(y)])
    columns = np.stack([charges, *(rng.permutation(charges) for _ in range(permutations))], axis=1)
    energies = _energies(points, columns)
    found, permuted = float(energies[0]), energies[1:]
    # sums in another order differ by rounding: the same T must count as the same
    at_least = int((permuted >= found - 1e-12 * np.abs(energies).max()).sum())
    error = float(permuted.std(ddof=1)) if permutations > 1 else 0.0
    return PointToPointTest(found, float(permuted.mean()), error, (1 + at_least) / (1 + permutations), permutations, len(x), len(y))


def _energies(points: Array, charges: Array, block: int = BLOCK) -> Array:
    """Σ_{i<j} q_i q_j ψ_ij for every column of charges; the matrix ψ is made in blocks of ``block`` numbers, which threads share."""
    squares = (points**2).sum(axis=1)
    step = max(1, block // len(points))

    def energies(part: int) -> torch.Tensor:
        start = part * step
        rows, later = slice(start, min(start + step, len(points))), slice(start, None)
        r2 = squares[rows, None] + squares[None, later] - 2 * points[rows] @ points[later].T
        psi = -0.5 * np.log(np.maximum(r2, 0) + CORE**2)  # r² of close points may be negative by rounding, far below the core
        n = rows.stop - start
        psi[:, :n] = np.triu(psi[:, :n], 1)
        return torch.from_numpy((charges[rows] * (psi @ charges[later])).sum(axis=0))

    with one_thread():
        return sum_in_parts(energies, -(-len(points) // step), torch.get_num_threads()).numpy()


def unweighted(weights: Any, most: int, rng: np.random.Generator) -> Array:
    """Indices of events that follow their weights without having any: accepted with probability w / max w, none of them twice.

    Args:
        weights:  not negative, [event]
        most:     at most this many, a random choice of the accepted ones
        rng:      random numbers
    """
    w = _weights(weights, len(weights), "model")
    _check_model_weights(w)
    accepted = np.flatnonzero(rng.random(len(w)) * w.max() < w)
    return accepted if len(accepted) <= most else np.sort(rng.choice(accepted, most, replace=False))


def _two_samples(data: Any, model: Any, weights: Any, per_data: int, most: int | None, seed: int) -> tuple[Array, Array]:
    """Data and model without weights, not larger than asked for."""
    x, y = _same_variables(data, model)
    rng = np.random.default_rng([seed, 0])
    if most is not None and len(x) > most:
        x = x[np.sort(rng.choice(len(x), most, replace=False))]
    v = np.ones(len(y)) if weights is None else _weights(weights, len(y), "model")
    y = y[unweighted(v, per_data * len(x), rng)]
    for name, sample in (("data", x), ("model", y)):
        if len(sample) < MIN_SAMPLE:
            how = " are left when they are chosen in proportion to their weights" if name == "model" and weights is not None else ""
            raise DataError(
                f"{counted(len(sample), 'event')} of the {name}{how}\n fix: at least {MIN_SAMPLE} are needed; "
                + ("generate more phase space" if how else "use larger samples")
            )
    return x, y


def _same_variables(data: Any, model: Any) -> tuple[Array, Array]:
    x, y = _values(data, "data"), _values(model, "model")
    if x.shape[1] != y.shape[1]:
        raise DataError(
            f"{x.shape[1]} variables of the data but {y.shape[1]} of the model\n fix: give the same variables in the same order"
        )
    return x, y


def _values(values: Any, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise DataError(f"values of the {name} have shape {array.shape}\n fix: give [event] or [event, variable], with events in it")
    if not np.isfinite(array).all():
        event = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise DataError(f"a value of the {name} is not finite, in event {event}\n fix: remove it or find out where it comes from")
    return array[:, None] if array.ndim == 1 else array


def _weights(weights: Any, n: int, name: str) -> Array:
    array = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise DataError(f"weights of the {name} have shape {array.shape} for {counted(n, 'event')}\n fix: give one weight for each event")
    if not np.isfinite(array).all():
        raise DataError(f"a weight of the {name} is not finite, in event {int(np.argmin(np.isfinite(array)))}\n fix: remove it")
    return array


def _check_model_weights(v: Array) -> None:
    if (v < 0).any() or not v.sum() > 0:
        n = int((v < 0).sum())
        what = f"{counted(n, 'weight of the model is', 'weights of the model are')} negative" if n else "all weights of the model are 0"
        raise DataError(f"{what}\n fix: give intensities times weights of a phase-space sample")


def _standardised(points: Array) -> Array:
    width = points.std(axis=0)
    if (width == 0).any():
        raise DataError(f"variable {int(np.argmin(width)) + 1} has one value for all events\n fix: leave it out")
    return (points - points.mean(axis=0)) / width
