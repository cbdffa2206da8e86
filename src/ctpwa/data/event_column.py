"""Event columns: numbers of every event besides momenta and weights, such as a decay time or the polarisation of the beam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ctpwa.base.errors import DataError, suggest
from ctpwa.base.words import counted


@dataclass(frozen=True)
class EventColumn:
    """A column declared by a model: lineshapes and productions may use it.

    Attributes:
        name:          of the column
        size:          numbers for each event: 1, or the components of a vector
        lower, upper:  limits of every number
    """

    name: str
    size: int = 1
    lower: float = -float("inf")
    upper: float = float("inf")

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of its columns in files: its own, or ``e_1``, ``e_2``, … of a vector ``e``."""
        return (self.name,) if self.size == 1 else tuple(f"{self.name}_{i + 1}" for i in range(self.size))

    def check(self, values: Tensor, place: str, first_event: int = 0) -> None:
        """Refuse numbers that are not finite, or out of bounds.

        Args:
            values:       [event] or [event, component]
            place:        where they are, for messages
            first_event:  number of the first event, for messages
        """
        bad = ~(values.isfinite() & (values >= self.lower) & (values <= self.upper))
        if bool(bad.any()):
            where = bad.nonzero()[0]
            raise DataError(
                f"{place}: {self.name!r} of event {first_event + int(where[0])} is {float(values[tuple(where)]):.6g}\n"
                f" fix: it must be {self.range or 'a finite number'}; correct or remove such events"
            )

    @property
    def range(self) -> str:
        """Its limits in words; empty if there are none."""
        limited = self.lower > -float("inf") or self.upper < float("inf")
        return f"between {self.lower:g} and {self.upper:g}" if limited else ""

    def __str__(self) -> str:
        about = ", ".join(part for part in (f"{self.size} numbers" if self.size > 1 else "", self.range) if part)
        return f"{self.name} ({about})" if about else self.name

    def same_for_all(self, numbers: float | Sequence[float], n_events: int) -> Tensor:
        """The column of events that all have the same numbers, without a copy for each."""
        own = torch.as_tensor(numbers, dtype=torch.float64)
        if own.numel() != self.size or own.ndim > 1:
            raise DataError(f"columns: {own.numel()} given for {self.name!r}\n fix: give {counted(self.size, 'number')}")
        self.check(own.reshape(1, -1), "columns")
        return own.reshape(()).expand(n_events) if self.size == 1 else own.expand(n_events, self.size)

    def probe(self, n_events: int) -> Tensor:
        """Numbers that events could have, to try things out before there are any."""
        low = self.lower if self.lower > -float("inf") else min(self.upper - 1, -1.0)
        high = self.upper if self.upper < float("inf") else max(low + 1, 1.0)
        values = torch.linspace(low, high, n_events * self.size, dtype=torch.float64)
        return values if self.size == 1 else values.reshape(n_events, self.size)


Columns = Mapping[str, Tensor]  # name → [event], or [event, component] of a vector


def checked_columns(given: Mapping[str, Any], declared: Sequence[EventColumn], n_events: int, place: str) -> dict[str, Tensor]:
    """The declared columns of a sample, or what is wrong with them.

    Args:
        given:     columns by name
        declared:  those that are needed
        n_events:  how many events there are
        place:     of the sample, for messages
    """
    result: dict[str, Tensor] = {}
    for column in declared:
        if column.name not in given:
            have = f"it has {', '.join(given)}" if given else "it has none"
            raise DataError(
                f"{place}: no event column {column.name!r}, which the model declares; {have}\n"
                f" fix: {suggest(column.name, given) + ' ' if given else ''}give it as columns={{{column.name!r}: …}}"
            )
        values = torch.as_tensor(given[column.name], dtype=torch.float64)
        wanted = (n_events,) if column.size == 1 else (n_events, column.size)
        if tuple(values.shape) != wanted:
            each = "one number" if column.size == 1 else f"{column.size} numbers"
            shape = "×".join(map(str, values.shape)) or "a single number"
            raise DataError(
                f"{place}: event column {column.name!r} is {shape} for {counted(n_events, 'event')}\n fix: give {each} for each event"
            )
        column.check(values, place)
        result[column.name] = values
    return result


def constant_columns(given: Mapping[str, float | Sequence[float]], declared: Sequence[EventColumn], n_events: int) -> dict[str, Tensor]:
    """Columns of events that all have the same numbers."""
    known = {column.name: column for column in declared}
    for name in given:
        if name not in known:
            raise DataError(f"columns: the model declares no event column {name!r}\n fix: {suggest(name, known) or 'leave it out'}")
    return {name: known[name].same_for_all(numbers, n_events) for name, numbers in given.items()}


def events_last(values: Tensor) -> Tensor:
    """A column [event] or [event, component] with the event as its last axis."""
    return values if values.ndim == 1 else values.T
