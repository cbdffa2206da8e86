"""All figures of a fit, as PDF and PNG."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure as PlainFigure

from ctpwa.fitting.labels import decay_label
from ctpwa.model.model import Model
from ctpwa.observables.histograms import Projected
from ctpwa.report.content import ReportContent
from ctpwa.report.dalitz_plane import decay_boundary
from ctpwa.report.figures.argand import draw_argand
from ctpwa.report.figures.correlation import draw_correlations
from ctpwa.report.figures.dalitz import draw_dalitz
from ctpwa.report.figures.interference import draw_interference
from ctpwa.report.figures.moments import draw_moments
from ctpwa.report.figures.projections import ROWS, draw_projections
from ctpwa.report.figures.style import Figure, figure_label, save_figure
from ctpwa.report.palette import DRAWN, strongest

LONGEST = 200  # bytes of the name of a file, without what comes after it


def write_figures(
    folder: str | os.PathLike[str],
    model: Model,
    projected: Mapping[str, Projected],
    *,
    more: Mapping[str, PlainFigure] | None = None,
    interference: bool = False,
    rows: int = ROWS,
) -> list[Path]:
    """Write every figure as PDF and PNG; the folder is made if it does not exist.

    Args:
        folder:        where to write
        model:         what was fitted
        projected:     name of each data set → its projections and Dalitz plots
        more:          other figures by the names of their files, without suffix
        interference:  draw interference in projections
        rows:          of panels on a page of projections
    """
    figures = draw_figures(model, projected, more or {}, interference, rows)
    return [file for stem, figure in figures.items() for file in save_figure(figure, Path(folder) / stem)]


def draw_figures(
    model: Model, projected: Mapping[str, Projected], more: Mapping[str, PlainFigure], interference: bool = False, rows: int = ROWS
) -> dict[str, PlainFigure]:
    """The figures that ``write_figures`` writes, by the names of their files without suffix."""
    figures: dict[str, PlainFigure] = {}
    for stem, figure in (*_figures(model, projected, interference, rows), *more.items()):
        _add(figures, stem, figure)
    return figures


def _figures(model: Model, projected: Mapping[str, Projected], interference: bool, rows: int) -> Iterator[tuple[str, Figure]]:
    boundary = decay_boundary(model.decay)
    drawn = strongest([projection for found in projected.values() for projection in found.projections], DRAWN)  # alike in all data sets
    for name, found in projected.items():
        end = "-" + _file_name(name) if name else ""
        title = figure_label(decay_label(model.decay)) + (", " + name.replace("$", r"\$") if name else "")
        pages = draw_projections(found.projections, model, components=drawn, interference=interference, title=title, rows=rows)
        for k, page in enumerate(pages):
            yield f"projections{end}" + (f"-{k + 1}" if len(pages) > 1 else ""), page
        for k, grid in enumerate(found.grids):
            yield f"dalitz{end}" + (f"-{k + 1}" if len(found.grids) > 1 else ""), draw_dalitz(grid, boundary, title)


def other_figures(content: ReportContent) -> dict[str, PlainFigure]:
    """Everything else that a report shows: moments, amplitudes that add up coherently, interference and correlations."""
    model, result = content.model, content.result
    title = figure_label(decay_label(model.decay))
    figures: dict[str, PlainFigure] = {}
    for view in content.data_sets:
        for moments in view.moments:
            mass = figure_label(f"$M({moments.latex})$")
            drawing = draw_moments(moments.moments, mass, title=figure_label(f"{title}, ${moments.latex}$"))
            _add(figures, _file_name("moments", moments.pair, view.name), drawing)
    for curve in content.curves:
        if curve.total or len(content.curves) == 1:
            members = [other for other in content.curves if not other.total and other.name in curve.waves]
            _add(figures, _file_name("argand", curve.name), draw_argand(curve, members))
    for entry in result.fractions:
        for kind, fractions in entry.groups.items():
            if kind != "waves" and len(fractions.names) > 1:
                _add(figures, _file_name("interference", kind, entry.data_set), draw_interference(fractions, model, title))
    if len(result.parameters) > 1:
        figures["correlations"] = draw_correlations(result, model, title)
    return figures


def _add(figures: dict[str, PlainFigure], stem: str, figure: PlainFigure) -> None:
    """Add a figure under a name of its own, also where two names differ only in characters that file names lack."""
    name, k = stem, 2
    while name in figures:
        name, k = f"{stem}-{k}", k + 1
    figures[name] = figure


def _file_name(*parts: str) -> str:
    name = "-".join(re.sub(r"[^\w.+-]+", "_", part).strip("_") for part in parts if part)
    return name.encode()[:LONGEST].decode(errors="ignore")
