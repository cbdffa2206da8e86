"""What a likelihood keeps of its samples, and where: on the device, in main memory, on disk.

Data come first, then background, then phase space: each fills the fastest memory that has room. If everything fits on the device, every
sample is one piece there. Otherwise samples are cut into chunks of equal size, and two buffers of that size are set aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from ctpwa.base.memory import available_bytes, format_bytes, parse_bytes, processes_here
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.sample import LONG_TABLE_EVENTS, TABLE_EVENTS
from ctpwa.engine.samples.scratch_file import scratch_folder
from ctpwa.engine.samples.streamer import N_BUFFERS
from ctpwa.spin.stage import GPU_CHUNK_BYTES, events_per_thread

USED_FRACTION = 0.9  # of the free memory is used if no limit is given
CHUNKS = 8  # the memory of the device holds so many chunks
WORKING = 2 << 30  # bytes of a device that kernels need besides prepared events, or a quarter of it if that is less
LARGEST_CHUNK = 256 << 20  # bytes; copies are at full speed long before
LARGEST_PIECE = 64 << 20  # bytes of events that are not kept
MOST_SMALL = 256 << 20  # bytes of a sample that is kept although it has become one matrix, or a part of the room if that is less
SPIN_RATIO, TABLE_NUMBERS = 10, 50  # temporary memory of an event: so many times what is kept of it; so many numbers for its event table
POWER_OF_TWO = 1 << 20  # bytes from which on chunks have such a size: locked memory is given out in these
MULTIPLE = 128  # of events, if there are many of them: whole blocks of the kernels
SLACK = 16 << 10  # bytes of a chunk for the alignment of its parts
ORDER = 8  # bytes per event that are kept besides if weights of both signs put events in another order
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Limits:
    """How much memory a likelihood may use.

    Attributes:
        device:   bytes on the device; None: what is free there
        host:     bytes of main memory; None: what is free
        scratch:  folder for what does not fit into main memory
    """

    device: int | None = None
    host: int | None = None
    scratch: str = field(default_factory=lambda: scratch_folder(None))

    @classmethod
    def read(cls, device: float | str | None, host: float | str | None, scratch: str | None) -> Limits:
        """From what a user writes."""
        return cls(
            None if device is None else parse_bytes(device, "device_memory"),
            None if host is None else parse_bytes(host, "host_memory"),
            scratch_folder(scratch),
        )


@dataclass(frozen=True)
class Placement:
    """How many events of a sample lie where; the first ones on the device, the last ones on disk."""

    device: int
    host: int = 0
    disk: int = 0


@dataclass(frozen=True)
class MemoryPlan:
    """What a likelihood keeps.

    Attributes:
        bytes_per_event:  cached for every event
        placed:           where the events of each sample lie
        where:            the device, in words
        separate:         whether the device has memory of its own
        chunk_events:     events of a chunk; None if every sample is one piece on the device
        piece_events:     events of a piece of a sample that is passed through and not kept
        working_bytes:    temporary memory that spin amplitudes may take
        preparing:        about how many bytes the preparation takes besides what is kept
        scratch:          folder of what lies on disk
        integrated:       samples of which nothing is kept but a matrix
        small:            bytes of samples that become a matrix as well, and are kept for what asks for their events later
        unused_limit:     whether a limit was given for a device that has no memory of its own
    """

    bytes_per_event: int
    placed: Mapping[str, Placement]
    where: str
    separate: bool
    chunk_events: int | None
    piece_events: int
    working_bytes: int | None
    preparing: int
    scratch: str
    integrated: tuple[str, ...] = ()
    unused_limit: bool = False
    small: Mapping[str, int] = field(default_factory=dict)

    @property
    def samples(self) -> dict[str, int]:
        """Bytes of each sample that is kept."""
        return {name: (p.device + p.host + p.disk) * self.bytes_per_event for name, p in self.placed.items()} | dict(self.small)

    @property
    def total(self) -> int:
        """Bytes of all samples."""
        return sum(self.samples.values())

    @property
    def device(self) -> int:
        """Bytes on the device; on a CPU that is main memory."""
        return sum(p.device for p in self.placed.values()) * self.bytes_per_event + sum(self.small.values())

    @property
    def host(self) -> int:
        """Bytes in main memory that pass through the device in every evaluation."""
        return sum(p.host for p in self.placed.values()) * self.bytes_per_event

    @property
    def disk(self) -> int:
        """Bytes on disk that are read in every evaluation."""
        return sum(p.disk for p in self.placed.values()) * self.bytes_per_event

    @property
    def streamed(self) -> bool:
        """Whether some events pass through the device in every evaluation."""
        return self.host + self.disk > 0

    def __str__(self) -> str:
        parts = [f"{name} {format_bytes(size)}" for name, size in self.samples.items()]
        parts += [f"{name} integrated and not kept" for name in self.integrated]
        text = f"{self.bytes_per_event} bytes per event; {', '.join(parts)}; {format_bytes(self.total)} in all"
        if not self.streamed:
            text += f", up to {format_bytes(self.total + self.preparing)} while events are prepared"
        else:
            places = [(self.device, self.where), (self.host, "in main memory"), (self.disk, f"on disk in {self.scratch}")]
            text += ": " + ", ".join(f"{format_bytes(size)} {place}" for size, place in places if size)
            text += ", streamed" + ("" if self.chunk_events is None else f" in chunks of {self.chunk_events} events")
        return text + ("; device_memory has no meaning on a CPU" if self.unused_limit else "")

    @staticmethod
    def joined(plans: Mapping[str, MemoryPlan]) -> MemoryPlan:
        """Of several data sets, by name."""
        first = next(iter(plans.values()))
        sizes = {plan.chunk_events for plan in plans.values()}
        return MemoryPlan(
            max(plan.bytes_per_event for plan in plans.values()),
            {f"{name} {kind}".strip(): placed for name, plan in plans.items() for kind, placed in plan.placed.items()},
            first.where,
            first.separate,
            sizes.pop() if len(sizes) == 1 else None,
            first.piece_events,
            first.working_bytes,
            max(plan.preparing for plan in plans.values()),  # one after the other
            first.scratch,
            tuple(f"{name} {kind}".strip() for name, plan in plans.items() for kind in plan.integrated),
            any(plan.unused_limit for plan in plans.values()),
            {f"{name} {kind}".strip(): size for name, plan in plans.items() for kind, size in plan.small.items()},
        )


def plan_memory(plan: Plan, events: Mapping[str, int], device: torch.device, limits: Limits, *, separate: bool) -> MemoryPlan:
    """Where to keep what.

    Args:
        plan:    the tables of the model
        events:  how many events of each sample this process has
        device:  where the engine computes
        limits:  how much memory there is
        separate:  whether the events it works on lie elsewhere than in main memory
    """
    whole = _room(limits.device if separate else limits.host, device)
    working = None if whole is None else min(WORKING, whole // 4)
    room = whole if whole is None or working is None else whole - working
    kept = {name: n for name, n in events.items() if name != "phase space" or not plan.collapses}
    integrated = tuple(name for name in events if name not in kept)
    per_event, total = plan.bytes_per_event, sum(kept.values()) * plan.bytes_per_event
    piece = _chunk_events(LARGEST_PIECE if room is None else room / CHUNKS, plan.exact_bytes_per_event, LARGEST_PIECE)
    unused = not separate and limits.device is not None
    where = f"on {device}" if separate else "in main memory"
    if room is None or total <= room:
        placed = {name: Placement(n) for name, n in kept.items()}
        preparing = _preparing(plan, events, integrated, piece, working, on_gpu=device.type == "cuda")
        most = MOST_SMALL if room is None else min(MOST_SMALL, room // CHUNKS, room - total)
        sizes = {name: events[name] * plan.exact_bytes_per_event for name in integrated}
        small = {name: size for name, size in sizes.items() if size <= most}
        left = tuple(name for name in integrated if name not in small)
        return MemoryPlan(per_event, placed, where, separate, None, piece, working, preparing, limits.scratch, left, unused, small)
    chunk = _chunk_events(room / CHUNKS, per_event)
    buffers = N_BUFFERS + 1  # one is being built
    levels = [_chunks_in(room, chunk * per_event, buffers)]
    if separate:
        host = _room(limits.host, CPU)
        everything = -(-total // (chunk * per_event)) + len(kept)
        fits = host is None or total + N_BUFFERS * chunk * per_event <= host
        levels.append(everything if host is None or fits else _chunks_in(host, chunk * per_event, N_BUFFERS))
    placed = _fill(kept, chunk, levels)
    preparing = _preparing(plan, {name: min(n, chunk) for name, n in events.items()}, integrated, piece, working, on_gpu=separate)
    preparing += chunk * per_event  # the one that is being built
    return MemoryPlan(per_event, placed, where, separate, chunk, piece, working, preparing, limits.scratch, integrated, unused)


def _preparing(plan: Plan, events: Mapping[str, int], integrated: tuple[str, ...], piece: int, working: int | None, *, on_gpu: bool) -> int:
    """Bytes that the preparation takes for a while: spin amplitudes and event tables of some events, and a piece that is integrated."""
    per_event = SPIN_RATIO * plan.exact_bytes_per_event
    most = max((min(n, piece) if name in integrated else n for name, n in events.items()), default=0)
    on_cpu = 2 * min(most, torch.get_num_threads() * events_per_thread(per_event, working)) * per_event  # what is freed leaves gaps
    spin = min(most * per_event, GPU_CHUNK_BYTES, GPU_CHUNK_BYTES if working is None else working) if on_gpu else on_cpu
    pieces = max((min(events[name], piece) for name in integrated), default=0) * plan.exact_bytes_per_event
    return spin + min(most, LONG_TABLE_EVENTS if on_gpu else TABLE_EVENTS) * 8 * TABLE_NUMBERS + pieces


def _room(limit: int | None, device: torch.device) -> int | None:
    if limit is not None:
        return limit
    free = available_bytes(device)
    if free is None:
        return None
    return int(USED_FRACTION * free / (1 if device.type == "cuda" else processes_here()))


def _chunk_events(size: float, per_event: int, largest: int = LARGEST_CHUNK) -> int:
    """Events of a chunk of at most this many bytes."""
    size = min(int(size), largest)
    if size >= POWER_OF_TWO:
        size = (1 << (size.bit_length() - 1)) - SLACK
    n = max(size // (per_event + ORDER), 1)
    return n // MULTIPLE * MULTIPLE if n >= 8 * MULTIPLE else n


def _chunks_in(room: int, chunk: int, reserved: int) -> int:
    """How many chunks fit, besides those that are set aside."""
    return max(room // chunk - reserved, 0)


def _fill(kept: Mapping[str, int], chunk: int, levels: list[int]) -> dict[str, Placement]:
    """Data, background and phase space into the levels in turn; what is left lies on disk."""
    left, placed = list(levels), {}
    for name in sorted(kept, key=lambda name: ("data", "background", "floor", "phase space").index(name)):
        n, found = kept[name], []
        for level in range(len(left)):
            chunks = min(left[level], -(-n // chunk))
            left[level] -= chunks
            found.append(min(chunks * chunk, n))
            n -= found[-1]
        placed[name] = Placement(found[0], found[1] if len(found) > 1 else 0, n)
    return {name: placed[name] for name in kept}
