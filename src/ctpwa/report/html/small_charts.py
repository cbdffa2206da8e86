"""The numbers of the small charts: amplitudes versus mass and angular moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctpwa.base.markup import Html
from ctpwa.observables.argand import ArgandCurve
from ctpwa.observables.moments import AngularMoments
from ctpwa.report.content import MomentsView
from ctpwa.report.html.mathml import math
from ctpwa.report.html.runs import label_runs, plain_label
from ctpwa.report.round_masses import round_masses

DIGITS = 5
MARKS = 8  # masses written along an Argand curve
WIDTH, HEIGHT = 346, 262  # of a chart on the page
ELLIPSE = np.linspace(0, 2 * np.pi, 25)


def amplitude_charts(curves: Sequence[ArgandCurve]) -> dict[str, Any]:
    """For every curve its path in the complex plane, |A|² and the phase."""
    charts: dict[str, Any] = {}
    for k, curve in enumerate(curves):
        charts |= {f"argand{k}": _argand(curve), f"square{k}": _square(curve), f"phase{k}": _phase(curve)}
    return charts


def _argand(curve: ArgandCurve) -> dict[str, Any]:
    A = curve.amplitude
    masses = np.array(round_masses(curve, MARKS))
    shown = [int(np.abs(curve.mass - mass).argmin()) for mass in masses]
    places = zip(np.interp(masses, curve.mass, A.real), np.interp(masses, curve.mass, A.imag), masses, strict=True)
    marks = [{"x": float(x), "y": float(y), "text": f"{mass:.3f}".rstrip("0").rstrip(".")} for x, y, mass in places]
    series: list[dict[str, Any]] = []
    if curve.covariance is not None:
        series += [_ellipse(complex(A[i]), curve.covariance[i]) for i in shown]
    kind = "points" if curve.knots else "line"
    series.append({"kind": kind, "x": rounded(A.real), "y": rounded(A.imag), "colour": "fit", "marks": marks})
    x, y = (np.append(part, 0.0) for part in (A.real, A.imag))  # the origin is always in view
    half = 0.57 * max(float(np.ptp(y)), float(np.ptp(x)) * HEIGHT / WIDTH, 1e-12)
    mid = (x.max() + x.min()) / 2, (y.max() + y.min()) / 2
    return {
        "title": math(r"\text{Argand diagram}"),
        "name": f"Argand diagram of {plain_label(f'${curve.latex}$')}",
        "xLabel": label_runs("Re $A$"),
        "yLabel": label_runs("Im $A$"),
        "xRange": rounded([mid[0] - half * WIDTH / HEIGHT, mid[0] + half * WIDTH / HEIGHT]),  # circles are round
        "yRange": rounded([mid[1] - half, mid[1] + half]),
        "guides": [0],
        "series": series,
    }


def _ellipse(centre: complex, covariance: np.ndarray) -> dict[str, Any]:
    values, vectors = np.linalg.eigh(covariance)
    ring = vectors @ (np.sqrt(values.clip(min=0))[:, None] * np.array([np.cos(ELLIPSE), np.sin(ELLIPSE)]))
    return {"kind": "line", "x": rounded(centre.real + ring[0]), "y": rounded(centre.imag + ring[1]), "colour": None}


def _square(curve: ArgandCurve) -> dict[str, Any]:
    return _versus_mass(curve, curve.intensity, curve.intensity_error, math("|A|^2"), "$|A|^{2}$", low=0.0)


def _phase(curve: ArgandCurve) -> dict[str, Any]:
    error = None if curve.phase_error is None else np.degrees(curve.phase_error)
    return _versus_mass(curve, np.degrees(curve.phase), error, math(r"\text{phase of } A"), r"$\arg A$ [°]")


def _versus_mass(
    curve: ArgandCurve, values: np.ndarray, errors: np.ndarray | None, title: Html, label: str, low: float | None = None
) -> dict[str, Any]:
    spread = np.zeros_like(values) if errors is None else np.nan_to_num(errors, nan=0.0, posinf=0.0)
    if curve.knots:
        series = {"kind": "points", "x": rounded(curve.mass), "y": rounded(values), "errors": rounded(spread), "colour": "ink"}
    else:
        band = [rounded(values - spread), rounded(values + spread)]
        series = {"kind": "line", "x": rounded(curve.mass), "y": rounded(values), "band": band, "colour": "fit"}
    bottom = float((values - spread).min()) if low is None else low
    top = float(np.quantile(values + spread, 0.995)) if low is None else float((values + np.minimum(spread, values)).max())
    room = 0.06 * max(top - bottom, 1e-12)
    return {
        "title": title,
        "name": f"{plain_label(label)} of {plain_label(f'${curve.latex}$')}",
        "xLabel": label_runs(f"$M({curve.system_latex})$ [GeV]"),
        "yLabel": label_runs(label),
        "xRange": rounded([float(curve.mass[0]), float(curve.mass[-1])]),
        "yRange": rounded([bottom if low is not None else bottom - room, top + room]),
        "series": [series],
    }


def moment_charts(key: str, views: Sequence[MomentsView]) -> dict[str, Any]:
    """One chart for every moment of every pair."""
    return {f"moment{key}.{n}.{k}": _moment(view, k) for n, view in enumerate(views) for k in range(len(view.moments.indices))}


def _moment(view: MomentsView, k: int) -> dict[str, Any]:
    moments: AngularMoments = view.moments
    L, M = moments.indices[k]
    data, error, model = moments.data[k], moments.data_error[k], moments.model[k]
    low, high = min((data - error).min(), model.min(), 0.0), max((data + error).max(), model.max())
    room = 0.06 * max(high - low, 1e-12)
    centres = (moments.edges[1:] + moments.edges[:-1]) / 2
    return {
        "title": math(rf"\langle Y_{{{L}{M}}} \rangle"),
        "name": f"moment {L} {M} of {plain_label(f'${view.latex}$')}",
        "xLabel": label_runs(f"$M({view.latex})$ [GeV]"),
        "yLabel": "events",
        "xRange": rounded([float(moments.edges[0]), float(moments.edges[-1])]),
        "yRange": rounded([float(low - room), float(high + room)]),
        "guides": [0],
        "series": [
            {"kind": "stairs", "x": rounded(moments.edges), "y": rounded(model), "colour": "fit"},
            {"kind": "points", "x": rounded(centres), "y": rounded(data), "errors": rounded(error), "colour": "ink"},
        ],
        "note": f"χ²/ndf = {moments.chi2[k]:.1f}/{moments.ndf[k]}",
    }


def rounded(values: Any, digits: int = DIGITS) -> Any:
    """Nested lists with this many significant digits; what is not finite is null."""
    array = np.asarray(values, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.where(array != 0, digits - 1 - np.floor(np.log10(np.abs(array))), 0.0)
    power = np.where(np.isfinite(power), np.clip(power, -300, 300), 0.0)
    whole = np.round(array * 10.0**power)
    short = np.where(power >= 0, whole / 10.0**power, whole * 10.0**-power)  # the number that its decimal digits mean
    found = short.astype(object)
    integers = np.isfinite(short) & (np.abs(short) < 1e15) & (short == np.round(short))
    found[integers] = short[integers].astype(np.int64).astype(object)  # shorter as text
    found[~np.isfinite(short)] = None
    return found.tolist()
