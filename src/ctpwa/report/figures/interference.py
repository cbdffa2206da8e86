"""Fractions and interferences as a heat map."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.colors import FuncNorm
from matplotlib.ticker import MaxNLocator

from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.labels import group_label
from ctpwa.model.model import Model
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label

WRITTEN = 25  # entries; numbers are written into the cells of a matrix that is not larger
SMALLEST, LARGEST = 0.16, 0.5  # inches, of a cell


def draw_interference(fractions: Fractions, model: Model, title: str = "") -> Figure:
    """Fractions on the diagonal and interferences below it, in percent.

    Args:
        fractions:  of waves, resonances or J^P
        model:      what was fitted, for names
        title:      above the matrix
    """
    n = len(fractions.names)
    percent = 100 * fractions.interference
    shown = np.ma.array(percent, mask=np.triu(np.ones((n, n), dtype=bool), k=1))
    top = float(np.abs(percent).max(initial=0.0)) or 1.0
    cell = min(LARGEST, max(SMALLEST, 0.72 * WIDTH / max(n, 1)))
    with mpl.rc_context(STYLE):
        labels = [figure_label(group_label(model, name)) for name in fractions.names]
        figure = Figure(figsize=(n * cell + 2.4, n * cell + 1.6), layout="constrained")
        if title:
            figure.suptitle(title, fontsize=10)
        axes = figure.add_subplot()
        norm = FuncNorm((_root, _square), vmin=-top, vmax=top)
        image = axes.imshow(shown, cmap="RdBu_r", norm=norm, interpolation="nearest")
        size = 8 if cell > 0.22 else 6
        axes.set_yticks(range(n), labels, fontsize=size)
        axes.set_xticks(range(n), labels, fontsize=size, rotation=90)
        axes.tick_params(length=0, which="both")
        axes.minorticks_off()
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        digits = 7 if n <= 15 else 5
        if n <= WRITTEN:
            for i in range(n):
                for j in range(i + 1):
                    colour = "white" if abs(percent[i, j]) > 0.4 * top else "black"
                    text = f"${round(float(percent[i, j]), 1) + 0.0:.1f}$"
                    axes.text(j, i, text, ha="center", va="center", fontsize=digits, color=colour)
        bar = figure.colorbar(image, ax=axes, pad=0.02, shrink=min(1.0, 3.5 / max(n * cell, 0.1)), aspect=25)
        bar.set_ticks([tick for tick in MaxNLocator(10).tick_values(-top, top) if abs(tick) <= top])
        bar.ax.minorticks_off()
        bar.set_label("fraction or interference  [%]")
    return figure


def _root(x: np.ndarray) -> np.ndarray:
    """A colour scale that shows small interferences next to large fractions."""
    return np.sign(x) * np.sqrt(np.abs(x))


def _square(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.square(x)
