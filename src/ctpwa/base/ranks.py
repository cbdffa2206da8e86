"""Several processes that share the events of a fit: ``torchrun`` starts them, sums over events are added up over all of them.

All ranks run the same program on the same numbers. What they add up is bitwise the same on all of them, so they take the same decisions.
What all ranks must agree on travels with every sum: a fingerprint of the point, Ctrl-C, and whether anything failed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import signal
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import torch

from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.base.heartbeat import AFTER_A_SIGNAL, BEAT, STORE_SILENT, Heartbeat
from ctpwa.base.launch import launch_variable, own_rank, started_together
from ctpwa.base.parts import available_cores, given_threads

CPU = torch.device("cpu")
TIMEOUT = 600.0  # seconds in which ranks must meet, and in which one of them must work
SILENT = 60.0  # seconds in which each must say something; CTPWA_TIMEOUT gives another number for all of this
FOR_EVER = timedelta(days=365)  # for gloo and NCCL, which know nothing of what others do
FINGERPRINT_BITS = 20  # so that sums of squares are exact for 4096 ranks
HEADER = 4  # fingerprint, its square, interrupted, failed
T = TypeVar("T")


class RanksLost(CtpwaError):
    """Another process of the same fit has ended, or cannot be reached any more."""


class Ranks:
    """The processes of a fit. This one is alone; it only calls what it is given.

    Attributes:
        rank:        number of this process
        size:        how many there are
        interrupts:  how often all of them were interrupted together
    """

    rank = 0
    size = 1
    interrupts = 0

    @property
    def first(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def share(self, n: int) -> tuple[int, int]:
        """First and last row, of ``n``, that belong to this process."""
        return n * self.rank // self.size, n * (self.rank + 1) // self.size

    def sum(self, size: int, work: Callable[[], np.ndarray], key: bytes = b"", device: torch.device = CPU) -> np.ndarray:
        """Σ over all ranks of what ``work`` returns, bitwise the same on all of them.

        Args:
            size:    how many numbers it returns
            work:    computes those of this rank
            key:     the same on all ranks, or something went wrong: where it is computed
            device:  where the engine computes
        """
        return work()

    def together(self, work: Callable[[], T]) -> T:
        """Do something on all ranks; if it fails on one of them it fails on all, with the same message."""
        return work()

    def on_first(self, work: Callable[[], None]) -> None:
        """Do something on the first rank while the others wait; if it fails it fails on all."""
        self.together(work if self.first else lambda: None)

    def gather(self, content: bytes) -> list[bytes]:
        """What every rank gives, in their order."""
        return [content]

    def check_same(self, what: str, text: str, fix: str) -> None:
        """Refuse to go on if ``text`` is not the same on all ranks."""

    @contextmanager
    def interrupts_together(self) -> Iterator[None]:
        """While this lasts, Ctrl-C on one rank interrupts all of them at the same place."""
        yield

    def interrupt(self) -> None:
        """Interrupt all ranks the next time they add something up."""
        raise KeyboardInterrupt

    def reports(self, message: str) -> bool:
        """Whether this process is the one to print a message: the first that wants to, because nobody knows who is left."""
        return True

    def end_together(self) -> None:
        """All is done: this process is to end when the others do, and not well if one of them does not, which torchrun would wait for."""


ONE = Ranks()


class SeveralRanks(Ranks, ABC):
    """Several processes; how numbers travel between them is left open.

    Args:
        rank:  number of this process
        size:  how many there are
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.interrupts = 0
        self._pending = False

    @abstractmethod
    def reduce(self, buffer: np.ndarray, device: torch.device) -> None:
        """Add up over all ranks, in place, bitwise the same on all of them."""

    def sum(self, size: int, work: Callable[[], np.ndarray], key: bytes = b"", device: torch.device = CPU) -> np.ndarray:
        """See ``Ranks``."""
        buffer = np.zeros(HEADER + size)
        error: Exception | None = None
        try:
            buffer[HEADER:] = work()
        except Exception as caught:  # the others must not wait for ever
            error = caught
            buffer[3] = 1.0
        fingerprint = crc32(key + size.to_bytes(8, "little")) & ((1 << FINGERPRINT_BITS) - 1)
        buffer[0], buffer[1], buffer[2] = fingerprint, fingerprint**2, self._pending
        self.reduce(buffer, device)
        if buffer[3]:
            raise self._agreed(error)
        if self.size * int(buffer[1]) != int(buffer[0]) ** 2:  # equal only if all fingerprints are
            raise CtpwaError(NOT_THE_SAME)
        if buffer[2]:
            self._pending = False
            self.interrupts += 1
            raise KeyboardInterrupt
        return buffer[HEADER:]

    def together(self, work: Callable[[], T]) -> T:
        """See ``Ranks``."""
        error: Exception | None = None
        result: Any = None
        try:
            result = work()
        except RanksLost:
            raise
        except Exception as caught:
            error = caught
        failed = np.array([float(error is not None)])
        try:
            self.reduce(failed, CPU)
        except RanksLost as lost:
            raise error or lost from None  # its own error says more
        if failed[0]:
            raise self._agreed(error)
        return result

    def check_same(self, what: str, text: str, fix: str) -> None:
        """See ``Ranks``."""
        digests = self.gather(hashlib.sha256(text.encode()).digest())
        other = next((rank for rank, digest in enumerate(digests) if digest != digests[0]), None)
        if other is not None:
            raise CtpwaError(f"rank {other} has another {what} than rank 0\n fix: {fix}")

    @contextmanager
    def interrupts_together(self) -> Iterator[None]:
        """See ``Ranks``. Where somebody handles Ctrl-C already, as the command line does, it stays so."""
        alone = threading.current_thread() is not threading.main_thread()
        if alone or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            if self._pending:
                raise KeyboardInterrupt  # the second one does not wait for the others
            self.interrupt()

        before = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self.go_on()

    def interrupt(self) -> None:
        """See ``Ranks``."""
        self._pending = True

    def go_on(self) -> None:
        """What was interrupted has ended, and this process has not."""

    def _agreed(self, error: Exception | None) -> Exception:
        """The error of the lowest rank that has one, the same on all."""
        text = b"" if error is None else (b"D" if isinstance(error, DataError) else b"C") + _describe(error).encode()
        found = next((rank, text) for rank, text in enumerate(self.gather(text)) if text)
        if error is not None and found[0] == self.rank:
            return error
        kind = DataError if found[1][:1] == b"D" else CtpwaError
        return kind(found[1][1:].decode())


