"""What data are cut into bins of, and where the edges are: ``mass(eta, pi0): 1.04..2.0/40``, or ``t: 0.1, 0.2, 0.5``.

The variable is one of the final state (``docs/variables.md``), an event column of one number, or ``t``, which of a production is
−(p_beam − p_X)² unless there is a column of that name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import torch

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.data.events import Events
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.model.model import Model
from ctpwa.observe.variable import parse_variable
from ctpwa.spin.produced_rows import ProducedBy
from ctpwa.spin.reaction import numbers_of

EXAMPLE = "write  'mass(eta, pi0): 1.04..2.0/40',  or edges,  't: 0.1, 0.2, 0.5'"
MOST_BINS = 100_000
TRANSFER = "t"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})\s*/\s*(?P<n>\d+)\s*")
_EDGES = re.compile(rf"\s*{_NUMBER}(?:\s*,\s*{_NUMBER})+\s*")


@dataclass(frozen=True)
class BinAxis:
    """A variable and the edges of its bins.

    Attributes:
        text:    the variable
        edges:   rising, one more than there are bins
        label:   LaTeX between dollar signs
        unit:    of the variable; empty if it has none
    """

    text: str
    edges: tuple[float, ...]
    label: str
    unit: str

    @classmethod
    def read(cls, text: str, model: Model) -> BinAxis:
        """What a text says about a model.

        Args:
            text:   such as ``mass(eta, pi0): 1.04..2.0/40``
            model:  what is fitted

        Raises:
            DataError:     if it is no variable with edges
            VariableError: if there is no such variable
        """
        name, colon, where = text.rpartition(":")
        found, name = _RANGE.fullmatch(where), " ".join(name.split())
        if not colon or not name or (found is None and not _EDGES.fullmatch(where)):
            raise DataError(f"{text!r} does not say which bins\n fix: {EXAMPLE}")
        if found is None:
            edges = tuple(map(float, where.split(",")))
        else:
            n = int(found["n"])
            if not 1 <= n <= MOST_BINS:
                raise DataError(f"{text!r} has {n} bins\n fix: give a number from 1 to {MOST_BINS}")
            edges = tuple(np.linspace(float(found["low"]), float(found["high"]), n + 1).tolist())
        if not all(math.isfinite(edge) for edge in edges) or any(a >= b for a, b in pairwise(edges)):
            raise DataError(f"the edges in {text!r} do not rise\n fix: {EXAMPLE}")
        label, unit = _described(name, model)
        return cls(name, edges, label, unit)

    @property
    def n(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    @property
    def centres(self) -> np.ndarray:
        """The middle of every bin."""
        return (np.array(self.edges[1:]) + np.array(self.edges[:-1])) / 2

    def values(self, events: Events, model: Model) -> np.ndarray:
        """The variable in every event."""
        return _values(self.text, model)(events)

    def numbers(self, events: Events, model: Model) -> np.ndarray:
        """The bin of every event, −1 outside; lower edges belong to their bins, and so does the highest edge."""
        values = self.values(events, model)
        found = np.searchsorted(self.edges, values, side="right") - 1
        found[values == self.edges[-1]] = self.n - 1
        found[(values < self.edges[0]) | (values > self.edges[-1])] = -1
        return found

    def as_option(self) -> list[object]:
        """What fits depend on."""
        return [self.text, list(self.edges)]


@dataclass(frozen=True)
class Bin:
    """One bin of one or two axes.

    Attributes:
        key:    its name in a study, ``0``, ``1``, …; ``3,1`` on two axes
        place:  its number on every axis
        low, high:  edges on every axis
    """

    key: str
    place: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def words(self) -> str:
        """Its edges."""
        return ", ".join(f"{low:.6g} … {high:.6g}" for low, high in zip(self.low, self.high, strict=True))


def all_bins(axes: Sequence[BinAxis]) -> tuple[Bin, ...]:
    """All bins, the first axis varying fastest."""
    found = []
    for place in product(*(range(axis.n) for axis in reversed(axes))):
        own = place[::-1]
        pairs = list(zip(axes, own, strict=True))
        low, high = (tuple(axis.edges[k + shift] for axis, k in pairs) for shift in (0, 1))
        found.append(Bin(",".join(map(str, own)), own, low, high))
    return tuple(found)


def bin_numbers(axes: Sequence[BinAxis], events: Events, model: Model) -> np.ndarray:
    """The number of the bin of every event among all of them, −1 outside."""
    result, size = np.zeros(events.n_events, dtype=np.int64), 1
    outside = np.zeros(events.n_events, dtype=bool)
    for axis in axes:
        own = axis.numbers(events, model)
        outside |= own < 0
        result += size * own
        size *= axis.n
    return np.where(outside, -1, result)


def _column(name: str, model: Model) -> str | None:
    """The event column of this name, if it is one number."""
    return next((column.name for column in model.columns if column.name == name and column.size == 1), None)


def _described(name: str, model: Model) -> tuple[str, str]:
    if _column(name, model) is not None:
        return name, ""
    if name == TRANSFER:
        if not isinstance(model.production, ProducedBy):
            raise PhysicsError("there is no 't'", "declare it as an event column, under  columns:,  or give the model a production")
        return "$-t$", "GeV$^{2}$"
    variable = parse_variable(name, model.decay)
    return variable.label, variable.unit


def _values(name: str, model: Model) -> Callable[[Events], np.ndarray]:
    column = _column(name, model)
    if column is not None:
        return lambda events: events.columns[column].double().cpu().numpy().copy()
    if name == TRANSFER and isinstance(model.production, ProducedBy):
        return lambda events: _transfer(events, model)
    return parse_variable(name, model.decay)


def _transfer(events: Events, model: Model) -> np.ndarray:
    """−t = −(p_beam − p_X)² of a production."""
    production = model.production
    assert isinstance(production, ProducedBy)
    X = torch.stack([events[label].T for label in model.decay.labels]).sum(dim=0)
    columns = {name: values.T if values.ndim == 2 else values for name, values in events.columns.items()}
    beam = numbers_of(production.reaction.beam, columns, X[0])
    return (-mass_squared(beam - X)).cpu().numpy()
