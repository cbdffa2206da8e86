"""Everything that was found as CSV files: numbers with all their digits, nothing where there is none."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ctpwa.results.projections import Grid, Projected, Projection
from ctpwa.results.result import FitResult
from ctpwa.results.safe_names import safe_names

INTERFERENCE = "interference"


def csv_tables(result: FitResult, projected: Mapping[str, Projected] | None = None) -> dict[str, str]:
    """Name of a file → its content.

    Args:
        result:     what was found
        projected:  projections of every data set, if they are wanted as well
    """
    tables = {
        "parameters.csv": _parameters(result),
        "fixed.csv": _table(("name", "value"), result.fixed.items()),
        "couplings.csv": _couplings(result),
        "fractions.csv": _fractions(result),
        "interference.csv": _interferences(result),
        "covariance.csv": _matrix(result.names, result.covariance),
        "correlation.csv": _matrix(result.names, result.correlation),
    }
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


def _table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Numbers with all their digits; nothing for one that is not there."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else value


def _parameters(result: FitResult) -> str:
    columns = ("name", "value", "error", "minos_lower", "minos_upper", "minos_valid", "start", "lower", "upper", "at_limit")
    rows = []
    for p in result.parameters:
        minos = (None, None, None) if p.minos is None else (p.minos.lower, p.minos.upper, p.minos.valid)
        rows.append((p.name, p.value, p.error, *minos, p.start, p.lower, p.upper, p.at_limit))
    return _table(columns, rows)


def _couplings(result: FitResult) -> str:
    columns = ("name", "re", "im", "magnitude", "magnitude_error", "phase", "phase_error")
    return _table(columns, ([getattr(c, column) for column in columns] for c in result.couplings))


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
    return _table(("data_set", "over", "kind", "name", "fraction", "error", "yield", "yield_error"), rows)


def _interferences(result: FitResult) -> str:
    rows = [
        (entry.data_set, entry.over, kind, group.names[i], group.names[j], group.interference[i, j], group.interference_errors[i, j])
        for entry in result.fractions
        for kind, group in entry.groups.items()
        for i in range(len(group.names))
        for j in range(i + 1, len(group.names))
    ]
    return _table(("data_set", "over", "kind", "first", "second", "interference", "error"), rows)


def _matrix(names: Sequence[str], matrix: np.ndarray) -> str:
    return _table(("name", *names), ((name, *row) for name, row in zip(names, matrix, strict=True)))


def _contributions(projection: Projection) -> dict[str, np.ndarray]:
    """Column → numbers [fine bin] of everything that the fit is made of."""
    columns = {INTERFERENCE: projection.all_interference}
    columns |= {f"group {name}": projection.component(name) for name in projection.groups}
    return columns | {
        f"{kind.removesuffix('s')} {name}": numbers for kind, own in projection.others.items() for name, numbers in own.items()
    }


def _projection(projection: Projection) -> str:
    columns = {
        "low": projection.edges[:-1],
        "high": projection.edges[1:],
        "data": projection.data,
        "data_error": np.sqrt(projection.data_variance),
        "background": projection.background,
        "background_error": np.sqrt(projection.background_variance),
        "fit": projection.expected,
        "pull": projection.pulls,
    } | {name: projection.rebinned(numbers) for name, numbers in _contributions(projection).items()}
    return _table(tuple(columns), zip(*columns.values(), strict=True))


def _fine(projection: Projection) -> str:
    edges = projection.fine_edges
    columns = {"low": edges[:-1], "high": edges[1:], "signal": projection.total, "signal_error": np.sqrt(projection.variance)}
    columns |= _contributions(projection)
    return _table(tuple(columns), zip(*columns.values(), strict=True))


def _grid(grid: Grid) -> str:
    x, y = grid.edges
    pulls = grid.pulls
    rows = (
        (x[i], x[i + 1], y[j], y[j + 1], grid.data[i, j], grid.expected[i, j], pulls[i, j])
        for i in range(len(x) - 1)
        for j in range(len(y) - 1)
        if grid.data[i, j] != 0 or grid.expected[i, j] != 0
    )
    return _table(("x_low", "x_high", "y_low", "y_high", "data", "fit", "pull"), rows)
