"""What a finished fit leaves in a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctpwa.fitting.plain import build, to_plain
from ctpwa.fitting.result import DerivedParameter, FitResult, FittedParameter
from ctpwa.minimise.steps import Extended

PARTS = {  # field of a record → beginning of the names of its columns
    "values": "value",
    "errors": "error",
    "statistical": "statistical",
    "fractions": "fraction",
    "fraction_errors": "fraction_error",
    "numbers": "number",
}
SEPARATOR = ":"


@dataclass(frozen=True)
class FitRecord:
    """One finished fit.

    Attributes:
        key:              which of the fits of a study it is
        nll:              −ln L where it ended; not a number if it never had a point
        good:             whether its verdict is good
        reasons:          what the verdict says, or why there was no fit
        values:           free parameters
        errors:           their standard deviations, where they have one
        statistical:      those of the measured events alone, without the part of the finite simulation
        fractions:        of resonances; of several data sets ``NAME: resonance``
        fraction_errors:  their standard deviations
        numbers:          what else the study wants to know
        seconds:          how long it took
    """

    key: str
    nll: Extended
    good: bool
    reasons: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    statistical: Mapping[str, float] = field(default_factory=dict)
    fractions: Mapping[str, float] = field(default_factory=dict)
    fraction_errors: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, Extended] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, key: str, result: FitResult, seconds: float = 0.0, **numbers: float) -> FitRecord:
        """What a result leaves.

        Args:
            key:      which of the fits it is
            result:   what was found
            seconds:  how long it took
            numbers:  what else to keep
        """
        parameters: list[FittedParameter | DerivedParameter] = [*result.parameters, *result.derived]
        resonances = {
            (f"{entry.data_set}: {name}" if entry.data_set else name): (float(value), float(error))
            for entry in result.fractions
            for group in [entry.groups["resonances"]]
            for name, value, error in zip(group.names, group.values, group.errors, strict=True)
        }
        return cls(
            key,
            result.nll,
            result.verdict.good,
            "; ".join(result.verdict.reasons),
            {p.name: p.value for p in parameters},
            {p.name: float(p.error) for p in parameters if p.error is not None},
            {p.name: float(p.statistical) for p in result.parameters if p.statistical is not None},
            {name: value for name, (value, _) in resonances.items()},
            {name: error for name, (_, error) in resonances.items()},
            numbers,
            seconds,
        )

    @classmethod
    def failed(cls, key: str, why: object, seconds: float = 0.0) -> FitRecord:
        """A fit that could not be done."""
        return cls(key, math.nan, False, str(why).partition("\n")[0], seconds=seconds)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and mappings; ``from_dict`` reads them."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, content: Any) -> FitRecord:
        """The record that ``as_dict`` described; a ValueError if it is none."""
        record: FitRecord = build(cls, content)
        return record


def to_columns(records: Sequence[FitRecord]) -> dict[str, list[Any]]:
    """Records as columns of a table: ``fit``, ``nll``, …, and a column ``value:NAME`` for every parameter, ``error:NAME``, ….

    Args:
        records:  the rows
    """
    columns: dict[str, list[Any]] = {
        "fit": [own.key for own in records],
        "nll": [own.nll for own in records],
        "good": [own.good for own in records],
        "reasons": [own.reasons for own in records],
        "seconds": [own.seconds for own in records],
    }
    for part, word in PARTS.items():
        for name in dict.fromkeys(name for own in records for name in getattr(own, part)):
            columns[f"{word}{SEPARATOR}{name}"] = [getattr(own, part).get(name) for own in records]
    return columns


def from_columns(columns: Mapping[str, Sequence[Any]]) -> list[FitRecord]:
    """The records of a table; a ValueError if these are not columns of one.

    Args:
        columns:  as ``to_columns`` gave them
    """
    words = {word: part for part, word in PARTS.items()}
    single = {"fit": "key", "nll": "nll", "good": "good", "reasons": "reasons", "seconds": "seconds"}
    missing = [name for name in single if name not in columns]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}")
    rows: list[dict[str, Any]] = [{field: columns[name][i] for name, field in single.items()} for i in range(len(columns["fit"]))]
    for name, values in columns.items():
        word, separator, own = name.partition(SEPARATOR)
        if name in single:
            continue
        if not separator or word not in words:
            raise ValueError(f"there is a column {name!r}")
        for row, value in zip(rows, values, strict=True):
            if value is not None:
                row.setdefault(words[word], {})[own] = value
    empty: dict[str, Any] = {part: {} for part in PARTS}
    return [FitRecord.from_dict(to_plain(empty | row)) for row in rows]
