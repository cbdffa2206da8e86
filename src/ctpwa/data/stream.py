"""Samples that are never entirely in memory: their events come in pieces, as often as needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.memory import available_bytes, format_bytes
from ctpwa.data.event_column import Columns, EventColumn, checked_columns
from ctpwa.data.events import Events, concatenate, joined_weights
from ctpwa.data.own_part import OwnPart, join_parts


@dataclass(frozen=True)
class Piece:
    """Some events of a sample, as the engine takes them.

    Attributes:
        p4:       momenta of the final particles in their order, each [event, 4]
        weights:  [event]; None if all are 1
        columns:  event columns by name
    """

    p4: list[Tensor]
    weights: Tensor | None = None
    columns: Columns = field(default_factory=dict)

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(self.p4[0])

    @property
    def tensors(self) -> list[Tensor]:
        """All that it holds."""
        return [*self.p4, *([] if self.weights is None else [self.weights]), *self.columns.values()]

    def part(self, start: int, stop: int) -> Piece:
        """The events from one number to another."""
        here = slice(start, stop)
        weights = None if self.weights is None else self.weights[here]
        return Piece([p[here] for p in self.p4], weights, {name: values[here] for name, values in self.columns.items()})

    def to(self, device: torch.device) -> Piece:
        """The same events on a device."""
        weights = None if self.weights is None else self.weights.to(device)
        return Piece([p.to(device) for p in self.p4], weights, {name: values.to(device) for name, values in self.columns.items()})


class EventStream(ABC):
    """A sample whose events come in pieces. A likelihood takes it wherever it takes ``Events``.

    Attributes:
        n_events:  events of this process
        part:      which events of the whole sample they are, if several processes share it; None: they are the whole sample
    """

    n_events: int
    part: OwnPart | None = None

    @abstractmethod
    def pieces(self) -> Iterator[Events]:
        """All events in their order, always the same, some at a time."""


class JoinedStream(EventStream):
    """Several samples one after the other.

    Args:
        parts:  the samples
    """

    def __init__(self, parts: Sequence[Events | EventStream]) -> None:
        self.parts = tuple(parts)
        self.n_events = sum(part.n_events for part in parts)
        shared = [part.part for part in parts if part.part is not None]
        self.part = join_parts(shared) if len(shared) == len(parts) else None

    def pieces(self) -> Iterator[Events]:
        """See ``EventStream``."""
        for part in self.parts:
            if isinstance(part, Events):
                yield part
            else:
                yield from part.pieces()


def one_of_each(n: int, step: int) -> Tensor:
    """Numbers of some of ``n`` events: one of every ``step``, at a place that random numbers choose, always the same ones.

    Files may repeat a pattern, such as an event and its charge conjugate, of which every so many-th event would be one side only.
    """
    first = np.arange(0, n, step)
    return torch.from_numpy(np.minimum(first + np.random.default_rng(step).integers(0, step, len(first)), n - 1))


class ThinnedStream(EventStream):
    """One of every so many events of a stream.

    Args:
        whole:  the stream
        step:   how many events there are for each that is taken
    """

    def __init__(self, whole: EventStream, step: int) -> None:
        self.whole, self.step = whole, step
        self.n_events = -(-whole.n_events // step)

    def pieces(self) -> Iterator[Events]:
        """See ``EventStream``."""
        done, numbers = 0, one_of_each(self.whole.n_events, self.step)
        for piece in self.whole.pieces():
            begin, end = torch.searchsorted(numbers, torch.tensor([done, done + piece.n_events])).tolist()
            yield piece.picked(numbers[begin:end] - done)
            done += piece.n_events


def regrouped(
    pieces: Iterator[Events], labels: Sequence[str], columns: Sequence[EventColumn], size: int, name: str = "sample"
) -> Generator[Piece]:
    """The same events, exactly ``size`` at a time except the last ones.

    Args:
        pieces:   the events
        labels:   the particles in the order wanted
        columns:  the event columns wanted
        size:     how many at a time
        name:     of the sample, for messages
    """
    waiting: list[Piece] = []
    n = 0
    for events in pieces:
        own = checked_columns(events.columns, columns, events.n_events, name)
        piece = Piece([events[label] for label in labels], events.weights, own)
        start, length = 0, piece.n_events
        while start < length:
            stop = min(start + size - n, length)
            waiting.append(piece.part(start, stop))
            n, start = n + stop - start, stop
            if n == size:
                yield _joined(waiting)
                waiting, n = [], 0
    if n:
        yield _joined(waiting)


def _joined(parts: Sequence[Piece]) -> Piece:
    if len(parts) == 1:
        return parts[0]
    p4 = [torch.cat(particle) for particle in zip(*(part.p4 for part in parts), strict=True)]
    columns = {name: torch.cat([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Piece(p4, joined_weights([part.weights for part in parts], [part.n_events for part in parts]), columns)


def evenly(n: int, most: int | None) -> Tensor:
    """Numbers of at most so many of ``n`` events, evenly picked; None: of all.

    Args:
        n:     how many there are
        most:  how many are wanted
    """
    count = n if most is None else min(n, most)
    return (torch.arange(count, dtype=torch.float64) * (n / max(count, 1))).to(torch.int64)


def picked_events(events: Events | EventStream, most: int | None) -> Events:
    """Events in memory, at most this many, evenly picked; None: all.

    Raises:
        DataError: if they do not fit into main memory
    """
    if most is not None and most < 1:
        raise DataError(f"at most {most} events\n fix: give at least 1")
    n = events.n_events
    if isinstance(events, Events) and (most is None or n <= most):
        return events
    chosen = evenly(n, most)
    if isinstance(events, Events):
        return events.picked(chosen)
    parts: list[Events] = []
    done = 0
    for piece in events.pieces():
        if not parts:
            _check_room(len(chosen), len(piece))
        own = chosen[(chosen >= done) & (chosen < done + piece.n_events)] - done
        parts.append(piece.picked(own))
        done += piece.n_events
    return concatenate(parts)


def _check_room(n_events: int, n_particles: int) -> None:
    needed, free = 2 * 32 * n_particles * n_events, available_bytes(torch.device("cpu"))  # twice, while pieces are put together
    if free is not None and needed > free:
        raise DataError(
            f"{n_events} events need {format_bytes(needed)}, and main memory has {format_bytes(free)} left\n fix: ask for fewer of them"
        )