class ProcessRanks(SeveralRanks):
    """Processes that torch has brought together; made by ``current_ranks``.

    Args:
        own_group:  whether they were brought together here, and nobody else will take leave
    """

    def __init__(self, own_group: bool) -> None:
        import torch.distributed as dist

        super().__init__(dist.get_rank(), dist.get_world_size())
        self._dist = dist
        self.lost = False
        self._ends_together = self._nobody_to_ask = False
        self._buffers: dict[tuple[int, torch.device], tuple[torch.Tensor, torch.Tensor]] = {}
        self._store = dist.distributed_c10d._get_default_store()
        self._heartbeat = Heartbeat(self._store, self.rank, self.size, _timeout(SILENT), _timeout(TIMEOUT))
        self._heartbeat.start()
        self._own_group = own_group
        atexit.register(self.leave)

    def gather(self, content: bytes) -> list[bytes]:
        """See ``Ranks``."""
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        self._collective(lambda: self._dist.all_gather(sizes, torch.tensor([len(content)]), async_op=True))
        longest = max(int(size) for size in sizes)
        padded = torch.frombuffer(bytearray(content.ljust(max(longest, 1), b"\0")), dtype=torch.uint8)
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        self._collective(lambda: self._dist.all_gather(parts, padded, async_op=True))
        return [part[: int(size)].numpy().tobytes() for part, size in zip(parts, sizes, strict=True)]

    def reports(self, message: str) -> bool:
        """See ``Ranks``. Where nobody can be asked everybody prints."""
        if self._nobody_to_ask:
            return True
        key, said = f"ctpwa says {hashlib.sha256(message.encode()).hexdigest()}", []
        asking = threading.Thread(target=lambda: said.append(self._count(key)), daemon=True)
        asking.start()
        asking.join(AFTER_A_SIGNAL)
        return said != [False]

    def _count(self, key: str) -> bool:
        try:
            return int(self._store.add(key, 1)) == 1
        except Exception:  # the store went away with the process that kept it
            return True

    def reduce(self, buffer: np.ndarray, device: torch.device) -> None:
        """See ``SeveralRanks``: gloo and NCCL add every number up in one place and send it to all."""
        own = torch.from_numpy(buffer)
        if device.type != "cuda":
            self._collective(lambda: self._dist.all_reduce(own, async_op=True))
            return
        key = (len(buffer), device)
        if key not in self._buffers:
            self._buffers[key] = torch.empty(len(buffer), dtype=torch.float64, pin_memory=True), own.to(device)
        host, there = self._buffers[key]
        host.copy_(own)
        there.copy_(host, non_blocking=True)
        self._collective(lambda: _OnStream(self._dist.all_reduce(there, async_op=True), host, there))
        own.copy_(host)

    def interrupt(self) -> None:
        """See ``Ranks``. Others that do nothing are not waited for as long as before."""
        super().interrupt()
        self._heartbeat.be_quick()

    def go_on(self) -> None:
        """See ``SeveralRanks``."""
        self._heartbeat.be_patient()

    def end_together(self) -> None:
        """See ``Ranks``."""
        self._ends_together = True

    def leave(self) -> None:
        """Called when the process ends."""
        if self.lost:
            return
        if self._own_group:
            with suppress(RuntimeError):
                self._dist.destroy_process_group()
        if trouble := self._heartbeat.leave(together=self._ends_together):
            sys.stdout.flush()
            print(f"all is done, but {trouble}", file=sys.stderr, flush=True)  # noqa: T201 - nothing else is left to print it
            os._exit(1)

    def _collective(self, start: Callable[[], Any]) -> None:
        """Wait for something that all ranks do, as long as they show signs of life."""
        try:
            with self._heartbeat.waits():
                work = start()
                while not work.is_completed():
                    with suppress(RuntimeError):  # not yet, or it failed
                        work.wait(timedelta(seconds=BEAT))
                    if not work.is_completed() and (trouble := self._heartbeat.trouble()):
                        self._nobody_to_ask = trouble == STORE_SILENT
                        raise self._lost(trouble, "find it and end it; if nothing is wrong with it, CTPWA_TIMEOUT allows more seconds")
                work.wait()
        except RuntimeError as error:
            reason = re.sub(r"^\[[^\]]*\] *", "", str(error).strip()).split(". ")[0].split("\n")[0] or type(error).__name__
            raise self._lost(
                f"another process of this fit has ended or cannot be reached: rank {self.rank} of {self.size} waited for it ({reason})",
                "see what it printed before it ended; if nothing, look in the log of its machine (memory, time limit)",
            ) from error

    def _lost(self, what: str, fix: str) -> RanksLost:
        if not self.lost:  # torch would wait for the end of a sum before it forgets the group, and it must not
            group = self._dist.distributed_c10d._get_default_group()
            threading.Thread(target=lambda kept: threading.Event().wait(), args=(group,), daemon=True).start()
            self._heartbeat.end()
        self.lost = True
        return RanksLost(f"{what}\n fix: {fix}")


