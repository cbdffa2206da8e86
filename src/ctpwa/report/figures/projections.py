"""Projections: measured events as points, the fit and its contributions as histograms, pulls below."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from ctpwa.fitting.labels import group_label
from ctpwa.model.model import Model
from ctpwa.observables.histograms import Projection
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, axis_label, figure_label
from ctpwa.report.palette import DRAWN, FILLS, FIT_COLOUR, line_style, strongest

ROW_HEIGHT = 2.55  # inches, pulls included
LEGEND_ROW, LEGEND_COLUMNS = 0.19, 5
ROWS = 3  # on a page
GUIDE, PULL_RANGE = 2, 3.4  # σ; the axis is longer where a pull needs it
BACKGROUND_COLOUR, PULL_COLOUR, INTERFERENCE_COLOUR = "#D4D4D4", "#7F8FA6", "#444444"


def draw_projections(
    projections: Sequence[Projection],
    model: Model,
    *,
    components: Sequence[str] | None = None,
    interference: bool = False,
    title: str = "",
    rows: int = ROWS,
) -> list[Figure]:
    """One panel with pulls for each variable, as many pages as it takes, each with a legend below.

    Heights of curves are events in a bin of the data, also where the bins of the model are narrower.

    Args:
        projections:   what to draw
        model:         for the LaTeX names of contributions
        components:    groups, waves or J^P that are drawn; default: the strongest groups
        interference:  also draw the interference of all groups
        title:         above every page
        rows:          of panels on a page
    """
    names = strongest(projections, DRAWN) if components is None else tuple(components)
    columns = _columns(len(projections))
    pages = [projections[k : k + rows * columns] for k in range(0, len(projections), rows * columns)]
    with mpl.rc_context(STYLE):
        return [_page(page, columns, model, names, interference, title) for page in pages]


def _columns(n: int) -> int:
    return {1: 1, 2: 2, 4: 2}.get(n, 3)


def _page(page: Sequence[Projection], columns: int, model: Model, names: Sequence[str], interference: bool, title: str) -> Figure:
    rows, entries = -(-len(page) // columns), len(names) + 3 + interference + len(page[0].added)
    legend_rows = -(-entries // LEGEND_COLUMNS)
    width = WIDTH if columns > 1 else 0.62 * WIDTH
    height = rows * (ROW_HEIGHT if columns > 2 else 1.12 * ROW_HEIGHT) + LEGEND_ROW * legend_rows + (0.25 if title else 0.05)
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.01, hspace=0.0, w_pad=0.03))
    if title:
        figure.suptitle(title, fontsize=10)
    grid = GridSpec(2 * rows, columns, figure=figure, height_ratios=[3.4, 1] * rows)
    for k, projection in enumerate(page):
        upper = figure.add_subplot(grid[2 * (k // columns), k % columns])
        lower = figure.add_subplot(grid[2 * (k // columns) + 1, k % columns], sharex=upper)
        _draw_upper(upper, projection, model, names, interference)
        _draw_pulls(lower, projection, first=k % columns == 0)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: {"data": 0, "fit": 1}.get(labels[i], 2))
    figure.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="outside lower center",
        ncols=LEGEND_COLUMNS if columns > 1 else 3,
        handlelength=1.7,
        columnspacing=1.4,
    )
    return figure


def _draw_upper(axes: Axes, projection: Projection, model: Model, names: Sequence[str], interference: bool) -> None:
    fine = projection.fine_edges
    background = np.repeat(projection.background, projection.fine)
    fit = projection.fine * projection.modelled + background
    if (projection.background != 0).any():
        axes.stairs(background, fine, fill=True, color=BACKGROUND_COLOUR, label="background", zorder=1)
    for (name, own), colour in zip(projection.added.items(), cycle(FILLS), strict=False):  # one on the other
        lower, background = background, background + projection.fine * own
        axes.stairs(background, fine, baseline=lower, fill=True, color=colour, label="background " + name.replace("$", r"\$"), zorder=1)
    for k, name in enumerate(names):
        colour, style = line_style(k)
        curve = projection.fine * projection.component(name)
        axes.stairs(curve, fine, color=colour, linestyle=style, linewidth=0.9, label=figure_label(group_label(model, name)), zorder=2)
    lowest = 0.0
    if interference:
        curve = projection.fine * projection.all_interference
        axes.stairs(curve, fine, color=INTERFERENCE_COLOUR, linestyle=(0, (4, 2)), linewidth=0.8, label="interference", zorder=2)
        axes.axhline(0, color="black", linewidth=0.4)
        lowest = min(0.0, 1.08 * float(curve.min()))
    axes.stairs(fit, fine, color=FIT_COLOUR, linewidth=1.1, label="fit", zorder=3)
    centres, seen = (projection.edges[1:] + projection.edges[:-1]) / 2, projection.data_variance > 0
    data, bars = projection.data[seen], np.sqrt(projection.data_variance[seen])
    axes.errorbar(centres[seen], data, yerr=bars, fmt="k.", markersize=2.4, elinewidth=0.55, label="data", zorder=4)
    highest = max(float((data + bars).max(initial=0.0)), float(fit.max()))
    axes.set_xlim(fine[0], fine[-1])
    axes.set_ylim(min(lowest, 1.08 * float((data - bars).min(initial=0.0))), 1.08 * highest if highest > 0 else 1.0)
    axes.set_ylabel(_per_bin(projection))
    axes.yaxis.set_major_locator(MaxNLocator(5, prune="lower" if lowest == 0 else None))
    axes.tick_params(labelbottom=False)
    chi2 = projection.chi2
    axes.set_title(rf"$\chi^2/\mathrm{{ndf}} = {chi2.value:.1f}/{chi2.ndf}$" if chi2.ndf else "", fontsize=7.5, loc="right", pad=2.5)


def _draw_pulls(axes: Axes, projection: Projection, first: bool) -> None:
    pulls, edges = projection.pulls, projection.edges
    seen = np.isfinite(pulls)
    axes.axhline(0, color="black", linewidth=0.5)
    for guide in (-GUIDE, GUIDE):
        axes.axhline(guide, color="black", linewidth=0.5, linestyle=(0, (2, 2)))
    axes.bar(edges[:-1][seen], pulls[seen], np.diff(edges)[seen], align="edge", color=PULL_COLOUR, linewidth=0)
    limit = max(PULL_RANGE, 1.1 * float(np.abs(pulls[seen]).max(initial=0.0)))
    axes.set_ylim(-limit, limit)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True, symmetric=True, prune="both"))
    axes.yaxis.set_minor_locator(MaxNLocator(7, integer=True))
    axes.set_xlabel(axis_label(projection.variable))
    if first:
        axes.set_ylabel("pull")


def _per_bin(projection: Projection) -> str:
    width, unit = float(projection.edges[1] - projection.edges[0]), projection.variable.unit
    if unit == "GeV":
        return f"Events / {1000 * width:.3g} MeV"
    return f"Events / {width:.2g} {unit}".rstrip()
