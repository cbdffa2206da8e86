"""The negative log-likelihood of a model and its samples, with exact gradient and Hessian.

NLL = −Σ_data w ln I + Σ_background w ln I + (Σ w_data − Σ w_background) ln σ + constraints,   σ = Σ_phsp w I / Σ_phsp w
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from copy import copy
from functools import partial
from itertools import chain
from math import log
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.base.ranks import Ranks, check_devices, current_ranks, threads_per_rank
from ctpwa.data.checks import is_positive_total
from ctpwa.engine.backends.batch import coupling_mix
from ctpwa.engine.backends.expansion import Expansion, score_products
from ctpwa.engine.backends.registry import all_backends, make_engine
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.event_sums import begin_batches, begin_expansions, intensities, squared_sums
from ctpwa.engine.likelihood.integrals import Integrator, WaveIntegrals
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum, advice, checked_vector
from ctpwa.engine.likelihood.pull_back import PullBack
from ctpwa.engine.likelihood.rank_sums import SharedTask, pack, packed_size, run_shared, unpack
from ctpwa.engine.likelihood.weight_sums import Totals
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.build import PROBE_EVENTS, CallbackValues, find_rotation
from ctpwa.engine.samples.memory_plan import Limits, MemoryPlan, plan_memory
from ctpwa.engine.samples.own_events import SampleInput, own_share
from ctpwa.engine.samples.precision import DOUBLE, MIXED, Rebuilt, checked_precision, planned
from ctpwa.engine.samples.prepare import Preparation
from ctpwa.engine.samples.stored_sample import SampleSource, StoredSample
from ctpwa.engine.samples.streamer import Streamer
from ctpwa.engine.samples.subsample import random_part_of
from ctpwa.model.couplings import WAVE, Ties, map_couplings
from ctpwa.model.model import Model
from ctpwa.model.parameters import CARTESIAN, Parameters


class Likelihood:
    """The likelihood of one data set; likelihoods add up with ``+``, sharing parameters by name.

    Args:
        model:           what is fitted
        data:            measured events; momenta by name, weights if it is an ``Events``; or files that ``open_events`` has opened,
                         which are read in pieces
        phase_space:     phase-space or accepted signal Monte Carlo events for the normalisation, with weights
        background:      events whose contribution is subtracted
        engine:          ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:          where to compute; default: a GPU if there is one
        representation:  couplings as ``cartesian`` (re, im) or ``polar`` (abs, phase) parameters
        reference_wave:  name of the coupling that is fixed to 1; default: the first
        couplings:       ``wave``: one complex number per coupling; ``vertex``: products of one number per vertex and (L, S)
        ties:            coupling → (other coupling, complex factor): it is factor times the other
        constraints:     parameter name → (mean, standard deviation) of a Gaussian
        limits:          parameter name → (lower, upper); fits stay between them
        device_memory:   bytes, or a size such as ``"4 GB"``, that prepared events may take on a GPU; what is left passes through it
                         in chunks, in every evaluation. Default: most of what is free there
        host_memory:     the same for main memory; what is left goes to disk. Default: most of what is free
        scratch:         folder for what goes to disk; default: that of the system for temporary files
        progress:        show progress bars; default: on a terminal when something takes more than two seconds
        ranks:           processes that share the events, each with its own part of every sample; default: those that torchrun
                         started, or this one alone
        precision:       ``double``; or ``mixed``: spin amplitudes are stored in single precision, everything is computed in double

    Attributes:
        ranks:   these processes; sums are over the events of all of them
        weight:  Σ w of data minus background
    """

    @in_turn
    def __init__(
        self,
        model: Model,
        data: SampleInput,
        phase_space: SampleInput,
        background: SampleInput | None = None,
        engine: str = "auto",
        device: str | torch.device | None = None,
        *,
        representation: str = CARTESIAN,
        reference_wave: str | None = None,
        couplings: str = WAVE,
        ties: Ties | None = None,
        constraints: Mapping[str, tuple[float, float]] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        device_memory: float | str | None = None,
        host_memory: float | str | None = None,
        scratch: str | None = None,
        progress: bool | None = None,
        ranks: Ranks | None = None,
        precision: str = DOUBLE,
    ) -> None:
        self.model = model
        self.precision = checked_precision(precision)
        memory_limits = Limits.read(device_memory, host_memory, scratch)
        self.ranks: Ranks = current_ranks() if ranks is None else ranks
        progress = progress if self.ranks.first else False
        channels = model_channels(model)
        samples = {"data": data, "phase space": phase_space} | ({} if background is None else {"background": background})
        shares = {name: own_share(name, sample, model, self.ranks) for name, sample in samples.items()}
        self._rows = {name: share.rows for name, share in shares.items()}
        first = self.ranks.together(lambda: [share.first(PROBE_EVENTS) for share in shares.values()])
        self._rotation = find_rotation(model, first, list(self._rows.values()), self.ranks)
        plan = planned(channels.plan(model, self._rotation.n_rows), self._rotation, precision)
        self.engine = make_engine(engine, plan, device)
        self.plan: Plan = self.engine.plan
        self.coupling_names = channels.couplings
        self.coupling_map = map_couplings(model, channels.couplings, couplings, ties or {}, reference_wave)
        self.parameters = Parameters(
            self.coupling_map.numbers,
            self.coupling_map.products,
            channels.theta,
            representation=representation,
            start_numbers=self.coupling_map.solve(channels.couplings, model.coupling_values),
            fixed_numbers=self.coupling_map.fixed,
            limits=limits,
        )
        self._distinct = {name: self._count_distinct(shares[name]) for name in ("data", "phase space")}
        self._theta_order = _theta_order(self.plan, [p.name for p in channels.theta])
        self._pull_back = PullBack(self.plan, self.parameters, self._theta_order)
        self.constraints = dict(constraints or {})
        self._check_constraints()
        self._check_ranks()
        counts = {name: rows.count for name, rows in self._rows.items()}
        separate = all_backends()[self.engine.name].own_memory(self.engine.device)
        self._memory = plan_memory(self.plan, counts, self.engine.device, memory_limits, separate=separate)
        self.streamer = Streamer(self.engine.device, separate)
        self.preparation = Preparation(model, self.plan, self._rotation, self.engine.device, self._memory, self.streamer)
        self._shares = shares if precision == MIXED else {}  # the momenta, for ``in_double``
        stored = self.ranks.together(lambda: self.preparation.stored(shares, progress))
        self.data: SampleSource = stored["data"]
        self.background: SampleSource = stored.get("background", StoredSample(self.streamer))
        self._n_summed = sum(rows.total for name, rows in self._rows.items() if name != "phase space")
        self.subtracts = "background" in self._rows and self._rows["background"].total > 0
        self._set_totals(stored["data"], stored.get("background"))
        if self.subtracts and self._totals.background <= 0:
            raise DataError(
                f"the weights of the background add up to {self._totals.background:.6g}\n"
                " fix: give positive weights; the background is subtracted"
            )
        self.phase_space: SampleSource | Collapsed
        self._fixed_integrals: WaveIntegrals | None = None
        if self.plan.collapses:
            pieces = self.preparation.exact_pieces(shares["phase space"], progress)
            self._fixed_integrals = Integrator(self.plan, self.engine).integrals(pieces, np.zeros(0), self.ranks)
            self._phsp_weight = self._fixed_integrals.weight
            self.phase_space = self._collapsed(self._fixed_integrals)
        else:
            self.phase_space = stored["phase space"]
            total = stored["phase space"].weights.total
            self._phsp_weight = float(self.ranks.sum(1, lambda: np.array([total]), b"phase space")[0])
            if self._phsp_weight <= 0:
                raise DataError(f"the weights of the phase-space sample add up to {self._phsp_weight:.6g}\n fix: check them")
        self.preparation.stage.release()

    # parameters

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return self.parameters.names

    @property
    def start(self) -> np.ndarray:
        """Start values of the free parameters."""
        return self.parameters.start

    # evaluation

    @in_turn
    def value(self, p: Any) -> Any:
        """NLL at the free parameters ``p``; an array for a batch [vector, parameter]."""
        x = self._vector(p)
        return np.array([value for value, _, _ in self._evaluate_all(x, 0)]) if x.ndim == 2 else self._evaluate(x, 0)[0]

    @in_turn
    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """NLL and its gradient; arrays [vector] and [vector, parameter] for a batch, which shares its passes over the events."""
        x = self._vector(p)
        if x.ndim == 1:
            value, grad, _ = self._evaluate(x, 1)
            return value, grad
        return self._batch(x, 1)[:2]

    def hessian(self, p: Any) -> np.ndarray:
        """Matrix of second derivatives of the NLL; [vector, parameter, parameter] for a batch."""
        return self.value_grad_hessian(p)[2]

    @in_turn
    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """NLL, gradient and Hessian in one go; arrays for a batch, as above."""
        x = self._vector(p)
        return self._batch(x, 2) if x.ndim == 2 else self._evaluate(x, 2)

    @in_turn
    def intensity(self, p: Any, sample: str = "data") -> Tensor:
        """I of every event of ``data``, ``background`` or ``phase space``, in the order of the input; with several ranks of this one's."""
        c, theta = self.parameters.native(self._vector(p))
        samples = {"data": self.data, "background": self.background, "phase space": self.phase_space}.get(sample)
        if samples is None or isinstance(samples, Collapsed):
            known = "data, background, phase space" if samples is None else "the phase-space sample was released: no resonance floats"
            raise DataError(f"no intensities of {sample!r}\n fix: {known}")
        if not isinstance(samples, StoredSample):
            raise DataError("no intensities of a likelihood that computes its samples anew\n fix: ask the one it was made from")
        floating = theta[self._theta_order]
        refresh = CallbackValues(self.plan, floating, self.engine.device)
        return intensities(self.engine, samples, c, self.plan.iteration.values(floating), refresh)

    # what a fit needs besides

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper limits of the free parameters, [parameter, 2]."""
        return self.parameters.bounds

    @property
    def rounding(self) -> float:
        """Differences of the NLL that are lost in rounding."""
        return 4 * float(np.finfo(float).eps) * self._totals.absolute

    @property
    def weighted(self) -> bool:
        """Whether events have other weights than 1, or background is subtracted: then the covariance needs ``score_products``."""
        return self.subtracts or self._totals.unequal > 0

    @property
    def n_events(self) -> int:
        """Measured events."""
        return self._rows["data"].total

    def distinct_events(self, sample: str) -> int:
        """Different events of ``data`` or ``phase space``, counted to the number of free parameters; of several ranks an upper limit."""
        return self._distinct[sample]

    @property
    def weight_variance(self) -> float:
        """Σ w² over data and background: the variance of ``weight``."""
        return self._totals.squared

    @property
    def unit(self) -> float:
        """Twice what one standard deviation adds to the NLL, Σ w² / Σ w: 1 without weights, and as large as they are."""
        return self.weight_variance / self.weight

    @property
    def coupling_index(self) -> np.ndarray:
        """Which of the free parameters belong to couplings; the others belong to lineshapes."""
        return np.array([i for i, name in enumerate(self.names) if name not in self.parameters.theta_names], dtype=np.int64)

    @property
    def floating_order(self) -> np.ndarray:
        """Where the floating lineshape parameters stand among all of them."""
        return self._theta_order

    @in_turn
    def score_products(self, p: Any) -> np.ndarray:
        """Σ w² (∂ ln(I/σ))(∂ ln(I/σ)) over data and background: how the gradient scatters from one experiment to the next.

        The mean of a constraint is a measurement as well, and adds its 1/σ².
        """
        x = self._vector(p)
        c, theta = self.parameters.native(x)
        floating = theta[self._theta_order]
        numbers = self.plan.iteration.values(floating)
        norm = self._all_expansions(x, 1)[2]
        d_norm = self._pull_back.gradient(x, floating, norm.gradient) / norm.value
        n = len(x)

        def local() -> np.ndarray:
            sums = np.zeros(n * n + n)
            J = self._pull_back.matrix(x, floating)
            refresh = CallbackValues(self.plan, floating, self.engine.device)
            for source in (self.data, self.background):
                found = squared_sums(self.engine, source, c, numbers, refresh)
                if found is not None:
                    products = J.T @ score_products(found[0], self.plan.n_couplings) @ J
                    sums += np.concatenate([products.ravel(), found[1].gradient @ J])
            return sums

        sums = self.ranks.sum(n * n + n, local, b"scores" + x.tobytes(), self.engine.device)
        S, s, total = sums[: n * n].reshape(n, n).copy(), sums[n * n :], self._totals.squared
        S += total * np.outer(d_norm, d_norm) - np.outer(s, d_norm) - np.outer(d_norm, s)
        for name, (_, sigma) in self.constraints.items():
            index = self.names.index(name)
            S[index, index] += 1 / sigma**2
        return S

    @in_turn
    def integrals(self, p: Any, truth: SampleInput | None = None) -> WaveIntegrals:
        """Integrals of products of waves over the phase-space sample, or over another one.

        Args:
            p:      the free parameters
            truth:  events to integrate over instead, such as phase space before acceptance
        """
        _, theta = self.parameters.native(self._vector(p))
        if truth is None and isinstance(self.phase_space, Collapsed):
            assert self._fixed_integrals is not None
            return self._fixed_integrals
        if truth is None:
            return self._integrals_at(theta)
        pieces = self.preparation.exact_pieces(own_share("truth", truth, self.model, self.ranks))
        found = Integrator(self.plan, self.engine).integrals(pieces, theta[self._theta_order], self.ranks, "truth")
        self.preparation.stage.release()
        return found

    def check_truth(self, truth: SampleInput) -> None:
        """Refuse events that ``integrals`` could not use, before anything takes time; weights in files are looked at when they are read."""
        share = own_share("truth", truth, self.model, self.ranks)
        total = self.ranks.sum(1, lambda: np.array([share.rows.count if share.weights is None else float(share.weights.sum())]), b"truth")
        if not share.rows.total or total[0] <= 0:
            raise DataError("truth: there are no events, or their weights do not add up to more than 0\n fix: check the sample")

    @in_turn
    def coarse(self, p: Any, n_events: int, seed: int = 0) -> Likelihood:
        """A quick likelihood for the search of starts: part of the data, and a normalisation whose lineshapes stand still at ``p``.

        Args:
            p:         the free parameters
            n_events:  about how many measured events to keep; their weights make up for the others
            seed:      which ones
        """
        _, theta = self.parameters.native(self._vector(p))
        share = min(1.0, n_events / max(self.n_events, 1))
        part = copy(self)
        data = self._random_part("data", self.data, share, seed)
        background = self._random_part("background", self.background, share, seed + 1)
        part.data, part.background = data, background
        part._n_summed = round(share * self._n_summed)
        part._set_totals(data, background)
        part.phase_space = self._collapse_at(theta)
        return part

    def random_couplings(self, p: Any, n: int, seed: int = 0) -> np.ndarray:
        """Points [vector, parameter] with couplings of random size and phase, all waves about equally strong; the rest as at ``p``."""
        x = self._vector(p)
        integrals = self.integrals(x)
        share = np.zeros(self.plan.n_couplings)
        np.add.at(share, integrals.coupling, np.diag(integrals.matrix).real)
        typical = 1 / np.sqrt(np.where(share > 0, share, 1.0))
        rng = np.random.default_rng(seed)
        return np.array([self.parameters.random_numbers(x, typical, rng) for _ in range(n)]).reshape(n, len(x))

    def memory(self) -> MemoryPlan:
        """Bytes per event and in all."""
        return self._memory

    def __add__(self, other: Likelihood | LikelihoodSum) -> LikelihoodSum:
        return LikelihoodSum([self]) + other

    @in_turn
    def in_double(self) -> Likelihood:
        """The same likelihood with spin amplitudes in double precision; they are computed anew, in chunks, in every evaluation."""
        if self.precision == DOUBLE:
            return self
        exact = copy(self)
        exact.precision = DOUBLE
        exact.engine = make_engine(self.engine.name, self.plan, self.engine.device)
        rebuilt = {name: Rebuilt(partial(self.preparation.exact_pieces, share)) for name, share in self._shares.items()}
        exact.data, exact.background = rebuilt["data"], rebuilt.get("background", StoredSample(self.streamer))
        exact.phase_space = self.phase_space if isinstance(self.phase_space, Collapsed) else rebuilt["phase space"]
        return exact

    def _random_part(self, name: str, source: SampleSource, share: float, seed: int) -> StoredSample:
        """A share of the events of a sample, on the device."""
        if not isinstance(source, StoredSample):
            raise DataError("no part of a likelihood that computes its samples anew\n fix: take it of the one it was made from")
        if name not in self._rows:
            return StoredSample(self.streamer)
        part = random_part_of(source.wherever(), self._rows[name], share, seed, self.engine.device)
        return StoredSample.on_device([] if part is None else [part], self.streamer)

    def _set_totals(self, data: StoredSample, background: StoredSample | None) -> None:
        """Sums over weights, and whether they make sense."""
        self._totals = Totals.of(data.weights, None if background is None else background.weights, self.ranks)
        self.weight = self._totals.data - self._totals.background
        if not is_positive_total(self.weight, self._totals.absolute):
            what, fix = ("data minus the background", "the scale of the background weights") if self.subtracts else ("data", "them")
            raise DataError(f"the weights of the {what} add up to {self.weight:.6g}\n fix: check {fix}")

    def _vector(self, p: Any) -> np.ndarray:
        return checked_vector(p, len(self.names))

    def shared_task(self, x: np.ndarray, order: int) -> SharedTask:
        """NLL, gradient and Hessian at ``x``, for all ranks to compute together."""
        return self._shared_expansions(x, order, lambda found: self._complete(x, self.parameters.native(x)[1], order, found))

    def shared_batch_task(self, x: np.ndarray, order: int) -> SharedTask:
        """Values and derivatives of a batch [vector, parameter], for all ranks to compute together."""
        if self._can_share_passes(order) and len(x):
            n_c = 2 * self.plan.n_couplings
            size = len(x) * (1 + n_c + (n_c**2 if order == 2 else 0))
            return SharedTask(size, lambda: self._begin_batch(x, order)().ravel(), lambda sums: self._finish_batch(x, lambda: sums, order))
        tasks = [self.shared_task(row, order) for row in x]

        def finish(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            parts = np.split(sums, len(tasks)) if tasks else []
            return _stacked([task.finish(part) for task, part in zip(tasks, parts, strict=True)], x, order)

        return SharedTask(sum(t.size for t in tasks), lambda: np.concatenate([t.local() for t in tasks] or [np.zeros(0)]), finish)

    def _shared_expansions(self, x: np.ndarray, order: int, finish: Callable[[tuple[Expansion, Expansion, Expansion]], Any]) -> SharedTask:
        n = 2 * self.plan.n_couplings + self.plan.n_floating
        summed = 2 if isinstance(self.phase_space, Collapsed) else 3  # a matrix is that of all events already

        def local() -> np.ndarray:
            return pack(self._expansions(*self.parameters.native(x), order)[:summed], n, order)

        def complete(row: np.ndarray) -> Any:
            found = unpack(row, n, order) + self._collapsed_norm(self.parameters.native(x)[0], order)
            return finish((found[0], found[1], found[2]))

        return SharedTask(summed * packed_size(n, order), local, complete)

    def _run(self, task: SharedTask, x: np.ndarray) -> Any:
        return run_shared(self.ranks, [task], x.tobytes(), self.engine.device)[0]

    def _all_expansions(self, x: np.ndarray, order: int) -> tuple[Expansion, Expansion, Expansion]:
        if self.ranks.size > 1:
            return self._run(self._shared_expansions(x, order, lambda found: found), x)
        return self._expansions(*self.parameters.native(x), order)

    def _evaluate_all(self, x: np.ndarray, order: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
        if self.ranks.size > 1 and len(x):
            return run_shared(self.ranks, [self.shared_task(row, order) for row in x], x.tobytes(), self.engine.device)
        return [self._evaluate(row, order) for row in x]

    def _evaluate(self, x: np.ndarray, order: int) -> tuple[float, np.ndarray, np.ndarray]:
        if self.ranks.size > 1:
            return self._run(self.shared_task(x, order), x)
        c, theta = self.parameters.native(x)
        return self._complete(x, theta, order, self._expansions(c, theta, order))

    def _complete(
        self, x: np.ndarray, theta: np.ndarray, order: int, expansions: tuple[Expansion, Expansion, Expansion]
    ) -> tuple[float, np.ndarray, np.ndarray]:
        value, grad, H = self._combine(*expansions, order)
        if order == 1:
            grad = self._pull_back.gradient(x, theta[self._theta_order], grad)
        elif order == 2:
            grad, H = self._pull_back.gradient_and_hessian(x, theta[self._theta_order], grad, H)
        return self._add_constraints(x, value, grad, H)

    def _expansions(self, c: np.ndarray, theta: np.ndarray, order: int) -> tuple[Expansion, Expansion, Expansion]:
        """Σ w ln I of data and background and Σ w I of phase space, over (Re c, Im c, floating p)."""
        floating = theta[self._theta_order]
        groups = [(self.data, LOG), (self.background, LOG)]
        if not isinstance(self.phase_space, Collapsed):
            groups.append((self.phase_space, PLAIN))
        size = 2 * self.plan.n_couplings + self.plan.n_floating
        refresh = CallbackValues(self.plan, floating, self.engine.device)
        wait = begin_expansions(self.engine, groups, c, self.plan.iteration.values(floating), order, refresh, size)
        norm = self._collapsed_norm(c, order)
        found = wait() + norm
        return found[0], found[1], found[2]

    def _collapsed_norm(self, c: np.ndarray, order: int) -> list[Expansion]:
        """The normalisation, if it is one matrix."""
        return [self.phase_space.expand(c, order, self.plan.n_floating)] if isinstance(self.phase_space, Collapsed) else []

    def _combine(self, data: Expansion, background: Expansion, norm: Expansion, order: int) -> tuple[float, np.ndarray, np.ndarray]:
        W = self.weight
        value = -data.value + background.value + W * (log(norm.value) - log(self._phsp_weight)) if norm.value > 0 else np.nan
        grad, H = data.gradient, data.hessian
        if order >= 1:
            relative = norm.gradient / norm.value
            grad = W * relative - data.gradient
            if self.subtracts:
                grad += background.gradient
        if order >= 2:
            H = W * (norm.hessian / norm.value - np.outer(relative, relative)) - data.hessian
            if self.subtracts:
                H += background.hessian
        return float(value), grad, H

    def _add_constraints(self, x: np.ndarray, value: float, grad: np.ndarray, H: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        for name, (mean, sigma) in self.constraints.items():
            index = self.names.index(name)
            pull = (x[index] - mean) / sigma
            value += pull**2 / 2
            if grad.size:
                grad[index] += pull / sigma
            if H.size:
                H[index, index] += 1 / sigma**2
        return value, grad, H

    def _batch(self, x: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.ranks.size > 1:
            return self._run(self.shared_batch_task(x, order), x)
        if self._can_share_passes(order) and len(x):
            return self._finish_batch(x, self._begin_batch(x, order), order)
        return _stacked([self._evaluate(row, order) for row in x], x, order)

    def _can_share_passes(self, order: int) -> bool:
        few = order < 2 or self._n_summed <= self.engine.most_together
        return isinstance(self.phase_space, Collapsed) and self.engine.shares_passes and few

    def _begin_batch(self, x: np.ndarray, order: int) -> Callable[[], np.ndarray]:
        """Begin the sums over the events for many couplings, one pass for all.

        What is returned waits for −Σ w ln I of every vector and its derivatives over (Re c, Im c), one row for each.
        """
        mix = coupling_mix(self.parameters.couplings_of(x))
        _, theta = self.parameters.native(x[0])  # the same for all
        numbers = self.plan.iteration.values(theta[self._theta_order])
        signed = ((-1.0, self.data), (1.0, self.background))
        begun = [(sign, begin_batches(self.engine, source, mix, numbers, order)) for sign, source in signed]
        n_c = 2 * self.plan.n_couplings
        nothing = np.zeros((len(x), 1 + n_c + (n_c**2 if order == 2 else 0)))
        return lambda: sum((sign * result() for sign, result in begun), nothing)

    def _finish_batch(self, x: np.ndarray, wait: Callable[[], np.ndarray], order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values and derivatives of a batch."""
        assert isinstance(self.phase_space, Collapsed)
        n_c = 2 * self.plan.n_couplings
        sigma, d_sigma = self.phase_space.expand_batch(self.parameters.couplings_of(x))
        relative = d_sigma / sigma[:, None]
        rows = wait().reshape(len(x), -1)
        values = self.weight * (np.log(sigma) - np.log(self._phsp_weight)) + rows[:, 0]
        grads = self.weight * relative + rows[:, 1 : 1 + n_c]
        H = np.zeros((len(x), 0, 0))
        if order == 2:
            H = (self.weight / sigma)[:, None, None] * self.phase_space.second
            H -= self.weight * (relative[:, :, None] * relative[:, None, :])
            H += rows[:, 1 + n_c :].reshape(len(x), n_c, n_c)
        grads, H = self._pull_back.of_couplings(x, grads, H)
        for k, row in enumerate(x if self.constraints else ()):
            values[k], grads[k], H[k] = self._add_constraints(row, values[k], grads[k], H[k])
        return values, grads, H

    # construction

    def _check_ranks(self) -> None:
        """Refuse ranks that do not compute the same, before they wait for each other."""
        if self.ranks.size == 1:
            return
        about = [
            str(self.model),
            self.names,
            self.coupling_names,
            self.start.tolist(),
            self.bounds.tolist(),
            sorted(self.constraints.items()),
        ]
        total = [(name, rows.total) for name, rows in self._rows.items()]
        fix = "use the same model, samples and options on all ranks"
        self.ranks.check_same("model", repr((about, total, self.plan.n_rows, self.engine.name, self.precision)), fix)
        check_devices(self.ranks, self.engine.device)
        use_threads = all_backends()[self.engine.name].use_threads
        if use_threads is not None:
            use_threads(threads_per_rank())

    def _count_distinct(self, share: Share) -> int:
        count = self.ranks.together(lambda: share.distinct(len(self.names)))
        return int(self.ranks.sum(1, lambda: np.array([float(count)]), b"distinct")[0])

    def _check_constraints(self) -> None:
        for name, pair in self.constraints.items():
            if name not in self.names:
                raise PhysicsError(f"constraint on {name!r}, which is not a free parameter", advice(name, self))
            if len(pair) != 2 or not np.all(np.isfinite(pair)) or pair[1] <= 0:
                raise PhysicsError(f"constraint on {name!r} is {pair!r}", "give (mean, standard deviation > 0)")

    def _collapsed(self, integrals: WaveIntegrals) -> Collapsed:
        """Waves that share a coupling added up."""
        adding = np.zeros((self.plan.n_couplings, len(integrals.coupling)))
        adding[integrals.coupling, np.arange(len(integrals.coupling))] = 1.0
        return Collapsed(self._phsp_weight * adding @ integrals.matrix @ adding.T)

    def _collapse_at(self, theta: np.ndarray) -> Collapsed:
        """The normalisation with lineshapes that stand still at ``theta``."""
        if isinstance(self.phase_space, Collapsed):
            return self.phase_space
        return self._collapsed(self._integrals_at(theta))

    def _integrals_at(self, theta: np.ndarray) -> WaveIntegrals:
        """Integrals over the phase-space sample, which is there."""
        source = self.phase_space
        assert not isinstance(source, Collapsed)
        with closing(source.passing()) as passing:
            samples = chain(source.resident, passing)
            return Integrator(self.plan, self.engine).integrals(samples, theta[self._theta_order], self.ranks)


def _theta_order(plan: Plan, names: Sequence[str]) -> np.ndarray:
    """Where the plan's floating parameters stand among all lineshape parameters."""
    return np.array([names.index(name) for name in plan.parameters], dtype=np.int64)


def _stacked(
    results: Sequence[tuple[float, np.ndarray, np.ndarray]], x: np.ndarray, order: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, gradients and Hessians of the rows of ``x`` as arrays."""
    n = x.shape[1] if order == 2 else 0
    values = np.array([value for value, _, _ in results])
    grads = np.array([grad for _, grad, _ in results]).reshape(x.shape)
    return values, grads, np.array([H for _, _, H in results]).reshape(len(x), n, n)
