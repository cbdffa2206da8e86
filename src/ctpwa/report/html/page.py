"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import json
import os
from html import escape
from importlib.resources import files

from ctpwa.output import written_whole
from ctpwa.report.content import ReportContent
from ctpwa.report.html import physics, sections
from ctpwa.report.html.charts import page_data
from ctpwa.report.html.marks import section


def write_page(content: ReportContent, path: str | os.PathLike[str]) -> None:
    """Write the report, whole or not at all."""
    page = report_page(content)
    with written_whole(path) as file:
        file.write_text(page, encoding="utf-8")


def report_page(content: ReportContent) -> str:
    """The whole page."""
    style, script = (files("ctpwa.report.html").joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    parts = {
        "model": ("Model", sections.model_section(content)),
        "parameters": ("Parameters", sections.parameter_section(content)),
        "fractions": ("Fractions", sections.fraction_section(content)),
        "projections": ("Projections", _projections(content)),
        "dalitz": ("Dalitz", _grids(content)),
        "moments": ("Moments", physics.moment_section(content)),
        "amplitudes": ("Amplitudes", physics.amplitude_section(content)),
        "poles": ("Poles", physics.pole_section(content)),
        "goodness": ("Goodness of fit", sections.goodness_section(content)),
        "correlations": ("Correlations", sections.correlation_section(content)),
        "course": ("Course", sections.course_section(content)),
        "samples": ("Samples", sections.sample_section(content)),
        "reproduce": ("Reproduce", sections.reproduce_section(content)),
    }
    shown = {key: value for key, value in parts.items() if value[1]}
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, (title, _) in shown.items())
    # "</" must not end the script element early
    data = json.dumps(page_data(content), separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("</", "<\\/")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="ctpwa {escape(content.result.version)}">',  # by which it is recognised
            f"<title>{escape(content.result.decay)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style></head><body>",
            f"<nav><ul>{links}</ul></nav><main>",
            sections.head(content),
            *(html for _, html in shown.values()),
            f"<footer>ctpwa {escape(content.result.version)}</footer></main>",
            f'<script type="application/json" id="data">{data}</script>',
            f"<script>{script}</script></body></html>",
        ]
    )


def _projections(content: ReportContent) -> str:
    parts = []
    for k, view in enumerate(content.data_sets):
        if view.projected.projections:
            parts.append(
                (f"<h3>{escape(view.name)}</h3>" if view.name else "")
                + f'<p class="note">{escape(view.note)}</p><div data-projections="{k}"></div>'
            )
    words = (
        "Points are measured events, the red line is the fit, other lines are resonances alone, all their waves added coherently."
        " Drag to zoom, double click for the whole range."
    )
    return section("projections", "Projections", f'<p class="note">{words}</p>', *parts) if parts else ""


def _grids(content: ReportContent) -> str:
    parts = [
        (f"<h3>{escape(view.name)}</h3>" if view.name else "") + f'<div class="panels small" data-dalitz="{k}.{n}"></div>'
        for k, view in enumerate(content.data_sets)
        for n in range(len(view.projected.grids))
    ]
    return section("dalitz", "Dalitz plots", *parts) if parts else ""
