"""The parts of the page about amplitudes, poles and angular moments."""

from __future__ import annotations

from html import escape

import numpy as np

from ctpwa.report.content import ReportContent
from ctpwa.report.html.marks import formula, math, number, section, table, tabs, text
from ctpwa.results.labels import group_latex
from ctpwa.results.text import with_error

POSITION = r"\sqrt{s} = M - i\Gamma/2"


def amplitude_section(content: ReportContent) -> str:
    """Argand diagrams, |A|² and phases."""
    curves = content.curves
    if not curves:
        return ""
    order = sorted(range(len(curves)), key=lambda k: (not curves[k].total, k))  # what adds up coherently comes first
    choices = "".join(f'<option value="curve{k}">{escape(curves[k].name)}</option>' for k in order)
    parts = []
    for k in order:
        curve = curves[k]
        left_out = f" Without the propagators of {escape(', '.join(curve.left_out))}." if curve.left_out else ""
        inside = "".join(f'<figure data-chart="{kind}{k}"></figure>' for kind in ("argand", "square", "phase"))
        parts.append(
            f'<div data-choice="amplitude" data-tab="curve{k}"><h3>{math(curve.latex)}</h3>'
            f'<p class="note">{escape(", ".join(curve.waves))}.{left_out}</p><div class="panels small">{inside}</div></div>'
        )
    words = (
        "Coupling times propagator, without spin amplitudes and barrier factors of the vertices; the sum of all waves that differ in"
        " nothing but their resonance, and every wave alone. Bands and ellipses are one standard deviation from the whole covariance."
    )
    choose = f'<select data-choose="amplitude" aria-label="which amplitude">{choices}</select>'
    return section("amplitudes", "Amplitudes", f'<p class="note">{words}</p>', choose, *parts)


def pole_section(content: ReportContent) -> str:
    """Pole positions and residues."""
    rows = []
    for pole in content.poles:
        label = formula(group_latex(content.model, pole.resonance), pole.resonance)
        if pole.mass is None or pole.width is None:
            rows.append((label, text(pole.decay), text("none"), number("", None), number("", None), number("", None), text(pole.reason)))
            continue
        sheet = f"{pole.sheet_text} of {', '.join(pole.channels)}" if pole.channels else "one sheet"
        residue = "" if pole.residue is None else f"{abs(pole.residue):.4g} ∠ {np.degrees(np.angle(pole.residue)):.1f}°"
        rows.append(
            (
                label,
                text(pole.decay),
                text(sheet),
                number(_with_error(pole.mass, pole.mass_error), pole.mass),
                number(_with_error(pole.width, pole.width_error), pole.width),
                number(residue, None if pole.residue is None else abs(pole.residue)),
                text(pole.note),
            )
        )
    if not rows:
        return ""
    words = (
        f"Poles at {math(POSITION)} of the fitted lineshapes, in GeV. The sheet is the sign of the imaginary part of the"
        " break-up momentum in each channel. Residues are those of the lineshape in √s."
    )
    columns = ("resonance", "decay", "sheet", "mass", "width", "residue", "")
    return section("poles", "Poles", f'<p class="note">{words}</p>', table("pole-table", columns, rows))


def moment_section(content: ReportContent) -> str:
    """Angular moments of pairs."""
    parts = []
    for k, view in enumerate(content.data_sets):
        parts.append(f"<h3>{escape(view.name)}</h3>" if view.name and view.moments else "")
        parts.append(tabs(f"moments{k}", [(str(n), moments.pair) for n, moments in enumerate(view.moments)]))
        for n, moments in enumerate(view.moments):
            charts = "".join(f'<figure data-chart="moment{k}.{n}.{i}"></figure>' for i in range(len(moments.moments.indices)))
            parts.append(f'<div data-part-of="moments{k}" data-tab="{n}"><div class="panels small">{charts}</div></div>')
    words = (
        "Sums of spherical harmonics of the helicity angle of a pair in bins of its mass: points are measured, the red line is the fit."
        " Waves of spin J in the pair reach up to L = 2J; odd L come from interference of waves of opposite parity."
    )
    return (
        section("moments", "Angular moments", f'<p class="note">{words}</p>', *parts) if any(v.moments for v in content.data_sets) else ""
    )


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.5f}" if not error else with_error(value, error)
