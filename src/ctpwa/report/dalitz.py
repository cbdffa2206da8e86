"""Dalitz plots of three-body decays: events in cells of m², within the boundary that kinematics sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from ctpwa.report.style import STYLE, WIDTH

HEIGHT = 3.35  # inches
BINS = 60


@dataclass(frozen=True)
class DalitzAxes:
    """The decay and which of its pairs are drawn.

    Attributes:
        parent:  mass of the parent, GeV
        masses:  masses of the three final particles, GeV
        names:   their LaTeX names
    """

    parent: float
    masses: tuple[float, float, float]
    names: tuple[str, str, str]

    def label(self, first: int, second: int) -> str:
        """Name of an axis."""
        return rf"$M^2({self.names[first]}{self.names[second]})$  [GeV$^2$]"


@dataclass(frozen=True)
class DalitzSample:
    """Events of a Dalitz plot.

    Attributes:
        s13, s23:  m² of the pairs (1,3) and (2,3), GeV², each [event]
        weights:   [event]; None if all are 1
    """

    s13: np.ndarray
    s23: np.ndarray
    weights: np.ndarray | None = None

    @property
    def total(self) -> float:
        """Σ of the weights."""
        return float(len(self.s13) if self.weights is None else self.weights.sum())


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


def draw_dalitz(axes: DalitzAxes, samples: Mapping[str, DalitzSample], title: str = "") -> Figure:
    """Dalitz plots of m²_23 against m²_13 side by side, in one scale: all are drawn with as many events as the first.

    Args:
        axes:     the decay
        samples:  title of a panel → its events
        title:    written into the first panel
    """
    boundary = dalitz_boundary(axes.parent, axes.masses)
    edges = [np.linspace(curve.min(), curve.max(), BINS + 1) for curve in boundary]
    wanted = next(iter(samples.values())).total
    counts = {
        name: wanted / sample.total * np.histogram2d(sample.s13, sample.s23, bins=edges, weights=sample.weights)[0]
        for name, sample in samples.items()
    }
    top = max(float(np.percentile(count[count > 0], 99.7)) for count in counts.values())
    norm = PowerNorm(0.5, vmin=0, vmax=top)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        panels = [figure.add_subplot(1, len(samples), k + 1) for k in range(len(samples))]
        for panel, (name, count) in zip(panels, counts.items(), strict=True):
            mesh = panel.pcolormesh(*edges, count.T, cmap="viridis", norm=norm, rasterized=True)
            outline = panel.plot(*boundary, color="black", linewidth=0.9)[0]
            mesh.set_clip_path(outline.get_path(), panel.transData)
            _label(panel, axes, edges)
            panel.text(0.96, 0.96, name, transform=panel.transAxes, ha="right", va="top", fontsize=10)
        panels[0].text(0.96, 0.88, title, transform=panels[0].transAxes, ha="right", va="top", fontsize=9)
        bar = figure.colorbar(mesh, ax=panels, extend="max", pad=0.01, aspect=30)
        bar.set_label("Events / cell")
        bar.ax.minorticks_off()
    return figure


def _label(panel: Axes, axes: DalitzAxes, edges: Sequence[np.ndarray]) -> None:
    panel.set_xlabel(axes.label(0, 2))
    panel.set_ylabel(axes.label(1, 2))
    for limits, edge in ((panel.set_xlim, edges[0]), (panel.set_ylim, edges[1])):
        margin = 0.03 * (edge[-1] - edge[0])
        limits(edge[0] - margin, edge[-1] + margin)
