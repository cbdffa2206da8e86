"""The events of a sample that belong to this process: arrays, or a stream of them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.ranks import Ranks, same_arrays
from ctpwa.base.words import counted
from ctpwa.data.checks import check_weights
from ctpwa.data.event_column import Columns, EventColumn, checked_columns, events_last
from ctpwa.data.momenta import read_momenta
from ctpwa.data.own_part import OwnPart
from ctpwa.data.stream import EventStream, Piece, ThinnedStream, one_of_each, regrouped
from ctpwa.engine.samples.sample import checked_weights
from ctpwa.model.model import Model
from ctpwa.spin.production import Rows
from ctpwa.spin.reaction import RefusedEventError

CHECKED = 1 << 16  # events that are checked at a time
BLOCK = 1 << 10  # events that are compared with each other at a time
SampleInput = Mapping[str, Any] | EventStream  # what a user gives


@dataclass(frozen=True)
class Share:
    """What one process has of a sample.

    Attributes:
        name:      of the sample
        part:      which events of the whole sample they are
        labels:    the final particles in their order
        declared:  the event columns of the model
        p4:        momenta of the final particles, each [event, 4]; empty for a stream
        weights:   [event]; None if all are 1, and for a stream
        columns:   event columns by name; empty for a stream
        stream:    the stream, if it is one
    """

    name: str
    part: OwnPart
    labels: tuple[str, ...]
    declared: tuple[EventColumn, ...]
    p4: list[Tensor]
    weights: Any
    columns: Columns
    stream: EventStream | None = None

    def first(self, n: int) -> Piece:
        """The first events, without weights."""
        if self.stream is None:
            return Piece([p[:n] for p in self.p4], None, {name: values[:n] for name, values in self.columns.items()})
        with closing(regrouped(self.stream.pieces(), self.labels, self.declared, n, self.name)) as pieces:
            found = next(pieces, None)
        if found is None:
            nothing = {c.name: torch.zeros((0, c.size) if c.size > 1 else 0, dtype=torch.float64) for c in self.declared}
            return Piece([torch.zeros(0, 4, dtype=torch.float64)] * len(self.labels), None, nothing)
        return Piece(found.p4, None, found.columns)

    def distinct(self, enough: int) -> int:
        """How many different events with a weight there are; counted no further than to ``enough``."""
        known = np.empty((0, 4 * len(self.labels)))
        with closing(self.pieces(max(enough, BLOCK))) as pieces:
            for piece in pieces:
                events = torch.cat(piece.p4, dim=1).cpu().numpy()
                counting = events if piece.weights is None else events[np.asarray(piece.weights.cpu()) != 0]
                known = np.unique(np.concatenate([known, counting]), axis=0)
                if len(known) >= enough:
                    return enough
        return len(known)

    def thinned(self, step: int, ranks: Ranks) -> Share:
        """One of every so many events of this process."""
        if step == 1:
            return self
        chosen = one_of_each(self.part.count, step)
        count = len(chosen)
        part = OwnPart(((0, count),), int(ranks.sum(1, lambda: np.array([float(count)]), b"thinned")[0]))
        if self.stream is not None:
            return replace(self, part=part, stream=ThinnedStream(self.stream, step))
        columns = {name: values[chosen] for name, values in self.columns.items()}
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, part=part, p4=[p[chosen] for p in self.p4], weights=weights, columns=columns)

    def pieces(self, size: int) -> Generator[Piece]:
        """All events, ``size`` at a time; their weights are checked."""
        if self.stream is None:
            w = None if self.weights is None else checked_weights(self.weights, self.part.count, _device_of(self.weights))
            whole = Piece(self.p4, w, self.columns)
            for start in range(0, self.part.count, size):
                yield whole.part(start, start + size)
            return
        found, announced = 0, self.part.count
        for piece in regrouped(self.stream.pieces(), self.labels, self.declared, size, self.name):
            if piece.weights is not None:
                check_weights(piece.weights, self.name, found)
            found += piece.n_events
            if found > announced:
                raise DataError(f"{self.name}: at least {found} events came, but {announced} were announced\n fix: check its n_events")
            yield piece
        if found != announced:
            raise DataError(f"{self.name}: {found} events came, but {announced} were announced\n fix: check its n_events")


def count_distinct(share: Share, enough: int, ranks: Ranks) -> int:
    """Different events of a sample, counted to ``enough``; of several ranks the sum of what they have, an upper limit."""
    count = ranks.together(lambda: share.distinct(enough))
    return int(ranks.sum(1, lambda: np.array([float(count)]), b"distinct")[0])


def own_share(name: str, sample: SampleInput, model: Model, ranks: Ranks, more: tuple[EventColumn, ...] = ()) -> Share:
    """The events of a sample that belong to this rank, on the device they came on.

    Args:
        name:    of the sample, for messages
        sample:  all events, or those of this rank if the sample says so
        model:   gives the final particles
        ranks:   processes that share the events
        more:    event columns that are needed besides those of the model
    """
    labels, declared = tuple(model.decay.labels), (*model.columns, *more)
    if isinstance(sample, EventStream):
        if sample.part is None and ranks.size > 1:
            raise DataError(f"{name}: every process has the whole sample\n fix: open it with ranks=…, so that each reads its own part")
        part = OwnPart(((0, sample.n_events),), sample.n_events) if sample.part is None else sample.part
        return Share(name, _checked_part(name, part, sample.n_events, ranks), labels, declared, [], None, {}, sample)
    p4, weights, shared = _read(name, sample, model), getattr(sample, "weights", None), getattr(sample, "part", None)
    n = len(p4[0])
    columns = checked_columns(getattr(sample, "columns", {}), declared, n, name)
    if weights is not None and len(weights) != n:
        raise DataError(f"{name}: {counted(len(weights), 'weight')} for {counted(n, 'event')}\n fix: give one weight per event")
    _check_rows(name, sample, model, p4, columns)
    if shared is not None:
        return Share(name, _checked_part(name, shared, n, ranks), labels, declared, p4, weights, columns)
    same_arrays(ranks, name, [*p4, None if weights is None else torch.as_tensor(weights), *columns.values()])
    first, last = ranks.share(n)
    if ranks.size > 1:
        p4, weights = [p[first:last] for p in p4], None if weights is None else weights[first:last]
        columns = {name: values[first:last] for name, values in columns.items()}
    return Share(name, OwnPart(((first, last),), n), labels, declared, p4, weights, columns)


def _check_rows(name: str, sample: SampleInput, model: Model, p4: list[Tensor], columns: Columns) -> None:
    """Refuse events that a production cannot have made, with the file that they are in."""
    rows = model.production.rows(model.decay)
    if type(rows).check is Rows.check:
        return  # it refuses none
    for start in range(0, len(p4[0]), CHECKED):
        here = slice(start, start + CHECKED)
        own = {column: events_last(columns[column][here]) for column in rows.columns}
        try:
            rows.check([p[here].T for p in p4], own, start)
        except RefusedEventError as error:
            raise DataError(f"{name}{_in_file(sample, error.event)}: {error}") from None


def _in_file(sample: SampleInput, event: int) -> str:
    """The file that an event of a sample is in; empty if it comes from none, or if a part of them was read."""
    files = getattr(getattr(sample, "summary", None), "files", ()) if getattr(sample, "part", None) is None else ()
    first = 0
    for file in files:
        if event < first + file.n_events:
            return f": {file.path}" + (f" (from event {first})" if len(files) > 1 else "")
        first += file.n_events
    return ""


def _checked_part(name: str, part: OwnPart, n: int, ranks: Ranks) -> OwnPart:
    everywhere = ranks.sum(1, lambda: np.array([float(n)]), b"part")[0]
    if n != part.count or everywhere != part.total:
        raise DataError(
            f"{name}: {everywhere:.0f} events are left of a sample of {part.total} that several processes share\n"
            " fix: give each process what it has read as it is, or the whole sample"
        )
    return part


def _read(name: str, sample: Mapping[str, Any], model: Model) -> list[Tensor]:
    try:
        return read_momenta(dict(sample), model.decay.labels)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _device_of(weights: Any) -> torch.device:
    return weights.device if isinstance(weights, Tensor) else torch.device("cpu")
