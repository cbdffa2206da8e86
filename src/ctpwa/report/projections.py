"""Projections: measured events as points, the fit and its contributions as histograms of weighted phase-space events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ctpwa.report.style import FIT_COLOUR, LINES, STYLE, WIDTH

PANEL_HEIGHT = 2.35  # inches
LEGEND_ROW = 0.19
LEGEND_COLUMNS = 4


@dataclass(frozen=True)
class Projection:
    """One variable.

    Attributes:
        label:  what it is, as LaTeX between dollar signs
        data:   its values for the measured events, [event]
        fit:    its values for the phase-space events, [event]
        unit:   its unit; empty if it has none
        bins:   number of bins
    """

    label: str
    data: np.ndarray
    fit: np.ndarray
    unit: str = "GeV"
    bins: int = 60


@dataclass(frozen=True)
class FitWeights:
    """Weights that turn phase space into the fit, and those of the measured events.

    Attributes:
        fit:         intensity times weight of every phase-space event, in any units, [event]
        components:  LaTeX name → the same for one contribution alone, in the same units
        data:        weights of the measured events; None if all are 1
    """

    fit: np.ndarray
    components: Mapping[str, np.ndarray] = field(default_factory=dict)
    data: np.ndarray | None = None


def draw_projections(projections: Sequence[Projection], weights: FitWeights, title: str = "") -> Figure:
    """One panel for each variable and a legend below them. The fit has as many events as the data."""
    with mpl.rc_context(STYLE):
        rows = -(-(len(weights.components) + 2) // LEGEND_COLUMNS)
        figure = Figure(figsize=(WIDTH, PANEL_HEIGHT + LEGEND_ROW * rows + (0.2 if title else 0.0)), layout="constrained")
        if title:
            figure.suptitle(title, fontsize=10)
        panels = [figure.add_subplot(1, len(projections), k + 1) for k in range(len(projections))]
        for axes, projection in zip(panels, projections, strict=True):
            _draw_panel(axes, projection, weights)
        handles, labels = panels[0].get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda i: (labels[i] not in ("data", "fit"), labels[i] == "fit", i))
        figure.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="outside lower center",
            ncols=LEGEND_COLUMNS,
            handlelength=1.9,
            columnspacing=1.6,
        )
    return figure


def _draw_panel(axes: Axes, projection: Projection, weights: FitWeights) -> None:
    edges = _edges(projection)
    data, variance = _counted(projection.data, weights.data, edges)
    total = float(len(projection.data) if weights.data is None else weights.data.sum())
    scale = total / float(weights.fit.sum())
    for (name, component), (colour, style) in zip(weights.components.items(), cycle(LINES), strict=False):
        part, _ = np.histogram(projection.fit, bins=edges, weights=scale * component)
        axes.stairs(part, edges, color=colour, linestyle=style, linewidth=1.0, label=name, zorder=2)
    fit, _ = np.histogram(projection.fit, bins=edges, weights=scale * weights.fit)
    axes.stairs(fit, edges, color=FIT_COLOUR, linewidth=1.2, label="fit", zorder=3)
    centres, seen = (edges[1:] + edges[:-1]) / 2, variance > 0
    bars = np.sqrt(variance[seen])
    axes.errorbar(centres[seen], data[seen], yerr=bars, fmt="k.", markersize=2.6, elinewidth=0.6, label="data", zorder=4)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.08 * max(float((data + np.sqrt(variance)).max()), float(fit.max())))
    unit = f"  [{projection.unit}]" if projection.unit else ""
    axes.set_xlabel(f"{projection.label}{unit}")
    axes.set_ylabel(_per_bin(edges[1] - edges[0], projection.unit))


def _edges(projection: Projection) -> np.ndarray:
    """Bins over everything that phase space allows and that was measured."""
    low = min(float(projection.data.min()), float(projection.fit.min()))
    high = max(float(projection.data.max()), float(projection.fit.max()))
    return np.linspace(low, high, projection.bins + 1)


def _counted(values: np.ndarray, weights: np.ndarray | None, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ w and Σ w² in each bin."""
    w = np.ones(len(values)) if weights is None else weights
    return np.histogram(values, bins=edges, weights=w)[0], np.histogram(values, bins=edges, weights=w**2)[0]


def _per_bin(width: float, unit: str) -> str:
    if unit == "GeV":
        return f"Events / {1000 * width:.3g} MeV"
    return f"Events / {width:.2g} {unit}".rstrip()
