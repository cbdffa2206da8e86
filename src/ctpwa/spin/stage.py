"""Spin amplitudes of a set of wave structures, chunk after chunk of events, in bounded memory.

Thousands of short operations make a chunk. On a GPU, where starting them takes longer than running them, they are recorded once as a
CUDA graph, and that is run for every further chunk of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.memory import available_bytes, format_bytes, give_back_freed, keep_freed
from ctpwa.base.parts import one_torch_thread
from ctpwa.base.timing import phase
from ctpwa.data.event_column import Columns, events_last
from ctpwa.data.momenta import check_momenta
from ctpwa.decay.chain import Decay
from ctpwa.decay.structure import Structure
from ctpwa.spin.evaluate import Evaluator, harmonics_needed, on_light_cone
from ctpwa.spin.production import Rows
from ctpwa.spin.rotate import RowRotation
from ctpwa.spin.storage import Storage

StructureParts = tuple[tuple[Structure, int], ...]

GPU_CHUNK_BYTES = 256 << 20  # temporary memory of a chunk; in shorter ones an operation takes as long
CPU_CHUNK_BYTES = 32 << 20  # that of a chunk on a CPU, where every thread has one
MIN_CHUNK, MAX_CHUNK = 1024, 1 << 20
# with hundreds of structures an event takes so much that chunks would be short, and most of the time spent between operations: all
# chunks together may then take this much on a CPU
MANY_BYTES, LONG_CHUNK = 2 << 30, 4096
ROW_COPIES = 3  # of the amplitudes of a chunk, while its rows are rotated


class SpinStage:
    """Computes K of some wave structures.

    Args:
        decay:        the decay
        structures:   what each K is: structures with integer coefficients
        rows:         the rows of K
        device:       where to compute
        rotation:     keep only the rows that it needs; default: all
        barrier:      include barrier factors
        formalism:    how wave functions of daughters enter a vertex
        chunk_size:   events in a chunk; default: from the memory they take
        chunk_bytes:  the most temporary memory of all chunks that are computed at the same time

    Attributes:
        recorded_bytes:  memory that a recorded chunk took on a GPU
    """

    def __init__(
        self,
        decay: Decay,
        structures: Sequence[StructureParts],
        rows: Rows,
        device: torch.device,
        rotation: RowRotation | None = None,
        *,
        barrier: bool,
        formalism: str,
        chunk_size: int | None = None,
        chunk_bytes: int | None = None,
    ) -> None:
        self.decay, self.structures, self.rows, self.device = decay, structures, rows, device
        self.rotation = None if rotation is None or rotation.n_rows == rows.n_rows else rotation.to(device)
        self.barrier, self.formalism = barrier, formalism
        self._chunk_size, self._chunk_bytes = chunk_size, chunk_bytes
        # neighbours have the same resonant systems, so that what they share is soon forgotten
        self._order = sorted(range(len(structures)), key=lambda i: [v.system for v in structures[i][0][0].walk()])
        self._Ls = harmonics_needed([structure for parts in structures for structure, _ in parts])
        self._expiring: list[list[Hashable]] | None = None
        self._on_gpu = device.type == "cuda"
        self._graph: _Recorded | None = None
        self._filled_events = 0  # of the last piece
        self.recorded_bytes = 0
        self._threads = 0  # that have worked on chunks at a time
        self._left: list[Tensor] = []  # of every chunk, what a rotation has left in rows that should be zero

    @property
    def n_rows(self) -> int:
        """Rows of K."""
        return self.rows.n_rows if self.rotation is None else self.rotation.n_rows

    @property
    def n_structures(self) -> int:
        """Structures of K: each once for every feed of the production."""
        return len(self.structures) * len(self.rows.feeds)

    def allocate(self, n_events: int, storage: Storage | None = None) -> Tensor:
        """Room for K of this many events, uninitialised."""
        self._left = []
        shape = (self.n_structures, self.n_rows, n_events)
        dtype = self.rows.dtype if storage is None else storage.dtype(self.rows.dtype)
        needed = torch.Size(shape).numel() * torch.empty((), dtype=dtype).element_size()
        free = available_bytes(self.device)
        if free is not None and needed > free:
            raise DataError(
                f"spin amplitudes of {shape[0]} wave structures × {shape[1]} polarisations × {shape[2]} events need "
                f"{format_bytes(needed)}, but {self.device} has {format_bytes(free)} free\n fix: use fewer events or another device"
            )
        return torch.empty(shape, dtype=dtype, device=self.device)

    def fill(
        self,
        K: Tensor,
        p4: Sequence[Tensor],
        columns: Columns,
        *,
        advance: Callable[[int], None],
        storage: Storage | None = None,
        first: int = 0,
    ) -> None:
        """Compute K [structure · feed, row, event] of events; call ``finish`` after the last ones.

        Args:
            K:        is filled
            p4:       momenta of the final particles on the device, each [event, 4]
            columns:  event columns on the device, at least those that rows depend on
            advance:  called with the number of events just done
            storage:  how K is stored; default: as it is computed
            first:    number of the first event, for messages

        Raises:
            RowsNeeded: some event needs more rows than the rotation keeps
        """
        n_events = len(p4[0])
        if not n_events:
            return
        inputs = [*p4, *(columns[name] for name in self.rows.columns)]
        size, on_gpu = self._plan(inputs, first), self._on_gpu
        if on_gpu:
            again = n_events == self._filled_events  # then more such pieces are likely
            self._filled_events = n_events
            chunks, recorded = chunks_to_record(n_events, size, None if self._graph is None else self._graph.n_events, again=again)
            self._check([events_last(values) for values in inputs], first)  # all at once: every look at a result makes the GPU wait
        else:
            chunks, recorded = [(start, min(start + size, n_events)) for start in range(0, n_events, size)], False

        def compute(start: int, stop: int) -> None:
            own_inputs = [events_last(values[start:stop]) for values in inputs]
            if not on_gpu:
                own_inputs = [values.contiguous() for values in own_inputs]
                self._check(own_inputs, first + start)
            if recorded:
                found, rest = self._recorded(own_inputs)(own_inputs)
            else:
                own = K[..., start:stop] if self.rotation is None and storage is None else None
                found, rest = self._amplitudes([values.contiguous() for values in own_inputs], own)
                if own is not None:
                    return
            K[..., start:stop] = found if storage is None else storage.stored(found, first + start)
            if on_gpu:
                self._left.append(rest.clone())
            elif self.rotation is not None:
                self.rotation.check(rest)

        workers = 1 if on_gpu else min(torch.get_num_threads(), len(chunks))
        if not on_gpu and len(chunks) > 1:
            keep_freed()  # for the next chunk
        self._threads = max(self._threads, workers)
        with phase("spin amplitudes"):
            _for_chunks(compute, chunks, workers, advance)

    def chunk_events(self, p4: Sequence[Tensor], columns: Columns) -> int:
        """How many events it computes at a time.

        Args:
            p4, columns:  momenta and event columns of one event or more
        """
        return self._plan([values[:1].to(self.device) for values in (*p4, *(columns[name] for name in self.rows.columns))], 0)

    def finish(self) -> None:
        """Wait for a GPU, and check what it did.

        Raises:
            RowsNeeded: some event needs more rows than the rotation keeps
        """
        left, self._left = self._left, []
        if left and self.rotation is not None:
            self.rotation.check(torch.stack(left).amax(dim=0))

    def _recorded(self, inputs: Sequence[Tensor]) -> _Recorded:
        if self._graph is None:
            self._graph = _Recorded(self._amplitudes, inputs)
            self.recorded_bytes = self._graph.bytes
        return self._graph

    def release(self) -> None:
        """Release temporary memory; that of a recording goes back to the GPU."""
        if self._graph is not None:
            self._graph = None
            torch.cuda.empty_cache()
        give_back_freed(self._threads if self._threads > 1 else 0)

    def _check(self, inputs: Sequence[Tensor], first: int) -> None:
        p4, columns = self._split(inputs)
        check_momenta(p4, self.decay.labels, self.decay.final, first)
        self.rows.check(p4, columns, first)

    def _plan(self, inputs: Sequence[Tensor], first: int) -> int:
        """Events per chunk, from the memory that a single event takes; and what can be forgotten when."""
        if self._expiring is None:
            check_momenta([values[:1].T for values in inputs[: len(self.decay.final)]], self.decay.labels, self.decay.final, first)
            p4, columns = self.rows.prepare(*self._split([events_last(values[:1]).contiguous() for values in inputs]))
            evaluator = self._evaluator(p4)
            target = torch.empty(self.n_structures, self.rows.n_rows, 1, dtype=self.rows.dtype, device=self.device)
            self._evaluate(evaluator, columns, target, [])
            self._expiring = evaluator.expiring()
            copies = 0 if self.rotation is None else ROW_COPIES
            per_event = max(evaluator.most_bytes() + copies * target.numel() * target.element_size(), 1)
            self._chunk_size = self._chunk_size or self._size_of_chunks(per_event)
        assert self._chunk_size is not None
        return self._chunk_size

    def _size_of_chunks(self, per_event: int) -> int:
        if self.device.type == "cpu":
            return events_per_thread(per_event, self._chunk_bytes)
        size = GPU_CHUNK_BYTES if self._chunk_bytes is None else min(GPU_CHUNK_BYTES, self._chunk_bytes)
        return min(max(size // per_event, MIN_CHUNK), MAX_CHUNK)

    def _evaluator(self, p4: Sequence[Tensor]) -> Evaluator:
        on_shell = [on_light_cone(p) if particle.massless else p for p, particle in zip(p4, self.decay.final, strict=True)]
        return Evaluator(self.decay.final, on_shell, self._Ls, barrier=self.barrier, formalism=self.formalism)

    def _split(self, inputs: Sequence[Tensor]) -> tuple[Sequence[Tensor], dict[str, Tensor]]:
        """Momenta, and the event columns that rows depend on by name."""
        n = len(self.decay.final)
        return inputs[:n], dict(zip(self.rows.columns, inputs[n:], strict=True))

    def _evaluate(
        self, evaluator: Evaluator, columns: Mapping[str, Tensor], target: Tensor, expiring: Sequence[Sequence[Hashable]]
    ) -> None:
        """All structures, one after the other."""
        feeds = target.unflatten(0, (-1, len(self.rows.feeds)))
        for step, index in enumerate(self._order):
            evaluator.step = step
            parts = self.structures[index]
            structure = parts[0][0]
            self.rows.store(_sum_parts(evaluator, parts, self.rows.two_ms_of(structure)), structure, columns, feeds[index])
            evaluator.forget(expiring[step] if expiring else ())

    def _amplitudes(self, inputs: Sequence[Tensor], own: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """K [structure · feed, kept row, event], and the largest number of each structure in the rows that are left out.

        ``inputs`` are momenta [4, event] and the event columns that rows depend on, [event] or [component, event].

        Nothing here looks at a result, so that it can be recorded.
        """
        assert self._expiring is not None
        p4, columns = self.rows.prepare(*self._split(inputs))
        shape = (self.n_structures, self.rows.n_rows, p4[0].shape[1])
        target = torch.empty(shape, dtype=self.rows.dtype, device=self.device) if own is None else own
        self._evaluate(self._evaluator(p4), columns, target, self._expiring)
        if self.rotation is None:
            return target, target.new_zeros(0)
        return self.rotation.rotate_(target)


class _Recorded:
    """Work on chunks of equal size as a CUDA graph.

    Args:
        work:    takes tensors whose last axis is the event; has run before
        inputs:  those of such a chunk

    Attributes:
        n_events:  in such a chunk, at most
        bytes:     memory set aside for it
    """

    def __init__(self, work: Callable[[Sequence[Tensor]], tuple[Tensor, Tensor]], inputs: Sequence[Tensor]) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self.n_events = inputs[0].shape[1]
        self._inputs = [torch.empty(values.shape, dtype=values.dtype, device=values.device) for values in inputs]
        with torch.cuda.device(inputs[0].device):
            torch.cuda.empty_cache()
            before = torch.cuda.memory_reserved()
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):  # another thread may copy the next events
                self._results = work(self._inputs)
            self.bytes = torch.cuda.memory_reserved() - before

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Results that stay as they are until the next call; fewer events leave the last ones of an earlier call in the recording."""
        n = inputs[0].shape[-1]
        for own, values in zip(self._inputs, inputs, strict=True):
            own[..., :n].copy_(values)
        self._graph.replay()
        found, rest = self._results
        return found[..., :n], rest


