"""The numbers behind everything that is drawn, as plain lists for the page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from ctpwa.decay.latex import label_parts
from ctpwa.fitting.labels import group_latex, parameter_label
from ctpwa.fitting.result import FitResult
from ctpwa.model.model import Model
from ctpwa.observables.histograms import Grid, Projection
from ctpwa.observe.variable import Variable
from ctpwa.report.content import DataSetView, ReportContent
from ctpwa.report.dalitz_plane import decay_boundary, drawn_cells
from ctpwa.report.html.mathml import labelled, math
from ctpwa.report.html.runs import Run, label_runs, plain_label
from ctpwa.report.html.small_charts import amplitude_charts, moment_charts, rounded
from ctpwa.report.palette import DRAWN, FILLS, line_style, strongest

DASHES = {"-": "", "--": "6 3", ":": "2 2.5", "-.": "7 2.5 2 2.5"}


def page_data(content: ReportContent) -> dict[str, Any]:
    """Everything the page draws."""
    result = content.result
    charts = {"history": history_chart(result)} | amplitude_charts(content.curves)
    for k, view in enumerate(content.data_sets):
        charts |= moment_charts(f"{k}", view.moments)
    if result.n_starts > 1:
        charts["starts"] = starts_chart(result)
    couplings = [coupling.name for coupling in result.couplings]
    names = [parameter_label(content.model, name, couplings) for name in result.names]
    matrices: dict[str, Any] = {"correlation": _matrix("correlations", result.names, names, result.correlation, 1.0, 2)}
    for k, entry in enumerate(result.fractions):
        for kind, group in entry.groups.items():
            if not group.names:
                continue
            values = 100 * group.interference
            labels = [f"${group_latex(content.model, name)}$" for name in group.names]
            top = float(np.abs(values).max(initial=1e-9))
            matrices[f"interference{k}{kind}"] = _matrix(f"interference of {kind}", group.names, labels, values, top, 1) | {"root": True}
    order = strongest([p for view in content.data_sets for p in view.projected.projections])  # of lines, as in figures
    most = max((len(view.projected.groups) for view in content.data_sets), default=0)
    return {
        "lines": [[colour, DASHES[style]] for colour, style in map(line_style, range(most))],
        "data_sets": [_data_set(view, content.model, order) for view in content.data_sets],
        "matrices": matrices,
        "charts": charts,
    }


def _data_set(view: DataSetView, model: Model, order: Sequence[str]) -> dict[str, Any]:
    projected = view.projected
    names = list(projected.groups)
    lines = {name: line for line, name in enumerate(order or names)}
    return {
        "groups": [_group(model, name, lines[name]) for name in names],
        "drawn": [names.index(name) for name in list(lines)[:DRAWN]],
        "projections": [_projection(projection) for projection in projected.projections],
        "grids": [_grid(grid, model) for grid in projected.grids],
    }


def _group(model: Model, name: str, line: int) -> dict[str, Any]:
    """A group of waves, with the number of its line."""
    latex = group_latex(model, name)
    return {"name": name, "label": math(latex), "runs": label_runs(f"${latex}$"), "line": line}


def _projection(projection: Projection) -> dict[str, Any]:
    first, second = np.triu_indices(len(projection.groups))
    width = projection.edges[1] - projection.edges[0]
    unit = plain_unit(projection.variable.unit)
    per_bin = f"Events / {1000 * width:.3g} MeV" if unit == "GeV" else f"Events / {width:.2g} {unit}".rstrip()
    has_background = bool((projection.background != 0).any())
    chi2 = projection.chi2
    return {
        "name": projection.variable.name,
        "label": labelled(projection.variable.label),
        "title": plain_label(projection.variable.label),
        "xLabel": axis_runs(projection.variable),
        "yLabel": per_bin,
        "range": [float(projection.edges[0]), float(projection.edges[-1])],
        "data": rounded(projection.data),
        "errors": rounded(np.sqrt(projection.data_variance)),
        "background": rounded(projection.background) if has_background else None,
        "added": [
            {"name": name, "colour": colour, "events": rounded(own)}
            for (name, own), colour in zip(projection.added.items(), cycle(FILLS), strict=False)
        ],
        "expected": rounded(projection.expected),
        "total": rounded(projection.total),
        "groups": list(projection.groups),
        "matrix": rounded(projection.matrix[:, first, second].T),
        "pulls": rounded(projection.pulls, 3),
        "note": f"χ²/ndf = {chi2}, p = {chi2.p_value:.2g}",
    }


def _grid(grid: Grid, model: Model) -> dict[str, Any]:
    boundary = decay_boundary(model.decay, 120)
    return {
        "names": [variable.name for variable in grid.variables],
        "labels": [axis_runs(variable) for variable in grid.variables],
        "unit": plain_unit(grid.variables[0].unit),
        "ranges": [[float(edges[0]), float(edges[-1])] for edges in grid.edges],
        "data": rounded(drawn_cells(grid, grid.data, boundary).T, 4),
        "expected": rounded(drawn_cells(grid, grid.expected, boundary).T, 4),
        "pulls": rounded(grid.pulls.T, 3),
        "boundary": None if boundary is None else rounded(np.array(boundary).T),
    }


def history_chart(result: FitResult) -> dict[str, Any]:
    """How −ln L fell."""
    above = np.array(result.record.history) - result.nll
    values = np.maximum(above, 1e-9) if len(above) else np.array([1e-9])
    return {
        "title": "How −ln L fell",
        "name": "history",
        "xLabel": "improvement",
        "yLabel": "above the minimum",
        "xRange": [0, max(len(values) - 1, 1)],
        "yRange": [1e-9, float(max(values.max() * 2, 1e-8))],
        "log": True,
        "series": [{"kind": "line", "x": list(range(len(values))), "y": rounded(values), "colour": "fit"}],
    }


def starts_chart(result: FitResult) -> dict[str, Any]:
    """Where the starts ended."""
    best = result.minima[0].nll
    above = np.array([minimum.nll - best for minimum in result.minima for _ in range(minimum.starts)])
    values = np.sort(np.maximum(above, 1e-3))
    return {
        "title": "Where the starts ended",
        "name": "starts",
        "xLabel": "starts, best first",
        "yLabel": "above the best minimum",
        "xRange": [0, len(values) + 1],
        "yRange": [5e-4, float(max(values.max(initial=0.0) * 2, 1e-2))],
        "log": True,
        "series": [{"kind": "points", "x": list(range(1, len(values) + 1)), "y": rounded(values), "colour": "ink"}],
        "note": "Points at the bottom reached the best minimum.",
    }


def _matrix(title: str, names: Sequence[str], labels: Sequence[str], values: np.ndarray, largest: float, digits: int) -> dict[str, Any]:
    return {
        "title": title,
        "names": list(names),
        "labels": [label_runs(label) for label in labels],
        "tips": [plain_label(label) for label in labels],
        "values": rounded(values, 7),  # the page rounds once more, and must get what tables have
        "largest": largest,
        "digits": digits,
    }


def axis_runs(variable: Variable) -> list[Run]:
    """A variable and its unit, for an axis."""
    unit = plain_unit(variable.unit)
    return [*label_runs(variable.label), *([Run(f" [{unit}]")] if unit else [])]


def plain_unit(unit: str) -> str:
    """A unit without LaTeX."""
    return "".join(part for part, _ in label_parts(unit.replace("$^{2}$", "²")))
