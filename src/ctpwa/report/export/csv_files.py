"""Results as CSV files: numbers with all their digits, empty where there is none."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ctpwa.fitting.asymmetries import CPAsymmetries
from ctpwa.fitting.result import FitResult
from ctpwa.observables.histograms import Grid, Projected, Projection
from ctpwa.report.export.safe_names import safe_names

INTERFERENCE = "interference"
PARAMETERS = ("name", "value", "error", "simulation", "minos_lower", "minos_upper", "minos_valid", "start", "lower", "upper", "at_limit")
OLD_PARAMETERS = tuple(column for column in PARAMETERS if column != "simulation")  # of earlier versions
FIXED = ("name", "value")
DERIVED = ("name", "value", "error", "formula")
COUPLINGS = ("name", "re", "im", "magnitude", "magnitude_error", "phase", "phase_error")
FRACTIONS = ("data_set", "over", "kind", "name", "fraction", "error", "yield", "yield_error")
INTERFERENCES = ("data_set", "over", "kind", "first", "second", "interference", "error")
ASYMMETRIES = ("kind", "name", "delta_re", "delta_im", "asymmetry", "error", "phase", "phase_error")
GRID = ("x_low", "x_high", "y_low", "y_high", "data", "fit", "pull")
PROJECTION = ("low", "high", "data", "data_error", "background", "background_error", "fit", "pull")  # and contributions
SYSTEMATICS = ("kind", "name", "value", "error", "systematic")  # and a column for each fit of each variation
FINE = ("low", "high", "signal", "signal_error")  # and contributions


def csv_tables(result: FitResult, projected: Mapping[str, Projected] | None = None) -> dict[str, str]:
    """Name of a file → its content.

    Args:
        result:     what was found
        projected:  projections of every data set, if wanted
    """
    tables = {
        "parameters.csv": _parameters(result),
        "fixed.csv": table_text(FIXED, result.fixed.items()),
        "couplings.csv": _couplings(result),
        "fractions.csv": _fractions(result),
        "interference.csv": _interferences(result),
        "covariance.csv": matrix_table(result.names, result.covariance),
        "correlation.csv": matrix_table(result.names, result.correlation),
    }
    if result.derived:
        tables["derived.csv"] = table_text(DERIVED, ([getattr(p, column) for column in DERIVED] for p in result.derived))
    if result.asymmetries is not None:
        tables["asymmetries.csv"] = _asymmetries(result.asymmetries)
    for name, found in (projected or {}).items():
        place = f"_{safe_names(projected or {})[name]}" if name else ""
        stems = safe_names([projection.variable.name for projection in found.projections])
        for projection in found.projections:
            stem = f"projection{place}_{stems[projection.variable.name]}"
            tables[f"{stem}.csv"] = _projection(projection)
            if projection.fine > 1:
                tables[f"{stem}_fine.csv"] = _fine(projection)
        for k, grid in enumerate(found.grids):
            tables[f"dalitz{place}{f'_{k + 1}' if len(found.grids) > 1 else ''}.csv"] = _grid(grid)
    return tables


def is_table(path: Path) -> bool:
    """Whether a CSV file is one of these tables, by its columns."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        head = next(rows, [])
        if tuple(column for column in head if column != "simulation") in (
            OLD_PARAMETERS,
            FIXED,
            DERIVED,
            COUPLINGS,
            FRACTIONS,
            INTERFERENCES,
            ASYMMETRIES,
            GRID,
        ):
            return True
        if any(tuple(head[: len(columns) + 1]) == (*columns, INTERFERENCE) for columns in (PROJECTION, FINE)):
            return True
        if tuple(head[: len(SYSTEMATICS)]) == SYSTEMATICS:
            return True
        return head[:1] == ["name"] and len(head) > 1 and head[1:] == [row[0] for row in rows]  # a matrix


def table_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A CSV file.

    Args:
        columns:  their names
        rows:     cells; None and what is not a number are empty
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Numbers with all their digits; nothing for a missing one."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else value


