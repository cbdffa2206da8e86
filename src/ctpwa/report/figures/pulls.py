"""Histograms of pulls with the normal distribution they should have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from ctpwa.report.figures.style import STYLE, WIDTH, Figure
from ctpwa.report.palette import FIT_COLOUR

RANGE, BINS = 4.5, 36
PANEL_HEIGHT = 2.5  # inches


def draw_pulls(groups: Mapping[str, Any], title: str = "") -> Figure:
    """One histogram for each group of pulls, with a normal distribution of as many entries.

    Entries beyond the range of the axis are counted in the first and the last bin.

    Args:
        groups:  what they are pulls of → pulls of all toys, an array of any shape
        title:   above all panels
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, PANEL_HEIGHT + (0.2 if title else 0.0)), layout="constrained")
        if title:
            figure.suptitle(title, fontsize=10)
        for k, (name, values) in enumerate(groups.items()):
            _draw_panel(figure.add_subplot(1, len(groups), k + 1), name, np.asarray(values, dtype=float).ravel(), first=k == 0)
    return figure


def _draw_panel(axes: Axes, name: str, pulls: np.ndarray, first: bool) -> None:
    edges = np.linspace(-RANGE, RANGE, BINS + 1)
    centres, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    counts, _ = np.histogram(np.clip(pulls, -RANGE, RANGE), bins=edges)
    seen = counts > 0
    t = np.linspace(-RANGE, RANGE, 400)
    expected = len(pulls) * width * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    axes.plot(t, expected, color=FIT_COLOUR, linewidth=1.2, label=r"$\mathcal{N}(0, 1)$")
    axes.errorbar(centres[seen], counts[seen], yerr=np.sqrt(counts[seen]), fmt="k.", markersize=3, elinewidth=0.7, label="toys")
    axes.set_xlim(-RANGE, RANGE)
    axes.set_ylim(0, 1.42 * max(float((counts + np.sqrt(counts)).max()), float(expected.max())))
    words = [name, f"{len(pulls)} pulls", f"mean ${pulls.mean():+.3f}$", f"width ${pulls.std():.3f}$"]
    axes.text(0.04, 0.96, "\n".join(words), transform=axes.transAxes, va="top", fontsize=8, linespacing=1.35)
    axes.set_xlabel("(fitted − true) / error".replace("−", "$-$"))
    if first:
        axes.set_ylabel(f"Pulls / {width:.2g}")
    axes.legend(loc="upper right", handlelength=1.4)
