"""What the finite phase-space sample does to a fit: how the gradient of W ln σ scatters with it, and how many of its events count.

    σ = Σ v I / Σ v,     d = ∂ ln I − ∂ ln σ,     S = (W / Σ v I)² Σ (v I)² d dᵀ,     N_eff = (Σ v I)² / Σ (v I)²

All sums come from one pass over the sample, over its own events if fixed lineshapes have made it one matrix.

In general the gradient g of −ln L depends on the sample through ∂ ln σ, and with added densities also through ln σ − ln B, B being their
means. An event moves it by v ∂g/∂v = L q, linear in its own numbers q = v (∂I, b, I), and

    S = L (Σ q qᵀ) Lᵀ

Events that count negatively have a floor (``subtraction.py``), which is made of the same events: one of them moves g by L q − κ f besides,

    f = v (h − h̄),    h = ∂ ln p,    κ = r W/Σ v over the floor

and the two parts cancel in part. With a resolution h is that of all points of the event as if it were measured, and q that of the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.engine.backends.batch import added_squares, coupling_mix
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.expansion import score_products
from ctpwa.engine.likelihood.rank_sums import run_together
from ctpwa.engine.likelihood.sample_pass import SamplePass, densities
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.sample import CHUNK_EVENTS, Sample, picked_inputs

if TYPE_CHECKING:
    from ctpwa.engine.likelihood.likelihood import Likelihood


@dataclass(frozen=True)
class NormalisationSize:
    """How many events with equal weights would integrate as well as the phase-space sample does.

    Attributes:
        n_events:  events of the sample
        total:     N_eff of the whole intensity, (Σ v I)² / Σ (v I)²
        waves:     name of a coupling → the same for the coherent sum of its waves alone; 0 if it vanishes everywhere
    """

    n_events: int
    total: float
    waves: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class FloorInfluence:
    """What events of the floor do to the gradient besides, as δg = −κ f with f = v (h − h̄).

    Attributes:
        numbers:      iteration numbers with β, of which p is made
        mean:         h̄
        to_gradient:  from f to δg over the free parameters [variable, free]
    """

    numbers: np.ndarray
    mean: np.ndarray
    to_gradient: np.ndarray


@dataclass(frozen=True, eq=False)
class Influence:
    """What an event of a phase-space sample does to the gradient of −ln L, v ∂g/∂v, as a linear function of its own numbers.

    Attributes:
        total:        Σ v I
        to_gradient:  from q = v (∂I, b, I) to δg over the free parameters [number, free]
        floor:        what it does besides as an event of the floor; None: there is no floor
    """

    total: float
    to_gradient: np.ndarray
    floor: FloorInfluence | None = None


@dataclass(frozen=True, eq=False)
class SimulationScatter:
    """What one pass over a phase-space sample says about the errors of a fit.

    Attributes:
        products:    S over the free parameters: covariance of the gradient of −ln L, from one phase-space sample to the next
        sizes:       effective sizes, one for each data set
        influences:  what single events do, one for each data set, over its own free parameters
    """

    products: np.ndarray
    sizes: tuple[NormalisationSize, ...]
    influences: tuple[Influence, ...]


def simulation_scatter(likelihood: Likelihood, x: np.ndarray, most_events: int = CHUNK_EVENTS) -> SimulationScatter:
    """See ``Likelihood.simulation_scatter``; of so many events at a time."""
    one = SamplePass.of(likelihood, x)
    plan = one.likelihood.plan
    n = plan.n_variables
    size = n * n + 2 * n + 2 + 2 * one.n_names

    def local() -> np.ndarray:
        rows = one.summed(_rows_of, None, most_events)
        return np.zeros(size) if rows is None else _as_sums(one.likelihood.engine, rows)

    row = one.over_all_ranks(size, local, b"simulation")
    products, score, gradient, sums = np.split(row, np.cumsum([n * n, n, n]))
    effective, total, squared = _size(likelihood, sums)
    moments = np.block([[products.reshape(n, n), score[:, None]], [score[None], np.array([[squared]])]])  # Σ q qᵀ
    relative = gradient[: n - plan.n_added] / total
    over_x = one.likelihood.evaluation.pull_back.matrix(x, one.floating)
    pulled = _influence(one, total, relative).T @ over_x
    S, floor = pulled.T @ moments @ pulled, None
    if one.likelihood.samples.floor is not None:
        of_floor, floor = _floor_scatter(one, total, relative, over_x, pulled)
        S += of_floor
    return SimulationScatter((S + S.T) / 2, (effective,), (Influence(total, pulled, floor),))


def _influence(one: SamplePass, total: float, relative: np.ndarray) -> np.ndarray:
    """L: from q = v (∂I over y, b, I) of an event to what it does to the gradient over (y, m); y are couplings and lineshape numbers.

    Without added densities g = W ∂ ln σ + …, and L q = W (v ∂I − v I ∂ ln σ)/Σ v I. With them, p = I + Σ β b and β ~ σ/B,

        g = (W ∂ ln σ, …) − ∂V,    V = Σ w ln p over (y, β),    ∂β/∂(ln σ − ln B) = β

    Args:
        one:       the point
        total:     Σ v I
        relative:  ∂ ln σ/∂y
    """
    likelihood, evaluation = one.likelihood, one.likelihood.evaluation
    n_y, mixture, samples = len(relative), likelihood.evaluation.mixture, likelihood.samples
    signal = np.concatenate([np.eye(n_y), np.zeros((n_y, likelihood.plan.n_added)), -relative[:, None]], axis=1) / total
    if mixture is None:
        return samples.weight * signal
    native = likelihood.parameters.native(one.x)
    m, weight = native[1][evaluation.mixed_order], likelihood.norm.weight
    beta = mixture.beta(m, total / weight)
    task = evaluation.logarithms_task(native, beta, 2, lambda V: V)
    (V,) = run_together(likelihood.ranks, [task], b"logarithms" + one.x.tobytes(), likelihood.engine.device)
    J, slopes = mixture.chain(m, total / weight, relative), V.gradient[n_y:]
    L = np.zeros((n_y + len(m), n_y + len(beta) + 1))
    L[:n_y] = (samples.summed_weight - float(slopes @ beta)) * signal
    for b in range(len(beta)):
        moved = J.T @ V.hessian[:, n_y + b] * beta[b] + slopes[b] * J[n_y + b]  # −∂g/∂(ln σ − ln B)
        L[:, -1] -= moved / total
        L[:, n_y + b] += moved / (weight * mixture.means[b])
    return L


def _floor_scatter(
    one: SamplePass, total: float, relative: np.ndarray, over_x: np.ndarray, pulled: np.ndarray
) -> tuple[np.ndarray, FloorInfluence]:
    """Σ (L q − κ f)(L q − κ f)ᵀ − Σ L q (L q)ᵀ, over the free parameters, and what single events of the floor do.

    Args:
        one:       the point
        total:     Σ v I
        relative:  ∂ ln σ/∂y
        over_x:    ∂(y, m)/∂x
        pulled:    from q to the gradient over x
    """
    likelihood, mixture, samples = one.likelihood, one.likelihood.evaluation.mixture, one.likelihood.samples
    floor, plan = samples.floor, likelihood.plan
    assert floor is not None
    assert mixture is not None
    m = likelihood.parameters.native(one.x)[1][likelihood.evaluation.mixed_order]
    sigma, n = total / likelihood.norm.weight, plan.n_variables
    there = replace(one, numbers=plan.numbers(one.floating, mixture.beta(m, sigma)))
    size = 2 * n * n + 4 * n + 2

    def local() -> np.ndarray:
        rows = there.summed(_floor_rows, floor.source)
        return np.zeros(size) if rows is None else _floor_sums(likelihood.engine, rows)

    found = there.over_all_ranks(size, local, b"floor")
    hh, qh, h, vvh, vvI_h, vvp_h, (vv, vvI) = np.split(found, np.cumsum([n * n, n * n, n, n, n, n]))
    mean = h / floor.total
    squares = hh.reshape(n, n) - np.outer(vvh, mean) - np.outer(mean, vvh) + vv * np.outer(mean, mean)  # Σ f fᵀ
    products = np.concatenate([qh.reshape(n, n) - np.outer(vvp_h, mean), (vvI_h - vvI * mean)[None]])  # Σ q fᵀ
    if samples.resolution is not None:
        products = _products_with_points(there, hh.reshape(n, n), mean, 1 / sigma)
    to_x = -floor.ratio * samples.weight / floor.total * mixture.chain(m, sigma, relative) @ over_x
    both = pulled.T @ products @ to_x
    return to_x.T @ squares @ to_x + both + both.T, FloorInfluence(there.numbers, mean, to_x)


def _products_with_points(one: SamplePass, hh: np.ndarray, mean: np.ndarray, scale: float) -> np.ndarray:
    """Σ q fᵀ where h is that of all points of an event; symmetrised over couplings and lineshape numbers, which both move alike.

    Σ v² (h ∂Iᵀ + ∂I hᵀ) follows from Σ v² (h + s ∂I)(h + s ∂I)ᵀ, in which the event itself is one more of its points.

    Args:
        one:    the point
        hh:     Σ v² h hᵀ
        mean:   h̄
        scale:  s
    """
    one = replace(one, likelihood=one.likelihood.in_double())  # as the events are
    plan, floor = one.likelihood.plan, one.likelihood.samples.floor
    assert floor is not None
    assert floor.momenta is not None
    n, n_added = plan.n_variables, plan.n_added
    n_y, size = n - n_added, 2 * n * n + (1 + n_added) * 2 * n + n + n_added + 1

    def local() -> np.ndarray:
        rows = one.summed(partial(_point_rows, scale=scale), floor.momenta)
        return np.zeros(size) if rows is None else _point_sums(one.likelihood.engine, rows)

    found = one.over_all_ranks(size, local, b"points of the floor")
    one.likelihood.resources.preparation.stage.release()
    parts = np.split(found, np.cumsum([n * n, n * n, (1 + n_added) * n, n_added * n, n]))
    both, own, of_numbers, over_y, slopes = (part.reshape(-1, n) for part in parts[:5])
    M = np.zeros((n + 1, n))  # Σ v² (∂I, b, I) hᵀ
    M[:n_y, :n_y] = ((both - hh - scale**2 * own) / (2 * scale))[:n_y, :n_y]
    M[:n_y, n_y:] = over_y.T[:n_y]
    M[n_y:] = of_numbers
    return M - np.outer(np.concatenate([slopes[0, :n_y], parts[5]]), mean)


def normalisation_size(likelihood: Likelihood, x: np.ndarray) -> NormalisationSize:
    """See ``Likelihood.normalisation_size``."""
    one = SamplePass.of(likelihood, x)
    size = 2 + 2 * one.n_names

    def local() -> np.ndarray:
        rows = one.summed(_size_rows)
        return np.zeros(size) if rows is None else np.concatenate(rows)

    return _size(likelihood, one.over_all_ranks(size, local, b"normalisation size"))[0]


def _size(likelihood: Likelihood, sums: np.ndarray) -> tuple[NormalisationSize, float, float]:
    """Effective sizes from what ``_size_rows`` has found in all events; and Σ v I and Σ (v I)²."""
    (total, squared), waves = sums[:2].tolist(), sums[2:]
    if not total > 0:
        raise DataError(f"the normalisation is {total:.6g} at these parameters\n fix: check them, and the weights of the phase space")
    first, second = waves.reshape(2, -1)
    sizes = np.where(second > 0, first**2 / np.where(second > 0, second, 1.0), 0.0)
    by_name = dict(zip(likelihood.coupling_names, sizes.tolist(), strict=True))
    return NormalisationSize(likelihood.samples.own["phase space"].total, total**2 / squared, by_name), total, squared


def _rows_of(one: SamplePass, sample: Sample) -> list[Tensor]:
    """Rows of numbers that add up, on the device: sums with derivatives, then those of ``_size_rows``."""
    engine = one.likelihood.engine
    squared = _with_weights(sample, (sample.w * engine.intensities(sample)).square())
    rows = [engine.gram_row(squared, LOG), engine.sum_row(squared, LOG, 1), engine.sum_row(sample, PLAIN, 1)]
    return [*rows, *_size_rows(one, sample)]


def _as_sums(engine: Engine, rows: list[np.ndarray]) -> np.ndarray:
    """Σ (v I)² (∂ ln I)(∂ ln I), Σ (v I)² ∂ ln I and Σ v ∂I over the variables of the engine, with b/I for β; then the rest."""
    gram, logarithm, plain, *rest = rows
    products = score_products(engine.gram_of(gram), engine.plan.n_couplings)
    score, gradient = engine.expansion(logarithm, LOG, 1).gradient, engine.expansion(plain, PLAIN, 1).gradient
    return np.concatenate([products.ravel(), score, gradient, *rest])


def _floor_rows(one: SamplePass, sample: Sample) -> list[Tensor]:
    """Rows of numbers that add up over the floor, with p = I + Σ β b."""
    engine, v2, (I, p) = one.likelihood.engine, sample.w.square(), densities(one, sample)
    weighted = [replace(sample, w=w, n_positive=sample.n_events) for w in (v2, v2 * p, v2 * I)]
    grams = [engine.gram_row(own, LOG) for own in weighted[:2]]
    firsts = [engine.sum_row(own, LOG, 1) for own in (sample, *weighted)]
    return [*grams, *firsts, torch.stack([v2.sum(), (v2 * I).sum()])]


def _point_rows(one: SamplePass, sample: Sample, scale: float) -> list[Tensor]:
    """Rows of numbers that add up over events of the floor, of which each is its own last point as well."""
    engine, plan, v2 = one.likelihood.engine, one.likelihood.plan, sample.w.square()
    assert sample.v is not None
    k = sample.points_per_event
    last = torch.arange(k - 1, sample.n_points, k, device=engine.device)
    own = Sample(
        sample.K[..., last].contiguous(), sample.E[:, last].contiguous(), v2, sample.n_events, None, picked_inputs(sample.inputs, last)
    )
    added = slice(plan.added_row, plan.added_row + plan.n_added)
    (_, p), (I, p_own), b = densities(one, sample), densities(one, own), own.E[added]
    of_points = (sample.E[added].view(plan.n_added, *sample.v.shape) * sample.v).sum(dim=2) / p  # h over β
    v = sample.v / p[:, None]
    v[:, -1] = scale
    alike = replace(sample, w=v2, n_positive=sample.n_events)
    rows = [engine.gram_row(replace(alike, w=v2 * (1 + scale * p_own).square(), v=v), LOG)]
    rows += [engine.gram_row(_with_weights(own, v2 * p_own.square()), LOG)]
    rows += [engine.sum_row(replace(alike, w=v2 * number), LOG, 1) for number in (*b, I)]
    rows += [engine.sum_row(replace(own, w=w), PLAIN, 1) for w in (*(v2 * of_points), v2)]
    return [*rows, torch.cat([b @ v2, (I @ v2)[None]])]


def _point_sums(engine: Engine, rows: list[np.ndarray]) -> np.ndarray:
    """Σ v² (h + s ∂p)(h + s ∂p)ᵀ, Σ v² ∂p ∂pᵀ, Σ v² (b, I) h, Σ v² h_β ∂I, Σ v² ∂I, Σ v² (b, I)."""
    both, own, *firsts, numbers = rows
    grams = [score_products(engine.gram_of(gram), engine.plan.n_couplings).ravel() for gram in (both, own)]
    modes = [LOG] * (1 + engine.plan.n_added) + [PLAIN] * (1 + engine.plan.n_added)
    return np.concatenate([*grams, *(engine.expansion(row, mode, 1).gradient for row, mode in zip(firsts, modes, strict=True)), numbers])


def _floor_sums(engine: Engine, rows: list[np.ndarray]) -> np.ndarray:
    """Σ v² h hᵀ, Σ v² p h hᵀ, Σ v h, Σ v² h, Σ v² I h, Σ v² p h, Σ v², Σ v² I."""
    squares, products, first, of_squares, of_p, of_I, rest = rows
    grams = [score_products(engine.gram_of(gram), engine.plan.n_couplings).ravel() for gram in (squares, products)]
    return np.concatenate([*grams, *(engine.expansion(row, LOG, 1).gradient for row in (first, of_squares, of_I, of_p)), rest])


def _size_rows(one: SamplePass, sample: Sample) -> list[Tensor]:
    """Σ v I and Σ (v I)²; Σ v |A|² and Σ v² |A|⁴ of every coupling."""
    vI = sample.w * one.likelihood.engine.intensities(sample)
    return [torch.stack([vI.sum(), vI.square().sum()]), _wave_sums(one, sample)]


def _with_weights(sample: Sample, w: Tensor) -> Sample:
    """A sample with these weights; events without any are left out, since ln I may not exist there."""
    if bool((w > 0).all()):
        return replace(sample, w=w, n_positive=sample.n_events)
    kept = torch.nonzero(w > 0)[:, 0]
    return sample.picked(kept, w[kept], None)


def _wave_sums(one: SamplePass, sample: Sample) -> Tensor:
    """Σ v |A|² and Σ v² |A|⁴ of every coupling, one after the other; |A|² is a sum over rows, and A one over feeds."""
    engine = one.likelihood.engine
    n, n_feeds = engine.plan.n_couplings, len(one.feeds)
    sums = torch.zeros(2, n // n_feeds, dtype=torch.float64, device=engine.device)
    mix = torch.from_numpy(coupling_mix(one.feeds[None])).to(engine.device)  # [re | im of the sum, re | im of feeds]
    for start, stop, columns in engine.raw_columns(sample, one.numbers, 4 * n * engine.plan.n_rows):
        amplitudes = columns.view(2, -1, engine.plan.n_rows, stop - start)[:, :n]
        if n_feeds > 1:
            parts = amplitudes.unflatten(1, (-1, n_feeds)).movedim(2, 1).reshape(2 * n_feeds, -1)
            amplitudes = (mix @ parts).view(2, -1, engine.plan.n_rows, stop - start)
        weighted = sample.w[start:stop] * added_squares(amplitudes)
        sums += torch.stack([weighted.sum(dim=1), weighted.square().sum(dim=1)])
    return sums.flatten()
