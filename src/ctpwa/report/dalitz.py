"""Figures of three-body decays: the Dalitz plot with its boundary, and projections with their components."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

STYLE: Any = {
    "font.family": "serif",
    "font.size": 9,
    "mathtext.fontset": "cm",
    "axes.labelsize": 10,
    "axes.linewidth": 0.7,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.top": True,
    "ytick.right": True,
    "xtick.minor.visible": True,
    "ytick.minor.visible": True,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
}
WIDTH, HEIGHT = 7.4, 4.7  # inches; two columns of a journal page
# distinguishable with any colour vision: Okabe–Ito, with line styles as a second hint
LINES = (
    ("#0072B2", "-"), ("#E69F00", "-"), ("#009E73", "-"), ("#CC79A7", "-"),
    ("#56B4E9", "--"), ("#D55E00", "--"), ("#7A5195", "--"), ("#666666", "--"),
)  # fmt: skip
MAP_BINS, PROJECTION_BINS = 110, 70
PAIRS = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class DalitzSample:
    """What a figure needs to know of a phase-space sample with intensities.

    Attributes:
        parent:      mass of the parent, GeV
        masses:      masses of the three final particles, GeV
        names:       their LaTeX names
        s:           m² of the pairs (1,2), (1,3), (2,3), GeV², each [event]
        intensity:   I of every phase-space event, [event]
        accepted:    which events are the toy data, [event]
        components:  LaTeX name → intensity of one contribution alone, [event]
    """

    parent: float
    masses: tuple[float, float, float]
    names: tuple[str, str, str]
    s: tuple[np.ndarray, np.ndarray, np.ndarray]
    intensity: np.ndarray
    accepted: np.ndarray
    components: Mapping[str, np.ndarray]


def dalitz_boundary(parent: float, masses: Sequence[float], n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """The closed curve of (m²_13, m²_23) that three-body kinematics cannot leave.

    For each m_12 particle 3 flies along or against particle 1 in the rest frame of the pair:

        m²_13 = m1² + m3² + 2 (E1 E3 ∓ p1 p3),    m²_13 + m²_23 = M² + m1² + m2² + m3² − m²_12

    Args:
        parent:  mass of the parent M, GeV
        masses:  m1, m2, m3, GeV
        n:       points on each half of the curve
    """
    m1, m2, m3 = masses
    # dense at both ends, where the curve is steep
    m12 = (m1 + m2) + (parent - m1 - m2 - m3) * (1 - np.cos(np.linspace(0, np.pi, n))) / 2
    s12 = m12**2
    E1 = (s12 + m1**2 - m2**2) / (2 * m12)
    E3 = (parent**2 - s12 - m3**2) / (2 * m12)
    p1, p3 = (np.sqrt(np.clip(E**2 - m**2, 0, None)) for E, m in ((E1, m1), (E3, m3)))
    low, high = (m1**2 + m3**2 + 2 * (E1 * E3 + sign * p1 * p3) for sign in (-1, 1))
    total = parent**2 + m1**2 + m2**2 + m3**2 - s12
    s13 = np.concatenate([low, high[::-1]])
    return s13, np.concatenate([total, total[::-1]]) - s13


def draw_dalitz(sample: DalitzSample, title: str) -> Figure:
    """The Dalitz plot of m²_23 against m²_13, beside the three projections with toy data, model and components."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        grid = figure.add_gridspec(3, 2, width_ratios=(1.32, 1))
        _draw_map(figure.add_subplot(grid[:, 0]), sample, title)
        panels = [figure.add_subplot(grid[row, 1]) for row in range(3)]
        for axes, pair in zip(panels, range(3), strict=True):
            _draw_projection(axes, sample, pair)
        handles, labels = panels[0].get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda i: (labels[i] != "toy data", i))
        figure.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="outside lower center",
            ncols=5,
            handlelength=1.9,
            columnspacing=1.5,
        )
    return figure


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write ``stem``.png and ``stem``.pdf; the folder is made if it is not there."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_suffix(suffix) for suffix in (".png", ".pdf")]
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it comments on the dates of the fonts that matplotlib ships
    with mpl.rc_context(STYLE):
        for file in files:
            figure.savefig(file)
    return files


def _draw_map(axes: Axes, sample: DalitzSample, title: str) -> None:
    """Mean intensity in cells of the Dalitz plot: phase space is flat here, so this is the density of events."""
    boundary = dalitz_boundary(sample.parent, sample.masses)
    x, y = sample.s[1], sample.s[2]
    edges = [np.linspace(curve.min(), curve.max(), MAP_BINS + 1) for curve in boundary]
    total, _, _ = np.histogram2d(x, y, bins=edges, weights=sample.intensity)
    count, _, _ = np.histogram2d(x, y, bins=edges)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan) / sample.intensity.mean()
    mesh = axes.pcolormesh(*edges, mean.T, cmap="viridis", norm=PowerNorm(0.45, vmin=0, vmax=np.nanpercentile(mean, 99.7)), rasterized=True)
    outline = axes.plot(*boundary, color="black", linewidth=1.0)[0]
    mesh.set_clip_path(outline.get_path(), axes.transData)
    axes.text(0.97, 0.965, title, transform=axes.transAxes, ha="right", va="top", fontsize=11)
    # the corner above the diagonal is empty in every Dalitz plot
    bar = axes.figure.colorbar(mesh, cax=axes.inset_axes((0.60, 0.83, 0.36, 0.025)), orientation="horizontal", extend="max")
    bar.set_label("intensity / mean", fontsize=8, labelpad=1)
    bar.ax.tick_params(labelsize=7, top=False, which="both")
    bar.ax.minorticks_off()
    axes.set_xlabel(_squared_label(sample, 1))
    axes.set_ylabel(_squared_label(sample, 2))
    margin = 0.03 * (edges[0][-1] - edges[0][0])
    axes.set_xlim(edges[0][0] - margin, edges[0][-1] + margin)
    axes.set_ylim(edges[1][0] - margin, edges[1][-1] + margin)


def _draw_projection(axes: Axes, sample: DalitzSample, pair: int) -> None:
    m = np.sqrt(sample.s[pair])
    edges = np.linspace(m.min(), m.max(), PROJECTION_BINS + 1)
    centres, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    data, _ = np.histogram(m[sample.accepted], bins=edges)
    scale = sample.accepted.sum() / sample.intensity.sum()
    axes.errorbar(centres, data, yerr=np.sqrt(data), fmt="k.", markersize=2.5, elinewidth=0.6, label="toy data", zorder=5)
    model, _ = np.histogram(m, bins=edges, weights=sample.intensity * scale)
    axes.stairs(model, edges, color="#B2182B", linewidth=1.2, label="model", zorder=4)
    for (name, intensity), (colour, style) in zip(sample.components.items(), cycle(LINES), strict=False):
        part, _ = np.histogram(m, bins=edges, weights=intensity * scale)
        axes.stairs(part, edges, color=colour, linestyle=style, linewidth=1.0, label=name)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.15 * (data + np.sqrt(data)).max())
    axes.set_xlabel(_mass_label(sample, pair), labelpad=1)
    axes.set_ylabel(f"Events / {1000 * width:.0f} MeV", fontsize=8)


def _mass_label(sample: DalitzSample, pair: int) -> str:
    first, second = PAIRS[pair]
    return rf"$m({sample.names[first]}{sample.names[second]})$  [GeV]"


def _squared_label(sample: DalitzSample, pair: int) -> str:
    first, second = PAIRS[pair]
    return rf"$m^2({sample.names[first]}{sample.names[second]})$  [GeV$^2$]"
