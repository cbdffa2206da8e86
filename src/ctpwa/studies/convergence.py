"""Whether chains of a posterior have converged; if not, why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite
from typing import Protocol

from ctpwa.base.words import counted

AGREE, ENOUGH = 1.01, 400.0  # largest R-hat, and smallest number of independent points (Vehtari et al.)
APART = 1.5  # R-hat: chains are at different places
WIDE = 4.0  # errors of the fit: much wider, and data hardly determine it
NAMED = 3  # parameters in a sentence
MOST = 50_000  # points of a chain that anybody would ask for


class Chained(Protocol):
    """What chains say about one number."""

    @property
    def name(self) -> str:
        """Of the number."""

    @property
    def kind(self) -> str:
        """``parameter`` or ``fraction``."""

    @property
    def fitted(self) -> tuple[float, float | None]:
        """Value and error of the fit."""

    @property
    def width(self) -> float:
        """Standard deviation of all points."""

    @property
    def r_hat(self) -> float:
        """Whether the chains agree."""

    @property
    def size(self) -> float:
        """How many independent points they are worth."""


@dataclass(frozen=True)
class Convergence:
    """Whether chains have converged.

    Attributes:
        marginals:  what they say about every parameter and fraction
        points:     of every chain
    """

    marginals: Sequence[Chained]
    points: int

    @cached_property
    def bad(self) -> list[Chained]:
        """What has not, the worst first."""
        bad = [own for own in self.marginals if not (own.r_hat <= AGREE and own.size >= ENOUGH)]
        return sorted(bad, key=lambda own: own.r_hat if isfinite(own.r_hat) else 0.0, reverse=True)

    @property
    def reached(self) -> bool:
        """Whether all have."""
        return bool(self.marginals) and not self.bad

    @cached_property
    def apart(self) -> list[Chained]:
        """Parameters whose chains are at different places: more points will not help."""
        return [own for own in self.bad if own.kind == "parameter" and own.r_hat > APART]

    @cached_property
    def wide(self) -> list[Chained]:
        """Parameters that spread over many errors of the fit."""
        return [own for own in self.bad if own.kind == "parameter" and own.fitted[1] and own.width > WIDE * own.fitted[1]]

    @property
    def warning(self) -> str:
        """That they have not, why, and what to do."""
        r_hat = max((own.r_hat for own in self.bad if isfinite(own.r_hat)), default=float("nan"))
        size = min((own.size for own in self.bad if isfinite(own.size)), default=float("nan"))
        return (
            f"NOT converged, do not use the intervals: R-hat is {r_hat:.3f} for {self.bad[0].name} and must not be above {AGREE},"
            f" {size:.0f} points are independent and {ENOUGH:.0f} must be. {self._advice(size)}"
        )

    def _advice(self, size: float) -> str:
        if self.wide:
            widest = max(self.wide, key=lambda own: own.width / (own.fitted[1] or 1.0))
            times = widest.width / (widest.fitted[1] or 1.0)
            return (
                f"{_named(self.wide)}: up to {times:.0f} times as wide as the error of the fit, so data hardly determine it."
                " Give it limits or a constraint in the model file, or fix it."
            )
        if self.apart:
            where = _named(self.apart)
            return f"Chains stay at different values of {where}, as between several minima: see  ctpwa fit --minima  with more starts."
        wanted = 250 * ceil(1.3 * self.points * ENOUGH / max(size, 1.0) / 250) if isfinite(size) else 2 * self.points
        wanted = max(wanted, self.points + 250)
        return f"About {wanted} points are needed: --points {wanted}, which continues." if wanted <= MOST else "The chains hardly move."


def _named(found: Sequence[Chained]) -> str:
    names = ", ".join(own.name for own in found[:NAMED])
    return names if len(found) <= NAMED else f"{names} and {counted(len(found) - NAMED, 'other')}"
