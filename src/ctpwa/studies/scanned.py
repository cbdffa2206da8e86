"""A resonance whose mass is scanned: what the text of an option means, and which candidates it makes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.studies.candidates import Candidate

EXAMPLE = "write  'X: 1- in K+ K-, mass 1.0..2.5/60, width 0.1'"
MOST_POINTS = 2000
_NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?"
_TEXT = re.compile(
    rf"(?P<name>[^\s:]+)\s*:\s*(?:J\^?PC?\s*=\s*)?(?P<JP>\d+(?:/2)?[-+]{{1,2}})\s+in\s+(?P<systems>.+?)\s*,?\s+"
    rf"mass\s+(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})\s*/\s*(?P<n>\d+)\s*,?\s+width\s+(?P<width>{_NUMBER})\s*"
)


@dataclass(frozen=True)
class MassRange:
    """An additional resonance at many masses.

    Attributes:
        name:     of it
        JP:       its spin and parity, perhaps C
        systems:  the final particles it decays to, one text for each system
        low:      lowest mass, GeV
        high:     highest mass, GeV
        n:        how many masses
        width:    GeV
    """

    name: str
    JP: str
    systems: tuple[str, ...]
    low: float
    high: float
    n: int
    width: float

    def __post_init__(self) -> None:
        if not (0 < self.low < self.high < np.inf and 0 < self.width < np.inf):
            raise DataError(
                f"masses from {self.low:g} to {self.high:g} GeV with a width of {self.width:g} GeV\n"
                " fix: give positive numbers, the lower mass first"
            )
        if not 3 <= self.n <= MOST_POINTS:
            raise DataError(f"{self.n} masses\n fix: give at least 3 and at most {MOST_POINTS}")

    @classmethod
    def read(cls, text: str) -> MassRange:
        """What a text says, such as ``X: 1- in K+ K-, mass 1.0..2.5/60, width 0.1``; several systems have ``and`` between them."""
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise DataError(f"{text!r} is not a scan of a mass\n fix: {EXAMPLE}")
        systems = tuple(system.strip() for system in found["systems"].split(" and "))
        return cls(found["name"], found["JP"], systems, float(found["low"]), float(found["high"]), int(found["n"]), float(found["width"]))

    @property
    def masses(self) -> np.ndarray:
        """All of them, GeV."""
        return np.linspace(self.low, self.high, self.n)

    @property
    def words(self) -> str:
        """What is added."""
        return f"{self.name} with {self.JP} in {' and '.join(self.systems)}, {1000 * self.width:g} MeV wide"

    def _entry(self, mass: float) -> dict[str, Any]:
        return {"in": list(self.systems), "JP": self.JP, "mass": float(mass), "width": self.width, "off_shell": True}

    def candidates(self) -> list[Candidate]:
        """One for every mass."""
        return [Candidate(f"{self.name}_{k + 1}", self._entry(mass), remark=f"{mass:.6g}") for k, mass in enumerate(self.masses)]

    def floating(self, mass: float) -> Candidate:
        """The resonance with a mass that floats, and begins here."""
        return Candidate(self.name, self._entry(mass) | {"float": "mass"})


def peaks_first(values: np.ndarray) -> list[int]:
    """Numbers of the points of a curve: unknown ones, then its peaks, the highest first, then all others in the same way."""
    known = np.where(np.isfinite(values), values, -np.inf)
    left, right = np.concatenate([[-np.inf], known[:-1]]), np.concatenate([known[1:], [-np.inf]])
    is_peak = (known >= left) & (known > right)
    return sorted(range(len(known)), key=lambda k: (np.isfinite(known[k]), not is_peak[k], -known[k]))


def upcrossings(values: Sequence[float], level: float) -> int:
    """How often a curve rises above a level."""
    above = np.asarray(values) > level
    return int(np.sum(above[1:] & ~above[:-1]))


def expected_crossings(level: float, reference: float, counted: float, ndf: int) -> float:
    """How often a curve that follows χ² at every point rises above a level, on average, if it does so often at a lower one.

    Gross and Vitells: E[N(c)] = E[N(c₀)] (c/c₀)^((n − 1)/2) exp(−(c − c₀)/2).

    Args:
        level:      c
        reference:  c₀
        counted:    E[N(c₀)]
        ndf:        degrees of freedom n
    """
    return float(counted * (level / reference) ** ((ndf - 1) / 2) * np.exp(-(level - reference) / 2))
