"""Figures of studies."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np

from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import FIT_COLOUR

ROW = 0.17  # inches
BAND = 0.1  # of widths that are nearly right
RANGE = 4.5  # standard deviations
Measured = tuple[float, float]  # value and error


def draw_pull_summary(rows: Sequence[tuple[str, Measured, Measured]]) -> Figure:
    """Mean and width of the pulls of every quantity, which should be 0 and 1.

    Args:
        rows:  label, mean and width
    """
    with mpl.rc_context(STYLE):
        height = max(1.5, 0.7 + ROW * len(rows))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        y = np.arange(len(rows))
        for axes, column, ideal, label in ((left, 1, 0.0, "pull mean"), (right, 2, 1.0, "pull width")):
            values, errors = np.array([row[column] for row in rows]).T
            axes.axvspan(ideal - BAND, ideal + BAND, color="0.92")
            axes.axvline(ideal, color=FIT_COLOUR, linewidth=1.0)
            axes.errorbar(values, y, xerr=errors, fmt="k.", markersize=3, elinewidth=0.7)
            axes.set_xlabel(label)
            axes.minorticks_off()
        left.set_yticks(y, [figure_label(row[0]) for row in rows], fontsize=6.5)
        left.set_ylim(len(rows) - 0.5, -0.5)
    return figure


def draw_scatter(rows: Sequence[tuple[str, np.ndarray]]) -> Figure:
    """How values of every quantity scatter, in units of the errors of a fit; 68 % should be between −1 and 1.

    Args:
        rows:  label, and deviations from the fit
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, max(1.5, 0.7 + ROW * len(rows))), layout="constrained")
        axes = figure.subplots()
        axes.axvspan(-1, 1, color="0.92")
        axes.axvline(0, color=FIT_COLOUR, linewidth=1.0)
        for y, (_, values) in enumerate(rows):
            low, middle, high = np.percentile(values, (15.8655, 50, 84.1345))
            axes.plot(values, np.full(len(values), y), ".", color="0.6", markersize=1.5, alpha=0.6)
            axes.plot([low, high], [y, y], "k-", linewidth=1.2)
            axes.plot(middle, y, "k.", markersize=4)
        axes.set_yticks(range(len(rows)), [figure_label(label) for label, _ in rows], fontsize=6.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-RANGE, RANGE)
        axes.minorticks_off()
        axes.set_xlabel("(replica $-$ fit) / error of the fit")
    return figure
