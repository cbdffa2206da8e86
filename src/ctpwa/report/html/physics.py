"""The parts of the page about amplitudes, poles and angular moments."""

from __future__ import annotations

import numpy as np

from ctpwa.base.markup import NOTHING, Html, element
from ctpwa.fitting.text import with_error
from ctpwa.report.content import ReportContent
from ctpwa.report.html.labels import Labels
from ctpwa.report.html.marks import Cell, chart, named, note, number, section, table, tabs, text, titled
from ctpwa.report.html.mathml import math
from ctpwa.report.html.runs import plain_label

POSITION = r"\sqrt{s} = M - i\Gamma/2"


def amplitude_section(content: ReportContent) -> Html:
    """Argand diagrams, |A|² and phases."""
    curves = content.curves
    if not curves:
        return NOTHING
    order = sorted(range(len(curves)), key=lambda k: (not curves[k].total, k))  # what adds up coherently comes first
    labels = Labels(content.model, content.result)
    choices = [element("option", plain_label(f"${curves[k].latex}$"), value=f"curve{k}") for k in order]
    parts = []
    for k in order:
        curve = curves[k]
        left_out = f" Without the propagators of {', '.join(curve.left_out)}." if curve.left_out else ""
        charts = element("div", (chart(f"{kind}{k}") for kind in ("argand", "square", "phase")), class_="panels small")
        words = note(labels.text(f"{', '.join(curve.waves)}.{left_out}"))
        parts.append(element("div", element("h3", math(curve.latex)), words, charts, data_choice="amplitude", data_tab=f"curve{k}"))
    explained = (
        "Coupling times propagator, without spin amplitudes and barrier factors of the vertices; the sum of all waves that differ only"
        " in their resonance, and each wave alone."
    )
    if any(curve.covariance is not None for curve in curves):
        explained += " Bands and ellipses are one standard deviation, from the full covariance."
    choose = element("select", choices, data_choose="amplitude", aria_label="which amplitude")
    return section("amplitudes", "Amplitudes", note(explained), choose, parts)


def pole_section(content: ReportContent) -> Html:
    """Pole positions and residues."""
    rows = []
    labels = Labels(content.model, content.result)
    for pole in content.poles:
        label, decay = named(labels.group(pole.resonance), pole.resonance), named(labels.particles(pole.decay), pole.decay)
        if pole.mass is None or pole.width is None:
            rows.append((label, decay, text("none"), number("", None), number("", None), number("", None), text(pole.reason)))
            continue
        channels = [(", " if k else "", labels.particles(channel)) for k, channel in enumerate(pole.channels)]
        sheet = Cell((pole.sheet_text, " of ", channels) if pole.channels else "one sheet", pole.sheet_text, "text")
        residue = "" if pole.residue is None else f"{abs(pole.residue):.4g} ∠ {np.degrees(np.angle(pole.residue)):.1f}°".replace("-", "−")
        rows.append(
            (
                label,
                decay,
                sheet,
                number(_with_error(pole.mass, pole.mass_error), pole.mass),
                number(_with_error(pole.width, pole.width_error), pole.width),
                number(residue, None if pole.residue is None else abs(pole.residue)),
                text(pole.note),
            )
        )
    if not rows:
        return NOTHING
    words = (
        " of the fitted lineshapes, in GeV. The sheet is given by the sign of the imaginary part of the"
        " break-up momentum in each channel. Residues are those of the lineshape in √s."
    )
    columns = ("resonance", "decay", "sheet", "mass", "width", "residue", "")
    return section("poles", "Poles", note("Poles at ", math(POSITION), words), table("pole-table", columns, rows))


def moment_section(content: ReportContent) -> Html:
    """Angular moments of pairs."""
    parts = []
    for k, view in enumerate(content.data_sets):
        parts.append(titled(view.name) if view.moments else NOTHING)
        parts.append(tabs(f"moments{k}", [(str(n), math(moments.latex)) for n, moments in enumerate(view.moments)]))
        for n, moments in enumerate(view.moments):
            charts = element("div", (chart(f"moment{k}.{n}.{i}") for i in range(len(moments.moments.indices))), class_="panels small")
            parts.append(element("div", charts, data_part_of=f"moments{k}", data_tab=n))
    words = (
        "Sums of spherical harmonics of the helicity angle of a pair in bins of its mass: points are the data, the red line is the fit."
        " Waves of spin J in the pair reach up to L = 2J; odd L come from interference between waves of opposite parity."
    )
    return section("moments", "Angular moments", note(words), parts) if any(v.moments for v in content.data_sets) else NOTHING


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.5f}" if not error else with_error(value, error)
