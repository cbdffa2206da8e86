"""Histograms of up to three variables in JSON files, and in which of their bins events are.

    {"axes": [{"variable": "mass(K+, K-)", "edges": [0.98, 1.5, 2.6]}, …], "values": [0.31, 0.35]}

``values`` are lists inside each other, one level for each of up to three axes, the first axis outermost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.regular import check_regular
from ctpwa.decay.chain import Decay
from ctpwa.observe.errors import VariableError
from ctpwa.observe.variable import Variable, parse_variable

MAX_AXES = 3
MAX_BYTES = 64 * 2**20
FORMAT = 'write {"axes": [{"variable": "mass(K+, K-)", "edges": [0.98, 1.5, 2.6]}], "values": [0.31, 0.35]}'


@dataclass(frozen=True, eq=False)
class Histogram:
    """Numbers in bins of up to three variables. A bin holds its lower edge, the last one both.

    Attributes:
        what:    what the numbers are, for messages
        path:    the file
        sha256:  hash of its content
        axes:    variables and their edges, rising
        values:  [bin of the first axis, …]
    """

    what: str
    path: Path
    sha256: str
    axes: tuple[tuple[Variable, np.ndarray], ...]
    values: np.ndarray

    @property
    def name(self) -> str:
        """The file and its variables."""
        return f"{self.path.name} in {' and '.join(variable.name for variable, _ in self.axes)}"

    def __call__(self, events: Mapping[str, Any]) -> np.ndarray:
        """The number of the bin that every event is in, [event].

        Raises:
            DataError: if an event is in none
        """
        bins = []
        for variable, edges in self.axes:
            x = variable(events)
            outside = (x < edges[0]) | (x > edges[-1])
            if outside.any():
                raise DataError(
                    f"{self.what}: {variable.name} is {x[outside][0]:.6g} in {some(outside)}, and {self.path.name!r} covers"
                    f" {edges[0]:.6g} to {edges[-1]:.6g}\n fix: make the histogram as wide as phase space"
                )
            bins.append(bin_numbers(x, edges))
        return self.values[tuple(bins)]


def bin_numbers(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Number of the bin of every value; those beyond the edges are in the first or last one."""
    return np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)


def read_histogram(path: Path, decay: Decay, what: str) -> Histogram:
    """The histogram in a JSON file.

    Args:
        path:   the file
        decay:  the decay whose variables it has
        what:   what its numbers are, for messages

    Raises:
        DataError: if there is no such file, or anything in it is wrong
    """
    try:
        check_regular(path, (".json",))
    except DataError as error:
        raise DataError(f"{what}: {error}") from None
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(f"{what}: cannot read {str(path)!r}: {error.strerror or error}\n fix: check the path") from None
    wrong = _Wrong(what, path)
    if len(content) > MAX_BYTES:
        raise wrong(f"it is larger than {MAX_BYTES >> 20} MiB", "use fewer bins")
    try:
        found = json.loads(content.decode("utf-8"), object_pairs_hook=lambda pairs: _once(wrong, pairs))
    except (ValueError, RecursionError):
        raise wrong("it is not JSON", FORMAT) from None
    if not isinstance(found, dict) or set(found) != {"axes", "values"} or not isinstance(found["axes"], list):
        raise wrong("it does not have the keys axes and values", FORMAT)
    if not 1 <= len(found["axes"]) <= MAX_AXES:
        raise wrong(f"it has {counted(len(found['axes']), 'axis', 'axes')}", f"give one to {MAX_AXES}")
    axes = tuple(_axis(wrong, axis, decay) for axis in found["axes"])
    values = _numbers(wrong, found["values"], "values")
    wanted = tuple(len(edges) - 1 for _, edges in axes)
    if values.shape != wanted:
        shape, bins = ("×".join(map(str, numbers)) for numbers in (values.shape, wanted))
        raise wrong(f"its values are {shape or 'one number'}, and its edges make {bins} bins", "give one value for each bin")
    return Histogram(what, path, hashlib.sha256(content).hexdigest(), axes, values)


@dataclass(frozen=True)
class _Wrong:
    """Makes errors about a file."""

    what: str
    path: Path

    def __call__(self, problem: str, fix: str) -> DataError:
        return not_a_histogram(self.what, self.path, problem, fix)


def not_a_histogram(what: str, path: Path, problem: str, fix: str) -> DataError:
    """What is wrong with a file, as an error."""
    return DataError(f"{what}: {str(path)!r} is not a histogram: {problem}\n fix: {fix}")


def some(bad: np.ndarray) -> str:
    """``an event``, or how many there are."""
    return "an event" if bad.sum() == 1 else f"one of {counted(int(bad.sum()), 'such event')}"


def _once(wrong: _Wrong, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose keys are there once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise wrong("a key is there twice", FORMAT)
    return found


def _axis(wrong: _Wrong, axis: Any, decay: Decay) -> tuple[Variable, np.ndarray]:
    if not isinstance(axis, dict) or set(axis) != {"variable", "edges"} or not isinstance(axis["variable"], str):
        raise wrong("an axis does not have the keys variable and edges", FORMAT)
    try:
        variable = parse_variable(axis["variable"], decay)
    except VariableError as error:
        raise wrong(error.what, error.fix) from None
    edges = _numbers(wrong, axis["edges"], f"edges of {variable.name}")
    if edges.ndim != 1 or len(edges) < 2 or not np.all(np.diff(edges) > 0):
        raise wrong(f"the edges of {variable.name} do not rise", "give at least two numbers, each larger than the one before")
    return variable, edges


def _numbers(wrong: _Wrong, given: Any, what: str) -> np.ndarray:
    """Numbers in lists of equal length inside each other."""
    try:
        values = np.array(given, dtype=object)
        plain = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values.ravel())
        numbers = values.astype(np.float64) if plain and values.size else None
    except (ValueError, OverflowError):
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise wrong(f"its {what} are not numbers in lists of equal length", FORMAT)
    return numbers
