"""The NLL at a point or at many: sums over the events of all samples, the normalisation, constraints, and derivatives of all of it.

NLL = −Σ ± w ln (I + Σ β b) + W ln σ + Σ_constraints ½ ((x − mean)/sigma)²,   ±: + for data, − for background that is subtracted

With added densities, what the mixture adds; see ``mixture.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log

import numpy as np

from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.batch import coupling_mix
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.expansion import NOTHING, Expansion
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.event_sums import begin_batches, begin_expansions, begin_many
from ctpwa.engine.likelihood.mixture import Mixture
from ctpwa.engine.likelihood.parts import FitSamples, Normalisation
from ctpwa.engine.likelihood.pull_back import PullBack
from ctpwa.engine.likelihood.rank_sums import RankTask, joined, pack, packed_size, unpack
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.engine.samples.stored_sample import SampleSource
from ctpwa.model.parameters import Parameters

Native = tuple[np.ndarray, np.ndarray]  # couplings and lineshape parameters
Sums = tuple[Expansion, Expansion]  # Σ ± w ln (I + Σ β b) of all events, and Σ w I of phase space
Group = tuple[SampleSource, int]  # a sample, and LOG or PLAIN
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
        mixture:      signal and added densities; None: there is only signal
        alone:        whether one process has all events
    """

    engine: Engine
    parameters: Parameters
    samples: FitSamples
    norm: Normalisation
    constraints: Mapping[str, tuple[float, float]]
    mixture: Mixture | None = None
    alone: bool = True

    @cached_property
    def theta_order(self) -> np.ndarray:
        """Where the plan's floating parameters are among all real parameters."""
        return self._order(self.engine.plan.parameters)

    @cached_property
    def mixed_order(self) -> np.ndarray:
        """Where those of the mixture are."""
        return self._order(() if self.mixture is None else self.mixture.parameters)

    def _order(self, names: Sequence[str]) -> np.ndarray:
        return np.array([self.parameters.theta_names.index(name) for name in names], dtype=np.int64)

    @cached_property
    def pull_back(self) -> PullBack:
        """From derivatives over the engine's variables to those over free parameters."""
        return PullBack(self.engine.plan, self.parameters, self.theta_order, self.mixed_order)

    def task(self, x: np.ndarray, order: int) -> RankTask:
        """NLL, gradient and Hessian at ``x``, up to ``order``."""
        native, source = self.parameters.native(x), self.norm.source
        if self.mixture is None or isinstance(source, Collapsed) or self._in_one_go:
            return self._sums_task(native, order, lambda sums: self._complete(x, native[1], order, *sums))
        return self.norm_task(native, order, lambda norm: self._mixed_task(x, native, order, norm))

    @cached_property
    def _in_one_go(self) -> bool:
        """Whether the engine can complete β, which hold σ, because it has all events."""
        return self.alone and not self._any_streams

    @cached_property
    def _any_streams(self) -> bool:
        return any(source.streams for source, _ in [*self._logarithms, *self._normalising])

    def norm_task(self, native: Native, order: int, finish: Callable[[Expansion], object]) -> RankTask:
        """Σ w I of the normalisation, of which ``finish`` makes something."""
        plan, source = self.engine.plan, self.norm.source
        if isinstance(source, Collapsed):  # that of all events already
            norm = self._collapsed(native[0], order)
            return RankTask(lambda: norm, finish, 0, lambda _: NOTHING, lambda _: norm)
        n = plan.n_variables
        return RankTask(
            lambda: self._local(native, None, [(source, PLAIN)], order)[0],
            finish,
            packed_size(n, order),
            lambda norm: pack([norm], n, order),
            lambda row: unpack(row, n, order)[0],
        )

    def _mixed_task(self, x: np.ndarray, native: Native, order: int, norm: Expansion) -> RankTask:
        """The rest of an evaluation with added densities, whose β hold σ."""
        return self.logarithms_task(native, self._beta(native, norm), order, lambda V: self._complete(x, native[1], order, V, norm))

    def _beta(self, native: Native, norm: Expansion) -> np.ndarray:
        assert self.mixture is not None
        return self.mixture.beta(native[1][self.mixed_order], norm.value / self.norm.weight)

    def logarithms_task(self, native: Native, beta: np.ndarray, order: int, finish: Callable[[Expansion], object]) -> RankTask:
        """Σ ± w ln (I + Σ β b) of all events, of which ``finish`` makes something."""
        n = self.engine.plan.n_variables
        return RankTask(
            lambda: self._local_logarithms(native, beta, order),
            finish,
            packed_size(n, order),
            lambda V: pack([V], n, order),
            lambda row: unpack(row, n, order)[0],
        )

    def _sums_task(self, native: Native, order: int, finish: Callable[[Sums], object]) -> RankTask:
        """The sums over all samples, of which ``finish`` makes something."""
        n = self.engine.plan.n_variables
        summed = 1 if isinstance(self.norm.source, Collapsed) else 2

        def whole(row: np.ndarray) -> Sums:
            found = unpack(row, n, order)
            return found[0], found[1] if summed == 2 else self._collapsed(native[0], order)

        size = summed * packed_size(n, order)
        return RankTask(lambda: self.local_sums(native, order), finish, size, lambda sums: pack(sums[:summed], n, order), whole)

    @in_turn
    def local_sums(self, native: Native, order: int) -> Sums:
        """Both sums over (Re c, Im c, floating p, β), of the events of this process."""
        if not isinstance(self.norm.source, Collapsed):
            return self._sums_of_both(native, order)
        if self.mixture is None:
            wait = self._begin(native, None, self._logarithms, order)
            norm = self._collapsed(native[0], order)  # while the device computes
        else:  # β hold σ, which is known at once
            beta = self._beta(native, self._collapsed(native[0], 0))
            wait = self._begin(native, beta, self._logarithms, order)
            norm = self._collapsed(native[0], order)
            self.mixture.expect(native[1][self.mixed_order])
        return self._signed(wait()), norm

    def _sums_of_both(self, native: Native, order: int) -> Sums:
        """Both sums in one go."""
        beta = self._relative_beta(native[1])
        wait = self._begin(native, beta, [*self._normalising, *self._logarithms], order, relative=beta is not None)
        if self.mixture is not None:
            self.mixture.expect(native[1][self.mixed_order])  # while the device computes
        norm, *logarithms = wait()
        return self._signed(logarithms), norm

    def _relative_beta(self, theta: np.ndarray) -> np.ndarray | None:
        """β/Σ w I of every added density."""
        return None if self.mixture is None else self.mixture.relative_beta(theta[self.mixed_order]) / self.norm.weight

    @in_turn
    def _local_logarithms(self, native: Native, beta: np.ndarray, order: int) -> Expansion:
        return self._signed(self._begin(native, beta, self._logarithms, order)())

    @in_turn
    def _local(self, native: Native, beta: np.ndarray | None, groups: Sequence[Group], order: int) -> list[Expansion]:
        return self._begin(native, beta, groups, order)()

    def _begin(
        self, native: Native, beta: np.ndarray | None, groups: Sequence[Group], order: int, *, relative: bool = False
    ) -> Callable[[], list[Expansion]]:
        plan, floating = self.engine.plan, native[1][self.theta_order]
        refresh, numbers = CallbackValues(plan, floating, self.engine.device), plan.numbers(floating, beta)
        return begin_expansions(self.engine, groups, native[0], numbers, order, refresh, plan.n_variables, relative=relative)

    @cached_property
    def _logarithms(self) -> list[Group]:
        return [(source, LOG) for _, source in self.samples.summed]

    @cached_property
    def _normalising(self) -> list[Group]:
        """The phase-space sample, unless it has become a matrix."""
        return [] if isinstance(self.norm.source, Collapsed) else [(self.norm.source, PLAIN)]

    def _signed(self, found: Sequence[Expansion]) -> Expansion:
        """Sums over several samples as one, each with its factor; the first is that of the data, 1."""
        first, *rest = found
        value, gradient, H = first.value, first.gradient, first.hessian
        for (factor, _), other in zip(self.samples.summed[1:], rest, strict=True):
            value, gradient, H = value + factor * other.value, gradient + factor * other.gradient, H + factor * other.hessian
        return Expansion(value, gradient, H)

    def _collapsed(self, c: np.ndarray, order: int) -> Expansion:
        """The normalisation that is one matrix."""
        source, plan = self.norm.source, self.engine.plan
        assert isinstance(source, Collapsed)
        return source.expand(c, order, plan.n_variables - 2 * plan.n_couplings)

    def _complete(self, x: np.ndarray, theta: np.ndarray, order: int, V: Expansion, norm: Expansion) -> Found:
        if self.mixture is None:
            value, grad, H = self._combine(V, norm, order)
        else:
            value, grad, H = self.mixture.combine(V, self.samples.summed_weight, norm, self.norm.weight, theta[self.mixed_order], order)
        if order == 1:
            grad = self.pull_back.gradient(x, theta[self.theta_order], grad)
        elif order == 2:
            grad, H = self.pull_back.gradient_and_hessian(x, theta[self.theta_order], grad, H)
        return self._add_constraints(x, value, grad, H)

    def _combine(self, V: Expansion, norm: Expansion, order: int) -> Found:
        W = self.samples.weight
        value = -V.value + W * (log(norm.value) - log(self.norm.weight)) if norm.value > 0 else np.nan
        grad, H = V.gradient, V.hessian
        if order >= 1:
            relative = norm.gradient / norm.value
            grad = W * relative - V.gradient
        if order >= 2:
            H = W * (norm.hessian / norm.value - np.outer(relative, relative)) - V.hessian
        return float(value), grad, H

    def score_chain(self, x: np.ndarray, native: Native, norm: Expansion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What makes ∂ ln p/∂x of an event from ∂ ln (I + Σ β b) over (Re c, Im c, floating p, β): the latter times J, minus d.

        Args:
            x:       the free parameters
            native:  couplings and real parameters there
            norm:    Σ w I of the normalisation, to first order

        Returns:
            the numbers of the engine, J, and d
        """
        plan, theta = self.engine.plan, native[1][self.theta_order]
        own = self.pull_back.matrix(x, theta)
        relative = norm.gradient[: plan.n_variables - plan.n_added] / norm.value
        if self.mixture is None:
            return plan.numbers(theta), own, relative @ own
        m, sigma = native[1][self.mixed_order], norm.value / self.norm.weight
        outside = np.concatenate([relative, -self.mixture.slope_of_signal(m)])
        return plan.numbers(theta, self.mixture.beta(m, sigma)), self.mixture.chain(m, sigma, relative) @ own, outside @ own

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
        if order == 1 and len(x) and self._takes_many:
            return self._many_task(x)
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

    @property
    def _takes_many(self) -> bool:
        """Whether vectors with different lineshapes share their passes over the events."""
        simple = not isinstance(self.norm.source, Collapsed) and (self.alone or self.mixture is None)
        return simple and self.engine.takes_many and not self._any_streams

    def _many_task(self, x: np.ndarray) -> RankTask:
        """Values and gradients of a batch with one pass over the events for some vectors at a time."""
        n = self.engine.plan.n_variables
        natives = [self.parameters.native(row) for row in x]

        def whole(row: np.ndarray) -> list[Sums]:
            found = unpack(row, n, 1)
            return list(zip(found[::2], found[1::2], strict=True))

        def finish(found: Sequence[Sums]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            rows = zip(x, natives, found, strict=True)
            return _stacked([self._complete(row, native[1], 1, *sums) for row, native, sums in rows], x, 1)

        size = 2 * len(x) * packed_size(n, 1)
        return RankTask(lambda: self._local_many(natives), finish, size, lambda found: pack([*chain(*found)], n, 1), whole)

    @in_turn
    def _local_many(self, natives: Sequence[Native]) -> list[Sums]:
        """Both sums for many vectors, of the events of this process."""
        plan = self.engine.plan
        c = np.array([c for c, _ in natives])
        p = np.array([plan.numbers(theta[self.theta_order], self._relative_beta(theta)) for _, theta in natives])
        groups = [*self._normalising, *self._logarithms]
        wait = begin_many(self.engine, groups, c, p, plan.n_variables, relative=self.mixture is not None)
        return [(self._signed(logarithms), norm) for norm, *logarithms in wait()]

    def shares_passes(self, order: int) -> bool:
        """Whether the vectors of a batch share their passes over the events."""
        few = order < 2 or self.samples.n_summed <= self.engine.most_together
        simple = self.mixture is None and self.samples.resolution is None
        return isinstance(self.norm.source, Collapsed) and self.engine.shares_passes and few and simple

    @in_turn
    def _local_batch(self, x: np.ndarray, order: int) -> tuple[np.ndarray, Normalised]:
        """−Σ w ln I of every vector and its derivatives over (Re c, Im c), one row for each, with one pass for all; and σ of them."""
        plan = self.engine.plan
        mix = coupling_mix(self.parameters.couplings_of(x))
        _, theta = self.parameters.native(x[0])  # the same for all
        numbers = plan.iteration.values(theta[self.theta_order])
        begun = [(factor, begin_batches(self.engine, source, mix, numbers, order)) for factor, source in self.samples.summed]
        n_c = 2 * plan.n_couplings
        nothing = np.zeros((len(x), 1 + n_c + (n_c**2 if order == 2 else 0)))
        norm = self._collapsed_batch(x)  # while the device computes
        return sum((-factor * result() for factor, result in begun), nothing), norm

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
