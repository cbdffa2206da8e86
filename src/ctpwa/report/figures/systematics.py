"""A figure of systematic errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np

from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import line_style

ROW = 0.17  # inches
MARKERS = "osD^v<>PX"
COLUMNS = 3  # of the legend
LEAST = 1.2  # range in errors of the fit


def draw_shifts(rows: Sequence[tuple[str, float]], shifts: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Shifts of every quantity in units of the error of the fit, and the systematic error that they add up to.

    Args:
        rows:    label, and systematic error
        shifts:  name of a variation → for every row the shift of each of its sides; not a number where there is none
    """
    with mpl.rc_context(STYLE):
        legend = 0.17 * -(-len(shifts) // COLUMNS) + 0.2
        figure = Figure(figsize=(WIDTH, max(1.5, 0.7 + ROW * len(rows)) + legend), layout="constrained")
        axes = figure.subplots()
        y = np.arange(len(rows))
        totals = np.array([total for _, total in rows])
        axes.barh(y, 2 * totals, left=-totals, height=0.8, color="0.87", label="systematic error")
        for k in (-1, 1):
            axes.axvline(k, color="0.6", linewidth=0.7, linestyle=":")
        axes.axvline(0, color="0.3", linewidth=0.7)
        largest = max(LEAST, float(totals.max(initial=0)))
        for k, (name, own) in enumerate(shifts.items()):
            points = np.array([(side, row) for row, sides in enumerate(own) for side in sides if np.isfinite(side)]).reshape(-1, 2)
            largest = max(largest, float(np.abs(points[:, 0]).max(initial=0)))
            colour = line_style(k)[0]
            axes.plot(*points.T, MARKERS[k % len(MARKERS)], color=colour, markersize=2.6, linestyle="none", label=figure_label(name))
        axes.set_yticks(y, [figure_label(label) for label, _ in rows], fontsize=6.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-1.05 * largest, 1.05 * largest)
        axes.minorticks_off()
        axes.set_xlabel("shift / error of the fit")
        figure.legend(loc="outside upper center", ncols=COLUMNS, fontsize=6.5)
    return figure
