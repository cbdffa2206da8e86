"""What the finite phase-space sample does to a fit: how the gradient of W ln σ scatters with it, and how many of its events count.

    σ = Σ v I / Σ v,     d = ∂ ln I − ∂ ln σ,     S = (W / Σ v I)² Σ (v I)² d dᵀ,     N_eff = (Σ v I)² / Σ (v I)²

All sums come from one pass over the sample, over its own events if fixed lineshapes have made it one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
class _Pass:
    """A pass over the phase-space sample of a likelihood at one point.

    Attributes:
        likelihood:  whose events are summed over
        x:           its free parameters
        c:           couplings
        floating:    floating lineshape parameters
        numbers:     iteration numbers
    """

    likelihood: Likelihood
    x: np.ndarray
    c: np.ndarray
    floating: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, likelihood: Likelihood, x: np.ndarray) -> _Pass:
        """Events that are computed again are so in double precision."""
        if likelihood.norm.events is None:
            raise DataError(
                "a likelihood whose lineshapes stand still does not know its phase-space sample\n fix: ask the one it was made from"
            )
        own = likelihood.in_double() if likelihood.norm.rebuilt else likelihood
        c, theta = own.parameters.native(x)
        floating = theta[own.evaluation.theta_order]
        return cls(own, x, c, floating, own.plan.iteration.values(floating))

    def summed(self, rows_of: Callable[[Engine, Sample, np.ndarray], list[Tensor]]) -> list[np.ndarray] | None:
        """Rows of numbers of all samples of this process, added up; None if it has no events."""
        likelihood, engine, source = self.likelihood, self.likelihood.engine, self.likelihood.norm.events
        assert source is not None
        refresh = CallbackValues(likelihood.plan, self.floating, engine.device)
        rows: list[Tensor] | None = None
        with closing(source.passing()) as passing:
            for sample in chain(source.resident, passing):
                refresh(sample, 1)
                engine.set_numbers(self.c, self.numbers)
                own = rows_of(engine, sample, self.numbers)
                rows = own if rows is None else [row.add_(more) for row, more in zip(rows, own, strict=True)]
                del sample  # before the next one takes as much again
        engine.set_numbers(self.c, self.numbers)
        return None if rows is None else [row.cpu().numpy() for row in rows]

    def over_all_ranks(self, size: int, local: Callable[[], np.ndarray], key: bytes) -> np.ndarray:
        """The sum of what all processes have found."""
        found = self.likelihood.ranks.sum(size, in_turn(local), key + self.x.tobytes(), self.likelihood.engine.device)
        if self.likelihood.norm.rebuilt:
            self.likelihood.resources.preparation.stage.release()
        return found


def simulation_scatter(likelihood: Likelihood, x: np.ndarray) -> SimulationScatter:
    """See ``Likelihood.simulation_scatter``."""
    one = _Pass.of(likelihood, x)
    evaluation, n, n_c = one.likelihood.evaluation, len(x), one.likelihood.plan.n_couplings
    size = n * n + 2 * n + 2 + 2 * n_c

    def local() -> np.ndarray:
        rows = one.summed(_rows_of)
        if rows is None:
            return np.zeros(size)
        J = evaluation.pull_back.matrix(x, one.floating)
        return _over_parameters(one.likelihood.engine, rows, J)

    row = one.over_all_ranks(size, local, b"simulation")
    scores, score, gradient, sums = np.split(row, np.cumsum([n * n, n, n]))
    effective, total, squared = _size(likelihood, sums)
    d = gradient / total  # ∂ ln σ
    S = scores.reshape(n, n) + squared * np.outer(d, d) - np.outer(score, d) - np.outer(d, score)
    return SimulationScatter((likelihood.weight / total) ** 2 * (S + S.T) / 2, (effective,))


def normalisation_size(likelihood: Likelihood, x: np.ndarray) -> NormalisationSize:
    """See ``Likelihood.normalisation_size``."""
    one = _Pass.of(likelihood, x)
    n_c = one.likelihood.plan.n_couplings

    def local() -> np.ndarray:
        rows = one.summed(_size_rows)
        return np.zeros(2 + 2 * n_c) if rows is None else np.concatenate(rows)

    return _size(likelihood, one.over_all_ranks(2 + 2 * n_c, local, b"normalisation size"))[0]


def _size(likelihood: Likelihood, sums: np.ndarray) -> tuple[NormalisationSize, float, float]:
    """Effective sizes from what ``_size_rows`` has found in all events; and Σ v I and Σ (v I)²."""
    (total, squared), waves = sums[:2].tolist(), sums[2:]
    if not total > 0:
        raise DataError(f"the normalisation is {total:.6g} at these parameters\n fix: check them, and the weights of the phase space")
    first, second = waves.reshape(2, -1)
    sizes = np.where(second > 0, first**2 / np.where(second > 0, second, 1.0), 0.0)
    by_name = dict(zip(likelihood.coupling_names, sizes.tolist(), strict=True))
    return NormalisationSize(likelihood.samples.own["phase space"].total, total**2 / squared, by_name), total, squared


def _rows_of(engine: Engine, sample: Sample, numbers: np.ndarray) -> list[Tensor]:
    """Rows of numbers that add up, on the device: sums with derivatives, then those of ``_size_rows``."""
    squared = _with_weights(sample, (sample.w * engine.intensities(sample)).square())
    rows = [engine.gram_row(squared, LOG), engine.sum_row(squared, LOG, 1), engine.sum_row(sample, PLAIN, 1)]
    return [*rows, *_size_rows(engine, sample, numbers)]


def _over_parameters(engine: Engine, rows: list[np.ndarray], J: np.ndarray) -> np.ndarray:
    """Σ (v I)² (∂ ln I)(∂ ln I), Σ (v I)² ∂ ln I and Σ v ∂I over the free parameters, J = ∂(variables of the engine)/∂x; then the rest."""
    gram, logarithm, plain, *rest = rows
    scores = score_products(engine.gram_of(gram), engine.plan.n_couplings)
    score, gradient = engine.expansion(logarithm, LOG, 1).gradient, engine.expansion(plain, PLAIN, 1).gradient
    return np.concatenate([(J.T @ scores @ J).ravel(), score @ J, gradient @ J, *rest])


def _size_rows(engine: Engine, sample: Sample, numbers: np.ndarray) -> list[Tensor]:
    """Σ v I and Σ (v I)²; Σ v |A|² and Σ v² |A|⁴ of every coupling."""
    vI = sample.w * engine.intensities(sample)
    return [torch.stack([vI.sum(), vI.square().sum()]), _wave_sums(engine, sample, numbers)]


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
