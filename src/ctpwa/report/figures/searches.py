"""Figures of searches: candidates, scans of a mass, steps of a selection."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np

from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import COLOURS, FIT_COLOUR

ROW = 0.17  # inches
SMALL = 3.5  # of markers


def draw_candidates(rows: Sequence[tuple[str, float, float]]) -> Figure:
    """How significant candidates are, by the score test and by fits.

    Args:
        rows:  label, and standard deviations of both; not a number where there is none
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, max(1.6, 0.9 + ROW * len(rows))), layout="constrained")
        axes = figure.subplots()
        y = np.arange(len(rows))
        score, fitted = (np.array([row[k] for row in rows]) for k in (1, 2))
        axes.barh(y, score, height=0.6, color="0.85", label="score test")
        axes.plot(fitted, y, "o", color=FIT_COLOUR, markersize=SMALL, label="fit")
        for level in (3, 5):
            axes.axvline(level, color="0.5", linewidth=0.6, linestyle=":")
        axes.set_yticks(y, [figure_label(row[0]) for row in rows], fontsize=6.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, max(5.5, 1.05 * float(np.nanmax([*score, *fitted]))))
        axes.tick_params(axis="y", which="minor", left=False, right=False)
        axes.set_xlabel("significance / $\\sigma$")
        axes.legend(loc="lower right")
    return figure


def draw_mass_scan(
    masses: np.ndarray,
    scores: np.ndarray,
    gains: np.ndarray,
    levels: Sequence[tuple[int, float]],
    peak: tuple[float, float] | None,
    label: str,
) -> Figure:
    """What an additional resonance gains, against its mass.

    Args:
        masses:  GeV
        scores:  S of the score test
        gains:   2 Δ ln L of fits; not a number where there is none
        levels:  standard deviations and the gain that they need
        peak:    mass and error of a fit in which it floats; None: there is none
        label:   what is added
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
        axes = figure.subplots()
        top = 1.15 * float(np.nanmax([*scores, *gains, 1.0]))
        for sigma, gain in levels:
            if gain < top:
                axes.axhline(gain, color="0.75", linewidth=0.6, linestyle="--")
                axes.annotate(f"{sigma}$\\sigma$", (1.005, gain), xycoords=("axes fraction", "data"), fontsize=7, va="center")
        if peak is not None:
            axes.axvspan(peak[0] - peak[1], peak[0] + peak[1], color=FIT_COLOUR, alpha=0.15, linewidth=0, label="fitted mass")
        axes.plot(masses, scores, "-", color=COLOURS[0], linewidth=1.2, label="score test")
        known = np.isfinite(gains)
        if known.any():
            axes.plot(masses[known], gains[known], "o", color=FIT_COLOUR, markersize=SMALL, label="fits")
        axes.set_ylim(0, top)
        axes.set_xlim(masses.min(), masses.max())
        axes.set_xlabel(f"mass of {figure_label(label)} / GeV")
        axes.set_ylabel("$2\\,\\Delta\\ln L$")
        axes.legend(loc="best")
    return figure


def draw_selection(steps: Sequence[tuple[str, float]], label: str) -> Figure:
    """A criterion after every step of a selection, relative to the last one.

    Args:
        steps:  what was done, and the criterion
        label:  of the criterion
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
        axes = figure.subplots()
        values = np.array([value for _, value in steps])
        axes.plot(range(len(steps)), values - values[-1], "o-", color=FIT_COLOUR, markersize=SMALL, linewidth=1.0)
        axes.set_xticks(range(len(steps)), [figure_label(name) for name, _ in steps], rotation=30, ha="right", fontsize=7)
        axes.minorticks_off()
        axes.set_ylabel(label)
    return figure
