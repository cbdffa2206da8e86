"""Samples that are never whole in memory: their events come in pieces, as often as they are wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.memory import available_bytes, format_bytes
from ctpwa.data.events import Events, concatenate
from ctpwa.data.own_part import OwnPart, join_parts

Piece = tuple[list[Tensor], Tensor | None]  # momenta of all particles, each [event, 4]; weights, None if all are 1


class EventStream(ABC):
    """A sample whose events come in pieces. A likelihood takes it wherever it takes ``Events``.

    Attributes:
        n_events:  events of this process
        rows:      which rows of the whole sample they are, if several processes share it; None: they are the whole sample
    """

    n_events: int
    rows: OwnPart | None = None

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
        shared = [part.rows for part in parts if part.rows is not None]
        self.rows = join_parts(shared) if len(shared) == len(parts) else None

    def pieces(self) -> Iterator[Events]:
        """See ``EventStream``."""
        for part in self.parts:
            if isinstance(part, Events):
                yield part
            else:
                yield from part.pieces()


def regrouped(pieces: Iterator[Events], labels: Sequence[str], size: int) -> Generator[Piece]:
    """The same events, exactly ``size`` at a time except the last ones.

    Args:
        pieces:  the events
        labels:  the particles in the order in which they are wanted
        size:    how many at a time
    """
    waiting: list[Piece] = []
    n = 0
    for piece in pieces:
        start, length = 0, piece.n_events
        while start < length:
            stop = min(start + size - n, length)
            weights = None if piece.weights is None else piece.weights[start:stop]
            waiting.append(([piece[label][start:stop] for label in labels], weights))
            n, start = n + stop - start, stop
            if n == size:
                yield _joined(waiting)
                waiting, n = [], 0
    if n:
        yield _joined(waiting)


def _joined(parts: Sequence[Piece]) -> Piece:
    if len(parts) == 1:
        return parts[0]
    p4 = [torch.cat(particle) for particle in zip(*(own for own, _ in parts), strict=True)]
    if all(weights is None for _, weights in parts):
        return p4, None
    return p4, torch.cat([own[0].new_ones(len(own[0])) if weights is None else weights for own, weights in parts])


def picked_events(events: Events | EventStream, most: int | None) -> Events:
    """Events in memory, at most so many, evenly picked; None: all.

    Raises:
        DataError: if they do not fit into main memory
    """
    if most is not None and most < 1:
        raise DataError(f"at most {most} events\n fix: give at least 1")
    n = events.n_events
    if isinstance(events, Events) and (most is None or n <= most):
        return events
    count = n if most is None else min(n, most)
    chosen = (torch.arange(count, dtype=torch.float64) * (n / max(count, 1))).to(torch.int64)
    if isinstance(events, Events):
        return _some(events, chosen)
    parts: list[Events] = []
    done = 0
    for piece in events.pieces():
        if not parts:
            _check_room(count, len(piece))
        own = chosen[(chosen >= done) & (chosen < done + piece.n_events)] - done
        parts.append(_some(piece, own))
        done += piece.n_events
    return concatenate(parts)


def _some(events: Events, chosen: Tensor) -> Events:
    weights = None if events.weights is None else events.weights[chosen]
    return Events({name: p4[chosen] for name, p4 in events.items()}, weights, events.summary)


def _check_room(n_events: int, n_particles: int) -> None:
    needed, free = 2 * 32 * n_particles * n_events, available_bytes(torch.device("cpu"))  # twice, while pieces are put together
    if free is not None and needed > free:
        raise DataError(
            f"{n_events} events need {format_bytes(needed)}, and main memory has {format_bytes(free)} left\n fix: ask for fewer of them"
        )
