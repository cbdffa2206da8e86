"""The CPU engine: generated kernels for the sums, BLAS for the Gram matrices of the Hessian.

Threads take parts of the events (``base/parts.py``). What the parts are depends on the sample and the plan alone, and they are added up in
their order, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import torch

from ctpwa.base.parts import get_num_threads, in_parts, one_torch_thread, sum_in_parts
from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.batch import batch_sums, weigh
from ctpwa.engine.backends.cpu.source import COLUMNS, cpu_source, kernel_names, sums_kernel
from ctpwa.engine.backends.cpu.threads import ThreadedKernel
from ctpwa.engine.backends.engine import Task, evaluate_relative
from ctpwa.engine.backends.expansion import Expansion, from_row
from ctpwa.engine.backends.gram import ChunkColumns, Gram, add_gram, gram_from_row
from ctpwa.engine.backends.points import log_gram_row, log_row, two_passes
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.codegen.machine_code import code_path
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG, PLAIN, ChannelSums, Tables
from ctpwa.engine.samples.sample import Sample
from ctpwa.spin.storage import SINGLE

BLOCK = 256  # events; F of 33 channels takes 135 kB, inside the second-level cache
GRAM_CHUNK = 4096  # events per matrix product, at most
GRAM_BYTES = 16 << 20  # of their columns
BATCH_NUMBERS = 1 << 19  # that go with a chunk of a batch
PART_BLOCKS = 4  # in a part of the work, at least: longer than it takes to wake a thread
MOST_PARTS = 128
RAW_TOGETHER = 4  # chunks of columns that others work on, one after the other
NO_ROOM = np.empty(0)  # for what is not wanted
MOST_GRAM_PARTS = 32  # of a Hessian, where each has matrices of its own


class CpuEngine:
    """Sums over samples in main memory.

    Args:
        plan:  what to compute
    """

    name = "cpu"
    shares_passes = True
    takes_many = False
    most_together: float = inf
    quick_hessians: float = 0

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tables = Tables(plan)
        self.device = torch.device("cpu")
        self._module = load_generated("cpu", cpu_source(plan, BLOCK))
        self._kernels = {name: ThreadedKernel(getattr(self._module, name), code_path(self._module, name)) for name in kernel_names(plan)}
        self._present = np.zeros(0), np.zeros(0)

    def __reduce__(self) -> tuple[type[CpuEngine], tuple[Plan]]:
        """Pickled without its kernels, which are generated again."""
        return CpuEngine, (self.plan,)

    def expect(self, n_points: int, modes: Mapping[int, int]) -> None:
        """All samples are treated alike."""

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

    def begin(
        self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int, *, relative: bool = False
    ) -> Callable[[], list[Expansion]]:
        """``evaluate``, when it is wanted."""
        return partial(evaluate_relative, self, tasks, c, p, order) if relative else partial(self.evaluate, tasks, c, p, order)

    def set_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        """The couplings and iteration numbers of what follows."""
        self._present = c, p

    def sum_row(self, sample: Sample, mode: int, order: int) -> torch.Tensor:
        """Sums of every channel, and to second order the Gram matrices after them."""
        if sample.v is not None:
            with one_torch_thread():
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
        n_parts = _parts(sample.n_events)
        out = np.empty((n_parts, layout.length))
        self._kernels[sums_kernel(self.plan, order)](n_parts, *arrays, mode, *self._channel_arguments(c, p), layout.offsets, out, NO_ROOM)
        return ChannelSums(out.sum(axis=0), layout)

    def gram_row(self, sample: Sample, mode: int) -> torch.Tensor:
        """Gram matrices of ∂ψ over a sample, as a row of numbers."""
        if sample.v is not None:
            with one_torch_thread():
                return log_gram_row(self, sample)
        plan = self.plan
        arguments = self._column_arguments(*self._present)
        only_z = mode == LOG and plan.n_rows == 1 and not plan.n_added

        def columns(start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
            D, z = self.columns(sample, sample.w.numpy(), mode, start, stop - start, arguments)
            return D[:0] if only_z else D, z

        return self.add_gram(sample, self.gram_chunk(mode), columns)

    def add_gram(self, sample: Sample, size: int, columns: ChunkColumns) -> torch.Tensor:
        """Sums over chunks of at most ``size`` events, as ``gram.add_gram`` has them."""
        chunks = list(sample.chunks(size))
        n_parts = max(min(len(chunks), MOST_GRAM_PARTS), 1)

        def part(k: int) -> torch.Tensor:
            return add_gram(self.plan.n_columns, self.device, sample.n_positive, chunks[k::n_parts], columns)

        return sum_in_parts(part, n_parts, get_num_threads())

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
        return self.columns(sample, sample.w.numpy(), PLAIN, start, n, self._column_arguments(*self._present))[0]

    def present(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Couplings and β."""
        c, p = self._present
        return torch.from_numpy(c), torch.from_numpy(self.plan.beta(p))

    def gram_chunk(self, mode: int) -> int:
        """How many points a matrix product takes at a time."""
        plan = self.plan
        return min(max(GRAM_BYTES // (16 * plan.n_columns * (plan.n_rows + 1)), BLOCK), GRAM_CHUNK)

    def columns(
        self, sample: Sample, w: np.ndarray, mode: int, start: int, n: int, arguments: tuple[Any, ...]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """∂ψ times √|ω| of a chunk with weights w, and z; computed in the calling thread."""
        n_columns = self.plan.n_columns
        D, z = np.empty((2, n_columns, self.plan.n_rows, n)), np.empty((2, n_columns if mode == LOG else 0, n))
        self._kernels[COLUMNS](1, sample.K.numpy(), sample.E.numpy(), w, start, n, mode, *arguments, D, z)
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
        return lambda: self.batch_rows(sample, torch.from_numpy(mix), p, order).numpy()

    def batch_rows(self, sample: Sample, mix: torch.Tensor, p: np.ndarray, order: int) -> torch.Tensor:
        """``batch_sums`` of a sample."""
        n_parts = max(min(-(-sample.n_events // GRAM_CHUNK), MOST_GRAM_PARTS), 1)  # not more than chunks
        raw = _RawColumns(self, np.ones(sample.n_events), self._raw_arguments(p), 1, slice(None))
        parts = [replace(raw, chunks=slice(k, None, n_parts)) for k in range(n_parts)]
        return sum_in_parts(lambda k: batch_sums(parts[k], sample, mix, p, order), n_parts, get_num_threads())

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event]."""
        raw = _RawColumns(self, np.ones(sample.n_events), self._raw_arguments(p), RAW_TOGETHER, slice(None))
        return raw.raw_columns(sample, p, beside)

    def _raw_arguments(self, p: np.ndarray) -> tuple[Any, ...]:
        return self._column_arguments(np.ones(self.plan.n_couplings, dtype=complex), p)

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """I of every point, in the order of the sample."""
        I, n_parts = np.empty(sample.n_points), _parts(sample.n_points)
        arrays = sample.K.numpy(), sample.E.numpy(), NO_ROOM
        out = self.tables.layouts[0].offsets, np.empty((n_parts, 1)), I
        all_ended = self._kernels[sums_kernel(self.plan, 0)](n_parts, *arrays, PLAIN, *self._channel_arguments(c, p), *out)
        return torch.from_numpy(I if all_ended else I.copy())  # callers may change them


@dataclass(frozen=True)
class _RawColumns:
    """∂ψ/∂(c, floating p) of some of the chunks of a sample, as ``batch_sums`` takes them.

    Attributes:
        engine:     whose kernel writes them
        ones:       the weights of all events
        arguments:  of that kernel
        together:   chunks that threads compute at the same time
        chunks:     which of them
    """

    engine: CpuEngine
    ones: np.ndarray
    arguments: tuple[Any, ...]
    together: int
    chunks: slice

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event of a chunk, and its columns [re | im · column, row · event]."""
        engine, n_events = self.engine, sample.n_events
        size = max(min(engine.gram_chunk(PLAIN), BATCH_NUMBERS // max(beside, 1)) // self.together, BLOCK)
        starts = range(0, n_events, size)[self.chunks]
        for first in range(0, len(starts), self.together):
            group = [(start, min(start + size, n_events)) for start in starts[first : first + self.together]]
            found: dict[int, torch.Tensor] = {}

            def compute(k: int, group: Sequence[tuple[int, int]] = group, found: dict[int, torch.Tensor] = found) -> None:
                start, stop = group[k]
                found.setdefault(k, engine.columns(sample, self.ones, PLAIN, start, stop - start, self.arguments)[0])

            in_parts(compute, len(group), get_num_threads())
            for k, (start, stop) in enumerate(group):
                yield start, stop, found.pop(k)

    def weigh(self, psi: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Σ w ln I of every vector of a batch; ``psi`` is multiplied by w/I."""
        return weigh(psi, w)


def _parts(n_events: int) -> int:
    """In how many parts so many events are computed."""
    return max(min(-(-n_events // (PART_BLOCKS * BLOCK)), MOST_PARTS), 1)
