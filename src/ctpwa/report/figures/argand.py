"""Argand diagrams: an amplitude in the complex plane, with its intensity and its phase versus mass."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Ellipse
from matplotlib.ticker import MaxNLocator

from ctpwa.observables.argand import ArgandCurve
from ctpwa.report.figures.style import STYLE, WIDTH, Figure, figure_label
from ctpwa.report.palette import FIT_COLOUR, line_style
from ctpwa.report.round_masses import round_masses

HEIGHT = 3.7  # inches
TINT = 0.72  # how much white is in the colour of a band
CLEAR = 0.045  # of the size of the diagram; marks that are nearer to each other are not labelled


def draw_argand(curve: ArgandCurve, members: Sequence[ArgandCurve] = (), title: str = "") -> Figure:
    """The amplitude in the complex plane at the left, |A|² and phase versus mass at the right, with bands of one standard deviation.

    Dots on the curve are at the masses written next to them. Use ``curve.between`` to look at a part of the range.

    Args:
        curve:    what to draw
        members:  waves that it is the sum of, drawn without bands in the panel of |A|²
        title:    above all; default: the name of the curve
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        figure.suptitle(title or figure_label(f"${curve.latex}$"), fontsize=10)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.05))
        _plane(figure.add_subplot(grid[:, 0]), curve)
        above = figure.add_subplot(grid[0, 1])
        below = figure.add_subplot(grid[1, 1], sharex=above)
        _intensity(above, curve, members)
        _phase(below, curve)
        above.tick_params(labelbottom=False)
        below.set_xlabel(figure_label(rf"$M({curve.system_latex})$  [GeV]"))
        for axes in (above, below):
            axes.set_xlim(*_limits(curve))
            for mass in curve.masses:
                axes.axvline(mass, color="0.8", linewidth=0.6, zorder=0)
    return figure


def _plane(axes: Axes, curve: ArgandCurve) -> None:
    z = curve.amplitude
    for line in (axes.axhline, axes.axvline):
        line(0, color="0.75", linewidth=0.6, zorder=0)
    if curve.knots:
        axes.plot(z.real, z.imag, color=FIT_COLOUR, linewidth=0.6, linestyle=":", zorder=2)
    else:
        if curve.covariance is not None:
            axes.add_collection(_band(curve))
        axes.plot(z.real, z.imag, color=FIT_COLOUR, linewidth=1.2, zorder=3)
    if curve.covariance is not None and curve.knots:
        for value, covariance in zip(z, curve.covariance, strict=True):
            axes.add_patch(_ellipse(complex(value), covariance))
    marks = curve.mass if curve.knots else np.array(round_masses(curve))
    at = _interpolated(marks, curve.mass, z)
    axes.plot(at.real, at.imag, "o", color="black", markersize=2.6, zorder=4)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.autoscale_view()
    axes.set_xlabel(r"$\mathrm{Re}\,A$  [arb. units]")
    axes.set_ylabel(r"$\mathrm{Im}\,A$  [arb. units]")
    _write_masses(axes, curve, marks)


