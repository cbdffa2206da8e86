"""Figures of likelihood profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from scipy.interpolate import Akima1DInterpolator

from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import COLOURS, FIT_COLOUR

SINGLE = WIDTH / 2  # one column
FINE = 400
RISE = r"$2\,\Delta(-\ln L)$"
HEADROOM = 1.15
ROUNDING = 1e-3  # of 2Δ(−ln L)


def draw_profile(
    label: str,
    values: np.ndarray,
    rises: np.ndarray,
    centre: float,
    error: float | None,
    crossings: Sequence[tuple[float, float]],
    levels: Sequence[int],
) -> Figure:
    """2Δ(−ln L) against one quantity, with the parabola that the error of the fit stands for.

    Args:
        label:      of the quantity
        values:     where it was fitted
        rises:      2Δ(−ln L) there
        centre:     where the fit ended
        error:      its standard deviation; None: it has none
        crossings:  value and 2Δ(−ln L) of what was found exactly
        levels:     standard deviations that are marked
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(SINGLE, 0.8 * SINGLE), layout="constrained")
        axes = figure.subplots()
        near = 1e-6 * float(np.ptp(values))
        known = {centre: 0.0} | dict(crossings)
        known |= {v: r for v, r in zip(values.tolist(), rises.tolist(), strict=True) if min(abs(v - other) for other in known) > near}
        x, y = np.array(sorted(known.items())).T
        fine = np.linspace(x[0], x[-1], FINE)
        if error:
            axes.plot(fine, ((fine - centre) / error) ** 2, color=COLOURS[0], linestyle="--", linewidth=1.0, label="error of the fit")
        root = np.sign(x - centre) * np.sqrt(np.maximum(y, 0))  # nearly a straight line
        curve = Akima1DInterpolator(x, root)(fine) ** 2 if (y > -ROUNDING).all() else Akima1DInterpolator(x, y)(fine)
        axes.plot(fine, curve, color=FIT_COLOUR, linewidth=1.2, label="profile")
        axes.plot(values, rises, "k.", markersize=3)
        top = HEADROOM * max(float(np.max(y)), 1.0)
        for sigmas in levels:
            if sigmas**2 < top:
                axes.axhline(sigmas**2, color="0.7", linewidth=0.6)
                axes.text(1.015, sigmas**2, rf"${sigmas}\sigma$", transform=axes.get_yaxis_transform(), va="center", fontsize=7)
        for value, rise in crossings:
            axes.plot([value, value], [0, rise], color="0.5", linewidth=0.6, linestyle=":")
        axes.set_ylim(min(0.0, HEADROOM * float(np.min(y))), top)
        axes.set_xlim(x[0], x[-1])
        axes.set_xlabel(figure_label(label))
        axes.set_ylabel(RISE)
        axes.legend(loc="upper center")
    return figure


def draw_profile_map(
    labels: Sequence[str],
    interpolated: tuple[np.ndarray, np.ndarray, np.ndarray],
    centre: tuple[float, float],
    covariance: np.ndarray | None,
    levels: Mapping[str, float],
) -> Figure:
    """2Δ(−ln L) of two quantities, with contours and the ellipses that the covariance of the fit stands for.

    Args:
        labels:        of the quantities
        interpolated:  their values, and 2Δ(−ln L) [first, second]
        centre:        where the fit ended
        covariance:    of the two; None: it is not known
        levels:        name of a contour → its 2Δ(−ln L)
    """
    x, y, z = interpolated
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.25 * SINGLE, SINGLE), layout="constrained")
        axes = figure.subplots()
        top = 1.5 * max(levels.values())
        shown = np.ma.masked_invalid(z.T)
        mesh = axes.pcolormesh(
            x, y, shown, cmap="Blues_r", vmin=min(-0.6 * top, float(shown.min())), vmax=top, shading="nearest", rasterized=True
        )
        figure.colorbar(mesh, ax=axes, label=RISE, extend="max").ax.set_ylim(0, top)
        ordered = sorted(levels.items(), key=lambda level: level[1])
        drawn = [(name, level) for name, level in ordered if shown.min() < level < shown.max()]
        if drawn:
            lines = axes.contour(x, y, shown, levels=[level for _, level in drawn], colors="k", linewidths=1.0)
            names = {level: rf"${name.replace(' σ', '')}\sigma$" for name, level in drawn}
            axes.clabel(lines, fmt=names, fontsize=7)
        if covariance is not None:
            turn = np.linspace(0, 2 * np.pi, FINE)
            ellipse = np.linalg.cholesky(covariance + 1e-14 * np.diag(covariance.diagonal())) @ np.array([np.cos(turn), np.sin(turn)])
            for k, (_, level) in enumerate(ordered):
                around = np.array(centre)[:, None] + np.sqrt(level) * ellipse
                label = "errors of the fit" if not k else None
                axes.plot(*around, color=FIT_COLOUR, linestyle="--", linewidth=0.9, label=label)
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0))
        axes.plot(*centre, "+", color=FIT_COLOUR, markersize=7)
        axes.set_xlim(x[0], x[-1])
        axes.set_ylim(y[0], y[-1])
        axes.set_xlabel(figure_label(labels[0]))
        axes.set_ylabel(figure_label(labels[1]))
    return figure
