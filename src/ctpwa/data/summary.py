"""What was read: files with their hashes, numbers of events, weights and the mass of the parent, in one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ctpwa.base.words import counted


@dataclass(frozen=True)
class FileRecord:
    """One file of a sample.

    Attributes:
        path:      where it is
        n_events:  how many events it has
        sha256:    hash of its content
    """

    path: str
    n_events: int
    sha256: str


@dataclass(frozen=True)
class WeightSummary:
    """The weights of a sample, scale factors included."""

    total: float
    smallest: float
    largest: float

    def __str__(self) -> str:
        return f"weights {grouped(self.total)} (min {grouped(self.smallest)}, max {grouped(self.largest)})"


@dataclass(frozen=True)
class MassSummary:
    """The invariant mass of all final particles together, GeV."""

    parent: str
    mean: float
    spread: float

    def __str__(self) -> str:
        return f"m({self.parent}) {self.mean:.5f} ± {self.spread:.5f} GeV"


@dataclass(frozen=True)
class SampleSummary:
    """One sample in one line; ``as_dict`` is for JSON.

    Attributes:
        name:          what the sample is, such as ``data``; may be empty
        files:         where it comes from; empty if it was generated
        weight_files:  where its weights come from, if not from ``files``
        n_events:      number of events
        weights:       None if every weight is 1
        mass:          the mass of the parent; None if there is no event
        notes:         what was decided or changed on reading
        repeated:      how many events have the momenta of an earlier one; not counted of files that are read in pieces
    """

    name: str
    files: tuple[FileRecord, ...]
    n_events: int
    weights: WeightSummary | None = None
    mass: MassSummary | None = None
    weight_files: tuple[FileRecord, ...] = ()
    notes: tuple[str, ...] = ()
    repeated: int = 0

    def __str__(self) -> str:
        n_events = counted(self.n_events, "event", shown=grouped(self.n_events)) if self.n_events or not self.notes else ""
        parts = [_file_names(self.files), n_events, self.weights, self.mass]
        line = ", ".join(str(part) for part in parts if part)
        twice = counted(self.repeated, "event repeats", "events repeat", grouped(self.repeated)) + " the momenta of others"
        notes = [*self.notes, *([twice] if self.repeated else [])]
        return (f"{self.name}: " if self.name else "") + "; ".join([line, *notes])

    def as_dict(self) -> dict[str, Any]:
        """The same as plain numbers, texts, lists and mappings."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SampleSummary:
        """The summary that ``as_dict`` described."""
        weights, mass = values["weights"], values["mass"]
        return cls(
            name=values["name"],
            files=tuple(FileRecord(**file) for file in values["files"]),
            n_events=values["n_events"],
            weights=None if weights is None else WeightSummary(**weights),
            mass=None if mass is None else MassSummary(**mass),
            weight_files=tuple(FileRecord(**file) for file in values["weight_files"]),
            notes=tuple(values["notes"]),
            repeated=values.get("repeated", 0),  # unknown to earlier versions
        )


def grouped(number: float) -> str:
    """A number with six digits or all digits before the point, in groups of three: ``99 812.3``, ``−0.31``."""
    if isinstance(number, int):
        return f"{number:,}".replace(",", " ").replace("-", "−")
    if number != 0 and not 1e-4 <= abs(number) < 1e15:
        return f"{number:.6g}".replace("-", "−")
    digits = 5 - math.floor(math.log10(abs(number))) if number else 0
    text = f"{number:,.{max(digits, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", " ").replace("-", "−")


def _file_names(files: tuple[FileRecord, ...]) -> str:
    names = [Path(file.path).name for file in files]
    if len(names) <= 2:
        return " + ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)} files)"
