"""Finite resolution: a measured event stands for several points of phase space where it may have happened, each with a weight.

    p(x) = Σ_k v_k I(x_k),    v_k ∝ R(x | x_k) times the density of phase space at x_k

R(x | x') is the probability that what happened at x' is measured at x. A factor common to all v of an event changes no fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.data.event_column import Columns, EventColumn
from ctpwa.data.events import Events
from ctpwa.data.stream import Piece


@dataclass(frozen=True)
class Points:
    """The points of some events.

    Attributes:
        piece:  momenta and columns of all points, those of an event one after the other; without weights
        v:      weights of the points [event, point of it]
    """

    piece: Piece
    v: Tensor


class Resolution(Protocol):
    """Makes points of events."""

    @property
    def n_points(self) -> int:
        """Points of every event."""

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """Event columns that it needs besides those of the model."""

    def points(self, events: Piece) -> Points:
        """The points of some events, on their device."""


@dataclass(frozen=True)
class GivenPoints:
    """Points that are known for every event, in event columns: as ``group_points`` puts them there.

    Attributes:
        labels:    the final particles in their order
        n_points:  of every event
    """

    labels: tuple[str, ...]
    n_points: int

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """Momenta of the points of every particle, and their weights."""
        momenta = (EventColumn(momentum_column(label), 4 * self.n_points) for label in self.labels)
        return (*momenta, EventColumn(WEIGHT_COLUMN, self.n_points))

    def points(self, events: Piece) -> Points:
        """See ``Resolution``."""
        p4 = [events.columns[momentum_column(label)].reshape(-1, 4) for label in self.labels]
        others = {name: values for name, values in events.columns.items() if not name.startswith(PREFIX)}
        return Points(Piece(p4, None, repeated(others, self.n_points)), events.columns[WEIGHT_COLUMN].reshape(-1, self.n_points))


@dataclass(frozen=True)
class WithOwnPoint:
    """Another resolution, and the event itself as a last point, whose weight is 0.

    Attributes:
        resolution:  the other one
    """

    resolution: Resolution

    @property
    def n_points(self) -> int:
        """One more."""
        return self.resolution.n_points + 1

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """The same."""
        return self.resolution.columns

    def points(self, events: Piece) -> Points:
        """See ``Resolution``."""
        found, n = self.resolution.points(events), events.n_events

        def joined(points: Tensor, own: Tensor) -> Tensor:
            return torch.cat([points.reshape(n, -1, *own.shape[1:]), own[:, None]], dim=1).flatten(0, 1)

        p4 = [joined(points, own) for points, own in zip(found.piece.p4, events.p4, strict=True)]
        columns = {name: joined(values, events.columns[name]) for name, values in found.piece.columns.items()}
        return Points(Piece(p4, None, columns), torch.cat([found.v, torch.zeros_like(found.v[:, :1])], dim=1))


PREFIX = "points of "
LEAST_EVENTS = 10  # of which it can be said how far from each other they lie
LARGEST_SPREAD = 0.1  # of momenta of the points of an event: their variance relative to that of all rows
MOST_NEAR = 1 / 3  # of all events may lie as near to the next one
WEIGHT_COLUMN = PREFIX + "the event"


def momentum_column(label: str) -> str:
    """The event column with the momenta of a particle at all points."""
    return PREFIX + label


def repeated(columns: Columns, k: int) -> dict[str, Tensor]:
    """Event columns of all points: every event has k of them."""
    return {name: values.repeat_interleave(k, dim=0) for name, values in columns.items()}


def group_points(rows: Events, n_points: int, name: str = "sample") -> Events:
    """Events from rows of which so many each are the points of one event, for ``GivenPoints``.

    The weight of an event is the sum of those of its rows, the weights of its points are their shares in it. Its own momenta and columns,
    which figures show, are those of its first row.

    Args:
        rows:      the points of all events
        n_points:  of every event
        name:      of the sample, for messages
    """
    if n_points < 2:
        raise DataError(f"{name}: {n_points} resolution points for each event\n fix: give at least 2, or leave the resolution out")
    if rows.part is not None:
        raise DataError(f"{name}: the rows of an event may lie in several processes\n fix: read all of them in every process")
    if rows.n_events % n_points:
        raise DataError(
            f"{name}: {rows.n_events} rows are not a multiple of {n_points} resolution points for each event\n"
            " fix: give the same number of rows for every event, one after the other"
        )
    _check_near(rows, n_points, name)
    w = torch.ones(rows.n_events, dtype=torch.float64) if rows.weights is None else rows.weights
    of_points = w.reshape(-1, n_points)
    total = of_points.sum(dim=1)
    mixed = ((of_points > 0).any(dim=1) & (of_points < 0).any(dim=1)).nonzero()
    if len(mixed):
        raise DataError(
            f"{name}: rows {n_points * int(mixed[0])} to {n_points * int(mixed[0]) + n_points - 1} have weights of both signs,"
            " and are points of one event\n fix: a row has the weight of its event times that of its point"
        )
    shares = torch.where(total[:, None] == 0, 1 / n_points, of_points / total[:, None])
    columns = {momentum_column(label): p4.reshape(len(total), -1) for label, p4 in rows.items()} | {WEIGHT_COLUMN: shares}
    first = rows.picked(slice(0, None, n_points))
    return replace(first, weights=total if rows.weights is not None else torch.ones_like(total), columns={**first.columns, **columns})


def _check_near(rows: Events, n_points: int, name: str) -> None:
    """Refuse a number of rows that cannot be right: those of one event are far from each other, or those of different events near."""
    if rows.n_events < LEAST_EVENTS * n_points:
        return
    momenta = torch.cat([p4[:, 1:] for p4 in rows.values()], dim=1)
    own = momenta.reshape(-1, n_points, momenta.shape[1])
    near = LARGEST_SPREAD * float(momenta.var(dim=0).sum())
    fix = "put the rows of an event one after the other, and check how many there are"
    if float(own.var(dim=1).mean(dim=0).sum()) > near:
        raise DataError(f"{name}: the {n_points} rows of an event lie as far from each other as those of different events\n fix: {fix}")
    means = own.mean(dim=1)
    share = float(((means[1:] - means[:-1]).square().sum(dim=1) < 2 * near).double().mean())  # of the independent: twice the variance
    if share > MOST_NEAR:
        raise DataError(
            f"{name}: {100 * share:.0f} % of all events, of {n_points} rows each, lie as near to the next one as rows of one event\n"
            f" fix: {fix}"
        )


def checked_points(resolution: Resolution, events: Piece, first: int) -> Points:
    """The points of some events; refuses weights that are negative, not finite, or all zero.

    Args:
        resolution:  makes them
        events:      the events
        first:       number of the first of them, for messages
    """
    found = resolution.points(events)
    wrong = ~found.v.isfinite().all(dim=1) | (found.v < 0).any(dim=1) | ~(found.v.sum(dim=1) > 0)
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0, 0])
        raise DataError(
            f"the weights of the resolution points of event {first + at} are {[round(float(x), 6) for x in found.v[at][:5]]}…\n"
            " fix: give finite weights that are not negative, of which one at least is not 0"
        )
    return found
