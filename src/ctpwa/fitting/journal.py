"""What a fit from many starts has found so far, so that it can be continued if it is killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.minimise.steps import Stop


def _nothing() -> None:
    """Nobody is told."""


@dataclass
class Journal:
    """The ends of a fit from many starts. ``fit`` fills it, and given a filled one continues as if it had never stopped.

    Attributes:
        start:   the first start; empty before the fit has begun
        starts:  how many there are
        seed:    of the others
        distance:  within which all minima are kept, see ``SearchSettings``
        ends:    number of a start → where the search with part of the events ended
        fits:    number of a minimum of that search → where the whole fit from it ended
        known:   the best point that is known of all events; need not be among the others
        done:    whether nothing is left to do
        told:    called after every change
    """

    start: tuple[float, ...] = ()
    starts: int = 0
    seed: int = 0
    ends: dict[int, Stop] = field(default_factory=dict)
    fits: dict[int, Stop] = field(default_factory=dict)
    known: tuple[float, ...] = ()
    done: bool = False
    distance: float | None = None
    told: Callable[[], None] = field(default=_nothing, repr=False, compare=False)

    def begin(self, points: np.ndarray, seed: int, distance: float | None = None) -> None:
        """Note which starts these are, or see that they are those that were begun.

        Args:
            points:  the starts [start, parameter]
            seed:    of all but the first
            distance:  within which all minima are kept
        """
        now = tuple(points[0].tolist()), len(points), int(seed), distance
        if self.start and now != (self.start, self.starts, self.seed, self.distance):
            kept = "" if self.distance is None else f" and kept minima within {self.distance:g}"
            raise DataError(
                f"the fit to be continued had {self.starts} starts with seed {self.seed}{kept}\n fix: give the same, or start over"
            )
        self.start, self.starts, self.seed, self.distance = now
        self.told()

    def ended(self, number: int, stop: Stop) -> None:
        """A start of the search has ended."""
        self.ends[number] = stop
        self.told()

    def fitted(self, number: int, stop: Stop) -> None:
        """A whole fit has ended."""
        self.fits[number] = stop
        self.told()

    @property
    def unfinished(self) -> bool:
        """Whether there is something to continue: a single start continues from its best point."""
        return self.starts > 1 and not self.done

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and mappings; ``from_dict`` reads them."""
        return {
            "start": list(self.start),
            "starts": self.starts,
            "seed": self.seed,
            "distance": self.distance,
            "ends": [_plain(number, stop) for number, stop in list(self.ends.items())],
            "fits": [_plain(number, stop) for number, stop in list(self.fits.items())],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Journal:
        """The journal that ``as_dict`` described; a ValueError, KeyError or TypeError if it is none."""
        n = len(content["start"])
        ends, fits = (dict(_stop(entry, n) for entry in content[name]) for name in ("ends", "fits"))
        start, starts, seed = _numbers(content["start"], n), int(content["starts"]), int(content["seed"])
        if any(not 0 <= number < starts for number in (*ends, *fits)):
            raise ValueError("a start of the search has an invalid number")
        distance = content.get("distance")
        return cls(start, starts, seed, ends, fits, distance=None if distance is None else float(distance))


def _plain(number: int, stop: Stop) -> dict[str, Any]:
    value = stop.value if np.isfinite(stop.value) else None
    how = {"converged": stop.converged, "reason": stop.reason, "iterations": stop.iterations}
    return {"number": number, "x": stop.x.tolist(), "value": value} | how


def _stop(entry: Mapping[str, Any], n: int) -> tuple[int, Stop]:
    value = np.nan if entry["value"] is None else float(entry["value"])
    x = np.array(_numbers(entry["x"], n))
    return int(entry["number"]), Stop(x, value, bool(entry["converged"]), str(entry["reason"]), int(entry["iterations"]))


def _numbers(values: Sequence[Any], n: int) -> tuple[float, ...]:
    numbers = tuple(map(float, values))
    if len(numbers) != n or not np.isfinite(numbers).all():
        raise ValueError(f"{len(numbers)} numbers of a search instead of {n}, or not finite")
    return numbers
