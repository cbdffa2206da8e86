"""The CPU engine: generated Numba kernels for the sums, BLAS for the Gram matrices of the Hessian."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

import numba
import numpy as np
import torch

from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.batch import batch_sums, weigh
from ctpwa.engine.backends.cpu.source import KERNELS, cpu_source
from ctpwa.engine.backends.cpu.threads import ThreadedKernel
from ctpwa.engine.backends.engine import Task
from ctpwa.engine.backends.expansion import Expansion, from_row
from ctpwa.engine.backends.gram import Gram, ScaledGramAccumulator, gram_from_row
from ctpwa.engine.backends.points import log_gram_row, log_row, two_passes
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.codegen.machine_code import code_path
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG, PLAIN, ChannelSums, Tables
from ctpwa.engine.samples.sample import Sample
from ctpwa.spin.storage import SINGLE

BLOCK = 256  # events; F of 33 channels takes 135 kB, inside the second-level cache
GRAM_CHUNK = 4096  # events per matrix product
BATCH_NUMBERS = 1 << 19  # that go with a chunk of a batch


class CpuEngine:
    """Sums over samples in main memory.

    Args:
        plan:  what to compute
    """

    name = "cpu"
    shares_passes = True
    most_together: float = inf

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tables = Tables(plan)
        self.device = torch.device("cpu")
        self._module = load_generated("cpu", cpu_source(plan, BLOCK))
        self._kernels = {name: ThreadedKernel(getattr(self._module, name), code_path(self._module, name)) for name in KERNELS}
        self._present = np.zeros(0), np.zeros(0)

    def __reduce__(self) -> tuple[type[CpuEngine], tuple[Plan]]:
        """Pickled without its kernels, which are generated again."""
        return CpuEngine, (self.plan,)

    @in_turn
    def prepare(self) -> None:
        """Compile all kernels, or get them from disk, using one event that stands for any."""
        plan = self.plan
        dtype = torch.float64 if plan.real else torch.complex128
        K = torch.ones(plan.n_structures, plan.n_rows, 1, dtype=dtype if plan.exponents is None else SINGLE[dtype])
        one = torch.ones(1, dtype=torch.float64)
        sample = Sample(K, torch.ones(plan.n_event_rows, 1, dtype=torch.float64), one, 1, None, {})
        c, p = np.ones(plan.n_couplings, dtype=complex), np.ones(len(plan.p) + plan.n_added)
        with np.errstate(all="ignore"):  # formulas may not exist at these numbers
            for mode in (LOG, PLAIN):
                for order in (0, 1):
                    self.sums(sample, mode, c, p, order)
                self.evaluate([(sample, mode)], c, p, 2)
            self.intensity(sample, c, p)

    def _channel_arguments(self, c: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
        tables = self.tables
        channel_c = tables.channel_couplings(c)
        tabled = (tables.segment_range, tables.segment_channels, tables.segment_rows)
        return (*tabled, channel_c.real.copy(), channel_c.imag.copy(), tables.channel_p(p), self.plan.beta(p))

    def evaluate(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
        """Expansions of all tasks to the given order."""
        self.set_numbers(c, p)
        return [self.expansion(self.sum_row(sample, mode, order).numpy(), mode, order) for sample, mode in tasks]

    def begin(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> Callable[[], list[Expansion]]:
        """``evaluate``, when it is wanted."""
        return lambda: self.evaluate(tasks, c, p, order)

    def set_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        """The couplings and iteration numbers of what follows."""
        self._present = c, p

    def sum_row(self, sample: Sample, mode: int, order: int) -> torch.Tensor:
        """Sums of every channel, and to second order the Gram matrices after them."""
        if sample.v is not None:
            return log_row(self, sample, order)
        row = torch.from_numpy(self.sums(sample, mode, *self._present, order).row)
        return torch.cat([row, self.gram_row(sample, mode)]) if order >= 2 else row

    def expansion(self, row: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""
        return from_row(self.tables, row, self._present[0], mode, order)

    def gram_of(self, row: np.ndarray) -> Gram:
        """The Gram matrices of a row of sums."""
        return gram_from_row(row)

    def intensities(self, sample: Sample) -> torch.Tensor:
        """I of every point."""
        return self.intensity(sample, *self._present)

    def sums(self, sample: Sample, mode: int, c: np.ndarray, p: np.ndarray, order: int) -> ChannelSums:
        """One pass over a sample."""
        layout = self.tables.layouts[order]
        arrays = (sample.K.numpy(), sample.E.numpy(), sample.w.numpy())
        threads = _threads(sample.n_events)
        out = np.empty((threads, layout.length))
        self._kernels[f"sums_{order}"](threads, *arrays, mode, *self._channel_arguments(c, p), layout.offsets, out)
        return ChannelSums(out.sum(axis=0), layout)

    def gram_row(self, sample: Sample, mode: int) -> torch.Tensor:
        """Gram matrices of ∂ψ over a sample, as a row of numbers."""
        if sample.v is not None:
            return log_gram_row(self, sample)
        plan = self.plan
        total = ScaledGramAccumulator(plan.n_columns, self.device)
        arguments = self._column_arguments(*self._present)
        only_z = mode == LOG and plan.n_rows == 1 and not plan.n_added
        for start, stop in sample.chunks(self.gram_chunk(mode)):
            D, z = self._columns(sample, sample.w.numpy(), mode, start, stop - start, arguments)
            total.add(D[:0] if only_z else D, z, negative=start >= sample.n_positive)
        return total.sums.flatten()

    def point_sums(self, sample: Sample, order: int) -> torch.Tensor:
        """Sums of every channel for Σ w ln T: the points of an event are in one block."""
        k = sample.points_per_event
        if k > BLOCK:
            return two_passes(self, sample, order)
        row = self.sums(sample.weighted_points, k, *self._present, order).row
        row[0] += sample.log_point_weights
        return torch.from_numpy(row)

    def plain_row(self, sample: Sample, order: int) -> torch.Tensor:
        """Sums of every channel for Σ w I."""
        return torch.from_numpy(self.sums(sample, PLAIN, *self._present, order).row)

    def plain_columns(self, sample: Sample, start: int, n: int) -> torch.Tensor:
        """∂ψ times √|w| of some points [re | im · column, row · point]."""
        return self._columns(sample, sample.w.numpy(), PLAIN, start, n, self._column_arguments(*self._present))[0]

    def present(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Couplings and β."""
        c, p = self._present
        return torch.from_numpy(c), torch.from_numpy(self.plan.beta(p))

    def gram_chunk(self, mode: int) -> int:
        """How many points a matrix product takes at a time."""
        return GRAM_CHUNK

    def _columns(
        self, sample: Sample, w: np.ndarray, mode: int, start: int, n: int, arguments: tuple[Any, ...]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """∂ψ times √|ω| of a chunk, and z."""
        n_columns = self.plan.n_columns
        D, z = np.empty((2, n_columns, self.plan.n_rows, n)), np.empty((2, n_columns if mode == LOG else 0, n))
        self._kernels["columns"](_threads(n), sample.K.numpy(), sample.E.numpy(), w, start, n, mode, *arguments, D, z)
        return torch.from_numpy(D).view(2 * n_columns, -1), torch.from_numpy(z).flatten(0, 1)

    def _column_arguments(self, c: np.ndarray, p: np.ndarray) -> tuple[Any, ...]:
        plan = self.plan
        own = (plan.factors.real.copy(), plan.factors.imag.copy(), plan.coupling_of, self.tables.p_column, plan.n_couplings)
        return (*self._channel_arguments(c, p), *own)

    def set_batch(self, mix: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """The couplings of many vectors for ``batch_sums``."""
        return torch.from_numpy(mix)

    def begin_batch(self, sample: Sample, mix: np.ndarray, p: np.ndarray, order: int) -> Callable[[], np.ndarray]:
        """Σ w ln I of many coupling vectors and its derivatives, when they are wanted."""
        return lambda: batch_sums(self, sample, torch.from_numpy(mix), p, order).numpy()

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event]."""
        arguments = self._column_arguments(np.ones(self.plan.n_couplings, dtype=complex), p)
        ones = np.ones(sample.n_events)
        size = max(min(GRAM_CHUNK, BATCH_NUMBERS // max(beside, 1)), BLOCK)
        for start in range(0, sample.n_events, size):
            n = min(size, sample.n_events - start)
            yield start, start + n, self._columns(sample, ones, PLAIN, start, n, arguments)[0]

    def weigh(self, psi: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Σ w ln I of every vector of a batch; ``psi`` is multiplied by w/I."""
        return weigh(psi, w)

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """I of every point, in the order of the sample."""
        I = np.empty(sample.n_points)
        arrays = sample.K.numpy(), sample.E.numpy()
        self._kernels["intensities"](_threads(sample.n_points), *arrays, *self._channel_arguments(c, p), I)
        return torch.from_numpy(I)


def _threads(n_events: int) -> int:
    """How many threads share the blocks of so many events."""
    return max(min(numba.get_num_threads(), -(-n_events // BLOCK)), 1)