class _OnStream:
    """A sum on a GPU, and its way back to main memory."""

    def __init__(self, work: Any, host: torch.Tensor, there: torch.Tensor) -> None:
        work.wait()  # the stream waits, the process does not
        host.copy_(there, non_blocking=True)
        self._event = torch.cuda.Event()
        self._event.record(torch.cuda.current_stream(there.device))

    def is_completed(self) -> bool:
        return bool(self._event.query())

    def wait(self, limit: timedelta | None = None) -> None:
        end = time.monotonic() + (limit.total_seconds() if limit else 0.0)
        while not self.is_completed() and time.monotonic() < end:
            time.sleep(0)  # other threads may go on


NOTHING_IN_COMMON = "use the same program, model file and versions on all ranks"
NOT_THE_SAME = (
    "the ranks do not compute at the same point any more\n"
    " fix: run the same program with the same options on all ranks, on machines with the same kind of processor"
)


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, CtpwaError) else f"{type(error).__name__}: {error}"


_current: Ranks | None = None


def current_ranks() -> Ranks:
    """The processes that fit together with this one: those that ``torchrun`` has started, or this one alone.

    The first call meets the others, and waits for them.
    """
    global _current
    if _current is None:
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            _current = ProcessRanks(own_group=False) if dist.get_world_size() > 1 else ONE
        else:
            _current = _join() if started_together() else ONE
    return _current


