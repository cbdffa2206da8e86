"""Dalitz plots of three-body decays: data, fit and pulls in cells of m², within the boundary that kinematics sets."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize, PowerNorm

from ctpwa.observables.histograms import Grid
from ctpwa.report.dalitz_plane import Curve, drawn_cells
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, axis_label

HEIGHT = 2.95  # inches
PULLS = 4.0  # colours end here
NOTHING = "#DDDDDD"  # cells without a number


def draw_dalitz(grid: Grid, boundary: Curve | None = None, title: str = "") -> Figure:
    """Data and fit on one scale, and the pulls of the cells next to them.

    Args:
        grid:      the cells
        boundary:  a curve beyond which there can be nothing
        title:     above the panels
    """
    filled = np.concatenate([numbers[numbers > 0] for numbers in (grid.data, grid.expected)])
    events = PowerNorm(0.5, vmin=0, vmax=float(np.percentile(filled, 99.7)) if len(filled) else 1.0)
    pulls = grid.pulls
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT + (0.2 if title else 0.0)), layout="constrained")
        if title:
            figure.suptitle(title, fontsize=10)
        data, fit, pull = figure.subplots(1, 3, sharex=True, sharey=True)
        for panel, name, numbers in ((data, "data", grid.data), (fit, "fit", grid.expected)):
            mesh = _cells(panel, grid, drawn_cells(grid, numbers, boundary), "viridis", events, boundary)
            panel.set_title(name, fontsize=9, pad=3)
        bar = figure.colorbar(mesh, ax=[data, fit], orientation="horizontal", extend="max", pad=0.02, aspect=50, shrink=0.6)
        bar.set_label("Events / cell", fontsize=8)
        mesh = _cells(pull, grid, pulls, "RdBu_r", Normalize(-PULLS, PULLS), boundary)
        pull.set_title("pull", fontsize=9, pad=3)
        beyond = "both" if np.nanmax(np.abs(pulls), initial=0.0) > PULLS else "neither"
        bar = figure.colorbar(mesh, ax=[pull], orientation="horizontal", extend=beyond, pad=0.02, aspect=24, shrink=0.9)
        bar.set_label(r"(data $-$ fit) / $\sigma$", fontsize=8)
        _label([data, fit, pull], grid)
    return figure


def _cells(panel: Axes, grid: Grid, numbers: np.ndarray, colours: str, norm: Normalize, boundary: Curve | None) -> QuadMesh:
    mesh = panel.pcolormesh(*grid.edges, numbers.T, cmap=mpl.colormaps[colours], norm=norm, rasterized=True)
    if boundary is not None:
        mesh.set_cmap(mpl.colormaps[colours].with_extremes(bad=NOTHING))
        outline = panel.plot(*boundary, color="black", linewidth=0.7)[0]
        mesh.set_clip_path(outline.get_path(), panel.transData)
    return mesh


def _label(panels: Sequence[Axes], grid: Grid) -> None:
    names = [axis_label(variable) for variable in grid.variables]
    panels[0].set_ylabel(names[1])
    for panel in panels:
        panel.set_xlabel(names[0])
        panel.label_outer()
    for limits, edges in ((panels[0].set_xlim, grid.edges[0]), (panels[0].set_ylim, grid.edges[1])):
        margin = 0.03 * (edges[-1] - edges[0])
        limits(edges[0] - margin, edges[-1] + margin)
