"""The events of a sample that belong to this process: arrays, or a stream of them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.ranks import Ranks, same_arrays
from ctpwa.base.words import counted
from ctpwa.data.checks import check_weights
from ctpwa.data.momenta import read_momenta
from ctpwa.data.own_part import OwnPart
from ctpwa.data.stream import EventStream, Piece, regrouped
from ctpwa.engine.samples.sample import checked_weights
from ctpwa.model.model import Model

BLOCK = 1 << 10  # events that are compared with each other at a time
SampleInput = Mapping[str, Any] | EventStream  # what a user gives


@dataclass(frozen=True)
class Share:
    """What one process has of a sample.

    Attributes:
        name:     of the sample
        rows:     which of the whole sample they are
        labels:   the final particles in their order
        p4:       their momenta, each [event, 4]; empty for a stream
        weights:  [event]; None if all are 1, and for a stream
        stream:   the stream, if it is one
    """

    name: str
    rows: OwnPart
    labels: tuple[str, ...]
    p4: list[Tensor]
    weights: Any
    stream: EventStream | None = None

    def first(self, n: int) -> list[Tensor]:
        """Momenta of the first events."""
        if self.stream is None:
            return [p[:n] for p in self.p4]
        with closing(regrouped(self.stream.pieces(), self.labels, n)) as pieces:
            found = next(pieces, None)
        return [torch.zeros(0, 4, dtype=torch.float64)] * len(self.labels) if found is None else found[0]

    def distinct(self, enough: int) -> int:
        """How many different events with a weight there are; counted no further than to ``enough``."""
        known = np.empty((0, 4 * len(self.labels)))
        with closing(self.pieces(max(enough, BLOCK))) as pieces:
            for p4, weights in pieces:
                events = torch.cat(p4, dim=1).cpu().numpy()
                counting = events if weights is None else events[np.asarray(weights.cpu()) != 0]
                known = np.unique(np.concatenate([known, counting]), axis=0)
                if len(known) >= enough:
                    return enough
        return len(known)

    def pieces(self, size: int) -> Generator[Piece]:
        """All events, ``size`` at a time; their weights are checked."""
        if self.stream is None:
            w = None if self.weights is None else checked_weights(self.weights, self.rows.count, _device_of(self.weights))
            for start in range(0, self.rows.count, size):
                yield [p[start : start + size] for p in self.p4], None if w is None else w[start : start + size]
            return
        found, announced = 0, self.rows.count
        for p4, weights in regrouped(self.stream.pieces(), self.labels, size):
            if weights is not None:
                check_weights(weights, self.name, found)
            found += len(p4[0])
            if found > announced:
                raise DataError(f"{self.name}: at least {found} events came, and {announced} were announced\n fix: check its n_events")
            yield p4, weights
        if found != announced:
            raise DataError(f"{self.name}: {found} events came, and {announced} were announced\n fix: check its n_events")


def count_distinct(share: Share, enough: int, ranks: Ranks) -> int:
    """Different events of a sample, counted to ``enough``; of several ranks the sum of what they have, an upper limit."""
    count = ranks.together(lambda: share.distinct(enough))
    return int(ranks.sum(1, lambda: np.array([float(count)]), b"distinct")[0])


def own_share(name: str, sample: SampleInput, model: Model, ranks: Ranks) -> Share:
    """The events of a sample that belong to this rank, on the device they came on.

    Args:
        name:    of the sample, for messages
        sample:  all events, or those of this rank if the sample says so
        model:   gives the final particles
        ranks:   processes that share the events
    """
    labels = tuple(model.decay.labels)
    if isinstance(sample, EventStream):
        if sample.rows is None and ranks.size > 1:
            raise DataError(f"{name}: every process has the whole sample\n fix: open it with ranks=…, so that each reads its own part")
        rows = OwnPart(((0, sample.n_events),), sample.n_events) if sample.rows is None else sample.rows
        return Share(name, _checked_rows(name, rows, sample.n_events, ranks), labels, [], None, sample)
    p4, weights, shared = _read(name, sample, model), getattr(sample, "weights", None), getattr(sample, "rows", None)
    n = len(p4[0])
    if weights is not None and len(weights) != n:
        raise DataError(f"{name}: {counted(len(weights), 'weight')} for {counted(n, 'event')}\n fix: give one weight per event")
    if shared is not None:
        return Share(name, _checked_rows(name, shared, n, ranks), labels, p4, weights)
    same_arrays(ranks, name, [*p4, None if weights is None else torch.as_tensor(weights)])
    first, last = ranks.share(n)
    if ranks.size > 1:
        p4, weights = [p[first:last] for p in p4], None if weights is None else weights[first:last]
    return Share(name, OwnPart(((first, last),), n), labels, p4, weights)


def _checked_rows(name: str, rows: OwnPart, n: int, ranks: Ranks) -> OwnPart:
    everywhere = ranks.sum(1, lambda: np.array([float(n)]), b"rows")[0]
    if n != rows.count or everywhere != rows.total:
        raise DataError(
            f"{name}: {everywhere:.0f} events are left of a sample of {rows.total} that several processes share\n"
            " fix: give each process what it has read as it is, or the whole sample"
        )
    return rows


def _read(name: str, sample: Mapping[str, Any], model: Model) -> list[Tensor]:
    try:
        return read_momenta(dict(sample), model.decay.labels)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _device_of(weights: Any) -> torch.device:
    return weights.device if isinstance(weights, Tensor) else torch.device("cpu")
