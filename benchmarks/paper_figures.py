"""Figures of ``paper.py``, drawn from its results alone; projections are drawn where the events are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ctpwa.report.figures.style import STYLE, WIDTH
from ctpwa.report.palette import FIT_COLOUR, line_style

Row = dict[str, Any]
KINDS = ("masses and widths", "couplings", "fractions")
LINE, HEADROOM = 0.155, 0.75  # inches
RANGE = 4.2  # σ


def draw_iterations(results: Row) -> Figure:
    """Time per iteration versus N_data, with everything computed again and here."""
    curves = [("computed again in every iteration", "recompute_ms"), ("here", "gradient_ms")]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.62 * WIDTH, 2.9), layout="constrained")
        axes = figure.add_subplot()
        _curves(axes, results["iterations"], curves)
        axes.set_ylabel("time of NLL and gradient [ms]")
        axes.set_title(r"$J/\psi \to \pi^{+}\pi^{-}\pi^{+}\pi^{-}$", fontsize=9)
        axes.legend(loc="upper left")
    return figure


def draw_synthetic(results: Row) -> Figure:
    """NLL and gradient, and Hessian, versus N_data for all methods."""
    cuda = results["about"]["device"] == "cuda"
    methods = [("cpu_autograd_", "CPU autograd")] if cuda else []
    methods += [("autograd_", "GPU autograd" if cuda else "CPU autograd"), ("b_matrix_", r"$B$ matrix per event"), ("", "here")]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        for k, (kind, title) in enumerate((("gradient", "NLL and gradient"), ("hessian", "Hessian"))):
            axes = figure.add_subplot(1, 2, k + 1)
            _curves(axes, results["synthetic"], [(name, f"{key}{kind}_ms") for key, name in methods])
            axes.set_title(title, fontsize=9)
            if k == 0:
                axes.set_ylabel("time [ms]")
                axes.legend(loc="upper left")
    return figure


def _curves(axes: Axes, rows: Sequence[Row], curves: Sequence[tuple[str, str]]) -> None:
    """Curves on logarithmic axes, ours last and in the colour of fits."""
    for k, (name, key) in enumerate(curves):
        points = [(row["N_data"], row[key]) for row in rows if row.get(key) is not None]
        ours = k == len(curves) - 1
        colour, marker = (FIT_COLOUR, "o") if ours else (line_style(k)[0], "sD^"[k])
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=3.5, linewidth=1.3 if ours else 0.9, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.28)  # room for the legend
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=12))
        axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(r"$N_{\mathrm{data}}$")


def draw_pulls_of_fit(results: Row) -> Figure:
    """(fitted − generated) / error of every quantity: masses and widths, couplings, fractions."""
    entries = results["demo"]["truth"]["entries"]
    groups = [[entry for entry in entries if entry["kind"] == kind] for kind in KINDS]
    couplings = groups[1]
    half = -(-len(couplings) // 2)
    columns = [("masses and widths, fractions", groups[0] + groups[2]), ("couplings", couplings[:half]), ("couplings", couplings[half:])]
    with mpl.rc_context(STYLE):
        height = HEADROOM + LINE * max(len(column) for _, column in columns)
        figure = Figure(figsize=(1.35 * WIDTH, height), layout="constrained")
        for k, (title, column) in enumerate(columns):
            _pulls(figure.add_subplot(1, len(columns), k + 1), title, column)
        figure.supxlabel(r"(fitted $-$ generated) / error", fontsize=10)
    return figure


def _pulls(axes: Axes, title: str, column: Sequence[Row]) -> None:
    y, pulls = np.arange(len(column)), np.array([entry["pull"] for entry in column])
    for width, shade in ((2, "#EFEFEF"), (1, "#DADADA")):
        axes.axvspan(-width, width, color=shade, linewidth=0, zorder=0)
    axes.axvline(0, color="black", linewidth=0.5, zorder=1)
    limit = max(RANGE, 1.15 * (1 + float(np.abs(pulls).max(initial=0.0))))
    axes.errorbar(pulls, y, xerr=1.0, fmt="k.", markersize=3.5, elinewidth=0.7, zorder=3)
    axes.set_yticks(y, [_label(entry) for entry in column], fontsize=7)
    axes.tick_params(axis="y", which="both", length=0)
    axes.minorticks_off()
    axes.set_ylim(len(column) - 0.4, -0.6)
    axes.set_xlim(-limit, limit)
    axes.set_title(title, fontsize=9)


def _label(entry: Row) -> str:
    if entry["kind"] == "fractions":
        return f"fraction {entry['label']}"
    return entry["label"]
