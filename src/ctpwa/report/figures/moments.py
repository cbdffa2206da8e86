"""Angular moments against the mass of a pair: data as points, the model as a line with its statistical band."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from ctpwa.observables.moments import AngularMoments
from ctpwa.report.figures.style import STYLE, WIDTH, Figure
from ctpwa.report.palette import FIT_COLOUR

COLUMNS = 3
PANEL_HEIGHT = 1.9  # inches
LEGEND_ROW = 0.22


def draw_moments(moments: AngularMoments, label: str, unit: str = "GeV", title: str = "") -> Figure:
    """One panel for each moment, in the order of L and M.

    Args:
        moments:  what ``angular_moments`` returned
        label:    the mass, as LaTeX between dollar signs; the label of its variable
        unit:     its unit
        title:    above all panels
    """
    n = len(moments.indices)
    columns = min(n, COLUMNS)
    rows = -(-n // columns)
    with mpl.rc_context(STYLE):
        height = PANEL_HEIGHT * rows + 0.25 + LEGEND_ROW + (0.2 if title else 0.0)
        figure = Figure(figsize=(WIDTH * columns / COLUMNS if columns > 1 else WIDTH / 2, height), layout="constrained")
        if title:
            figure.suptitle(title, fontsize=10)
        panels = [figure.add_subplot(rows, columns, k + 1) for k in range(n)]
        for k, axes in enumerate(panels):
            _draw_panel(axes, moments, k)
            axes.tick_params(labelbottom=k + columns >= n)
        figure.supxlabel(f"{label}  [{unit}]" if unit else label, fontsize=10)
        figure.supylabel(_per_bin(moments.edges, unit), fontsize=10)
        handles, labels = panels[0].get_legend_handles_labels()
        if rows * columns > n:  # in the first panel that is not there
            place = figure.add_subplot(rows, columns, n + 1)
            place.set_axis_off()
            place.legend(handles[::-1], labels[::-1], loc="center", handlelength=1.9, fontsize=10)
        else:
            figure.legend(handles[::-1], labels[::-1], loc="outside upper right", ncols=2, handlelength=1.9)
    return figure


def _draw_panel(axes: Axes, moments: AngularMoments, k: int) -> None:
    edges, (L, M) = moments.edges, moments.indices[k]
    model, band = moments.model[k], moments.model_error[k]
    axes.axhline(0, color="0.6", linewidth=0.6, zorder=1)
    lower, upper = (np.append(side, side[-1]) for side in (model - band, model + band))
    axes.fill_between(edges, lower, upper, step="post", color=FIT_COLOUR, alpha=0.25, linewidth=0)
    axes.stairs(model, edges, color=FIT_COLOUR, linewidth=1.2, label="fit", zorder=3, baseline=None)
    centres, seen = (edges[1:] + edges[:-1]) / 2, moments.data_error[k] > 0
    data, bars = moments.data[k][seen], moments.data_error[k][seen]
    axes.errorbar(centres[seen], data, yerr=bars, fmt="k.", markersize=2.6, elinewidth=0.6, label="data", zorder=4)
    axes.set_xlim(edges[0], edges[-1])
    low = min(float((data - bars).min(initial=0.0)), float((model - band).min()), 0.0)
    high = max(float((data + bars).max(initial=0.0)), float((model + band).max()), 0.0)
    span = (high - low) or 1.0
    axes.set_ylim(low - 0.06 * span, high + 0.30 * span)  # room for the words above everything
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)
    name = rf"$N\,\langle Y_{{{L}{M}}}\rangle$" if M == 0 else rf"$N\,\langle \mathrm{{Re}}\,Y_{{{L}{M}}}\rangle$"
    axes.text(0.05, 0.95, name, transform=axes.transAxes, va="top")
    words = rf"$\chi^2/\mathrm{{ndf}} = {moments.chi2[k]:.1f}/{int(moments.ndf[k])}$"
    axes.text(0.95, 0.95, words, transform=axes.transAxes, va="top", ha="right", fontsize=8)


def _per_bin(edges: np.ndarray, unit: str) -> str:
    widths = np.diff(edges)
    if np.ptp(widths) > 1e-9 * widths.max():
        return "Sum / bin"
    return f"Sum / {1000 * widths[0]:.3g} MeV" if unit == "GeV" else f"Sum / {widths[0]:.2g} {unit}".rstrip()