def _interpolated(at: np.ndarray, mass: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.interp(at, mass, z.real) + 1j * np.interp(at, mass, z.imag)


def _tangent(curve: ArgandCurve) -> np.ndarray:
    """∂A/∂m; points are not evenly spaced."""
    return np.gradient(curve.amplitude, curve.mass) if len(curve.mass) > 1 else np.ones(1, dtype=complex)


def _write_masses(axes: Axes, curve: ArgandCurve, marks: np.ndarray) -> None:
    """Labels on the outer side of the curve; none where labels would lie on each other."""
    centre = curve.amplitude.mean()
    size = max(float(np.ptp(curve.amplitude.real)), float(np.ptp(curve.amplitude.imag)), 1e-300)
    places = _interpolated(marks, curve.mass, curve.amplitude)
    tangents = _interpolated(marks, curve.mass, _tangent(curve))
    written: list[complex] = []
    for mass, z, tangent in zip(marks, places, tangents, strict=True):
        normal = 1j * tangent / abs(tangent) if tangent else 1.0 + 0j
        if ((z - centre) * normal.conjugate()).real < 0:
            normal = -normal
        if any(abs(z - other) < CLEAR * size for other in written):
            continue
        written.append(z)
        text = f"{mass:.3f}".rstrip("0").rstrip(".")
        shift = (9 * normal.real, 9 * normal.imag)
        axes.annotate(text, (z.real, z.imag), shift, textcoords="offset points", fontsize=7, ha="center", va="center")


def _band(curve: ArgandCurve) -> PolyCollection:
    """Between one standard deviation to the left of the curve and one to the right."""
    left, right = band_edges(curve)
    corners = np.stack([left[:-1], left[1:], right[1:], right[:-1]], axis=1)
    colour = _tinted(FIT_COLOUR)
    return PolyCollection(
        list(np.stack([corners.real, corners.imag], axis=2)), facecolors=[colour], edgecolors=[colour], linewidths=0.3, zorder=1
    )


def band_edges(curve: ArgandCurve) -> tuple[np.ndarray, np.ndarray]:
    """A ± n √(nᵀ C n) with the unit normal n of the curve in the complex plane."""
    if curve.covariance is None:
        raise ValueError(f"{curve.name} has no errors")
    tangent = _tangent(curve)
    size = np.abs(tangent)
    normal = 1j * np.where(size > 0, tangent / np.where(size > 0, size, 1.0), 1.0)
    n = np.stack([normal.real, normal.imag], axis=1)
    sigma = np.sqrt(np.einsum("ki,kij,kj->k", n, curve.covariance, n).clip(min=0))
    return curve.amplitude + sigma * normal, curve.amplitude - sigma * normal


def _ellipse(z: complex, covariance: np.ndarray) -> Ellipse:
    """Points one standard deviation away."""
    values, vectors = np.linalg.eigh(covariance)
    axes = 2 * np.sqrt(values.clip(min=0))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    faint = (*to_rgb(FIT_COLOUR), 1 - TINT)
    centre = (z.real, z.imag)
    return Ellipse(centre, axes[1], axes[0], angle=angle, facecolor=faint, edgecolor=FIT_COLOUR, linewidth=0.6, zorder=1)


def _intensity(axes: Axes, curve: ArgandCurve, members: Sequence[ArgandCurve]) -> None:
    low, high = _limits(curve)
    for k, member in enumerate(members):
        colour, style = line_style(k)
        inside = (member.mass >= low) & (member.mass <= high)
        label = figure_label(f"${member.latex.partition('[')[0]}$")
        axes.plot(member.mass[inside], member.intensity[inside], color=colour, linestyle=style, linewidth=0.9, label=label, zorder=2)
    _with_error(axes, curve, curve.intensity, curve.intensity_error)
    top = float((curve.intensity + (0.0 if curve.intensity_error is None else curve.intensity_error)).max())
    axes.set_ylim(0, 1.12 * top if top > 0 else 1.0)
    axes.set_ylabel(r"$|A|^2$")
    if members:
        axes.legend(loc="best", handlelength=1.5, fontsize=7, ncols=2 if len(members) > 4 else 1, labelspacing=0.25)


def _phase(axes: Axes, curve: ArgandCurve) -> None:
    error = curve.phase_error
    _with_error(axes, curve, np.degrees(curve.phase), None if error is None else np.degrees(np.minimum(error, np.pi)))
    axes.set_ylabel(r"$\arg A$  [deg]")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 1.5, 3, 4.5, 6, 9, 10]))


def _with_error(axes: Axes, curve: ArgandCurve, values: np.ndarray, error: np.ndarray | None) -> None:
    if curve.knots:
        axes.errorbar(curve.mass, values, yerr=error, fmt="o", color=FIT_COLOUR, markersize=3, elinewidth=0.8, zorder=3)
        return
    if error is not None:
        axes.fill_between(curve.mass, values - error, values + error, color=_tinted(FIT_COLOUR), linewidth=0, zorder=1)
    axes.plot(curve.mass, values, color=FIT_COLOUR, linewidth=1.2, zorder=3)


def _limits(curve: ArgandCurve) -> tuple[float, float]:
    low, high = float(curve.mass[0]), float(curve.mass[-1])
    margin = 0.04 * (high - low) if curve.knots else 0.0
    return low - margin, high + margin


def _tinted(colour: str) -> tuple[float, float, float]:
    r, g, b = (part + (1 - part) * TINT for part in to_rgb(colour))
    return r, g, b