def chunks_to_record(n_events: int, most: int, recorded: int | None, *, again: bool) -> tuple[list[tuple[int, int]], bool]:
    """Chunks for a GPU, and whether they run as a recording: all have the same size then, but the last one, which may be shorter.

    Args:
        n_events:  to be cut
        most:      events of a chunk
        recorded:  events of a chunk that is recorded already; None: nothing is
        again:     whether as many events have come before: a recording is worth it from two chunks on
    """
    if recorded is None:
        if n_events <= most and not again:
            return [(0, n_events)], False
        recorded = -(-n_events // -(-n_events // most))
    return [(start, min(start + recorded, n_events)) for start in range(0, n_events, recorded)], True


def events_per_thread(per_event: int, most_bytes: int | None = None) -> int:
    """Events of a chunk on a CPU, where as many are computed at a time as there are threads.

    Args:
        per_event:   temporary bytes of an event
        most_bytes:  of all chunks that are computed at a time
    """
    threads = torch.get_num_threads()
    most = MANY_BYTES if most_bytes is None else min(MANY_BYTES, most_bytes)
    size = max(min(CPU_CHUNK_BYTES, most // threads) // per_event, min(LONG_CHUNK, most // threads // per_event))
    return min(max(size, MIN_CHUNK), MAX_CHUNK)


def _sum_parts(evaluator: Evaluator, parts: StructureParts, two_ms: Sequence[int]) -> Tensor:
    (first, count), *others = parts
    A = evaluator.top_amplitude(first, two_ms)
    if count != 1:
        A = count * A
    for structure, count in others:
        A = A + count * evaluator.top_amplitude(structure, two_ms)
    return A


def _for_chunks(
    compute: Callable[[int, int], None], chunks: Sequence[tuple[int, int]], workers: int, advance: Callable[[int], None]
) -> None:
    """All chunks, in order on a GPU; on a CPU one thread per core, since a chunk is too small to split inside torch."""
    if workers == 1:
        with one_torch_thread():
            for start, stop in chunks:
                compute(start, stop)
                advance(stop - start)
        return
    threads = torch.get_num_threads()
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        futures = {pool.submit(compute, *chunk): chunk for chunk in chunks}
        try:
            for future in as_completed(futures):
                future.result()
                start, stop = futures[future]
                advance(stop - start)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            torch.set_num_threads(threads)  # of threads to come
