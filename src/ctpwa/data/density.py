"""Densities of events: what background looks like, relative to the phase space that the events of the normalisation stand for.

A density is known up to a factor; the likelihood divides it by its mean over the phase-space sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.data.stream import Piece


class Density(Protocol):
    """A number for every event, not negative. It does not hold the efficiency if the phase-space sample has it."""

    def __call__(self, events: Piece) -> Tensor:
        """The density at some events, [event], on their device."""


def is_estimated(density: Density) -> bool:
    """Whether a density was made of few events, and says so with ``estimated``: 0 means that none was there, not that none can be."""
    return bool(getattr(density, "estimated", False))


@dataclass(frozen=True)
class Flat:
    """The same everywhere in phase space."""

    def __call__(self, events: Piece) -> Tensor:
        """1."""
        return torch.ones(events.n_events, dtype=torch.float64, device=events.p4[0].device)


@dataclass(frozen=True)
class InColumn:
    """An event column.

    Attributes:
        column:      its name; all samples have it
        efficiency:  of the column that it is divided by; None: it holds no efficiency
    """

    column: str
    efficiency: str | None = None

    def __call__(self, events: Piece) -> Tensor:
        """The numbers of the column."""
        values = events.columns[self.column]
        return values if self.efficiency is None else values / events.columns[self.efficiency]


def checked_density(values: Tensor, name: str, sample: str, first: int, *, positive: bool) -> Tensor:
    """Values of a density, each finite and not negative, and not 0 either where ``positive``.

    Args:
        values:    of some events
        name:      of the background
        sample:    the sample that the events belong to
        first:     number of the first of them
        positive:  whether 0 is refused: at events that were measured, of a density that is estimated
    """
    wrong = ~values.isfinite() | (values < 0) | ((values == 0) if positive else torch.zeros_like(values, dtype=torch.bool))
    if not bool(wrong.any()):
        return values
    at = int(wrong.nonzero()[0, 0])
    value = float(values[at])
    what = "0" if value == 0 else f"{value:.6g}"
    fix = (
        "it was made of too few events, and there are measured ones where it had none: smooth it, or use fewer bins"
        if value == 0
        else "a density is finite and not negative: check the column, formula or histogram"
    )
    raise DataError(f"{sample}: the density of background {name!r} is {what} at event {first + at}\n fix: {fix}")
