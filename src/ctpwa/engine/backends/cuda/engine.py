"""The GPU engine: generated Triton kernels for the sums, FP64 matrix products for the Gram matrices of the Hessian."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.backends.batch import batch_sums
from ctpwa.engine.backends.cuda.batch_kernel import FUSION, weigh
from ctpwa.engine.backends.cuda.source import MOST_EARLY, column_slots, entry_width, gpu_source, n_numbers
from ctpwa.engine.backends.cuda.straight_launch import StraightSums
from ctpwa.engine.backends.cuda.straight_many import numbers_together
from ctpwa.engine.backends.engine import Task
from ctpwa.engine.backends.expansion import Expansion, from_row
from ctpwa.engine.backends.gram import ChunkColumns, Gram, add_gram, gram_from_row
from ctpwa.engine.backends.kept_columns import MOST_BYTES, Columns, KeptColumns
from ctpwa.engine.backends.points import log_gram_row, log_row, two_passes
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.codegen.triton_files import ready_triton_folder
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG, PLAIN, Tables
from ctpwa.engine.samples.sample import Sample

BLOCK = 128  # events per program of the sums: one warp, so that sums need no shared memory
WARPS = 1
GRAM_BYTES = 56 << 20  # columns of one chunk
COLUMN_BYTES, BATCH_BYTES = 192 << 20, 800 << 20  # columns of one chunk of a batch, and these with its amplitudes
MOST_GRAPHS = 64  # kept; each belongs to a sample, which it keeps alive
KEPT_VECTORS = 64  # most vectors of a batch that uses kept columns, which are in chunks for so many
BATCH_STEP = 16  # vectors of a batch are filled up to a multiple of this, so that few graphs serve all sizes


@dataclass(frozen=True)
class CudaTuning:
    """What changes the time and memory that sums take, but not their values.

    Attributes:
        most_early:                rows of K that are asked for before they are needed
        shared_log, shared_plain:  programs that share the columns of a block of events; each computes ψ for Σ w ln I
        most_recorded:             bytes of all columns of a Hessian that is recorded: beyond, that gains no time, and takes memory for
                                   products
        kept_bytes:                columns of all samples together that are kept for batches
        straight_points:           of a sample whose gradient is worth a kernel of its own for the model
        recorded_after:            times that something is computed before it is recorded, which takes as long as many of them
    """

    most_early: int = MOST_EARLY
    shared_log: int = 2
    shared_plain: int = 4
    most_recorded: int = 1 << 30
    kept_bytes: int = MOST_BYTES
    straight_points: int = 1 << 18
    recorded_after: int = 4


USUAL = CudaTuning()


class CudaEngine:
    """Sums over samples in GPU memory.

    Args:
        plan:    what to compute
        device:  which GPU; a CPU device works in Triton's interpreter only
        tuning:  time against memory
    """

    name = "cuda"
    shares_passes = True
    most_together: float = 1 << 17  # beyond, slopes of all vectors take more memory traffic than a pass for each
    quick_hessians: float = 1 << 18

    def __init__(self, plan: Plan, device: torch.device, tuning: CudaTuning = USUAL) -> None:
        self.plan = plan
        self.device = device
        self.tuning = tuning
        self.tables = Tables(plan)
        if device.type == "cuda":
            ready_triton_folder()
        self._module = load_generated("gpu", gpu_source(plan, portable=device.type != "cuda", most_early=tuning.most_early))
        visits = self.tables.visits
        self._visits = self._upload(visits), len(visits)
        self._offsets = {order: self._upload(layout.offsets) for order, layout in self.tables.layouts.items()}
        self._graphs: dict[tuple, _Graph] = {}
        self._graph_memory: Any = None  # shared by all of them: they run one after the other
        self._seen: Counter[tuple] = Counter()
        self._factors = self._upload(np.stack([plan.factors.real, plan.factors.imag], axis=1))
        entries, ranges = column_entries(self.tables)
        self._entries, self._entry_ranges = self._upload(entries), self._upload(ranges)
        shapes = _Numbers((max(len(plan.channels), 1), n_numbers(plan)), (plan.n_added,), (plan.n_couplings, 2), (len(plan.p),))
        self._buffer = _Buffer((sum(_padded(shape) for shape in shapes),), device)
        self._host = _Numbers(*_parts(self._buffer.array, shapes))
        self._numbers = _Numbers(*_parts(self._buffer.device, shapes))
        self._present = np.zeros(0)
        self._straight: StraightSums | None = None
        self._mixes: dict[int, _Buffer] = {}
        self._one = torch.ones(1, dtype=torch.float64, device=device)
        self._kept = KeptColumns(plan, device, tuning.kept_bytes)

    def __reduce__(self) -> tuple[type[CudaEngine], tuple[Plan, torch.device, CudaTuning]]:
        """Pickled without its kernels and recordings, which are made again."""
        return CudaEngine, (self.plan, self.device, self.tuning)

    def prepare(self) -> None:
        """Kernels are compiled for the samples that they meet; that takes seconds."""

    def expect(self, n_points: int, modes: Mapping[int, int]) -> None:
        """Large samples get a kernel of their own, which is compiled from now on, while they are prepared."""
        if self._straight is None and n_points >= self.tuning.straight_points:
            self._straight = StraightSums.of(self.plan, self.device, modes)

    def _upload(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _fill_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        self._buffer.wait()
        host = self._host
        channel_c = self.tables.channel_couplings(c)
        host.channels[:, 0], host.channels[:, 1] = channel_c.real, channel_c.imag
        if host.channels.shape[1] > 2:
            host.channels[:, 2:] = self.tables.channel_p(p)
        host.couplings[:, 0], host.couplings[:, 1] = c.real, c.imag
        host.p[:] = p[: len(host.p)]
        if len(host.beta):
            host.beta[:] = self.plan.beta(p)

    def set_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        """The couplings and iteration numbers of what follows."""
        self._fill_numbers(c, p)
        self._buffer.upload()
        self._present = c

    def sum_row(self, sample: Sample, mode: int, order: int) -> Tensor:
        """Sums of every channel, and to second order the Gram matrices after them."""
        return self._result(sample, mode, order)

    def expansion(self, row: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""
        return self._expansion(row, self._present, mode, order)

    def _expansion(self, row: np.ndarray, c: np.ndarray, mode: int, order: int) -> Expansion:
        straight = self._straight_of(order)
        return from_row(self.tables, row, c, mode, order) if straight is None else straight.expansion(row, c, mode, order)

    def _straight_of(self, order: int) -> StraightSums | None:
        return self._straight if self._straight is not None and self._straight.has(order) else None

    def gram_of(self, row: np.ndarray) -> Gram:
        """The Gram matrices of a row of sums."""
        return gram_from_row(row)

    def evaluate(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
        """Expansions of all tasks to the given order."""
        return self.begin(tasks, c, p, order)()

    def begin(
        self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int, *, relative: bool = False
    ) -> Callable[[], list[Expansion]]:
        """Begin the passes over all samples; what is returned waits for the results. Relative β are completed on the device."""
        self._fill_numbers(c, p)
        in_chunks = tasks if order == 2 and self._straight_of(2) is None else []
        recorded = sum(self._column_bytes(mode) * sample.n_events for sample, mode in in_chunks) <= self.tuning.most_recorded
        key = (order, relative, *((s.number, mode) for s, mode in tasks)) if recorded else None
        wait = self._begin(key, tasks, lambda: self._results(tasks, order, relative=relative))

        def expansions() -> list[Expansion]:
            found, start = wait(), 0
            results = []
            for _, mode in tasks:
                stop = start + self._row_length(mode, order)
                results.append(self._expansion(found[start:stop], c, mode, order))
                start = stop
            return results

        return expansions

    @property
    def takes_many(self) -> bool:
        """Large samples of plans with floating lineshapes have a kernel for it."""
        return self._straight is not None and self.plan.n_floating > 0 and not self.plan.callbacks

    def begin_many(
        self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, *, relative: bool = False
    ) -> Callable[[], list[list[Expansion]]]:
        """Begin gradients at many values [value, coupling], [value, number], as ``begin`` does for one; what is returned waits."""
        straight, plan = self._straight, self.plan
        assert straight is not None
        n, n_p = 2 * plan.n_couplings, len(plan.p)
        host = np.empty((len(c), numbers_together(plan)))
        host[:, :n] = np.ascontiguousarray(c).view(float)
        host[:, n:] = p[:, : n_p + plan.n_added]
        numbers = self._upload(host)
        n_first = sum(mode == PLAIN for _, mode in tasks) if relative else 0
        rows = [straight.many_rows(sample, mode, numbers) for sample, mode in tasks[:n_first]]
        if relative:
            numbers[:, n + n_p :] *= sum(row[:, :1] for row in rows)  # the first number of a row is the sum itself
        rows += [straight.many_rows(sample, mode, numbers) for sample, mode in tasks[n_first:]]
        found = torch.stack(rows, dim=1)

        def expansions() -> list[list[Expansion]]:
            modes = [mode for _, mode in tasks]
            values = zip(c, found.cpu().numpy(), strict=True)
            return [[self._expansion(row, own, mode, 1) for mode, row in zip(modes, here, strict=True)] for own, here in values]

        return expansions

    def _row_length(self, mode: int, order: int) -> int:
        """Numbers of what ``sum_row`` gives."""
        straight = self._straight_of(order)
        if straight is not None:
            return straight.row_length(mode, order)
        return self.tables.layouts[order].length + (8 * self.plan.n_columns**2 if order == 2 else 0)

    def _begin(self, key: tuple | None, tasks: Sequence[Task], work: Callable[[], Tensor], *inputs: _Buffer) -> Callable[[], np.ndarray]:
        """Begin some work with the present numbers; what is returned waits for the result. With a key it becomes one CUDA graph when
        it has been done some times.
        """
        inputs = (self._buffer, *inputs)
        if key is not None:
            if key not in self._graphs and self._seen[key] >= self.tuning.recorded_after and self.device.type == "cuda":
                self._record(key, tasks, work, inputs)
            if key in self._graphs:
                return self._graphs[key].replay()
            self._seen[key] += 1
        for buffer in inputs:
            buffer.upload()
        result = work()
        return lambda: result.cpu().numpy()

    def _record(self, key: tuple, tasks: Sequence[Task], work: Callable[[], Tensor], inputs: Sequence[_Buffer]) -> None:
        if not self._graphs:
            self._graph_memory = torch.cuda.graph_pool_handle()  # the last graph takes the old one with it
        while len(self._graphs) >= MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]  # the oldest
        self._graphs[key] = _Graph(self.device, tasks, work, inputs, self._graph_memory)

    def _results(self, tasks: Sequence[Task], order: int, *, relative: bool = False) -> Tensor:
        """Sums of every sample, and to second order its Gram matrices after them, one row after the other."""
        n_first = sum(mode == PLAIN for _, mode in tasks) if relative else 0
        rows = [self._result(sample, mode, order) for sample, mode in tasks[:n_first]]
        if relative:
            self._numbers.beta.mul_(sum(row[0] for row in rows))  # the first number of a row is the sum itself
        rows += [self._result(sample, mode, order) for sample, mode in tasks[n_first:]]
        return torch.cat(rows) if len(rows) > 1 else rows[0]

    def _result(self, sample: Sample, mode: int, order: int) -> Tensor:
        straight = self._straight_of(order)
        if straight is not None:
            return straight.row(sample, mode, order, self._numbers)
        if sample.v is not None:
            return log_row(self, sample, order)
        row = self.launch_sums(sample, mode, order).sum(dim=0)
        return torch.cat([row, self.gram_row(sample, mode)]) if order >= 2 else row

    def launch_sums(self, sample: Sample, mode: int, order: int) -> Tensor:
        """Results of every block of events, [block, 1 + results per channel]."""
        n, n_out = sample.n_events, self.tables.layouts[order].length
        out = torch.empty(n_blocks(n), n_out, dtype=torch.float64, device=self.device)
        if n:
            getattr(self._module, f"sums_{order}")[(n_blocks(n),)](
                *self._inputs(sample), *self._added, sample.w, sample.w.stride(0), self._offsets[order], out,
                n, n_out, LOG=mode == LOG, BLOCK=BLOCK, num_warps=WARPS, **FUSION,
            )  # fmt: skip
        return out

    @property
    def _added(self) -> tuple[Tensor, ...]:
        """What kernels with logarithms read besides."""
        return (self._numbers.beta,) if self.plan.n_added else ()

    def _inputs(self, sample: Sample) -> tuple[Any, ...]:
        """What all kernels read."""
        return _as_real(sample.K), sample.E, self._numbers.channels, *self._visits

    def gram_row(self, sample: Sample, mode: int) -> Tensor:
        """Gram matrices of ∂ψ over a sample, as a row of numbers."""
        if sample.v is not None:
            return log_gram_row(self, sample)
        return self.add_gram(
            sample, self.gram_chunk(mode), lambda start, stop: self._launch_columns(sample, sample.w, mode, start, stop - start)
        )

    def add_gram(self, sample: Sample, size: int, columns: ChunkColumns) -> Tensor:
        """Sums over chunks of at most ``size`` events, as ``gram.add_gram`` has them."""
        return add_gram(self.plan.n_columns, self.device, sample.n_positive, sample.chunks(size), columns)

    def gram_chunk(self, mode: int) -> int:
        """How many points a matrix product takes at a time."""
        return max(GRAM_BYTES // self._column_bytes(mode) // BLOCK * BLOCK, 1)

    def point_sums(self, sample: Sample, order: int) -> Tensor:
        """Sums of every channel for Σ w ln T."""
        return two_passes(self, sample, order)

    def plain_row(self, sample: Sample, order: int) -> Tensor:
        """Sums of every channel for Σ w I."""
        return self.launch_sums(sample, PLAIN, order).sum(dim=0)

    def plain_columns(self, sample: Sample, start: int, n: int) -> Tensor:
        """∂ψ times √|w| of some points [re | im · column, row · point]."""
        return self._launch_columns(sample, sample.w, PLAIN, start, n)[0]

    def present(self) -> tuple[Tensor, Tensor]:
        """Couplings and β, on the device."""
        return torch.view_as_complex(self._numbers.couplings), self._numbers.beta

    def _column_bytes(self, mode: int) -> int:
        """Bytes of the columns of an event: ∂ψ, z."""
        plan = self.plan
        rows = (plan.n_rows if self._needs_D(mode) else 0) + (1 if mode == LOG else 0)
        return 16 * plan.n_columns * rows

    def _needs_D(self, mode: int) -> bool:
        """Whether Gram matrices need ∂ψ besides z: with one row and I = |ψ|² they do not."""
        return mode != LOG or self.plan.n_rows > 1 or self.plan.n_added > 0

    def _launch_columns(self, sample: Sample, w: Tensor, mode: int, start: int, n: int) -> tuple[Tensor, Tensor]:
        """∂ψ times √|ω| of a chunk, and z."""
        plan = self.plan
        n_columns = plan.n_columns
        with_D = self._needs_D(mode)
        D = torch.empty(2 * n_columns if with_D else 0, plan.n_rows * n, dtype=torch.float64, device=self.device)
        z = torch.empty(2 * n_columns if mode == LOG else 0, n, dtype=torch.float64, device=self.device)
        shared = self.tuning.shared_log if mode == LOG else self.tuning.shared_plain
        self._module.columns[n_blocks(n), shared](
            *self._inputs(sample), *self._added, w, w.stride(0), self._factors, self._entries, self._entry_ranges, D, z,
            start, n, sample.n_events, n_columns, LOG=mode == LOG, WITH_D=with_D, BLOCK=BLOCK, num_warps=WARPS, **FUSION,
        )  # fmt: skip
        return D, z

    def begin_batch(self, sample: Sample, mix: np.ndarray, p: np.ndarray, order: int) -> Callable[[], np.ndarray]:
        """Begin Σ w ln I of many coupling vectors and its derivatives; what is returned waits for the result."""
        n = len(mix) // 2
        buffer = self._fill_batch(mix, p)
        filled = len(buffer.array) // 2
        kept = self._kept_columns(sample, p) if order == 1 and self.plan.collapses and filled <= KEPT_VECTORS else None
        key = ("batch", order, sample.number, filled, kept is None)
        wait = self._begin(key, [(sample, LOG)], lambda: batch_sums(self, sample, buffer.device, p, order, kept), buffer)
        return lambda: wait()[:n]

    def batch_rows(self, sample: Sample, mix: Tensor, p: np.ndarray, order: int) -> Tensor:
        """``batch_sums`` of a sample, on the device."""
        return batch_sums(self, sample, mix, p, order)

    def _kept_columns(self, sample: Sample, p: np.ndarray) -> Columns | None:
        def compute() -> Iterator[tuple[int, int, Tensor]]:
            self._buffer.upload()
            return self.raw_columns(sample, p, 2 * KEPT_VECTORS * self.plan.n_rows)

        return self._kept.of(sample, compute)

    def set_batch(self, mix: np.ndarray, p: np.ndarray) -> Tensor:
        """The couplings of many vectors for ``batch_sums``, filled up with copies of the first."""
        buffer = self._fill_batch(mix, p)
        self._buffer.upload()
        buffer.upload()
        return buffer.device

    def _fill_batch(self, mix: np.ndarray, p: np.ndarray) -> _Buffer:
        n = len(mix) // 2
        filled = -(-n // BATCH_STEP) * BATCH_STEP
        if filled not in self._mixes:
            self._mixes[filled] = _Buffer((2 * filled, mix.shape[1]), self.device)
        buffer = self._mixes[filled]
        buffer.wait()
        host = buffer.array.reshape(2, filled, -1)
        host[:, :n] = mix.reshape(2, n, -1)
        host[:, n:] = host[:, :1]
        self._fill_numbers(np.ones(self.plan.n_couplings, dtype=complex), p)
        return buffer

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event], for the present numbers."""
        plan, ones = self.plan, self._one.expand(sample.n_events)
        own = max(2 * plan.n_rows * plan.n_columns, 1)
        most = max(min(COLUMN_BYTES // (8 * own), BATCH_BYTES // (8 * (own + beside))), BLOCK)
        pieces = -(-sample.n_events // most)
        size = max(-(-sample.n_events // max(pieces, 1) // BLOCK), 1) * BLOCK  # of equal size
        for start in range(0, sample.n_events, size):
            n = min(size, sample.n_events - start)
            yield start, start + n, self._launch_columns(sample, ones, PLAIN, start, n)[0]

    def weigh(self, psi: Tensor, w: Tensor) -> Tensor:
        """Σ w ln I of every vector of a batch; ``psi`` is multiplied by w/I."""
        return weigh(psi, w)

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> Tensor:
        """I of every point, in the order of the sample."""
        self.set_numbers(c, p)
        return self.intensities(sample)

    def intensities(self, sample: Sample) -> Tensor:
        """I of every point, for the present numbers."""
        n = sample.n_points
        I = torch.empty(n, dtype=torch.float64, device=self.device)
        if n:
            self._module.intensities[(n_blocks(n),)](*self._inputs(sample), I, 0, n, n, BLOCK=BLOCK, num_warps=WARPS, **FUSION)
        return I


class _Buffer:
    """Numbers that are filled in on the host and copied to the device.

    Args:
        shape:   its shape
        device:  the device
    """

    def __init__(self, shape: tuple[int, ...], device: torch.device) -> None:
        self.host = torch.empty(shape, dtype=torch.float64, pin_memory=device.type == "cuda")
        self.array = self.host.numpy()
        self.device = torch.empty(shape, dtype=torch.float64, device=device)
        self._copied = torch.cuda.Event() if device.type == "cuda" else None

    def upload(self) -> None:
        """Copy to the device; ``wait`` before other numbers are filled in."""
        self.device.copy_(self.host, non_blocking=True)
        if self._copied is not None and not torch.cuda.is_current_stream_capturing():  # who replays a recording waits for its result
            self._copied.record()

    def wait(self) -> None:
        """Wait until the last copy is done: it reads the numbers when the device gets to it."""
        if self._copied is not None:
            self._copied.synchronize()


class _Numbers(NamedTuple):
    """What every evaluation has of its own: parts of one buffer, or their shapes.

    Attributes:
        channels:   coupling times factor, and iteration numbers, of every channel
        beta:       of every added density
        couplings:  as they are [coupling, re | im]
        p:          iteration numbers
    """

    channels: Any
    beta: Any
    couplings: Any
    p: Any


def _padded(shape: Sequence[int]) -> int:
    """Numbers of a part, which begin where 16 bytes do."""
    return -(-int(np.prod(shape)) // 2) * 2


def _parts(whole: Any, shapes: Sequence[Sequence[int]]) -> Iterator[Any]:
    """The parts of a buffer."""
    start = 0
    for shape in shapes:
        yield whole[start : start + int(np.prod(shape))].reshape(shape)
        start += _padded(shape)


class _Graph:
    """Some work recorded on the device, between copying its inputs to it and the result from it; it keeps its samples alive.

    Args:
        device:  the device; the kernels have run before
        tasks:   the samples it works on
        work:    gives the result
        inputs:  what it reads
        memory:  where it keeps intermediate results
    """

    def __init__(
        self, device: torch.device, tasks: Sequence[Task], work: Callable[[], Tensor], inputs: Sequence[_Buffer], memory: Any
    ) -> None:
        self.tasks, self.inputs = tuple(tasks), tuple(inputs)
        torch.cuda.synchronize(device)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=memory):
            for buffer in self.inputs:
                buffer.upload()
            self.on_device = work()
            self.on_host = torch.empty(self.on_device.shape, dtype=torch.float64, pin_memory=True)
            self.on_host.copy_(self.on_device, non_blocking=True)
        self.found = self.on_host.numpy()

    def replay(self) -> Callable[[], np.ndarray]:
        """Begin to run it; what is returned waits for the result."""
        self.graph.replay()
        return self._result

    def _result(self) -> np.ndarray:
        torch.cuda.current_stream().synchronize()
        return self.found.copy()


def n_blocks(n_events: int) -> int:
    """Blocks of this many events."""
    return -(-n_events // BLOCK)


def _as_real(K: Tensor) -> Tensor:
    return torch.view_as_real(K) if K.is_complex() else K


def column_entries(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """Slot, channel, structure and event rows of every contribution to a column, column by column; and where each column begins."""
    plan = tables.plan
    slots = column_slots(plan)
    rows_of = {a: rows for (_, _, _, first, last, *rows) in tables.visits.tolist() for a in range(first, last)}
    found: list[tuple[int, int, int]] = []
    for a, channel in enumerate(plan.channels):
        found.append((channel.coupling, slots.index((channel.kind, None)), a))
        for which, position in enumerate(plan.kinds[channel.kind].floating):
            found.append((plan.n_couplings + channel.p[position], slots.index((channel.kind, which)), a))
    found.sort()
    ranges = np.searchsorted([column for column, _, _ in found], np.arange(plan.n_columns + 1))
    entries = np.array([[slot, a, plan.channels[a].structure, *rows_of[a]] for _, slot, a in found], dtype=np.int64)
    return entries.reshape(len(found), entry_width(plan)), ranges.astype(np.int64)
