"""Figures of fits in bins: numbers of events and phases against what the bins are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np

from ctpwa.report.content import BinCurve
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import COLOURS

ACROSS, HEIGHT = 3, 1.75  # panels in a row, inches of one
OTHER_ALPHA = 0.75
BELOW = COLOURS[5]
NEXT = 1.001  # of the distance of neighbouring bins


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    Attributes:
        label:   LaTeX between dollar signs
        points:  of all solutions
    """

    label: str
    points: BinCurve


def draw_bins(
    panels: Sequence[Panel], x_label: str, y_label: str, limits: tuple[float, float], *, zero: bool = False, most_error: float = np.inf
) -> Figure:
    """A panel for every quantity: filled points for the best solution of every bin, open ones in colours for others, joined where one
    continues the other.

    Args:
        panels:      the quantities
        x_label:     what the bins are of
        y_label:     the quantity
        limits:      first and last edge
        zero:        whether axes begin at 0
        most_error:  points with a larger error are left out
    """
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * across / ACROSS, 0.35 + HEIGHT * down), layout="constrained")
        grid = figure.subplots(down, across, sharex=True, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel, most_error)
            if zero:
                axes.set_ylim(bottom=min(0.0, float(axes.get_ylim()[0]) if (panel.points.values < 0).any() else 0.0))
            axes.set_xlim(*limits)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for column in range(across):
            shown = [row for row in range(down) if row * across + column < len(panels)]
            grid[shown[-1], column].tick_params(labelbottom=True)
        figure.supxlabel(figure_label(x_label), fontsize=10)
        figure.supylabel(y_label, fontsize=10)
    return figure


def draw_p_values(
    centres: np.ndarray, p_values: Mapping[str, np.ndarray], x_label: str, limits: tuple[float, float], threshold: float
) -> Figure:
    """p-values of bins on a logarithmic axis, a panel for every test; triangles are below it, and the line is where they are too small.

    Args:
        centres:    of the bins
        p_values:   title → p-value of every bin, NaN where there is none
        x_label:    what the bins are of
        limits:     first and last edge
        threshold:  where the line is
    """
    lowest = threshold**2
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * len(p_values) / ACROSS, 0.2 + HEIGHT), layout="constrained")
        for axes, (title, values) in zip(figure.subplots(1, len(p_values), sharey=True, squeeze=False).flat, p_values.items(), strict=True):
            below = values < lowest
            axes.semilogy(centres[~below], values[~below], "k.", markersize=4)
            axes.semilogy(centres[below], np.full(int(below.sum()), 2 * lowest), "v", color=BELOW, markersize=4)
            axes.axhline(threshold, color=BELOW, linewidth=0.7, linestyle="--")
            axes.set_xlabel(figure_label(x_label), fontsize=8)
            axes.set_title(title, fontsize=8, pad=5)
            axes.set_xlim(*limits)
            axes.set_ylim(lowest, 1.5)
            axes.tick_params(labelsize=7)
        figure.axes[0].set_ylabel("p-value", fontsize=8)
    return figure


def _draw(axes: Any, panel: Panel, most_error: float) -> None:
    points = panel.points
    known = np.isfinite(points.errors) & (points.errors <= most_error)
    for branch in sorted(set(points.branch[known & ~points.best].tolist())):
        own = known & (points.branch == branch)
        colour = COLOURS[branch % len(COLOURS)]
        order = np.flatnonzero(own)[np.argsort(points.centres[own], kind="stable")]
        for a, b in pairwise(order):
            if points.centres[b] - points.centres[a] <= NEXT * (points.widths[a] + points.widths[b]):
                axes.plot(points.centres[[a, b]], points.values[[a, b]], "-", color=colour, linewidth=0.5, alpha=OTHER_ALPHA)
        rest = own & ~points.best
        _mark(
            axes,
            points,
            rest,
            fmt="o",
            markersize=2.2,
            markerfacecolor="white",
            color=colour,
            elinewidth=0.5,
            markeredgewidth=0.6,
            alpha=OTHER_ALPHA,
        )
    best = known & points.best
    _mark(axes, points, best, fmt="k.", markersize=3, elinewidth=0.7)
    axes.set_title(figure_label(panel.label), fontsize=8, pad=5)
    axes.tick_params(labelsize=7)


def _mark(axes: Any, points: BinCurve, which: np.ndarray, **style: Any) -> None:
    """Some of the points with their errors and the widths of their bins."""
    errors = np.stack([points.lower[which], points.upper[which]])
    axes.errorbar(points.centres[which], points.values[which], xerr=points.widths[which], yerr=errors, **style)
