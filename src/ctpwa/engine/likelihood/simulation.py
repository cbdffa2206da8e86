"""What the finite phase-space sample does to a fit: how the gradient of W ln σ scatters with it, and how many of its events count.

    σ = Σ v I / Σ v,     d = ∂ ln I − ∂ ln σ,     S = (W / Σ v I)² Σ (v I)² d dᵀ,     N_eff = (Σ v I)² / Σ (v I)²

All sums come from one pass over the sample, over its own events if fixed lineshapes have made it one matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.expansion import score_products
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.engine.samples.sample import Sample, picked_inputs

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


@dataclass(frozen=True)
class SimulationScatter:
    """What one pass over a phase-space sample says about the errors of a fit.

    Attributes:
        products:  S over the free parameters: covariance of the gradient of −ln L, from one phase-space sample to the next
        sizes:     effective sizes, one for each data set
    """

    products: np.ndarray
    sizes: tuple[NormalisationSize, ...]


@dataclass(frozen=True)
class _Sums:
    """Sums over the events, in the variables of the engine.

    Attributes:
        scores:    Σ (v I)² (∂ ln I)(∂ ln I)
        score:     Σ (v I)² ∂ ln I
        gradient:  Σ v ∂I
        totals:    Σ v I and Σ (v I)²
        waves:     Σ v |A|² and Σ v² |A|⁴ of every coupling, [2, coupling]
    """

    scores: np.ndarray
    score: np.ndarray
    gradient: np.ndarray
    totals: np.ndarray
    waves: np.ndarray

    def over_parameters(self, J: np.ndarray) -> np.ndarray:
        """As one row, with derivatives over the free parameters; J = ∂(variables)/∂x."""
        return np.concatenate([(J.T @ self.scores @ J).ravel(), self.score @ J, self.gradient @ J, self.totals, self.waves.ravel()])


def simulation_scatter(likelihood: Likelihood, x: np.ndarray) -> SimulationScatter:
    """See ``Likelihood.simulation_scatter``."""
    if likelihood.norm.events is None:
        raise DataError(
            "a likelihood whose lineshapes stand still does not know its phase-space sample\n fix: ask the one it was made from"
        )
    if likelihood.norm.rebuilt:
        likelihood = likelihood.in_double()  # events that are computed again are so in double precision
    evaluation, plan, engine = likelihood.evaluation, likelihood.plan, likelihood.engine
    c, theta = likelihood.parameters.native(x)
    floating = theta[evaluation.theta_order]
    n, n_c = len(x), plan.n_couplings
    size = n * n + 2 * n + 2 + 2 * n_c

    @in_turn
    def local() -> np.ndarray:
        sums = _local_sums(likelihood, c, floating)
        return np.zeros(size) if sums is None else sums.over_parameters(evaluation.pull_back.matrix(x, floating))

    row = likelihood.ranks.sum(size, local, b"simulation" + x.tobytes(), engine.device)
    if likelihood.norm.rebuilt:
        likelihood.resources.preparation.stage.release()
    scores, score, gradient, (total, squared), waves = np.split(row, np.cumsum([n * n, n, n, 2]))
    if not total > 0:
        raise DataError(f"the normalisation is {total:.6g} at these parameters\n fix: check them, and the weights of the phase space")
    d = gradient / total  # ∂ ln σ
    S = scores.reshape(n, n) + squared * np.outer(d, d) - np.outer(score, d) - np.outer(d, score)
    first, second = waves.reshape(2, n_c)
    sizes = np.where(second > 0, first**2 / np.where(second > 0, second, 1.0), 0.0)
    by_name = dict(zip(likelihood.coupling_names, sizes.tolist(), strict=True))
    effective = NormalisationSize(likelihood.samples.own["phase space"].total, float(total**2 / squared), by_name)
    return SimulationScatter((likelihood.weight / total) ** 2 * (S + S.T) / 2, (effective,))


def _local_sums(likelihood: Likelihood, c: np.ndarray, floating: np.ndarray) -> _Sums | None:
    """Sums over the events of this process; None if it has none."""
    engine, plan, source = likelihood.engine, likelihood.plan, likelihood.norm.events
    assert source is not None
    numbers = plan.iteration.values(floating)
    refresh = CallbackValues(plan, floating, engine.device)
    rows: list[Tensor] | None = None
    with closing(source.passing()) as passing:
        for sample in chain(source.resident, passing):
            refresh(sample, 1)
            engine.set_numbers(c, numbers)
            own = _rows_of(engine, sample, numbers)
            rows = own if rows is None else [row.add_(more) for row, more in zip(rows, own, strict=True)]
            del sample  # before the next one takes as much again
    if rows is None:
        return None
    gram, score, plain, totals, waves = (row.cpu().numpy() for row in rows)
    engine.set_numbers(c, numbers)
    return _Sums(
        score_products(engine.gram_of(gram), plan.n_couplings),
        engine.expansion(score, LOG, 1).gradient,
        engine.expansion(plain, PLAIN, 1).gradient,
        totals,
        waves.reshape(2, -1),
    )


def _rows_of(engine: Engine, sample: Sample, numbers: np.ndarray) -> list[Tensor]:
    """Rows of numbers that add up, on the device: what ``_Sums`` is made of."""
    plain = engine.sum_row(sample, PLAIN, 1)
    vI = sample.w * engine.intensities(sample)
    squared = _with_weights(sample, vI.square())
    rows = [engine.gram_row(squared, LOG), engine.sum_row(squared, LOG, 1), plain]
    return [*rows, torch.stack([vI.sum(), vI.square().sum()]), _wave_sums(engine, sample, numbers)]


def _with_weights(sample: Sample, w: Tensor) -> Sample:
    """A sample with these weights; events without any are left out, since ln I may not exist there."""
    if bool((w > 0).all()):
        return replace(sample, w=w, n_positive=sample.n_events)
    kept = torch.nonzero(w > 0)[:, 0]
    inputs = picked_inputs(sample.inputs, kept)
    return Sample(sample.K[..., kept].contiguous(), sample.E[:, kept].contiguous(), w[kept], len(kept), None, inputs)


def _wave_sums(engine: Engine, sample: Sample, numbers: np.ndarray) -> Tensor:
    """Σ v |A|² and Σ v² |A|⁴ of every coupling, one after the other; |A|² is a sum over rows."""
    n = engine.plan.n_couplings
    sums = torch.zeros(2, n, dtype=torch.float64, device=engine.device)
    for start, stop, columns in engine.raw_columns(sample, numbers, 4 * n * engine.plan.n_rows):
        amplitudes = columns.view(2, -1, engine.plan.n_rows, stop - start)[:, :n]
        weighted = sample.w[start:stop] * amplitudes.square().sum(dim=(0, 2))
        sums += torch.stack([weighted.sum(dim=1), weighted.square().sum(dim=1)])
    return sums.flatten()