def stay_alone() -> None:
    """From now on this process works on its own, whoever started it."""
    global _current
    _current = ONE


def _join() -> Ranks:
    import torch.distributed as dist

    rank, size = own_rank(), launch_variable("WORLD_SIZE")
    address, port = os.environ["MASTER_ADDR"], launch_variable("MASTER_PORT", most=65535)
    if not dist.is_available() or not dist.is_gloo_available():
        raise CtpwaError("this torch cannot run on several processes: it has no gloo backend\n fix: install torch from its own wheels")
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(launch_variable("LOCAL_RANK", rank) % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl" if dist.is_nccl_available() else backend
    try:
        dist.init_process_group(backend, timeout=timedelta(seconds=_timeout(TIMEOUT)))
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise CtpwaError(
            f"rank {rank} of {size} cannot join the others at {address}:{port}: {reason}\n"
            " fix: check that all processes were started, that the port is free (--master-port) and that the machines reach each other"
        ) from error
    dist.distributed_c10d._set_pg_timeout(FOR_EVER)
    ranks = ProcessRanks(own_group=True)
    from ctpwa.version import VERSION

    ranks.check_same("version of ctpwa or torch", f"{VERSION} {torch.__version__} {np.__version__}", NOTHING_IN_COMMON)
    return ranks


def _timeout(default: float) -> float:
    """A number of seconds, or CTPWA_TIMEOUT if it is set."""
    text = os.environ.get("CTPWA_TIMEOUT", "")
    try:
        seconds = float(text) if text else default
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < FOR_EVER.total_seconds():
        raise CtpwaError(f"CTPWA_TIMEOUT is {text!r}\n fix: give a number of seconds above 0, and less than a year")
    return seconds


def check_devices(ranks: Ranks, device: torch.device) -> None:
    """Refuse two ranks on one GPU."""
    if ranks.size == 1:
        return
    where = "cpu"
    if device.type == "cuda":
        where = f"{socket.gethostname()} {torch.cuda.get_device_properties(device).uuid}"
    places = [place.decode() for place in ranks.gather(where.encode())]
    if len({place == "cpu" for place in places}) > 1:
        raise CtpwaError("some ranks compute on a GPU and others do not\n fix: give all machines the same engine")
    twice = next((place for place in places if place != "cpu" and places.count(place) > 1), None)
    if twice is not None:
        raise CtpwaError(
            f"{places.count(twice)} ranks would share one GPU of {twice.split()[0]}\n"
            " fix: start one process per GPU (--nproc-per-node), and leave 'device' out"
        )


def threads_per_rank() -> int:
    """CPU threads that each process may use: OMP_NUM_THREADS, or its part of the cores of its machine."""
    return given_threads() or max(available_cores() // launch_variable("LOCAL_WORLD_SIZE", 1, least=1), 1)


def same_arrays(ranks: Ranks, what: str, arrays: Sequence[torch.Tensor | None]) -> None:
    """Refuse a sample that is not the same on all ranks: each takes its part of the whole."""
    if ranks.size == 1:
        return
    digest = hashlib.sha256()
    for array in arrays:
        if array is not None:
            digest.update(repr(tuple(array.shape)).encode())
            digest.update(array.detach().to(CPU, torch.float64).contiguous().numpy().data)
    ranks.check_same(f"sample {what!r}", digest.hexdigest(), "give every rank the whole sample; each takes its own part of it")
