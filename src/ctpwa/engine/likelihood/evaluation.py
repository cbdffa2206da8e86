"""The NLL at a point or at many: sums over the events of all samples, the normalisation, constraints, and derivatives of all of it.

NLL = −Σ_data w ln I + Σ_background w ln I + W ln σ + Σ_constraints ½ ((x − mean)/sigma)²
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.batch import coupling_mix
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.event_sums import begin_batches, begin_expansions
from ctpwa.engine.likelihood.parts import FitSamples, Normalisation
from ctpwa.engine.likelihood.pull_back import PullBack
from ctpwa.engine.likelihood.rank_sums import RankTask, joined, pack, packed_size, unpack
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.model.parameters import Parameters

Native = tuple[np.ndarray, np.ndarray]  # couplings and lineshape parameters
Sums = tuple[Expansion, Expansion, Expansion]  # of data, background and phase space
Normalised = tuple[np.ndarray, np.ndarray]  # σ of many vectors and its derivatives over (Re c, Im c)
Found = tuple[float, np.ndarray, np.ndarray]  # value, gradient and Hessian


@dataclass(frozen=True)
class Evaluation:
    """Computes one likelihood.

    Attributes:
        engine:       computes sums over samples
        parameters:   the free parameters
        samples:      data and background
        norm:         the normalisation
        constraints:  parameter name → (mean, standard deviation)
    """

    engine: Engine
    parameters: Parameters
    samples: FitSamples
    norm: Normalisation
    constraints: Mapping[str, tuple[float, float]]

    @cached_property
    def theta_order(self) -> np.ndarray:
        """Where the plan's floating parameters are among all lineshape parameters."""
        names = self.parameters.theta_names
        return np.array([names.index(name) for name in self.engine.plan.parameters], dtype=np.int64)

    @cached_property
    def pull_back(self) -> PullBack:
        """From derivatives over the engine's variables to those over free parameters."""
        return PullBack(self.engine.plan, self.parameters, self.theta_order)

    def task(self, x: np.ndarray, order: int) -> RankTask:
        """NLL, gradient and Hessian at ``x``, up to ``order``."""
        native = self.parameters.native(x)
        return self.sums_task(native, order, lambda sums: self._complete(x, native[1], order, sums))

    def sums_task(self, native: Native, order: int, finish: Callable[[Sums], object]) -> RankTask:
        """The sums over all samples, of which ``finish`` makes something."""
        plan = self.engine.plan
        n = 2 * plan.n_couplings + plan.n_floating
        summed = 2 if isinstance(self.norm.source, Collapsed) else 3  # a matrix is that of all events already

        def whole(row: np.ndarray) -> Sums:
            found = unpack(row, n, order) + self._collapsed(native[0], order)
            return found[0], found[1], found[2]

        size = summed * packed_size(n, order)
        return RankTask(lambda: self.local_sums(native, order), finish, size, lambda sums: pack(sums[:summed], n, order), whole)

    @in_turn
    def local_sums(self, native: Native, order: int) -> Sums:
        """Σ w ln I of data and background and Σ w I of phase space, over (Re c, Im c, floating p), of the events of this process."""
        plan, (c, theta) = self.engine.plan, native
        floating = theta[self.theta_order]
        groups = [(self.samples.data, LOG), (self.samples.background, LOG)]
        if not isinstance(self.norm.source, Collapsed):
            groups.append((self.norm.source, PLAIN))
        size = 2 * plan.n_couplings + plan.n_floating
        refresh = CallbackValues(plan, floating, self.engine.device)
        wait = begin_expansions(self.engine, groups, c, plan.iteration.values(floating), order, refresh, size)
        norm = self._collapsed(c, order)  # while the device computes
        found = wait() + norm
        return found[0], found[1], found[2]

    def _collapsed(self, c: np.ndarray, order: int) -> list[Expansion]:
        """The normalisation, if it is one matrix."""
        source = self.norm.source
        return [source.expand(c, order, self.engine.plan.n_floating)] if isinstance(source, Collapsed) else []

    def _complete(self, x: np.ndarray, theta: np.ndarray, order: int, sums: Sums) -> Found:
        value, grad, H = self._combine(*sums, order)
        if order == 1:
            grad = self.pull_back.gradient(x, theta[self.theta_order], grad)
        elif order == 2:
            grad, H = self.pull_back.gradient_and_hessian(x, theta[self.theta_order], grad, H)
        return self._add_constraints(x, value, grad, H)

    def _combine(self, data: Expansion, background: Expansion, norm: Expansion, order: int) -> Found:
        W, subtracts = self.samples.weight, self.samples.subtracts
        value = -data.value + background.value + W * (log(norm.value) - log(self.norm.weight)) if norm.value > 0 else np.nan
        grad, H = data.gradient, data.hessian
        if order >= 1:
            relative = norm.gradient / norm.value
            grad = W * relative - data.gradient
            if subtracts:
                grad += background.gradient
        if order >= 2:
            H = W * (norm.hessian / norm.value - np.outer(relative, relative)) - data.hessian
            if subtracts:
                H += background.hessian
        return float(value), grad, H

    def _add_constraints(self, x: np.ndarray, value: float, grad: np.ndarray, H: np.ndarray) -> Found:
        for name, (mean, sigma) in self.constraints.items():
            index = self._constrained[name]
            pull = ((self._held[name] if index is None else x[index]) - mean) / sigma
            value += pull**2 / 2
            if grad.size and index is not None:
                grad[index] += pull / sigma
            if H.size and index is not None:
                H[index, index] += 1 / sigma**2
        return value, grad, H

    @cached_property
    def _constrained(self) -> dict[str, int | None]:
        """Where constrained parameters are among the free ones; None for those that are fixed."""
        names = self.parameters.names
        return {name: names.index(name) if name in names else None for name in self.constraints}

    @cached_property
    def _held(self) -> dict[str, float]:
        return {p.name: p.value for p in self.parameters.all if p.fixed}

    # many points at once

    def batch_task(self, x: np.ndarray, order: int) -> RankTask:
        """Values, gradients and Hessians of a batch [vector, parameter]; one pass over the events for all vectors where that pays."""
        if not (order and len(x) and self.shares_passes(order)):
            return joined([self.task(row, order) for row in x], lambda results: _stacked(results, x, order))
        n_c = 2 * self.engine.plan.n_couplings
        size = len(x) * (1 + n_c + (n_c**2 if order == 2 else 0))
        return RankTask(
            lambda: self._local_batch(x, order),
            lambda found: self._finish_batch(x, found[0], found[1], order),
            size,
            lambda found: found[0].ravel(),
            lambda row: (row.reshape(len(x), -1), self._collapsed_batch(x)),
        )

    def shares_passes(self, order: int) -> bool:
        """Whether the vectors of a batch share their passes over the events."""
        few = order < 2 or self.samples.n_summed <= self.engine.most_together
        return isinstance(self.norm.source, Collapsed) and self.engine.shares_passes and few

    @in_turn
    def _local_batch(self, x: np.ndarray, order: int) -> tuple[np.ndarray, Normalised]:
        """−Σ w ln I of every vector and its derivatives over (Re c, Im c), one row for each, with one pass for all; and σ of them."""
        plan = self.engine.plan
        mix = coupling_mix(self.parameters.couplings_of(x))
        _, theta = self.parameters.native(x[0])  # the same for all
        numbers = plan.iteration.values(theta[self.theta_order])
        signed = ((-1.0, self.samples.data), (1.0, self.samples.background))
        begun = [(sign, begin_batches(self.engine, source, mix, numbers, order)) for sign, source in signed]
        n_c = 2 * plan.n_couplings
        nothing = np.zeros((len(x), 1 + n_c + (n_c**2 if order == 2 else 0)))
        norm = self._collapsed_batch(x)  # while the device computes
        return sum((sign * result() for sign, result in begun), nothing), norm

    def _collapsed_batch(self, x: np.ndarray) -> Normalised:
        assert isinstance(self.norm.source, Collapsed)
        return self.norm.source.expand_batch(self.parameters.couplings_of(x))

    def _finish_batch(self, x: np.ndarray, rows: np.ndarray, norm: Normalised, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        source, W, (sigma, d_sigma) = self.norm.source, self.samples.weight, norm
        assert isinstance(source, Collapsed)
        n_c = 2 * self.engine.plan.n_couplings
        relative = d_sigma / sigma[:, None]
        values = W * (np.log(sigma) - np.log(self.norm.weight)) + rows[:, 0]
        grads = W * relative + rows[:, 1 : 1 + n_c]
        H = np.zeros((len(x), 0, 0))
        if order == 2:
            H = (W / sigma)[:, None, None] * source.second
            H -= W * (relative[:, :, None] * relative[:, None, :])
            H += rows[:, 1 + n_c :].reshape(len(x), n_c, n_c)
        grads, H = self.pull_back.of_couplings(x, grads, H)
        for k, row in enumerate(x if self.constraints else ()):
            values[k], grads[k], H[k] = self._add_constraints(row, values[k], grads[k], H[k])
        return values, grads, H


def _stacked(results: Sequence[Found], x: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, gradients and Hessians of the rows of ``x`` as arrays."""
    n = x.shape[1] if order == 2 else 0
    values = np.array([value for value, _, _ in results])
    grads = np.array([grad for _, grad, _ in results]).reshape(x.shape if order else (len(x), 0))
    return values, grads, np.array([H for _, _, H in results]).reshape(len(x), n, n)
