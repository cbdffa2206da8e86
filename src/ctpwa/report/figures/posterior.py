"""Figures of points of a posterior."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np

from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import COLOURS, FIT_COLOUR

BINS = 30
CHAIN_HEIGHT = 0.75  # inches
Row = tuple[str, np.ndarray, float]  # label, points [chain, point], and the value of the fit


def draw_corner(rows: Sequence[Row]) -> Figure:
    """Histograms of every parameter, and every two of them against each other; red: the fit.

    Args:
        rows:  the parameters
    """
    n = len(rows)
    with mpl.rc_context(STYLE | {"font.size": 7, "axes.labelsize": 7.5}):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.02, hspace=0.02)  # type: ignore[union-attr, call-arg]
        all_axes = figure.subplots(n, n, squeeze=False)
        for i, (label, points, fitted) in enumerate(rows):
            for j in range(n):
                axes = all_axes[i, j]
                if j > i:
                    axes.set_visible(False)
                    continue
                x = rows[j][1].ravel()
                if i == j:
                    axes.hist(x, bins=BINS, histtype="step", color="black", linewidth=0.8)
                    axes.set_yticks([])
                else:
                    axes.plot(x, points.ravel(), ".", color=COLOURS[0], markersize=1.2, alpha=0.35, rasterized=True)
                    axes.axhline(fitted, color=FIT_COLOUR, linewidth=0.7)
                axes.axvline(rows[j][2], color=FIT_COLOUR, linewidth=0.7)
                axes.minorticks_off()
                axes.locator_params(nbins=3)
                if i == n - 1:
                    axes.set_xlabel(figure_label(rows[j][0]))
                else:
                    axes.set_xticklabels([])
                if j == 0 and i > 0:
                    axes.set_ylabel(figure_label(label))
                elif i != j:
                    axes.set_yticklabels([])
    return figure


def draw_chains(rows: Sequence[Row]) -> Figure:
    """The course of all chains.

    Args:
        rows:  the parameters
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.6 + CHAIN_HEIGHT * len(rows)), layout="constrained")
        for axes, (label, points, fitted) in zip(figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0], rows, strict=True):
            for k, chain in enumerate(points):
                axes.plot(chain, color=COLOURS[k % len(COLOURS)], linewidth=0.5)
            axes.axhline(fitted, color=FIT_COLOUR, linewidth=0.9)
            axes.set_ylabel(figure_label(label), fontsize=7.5)
            axes.locator_params(axis="y", nbins=3)
            axes.minorticks_off()
        axes.set_xlabel("point of the chain")
    return figure
