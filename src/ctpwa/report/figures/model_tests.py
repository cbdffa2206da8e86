"""Figures of tests of models: significances, and how test statistics of toys are distributed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from ctpwa.observables.tails import chi2_density
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import COLOURS, FIT_COLOUR

ROW = 0.24  # inches
PANEL = 2.3  # inches
COLUMNS = 2
BINS = 25  # at most
PER_BIN = 4  # toys
STANDARD = (3.0, 5.0)  # σ: evidence and observation


def draw_significances(rows: Sequence[tuple[str, float, float | None, bool]]) -> Figure:
    """Significances as bars; those from toys as points, with an arrow where they are lower limits.

    Args:
        rows:  label, σ by Wilks' theorem, σ from toys or None, whether that is a lower limit
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, max(1.5, 0.7 + ROW * len(rows))), layout="constrained")
        axes = figure.subplots()
        y = np.arange(len(rows))
        axes.barh(y, [row[1] for row in rows], height=0.6, color="0.8", label="Wilks")
        for sigma in STANDARD:
            axes.axvline(sigma, color=FIT_COLOUR, linewidth=0.8, linestyle="--")
        measured = [(k, row[2], row[3]) for k, row in enumerate(rows) if row[2] is not None]
        if measured:
            axes.plot([x for _, x, _ in measured], [k for k, _, _ in measured], "ko", markersize=3, label="toys (arrow: more than)")
            reach = 0.05 * max(row[1] for row in rows)
            for k, x, beyond in measured:
                if beyond and x is not None:
                    axes.annotate("", (x + reach, k), (x, k), arrowprops={"arrowstyle": "->", "linewidth": 0.8})
            axes.legend(loc="lower right")
        axes.set_yticks(y, [figure_label(row[0]) for row in rows], fontsize=8)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.tick_params(axis="y", which="minor", left=False, right=False)
        axes.set_xlabel(r"significance [$\sigma$]")
    return figure


def draw_null_toys(panels: Sequence[tuple[str, np.ndarray, float, int, float]]) -> Figure:
    """2 Δ ln L of toys without a resonance, χ² by Wilks' theorem and fitted, and what was observed.

    Args:
        panels:  label, toys, observed, degrees of freedom, effective degrees of freedom
    """
    with mpl.rc_context(STYLE):
        figure, all_axes = _panels(len(panels))
        for axes, (label, toys, observed, ndf, effective) in zip(all_axes, panels, strict=True):
            near = observed < 3 * toys.max(initial=1.0)
            high = 1.1 * max(float(toys.max(initial=1.0)), observed if near else 0.0)
            bins = min(BINS, max(5, len(toys) // PER_BIN))
            axes.hist(toys, bins=bins, range=(0, high), histtype="stepfilled", color="0.8", label=f"{len(toys)} toys")
            x, scale = np.linspace(high / 400, high, 400), len(toys) * high / bins
            axes.plot(x, scale * chi2_density(x, ndf), color="0.3", linestyle="--", linewidth=1.0, label=rf"$\chi^2$, {ndf} d.o.f.")
            fitted = rf"$\chi^2$, {effective:.1f} d.o.f."
            axes.plot(x, scale * chi2_density(x, effective), color=COLOURS[0], linewidth=1.0, label=fitted)
            _observed(axes, observed, near)
            _finish(axes, label, r"$2\,\Delta\ln L$")
    return figure


def draw_separation(first: tuple[str, np.ndarray], second: tuple[str, np.ndarray], observed: float) -> Figure:
    """2 ln(L1/L2) of toys of two hypotheses, and what was observed.

    Args:
        first:     label of hypothesis 1, and its toys
        second:    the same of hypothesis 2
        observed:  of the data
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.7 * WIDTH, PANEL), layout="constrained")
        axes = figure.subplots()
        values = np.concatenate([first[1], second[1], [observed]])
        margin = 0.05 * (float(np.ptp(values)) or 1.0)
        limits = float(values.min()) - margin, float(values.max()) + margin
        bins = min(2 * BINS, max(10, (len(first[1]) + len(second[1])) // PER_BIN))
        for colour, (label, toys) in zip(COLOURS, (first, second), strict=False):
            shown = figure_label(f"{len(toys)} toys of {label}")
            axes.hist(toys, bins=bins, range=limits, histtype="stepfilled", color=colour, alpha=0.45, label=shown)
        axes.axvline(observed, color=FIT_COLOUR, linewidth=1.2, label="observed")
        axes.set_xlabel(figure_label(rf"$2\,\ln(L_1/L_2)$,  1: {first[0]},  2: {second[0]}"))
        axes.set_ylabel("toys")
        axes.set_ylim(top=1.3 * axes.get_ylim()[1])
        axes.legend(loc="upper center", ncols=3, fontsize=7)
    return figure


def draw_ranking(names: Sequence[str], differences: np.ndarray) -> Figure:
    """How much worse hypotheses are than the best one.

    Args:
        names:        of the hypotheses
        differences:  of −2 ln L, AIC and BIC to the least, [hypothesis, kind]
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, max(1.6, 0.8 + 1.6 * ROW * len(names))), layout="constrained")
        axes = figure.subplots()
        y = np.arange(len(names))
        for k, (label, colour) in enumerate(((r"$-2\ln L$", "0.6"), ("AIC", COLOURS[0]), ("BIC", COLOURS[1]))):
            axes.barh(y + 0.25 * (k - 1), differences[:, k], height=0.22, color=colour, label=label)
        axes.set_yticks(y, [figure_label(name) for name in names], fontsize=8)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.tick_params(axis="y", which="minor", left=False, right=False)
        axes.set_xlabel("difference to the least")
        axes.legend(loc="upper right")
    return figure


def _panels(n: int) -> tuple[Figure, Sequence[Axes]]:
    columns = min(n, COLUMNS)
    rows = math.ceil(n / columns)
    figure = Figure(figsize=(WIDTH * (columns / COLUMNS if n > 1 else 0.6), PANEL * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[n:]:
        axes.set_axis_off()
    return figure, list(grid[:n])


def _observed(axes: Axes, observed: float, near: bool) -> None:
    """A line where the data are; far outside an arrow and the number."""
    if near:
        axes.axvline(observed, color=FIT_COLOUR, linewidth=1.2, label=f"observed, {observed:.1f}")
    else:
        axes.plot([], [], color=FIT_COLOUR, linewidth=1.2, label=rf"observed, {observed:.1f} $\rightarrow$")


def _finish(axes: Axes, label: str, x: str) -> None:
    axes.set_title(figure_label(label), fontsize=9)
    axes.set_xlabel(x)
    axes.set_ylabel("toys")
    axes.set_xlim(left=0)
    axes.legend(fontsize=7)
