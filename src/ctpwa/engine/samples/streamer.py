"""Chunks that do not lie on the engine's device pass through it: read from disk by a thread, copied while the chunk before is computed.

On a GPU two buffers of the device take turns, and a stream of its own copies into one of them while kernels work on the other. Nothing here
waits for the GPU except a thread that wants to overwrite a block of main memory. Without a GPU a chunk in main memory is used where it is.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from ctpwa.base.memory import format_bytes
from ctpwa.engine.samples.chunk_bytes import ChunkLayout
from ctpwa.engine.samples.sample import Sample
from ctpwa.engine.samples.scratch_file import ScratchFile

N_BUFFERS = 2
NOT_PINNED = (
    "main memory for {size} could not be locked, so copies to the GPU are slower (the samples are in ordinary memory instead);"
    " raise the limit of locked memory (ulimit -l), or lower host_memory"
)


@dataclass(frozen=True)
class Chunk:
    """Events that wait in main memory or on disk.

    Attributes:
        layout:  what it holds
        block:   its bytes in main memory; None if it is on disk
        file:    the scratch file
        start:   where it begins there
    """

    layout: ChunkLayout
    block: Tensor | None
    file: ScratchFile | None = None
    start: int = 0


@dataclass
class _Slot:
    """A block of main memory for chunks from disk; ``copied``: the last copy from it to the device, if any."""

    block: Tensor
    copied: torch.cuda.Event | None = None


class _Device:
    """Two blocks on the device, and a CUDA stream that fills them.

    Args:
        device:  the device
        size:    bytes of each block
    """

    def __init__(self, device: torch.device, size: int) -> None:
        self.cuda, self.size = device.type == "cuda", size
        self.blocks = [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(N_BUFFERS)]
        self._turn = 0
        if self.cuda:
            self.stream = torch.cuda.Stream(device)
            self.used = [torch.cuda.Event() for _ in self.blocks]
            for event in self.used:
                event.record(torch.cuda.current_stream(device))
        self.device = device

    def load(self, block: Tensor, size: int) -> tuple[int, torch.cuda.Event | None]:
        """Begin to copy to the device; which of its blocks, and when the copy is done. Kernels that follow wait for it."""
        turn = self._turn
        self._turn = (turn + 1) % len(self.blocks)
        if not self.cuda:
            self.blocks[turn][:size].copy_(block[:size])
            return turn, None
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(self.used[turn])
            self.blocks[turn][:size].copy_(block[:size], non_blocking=True)
            done = torch.cuda.Event()
            done.record(self.stream)
        torch.cuda.current_stream(self.device).wait_event(done)
        return turn, done

    def release(self, turn: int) -> None:
        """What was begun with this block so far is all that needs it."""
        if self.cuda:
            self.used[turn].record(torch.cuda.current_stream(self.device))

    def finish(self) -> None:
        """Wait until no copy is under way."""
        if self.cuda:
            self.stream.synchronize()


class Streamer:
    """Brings chunks to a device one after the other.

    Args:
        device:    where kernels run
        separate:  whether that has memory of its own; if not, chunks are used where they are
    """

    def __init__(self, device: torch.device, separate: bool) -> None:
        self.device, self.separate = device, separate
        self.bytes_copied, self.bytes_read = 0, 0  # since the beginning
        self._on_device: _Device | None = None
        self._slots: list[_Slot] = []
        self._reader: ThreadPoolExecutor | None = None
        self._pinned = device.type == "cuda"

    def __reduce__(self) -> tuple[type[Streamer], tuple[torch.device, bool]]:
        """Pickled without buffers and threads, which are made when they are needed."""
        return Streamer, (self.device, self.separate)

    def host_block(self, size: int) -> Tensor:
        """Bytes of main memory; locked, so that copies to a GPU run by themselves, if the system allows it."""
        if self._pinned:
            with suppress(RuntimeError):
                return torch.empty(size, dtype=torch.uint8, pin_memory=True)
            self._pinned = False
            warnings.warn(NOT_PINNED.format(size=format_bytes(size)), stacklevel=2)
        return torch.empty(size, dtype=torch.uint8)

    def samples(self, chunks: Sequence[Chunk]) -> Generator[Sample]:
        """Chunks on the device, without their order; each may be used until the next is asked for."""
        if not self.separate:
            for chunk, slot in self._blocks(chunks):
                yield chunk.layout.sample(_bytes(chunk, slot), with_order=False)
            return
        buffers = self._buffers(max((chunk.layout.moved for chunk in chunks), default=0))
        try:
            for chunk, slot in self._blocks(chunks):
                turn, done = buffers.load(_bytes(chunk, slot), chunk.layout.moved)
                self.bytes_copied += chunk.layout.moved
                if slot is not None:
                    slot.copied = done
                yield chunk.layout.sample(buffers.blocks[turn], with_order=False)
                buffers.release(turn)
        except BaseException:
            buffers.finish()  # nothing may write into memory that somebody else gets next
            raise

    def host_samples(self, chunks: Sequence[Chunk]) -> Generator[Sample]:
        """Chunks in main memory, with their order; each may be used until the next is asked for."""
        for chunk, slot in self._blocks(chunks):
            yield chunk.layout.sample(_bytes(chunk, slot), with_order=True)

    def orders(self, chunks: Sequence[Chunk]) -> Iterator[Tensor | None]:
        """The order of the events of every chunk, a copy in main memory."""
        for chunk in chunks:
            layout = chunk.layout
            if not layout.ordered:
                yield None
            elif chunk.block is not None:
                yield layout.sample(chunk.block, with_order=True).order
            else:
                assert chunk.file is not None
                order = torch.empty(layout.n_events, dtype=torch.int64)
                chunk.file.read(chunk.start + layout.moved, order.view(torch.uint8))
                yield order

    def _blocks(self, chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, _Slot | None]]:
        """Chunks with their bytes in main memory: in a slot if they were on disk, those of the next ones being read meanwhile."""
        waiting: deque[Chunk] = deque(chunk for chunk in chunks if chunk.block is None)
        reading: deque[tuple[Future[None], _Slot]] = deque()
        for slot in self._disk_slots(max((chunk.layout.size for chunk in waiting), default=0)) if waiting else ():
            self._read_next(waiting, reading, slot)
        try:
            for chunk in chunks:
                if chunk.block is not None:
                    yield chunk, None
                    continue
                future, slot = reading.popleft()
                future.result()
                self.bytes_read += chunk.layout.size
                yield chunk, slot
                self._read_next(waiting, reading, slot)
        finally:
            for future, _ in reading:
                future.cancel()
            wait([future for future, _ in reading])

    def _read_next(self, waiting: deque[Chunk], reading: deque[tuple[Future[None], _Slot]], slot: _Slot) -> None:
        if waiting:
            if self._reader is None:
                self._reader = ThreadPoolExecutor(1, thread_name_prefix="ctpwa-read")
            reading.append((self._reader.submit(_read, waiting.popleft(), slot), slot))

    def _disk_slots(self, size: int) -> list[_Slot]:
        if not self._slots or len(self._slots[0].block) < size:
            self._slots = [_Slot(self.host_block(size)) for _ in range(N_BUFFERS)]
        return self._slots

    def _buffers(self, size: int) -> _Device:
        if self._on_device is None or self._on_device.size < size:
            self._on_device = None  # its memory first
            self._on_device = _Device(self.device, size)
        return self._on_device


def _bytes(chunk: Chunk, slot: _Slot | None) -> Tensor:
    block = chunk.block if slot is None else slot.block
    assert block is not None
    return block


def _read(chunk: Chunk, slot: _Slot) -> None:
    """In a thread of its own: wait until the slot is free, then fill it."""
    assert chunk.file is not None
    if slot.copied is not None:
        slot.copied.synchronize()
        slot.copied = None
    chunk.file.read(chunk.start, slot.block[: chunk.layout.size])
