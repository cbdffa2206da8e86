"""Systematic errors as CSV files and as LaTeX tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.decay.latex import label_parts, latex_of_text, latex_problem
from ctpwa.report.export.csv_files import SYSTEMATICS, matrix_table, table_text
from ctpwa.report.export.latex import power_of_ten, tabular, two_errors

BESIDE = 6  # variations beside each other in a LaTeX table


@dataclass(frozen=True)
class SystematicRow:
    """A parameter or fraction with its systematic error.

    Attributes:
        kind:        ``parameter`` or ``fraction``
        name:        of it
        label:       with LaTeX between dollar signs, from anyone's file
        value:       that was fitted
        error:       of the fit; None if there is none
        systematic:  the error that all variations add up to
        shifts:      of every fit of every variation; not a number where there is none
        effects:     what counts of each variation; not a number where there is none
    """

    kind: str
    name: str
    label: str
    value: float
    error: float | None
    systematic: float
    shifts: tuple[float, ...]
    effects: tuple[float, ...]


def systematics_csv(rows: Sequence[SystematicRow], fits: Sequence[str], covariance: np.ndarray) -> dict[str, str]:
    """Name of a CSV file → its content.

    Args:
        rows:        all quantities
        fits:        names of the fits, for the columns of shifts
        covariance:  [quantity, quantity] of systematic errors
    """
    lines = [(own.kind, own.name, own.value, own.error, own.systematic, *own.shifts) for own in rows]
    names = [own.name if own.kind == "parameter" else f"{own.kind} {own.name}" for own in rows]
    return {
        "systematics.csv": table_text((*SYSTEMATICS, *fits), lines),
        "systematic_covariance.csv": matrix_table(names, covariance),
    }


def systematics_latex(rows: Sequence[SystematicRow], variations: Sequence[str]) -> dict[str, str]:
    """Name of a LaTeX file → its content: for each kind of quantity values with both errors, and what every variation adds.

    Args:
        rows:        all quantities
        variations:  their names
    """
    tables = {}
    for kind in dict.fromkeys(own.kind for own in rows):
        own = [row for row in rows if row.kind == kind]
        first = [(_label(row), two_errors(row.value, row.error, row.systematic)) for row in own]
        tables[f"systematics_{kind}s.tex"] = tabular("ll", (kind.capitalize(), "Value"), first)
        for number, start in enumerate(range(0, len(variations), BESIDE)):
            end = f"_{number + 1}" if len(variations) > BESIDE else ""
            names = variations[start : start + BESIDE]
            head = (kind.capitalize(), *map(_text, names))
            lines = [(_label(row), *map(_effect, row.effects[start : start + BESIDE])) for row in own]
            tables[f"shifts_{kind}s{end}.tex"] = tabular("l" + "r" * len(names), head, lines)
    return tables


def _label(row: SystematicRow) -> str:
    """A label in which nothing can do more than show something."""
    parts = label_parts(row.label)
    if any(latex_problem(part) for part, is_latex in parts if is_latex):
        return _text(row.name)
    return "".join(f"${part}$" if is_latex else _text(part) if part.strip() else part for part, is_latex in parts)


def _text(name: str) -> str:
    """Words as LaTeX outside formulas."""
    return f"${latex_of_text(name)}$"


def _effect(value: float) -> str:
    if math.isnan(value):
        return "--"
    return "$0$" if value == 0 else f"${power_of_ten(f'{value:+.2g}')}$"
