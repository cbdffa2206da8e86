"""The correlation matrix of a fit as a heat map."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np

from ctpwa.fitting.labels import parameter_label
from ctpwa.fitting.result import FitResult
from ctpwa.model.model import Model
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label

CELL = 0.115  # inches, of a matrix that is larger than the page is wide
LARGEST = 0.42  # inches, of a small matrix
WRITTEN = 15  # rows; correlations are written into the cells of a matrix that is not larger


def parameter_order(result: FitResult, model: Model) -> tuple[list[int], int]:
    """Couplings first, then lineshapes, each in the order of the fit; and how many couplings there are."""
    of_lineshape = [name.rpartition(".")[0] in model.resonances for name in result.names]
    order = [i for i, own in enumerate(of_lineshape) if not own] + [i for i, own in enumerate(of_lineshape) if own]
    return order, of_lineshape.count(False)


def draw_correlations(result: FitResult, model: Model, title: str = "") -> Figure:
    """Correlations of the free parameters: couplings, then lineshapes. Names are at the left, numbers at both sides.

    Args:
        result:  of the fit
        model:   what was fitted, for names
        title:   above the matrix
    """
    order, n_couplings = parameter_order(result, model)
    rho = result.correlation[np.ix_(order, order)]
    n = len(order)
    cell = min(LARGEST, max(CELL, 0.62 * WIDTH / max(n, 1)))
    size = 7.0 if cell > 0.14 else 5.2
    with mpl.rc_context(STYLE):
        labels = _labels(result, model, order)
        side = n * cell
        figure = Figure(figsize=(side + 3.3, side + 0.8), layout="constrained")
        if title:
            figure.suptitle(title, fontsize=10)
        axes = figure.add_subplot()
        image = axes.imshow(rho, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        numbers = [str(i + 1) for i in range(n)]
        axes.set_yticks(range(n), [f"{label}  {number}" for label, number in zip(labels, numbers, strict=True)], fontsize=size)
        axes.set_xticks(range(n), numbers, fontsize=size, rotation=90 if n > WRITTEN else 0)
        axes.tick_params(length=0, which="both")
        axes.minorticks_off()
        if 0 < n_couplings < n:
            for line in (axes.axhline, axes.axvline):
                line(n_couplings - 0.5, color="black", linewidth=0.8)
        if n <= WRITTEN:
            for i in range(n):
                for j in range(n):
                    colour = "white" if abs(rho[i, j]) > 0.6 else "black"
                    axes.text(j, i, f"${round(float(rho[i, j]), 2) + 0.0:.2f}$", ha="center", va="center", fontsize=6, color=colour)
        bar = figure.colorbar(image, ax=axes, pad=0.02, shrink=min(1.0, 3.5 / max(side, 0.1)), aspect=25)
        bar.set_label("correlation")
    return figure


def _labels(result: FitResult, model: Model, order: list[int]) -> list[str]:
    """Names of parameters; the second part of a complex number says only which part it is."""
    labels = []
    previous = ""
    for i in order:
        owner, _, part = result.names[i].rpartition(".")
        word = {"im": r"$\mathrm{Im}$", "phase": r"$\arg$"}.get(part)
        couplings = [c.name for c in result.couplings]
        labels.append(word if word and owner == previous else figure_label(parameter_label(model, result.names[i], couplings)))
        previous = owner
    return labels