def _parameters(result: FitResult) -> str:
    rows = []
    for p in result.parameters:
        minos = (None, None, None) if p.minos is None else (p.minos.lower, p.minos.upper, p.minos.valid)
        rows.append((p.name, p.value, p.error, p.simulation, *minos, p.start, p.lower, p.upper, p.at_limit))
    return table_text(PARAMETERS, rows)


def _couplings(result: FitResult) -> str:
    return table_text(COUPLINGS, ([getattr(c, column) for column in COUPLINGS] for c in result.couplings))


def _asymmetries(found: CPAsymmetries) -> str:
    rows: list[tuple[Any, ...]] = [
        ("couplings", own.name, own.re, own.im, own.value, own.error, own.phase, own.phase_error) for own in found.couplings
    ]
    for kind, fractions in found.fractions.items():
        rows += [(kind, name, None, None, value, error, None, None) for name, (value, error) in fractions.items()]
    return table_text(ASYMMETRIES, rows)


def _fractions(result: FitResult) -> str:
    rows = [
        (
            entry.data_set,
            entry.over,
            kind,
            name,
            value,
            error,
            *(entry.yields.get(name, (None, None)) if kind == "resonances" else (None, None)),
        )
        for entry in result.fractions
        for kind, group in entry.groups.items()
        for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
    ]
    return table_text(FRACTIONS, rows)


def _interferences(result: FitResult) -> str:
    rows = [
        (entry.data_set, entry.over, kind, group.names[i], group.names[j], group.interference[i, j], group.interference_errors[i, j])
        for entry in result.fractions
        for kind, group in entry.groups.items()
        for i in range(len(group.names))
        for j in range(i + 1, len(group.names))
    ]
    return table_text(INTERFERENCES, rows)


def matrix_table(names: Sequence[str], matrix: np.ndarray) -> str:
    """A square matrix as a CSV file.

    Args:
        names:   of rows and columns
        matrix:  the numbers
    """
    return table_text(("name", *names), ((name, *row) for name, row in zip(names, matrix, strict=True)))


def _contributions(projection: Projection) -> dict[str, np.ndarray]:
    """Column → numbers [fine bin] of everything that the fit is made of."""
    columns = {INTERFERENCE: projection.all_interference}
    columns |= {f"group {name}": projection.component(name) for name in projection.groups}
    return columns | {
        f"{kind.removesuffix('s')} {name}": numbers for kind, own in projection.others.items() for name, numbers in own.items()
    }


def _projection(projection: Projection) -> str:
    numbers = [
        projection.edges[:-1],
        projection.edges[1:],
        projection.data,
        np.sqrt(projection.data_variance),
        projection.background,
        np.sqrt(projection.background_variance),
        projection.expected,
        projection.pulls,
    ]
    parts = {f"background {name}": projection.rebinned(own) for name, own in projection.added.items()}
    parts |= {name: projection.rebinned(part) for name, part in _contributions(projection).items()}
    return table_text((*PROJECTION, *parts), zip(*numbers, *parts.values(), strict=True))


def _fine(projection: Projection) -> str:
    edges = projection.fine_edges
    parts = {f"background {name}": own for name, own in projection.added.items()} | _contributions(projection)
    numbers = [edges[:-1], edges[1:], projection.total, np.sqrt(projection.variance)]
    return table_text((*FINE, *parts), zip(*numbers, *parts.values(), strict=True))


def _grid(grid: Grid) -> str:
    x, y = grid.edges
    pulls = grid.pulls
    rows = (
        (x[i], x[i + 1], y[j], y[j + 1], grid.data[i, j], grid.expected[i, j], pulls[i, j])
        for i in range(len(x) - 1)
        for j in range(len(y) - 1)
        if grid.data[i, j] != 0 or grid.expected[i, j] != 0
    )
    return table_text(GRID, rows)
