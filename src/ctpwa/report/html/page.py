"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import os
from importlib.resources import files

from ctpwa.base.markup import NOTHING, Html, element
from ctpwa.base.output import written_whole
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.labels import decay_label
from ctpwa.observables.projections import dalitz_order
from ctpwa.report.content import ReportContent
from ctpwa.report.html import chapters, physics, sections
from ctpwa.report.html.charts import page_data
from ctpwa.report.html.marks import note, section, titled
from ctpwa.report.html.policy import data_block, own_script, own_style, security_policy
from ctpwa.report.html.runs import plain_label


def write_page(content: ReportContent, path: str | os.PathLike[str]) -> None:
    """Write the report, whole or not at all."""
    page = report_page(content)
    with written_whole(path) as file:
        file.write_text(page, encoding="utf-8")


def report_page(content: ReportContent) -> str:
    """The whole page."""
    style, script = (files("ctpwa.report.html").joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    by_hand = ByHand.of(content.result)
    moved = by_hand is not None and by_hand.values  # to where no fit has been
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
        **chapters.study_chapters(content),
        "correlations": ("Correlations", NOTHING if moved else sections.correlation_section(content)),
        "convergence": ("Convergence", NOTHING if moved else sections.convergence_section(content)),
        "samples": ("Samples", sections.sample_section(content)),
        "reproduce": ("Reproduce", sections.reproduce_section(content)),
    }
    shown = {key: value for key, value in parts.items() if value[1]}
    links = [element("li", element("a", title, href=f"#{key}")) for key, (title, _) in shown.items()]
    labels: list[Html] = []

    def label(piece: Html) -> dict[str, int]:
        """Formulas are in templates, from which the script copies them."""
        labels.append(piece)
        return {"label": len(labels) - 1}

    data = data_block("data", page_data(content), default=label)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        security_policy(style, script),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"ctpwa {content.result.version}"),  # by which it is recognised
        element("title", plain_label(decay_label(content.model.decay))),
        element("link", rel="icon", href="data:,"),
        own_style(style),
    )
    main = element(
        "main", sections.head(content), (html for _, html in shown.values()), element("footer", f"ctpwa {content.result.version}")
    )
    templates = [element("template", piece, class_="label") for piece in labels]
    body = element("body", element("nav", element("ul", links)), main, templates, data, own_script(script))
    return "<!doctype html>\n" + element("html", head, body, lang="en").source + "\n"


def _projections(content: ReportContent) -> Html:
    parts = [
        (titled(view.name), note(view.note), element("div", data_projections=k))
        for k, view in enumerate(content.data_sets)
        if view.projected.projections
    ]
    filled = any(projection.added for view in content.data_sets for projection in view.projected.projections)
    words = (
        "Points are the data, the red line is the fit, the other lines are single resonances with all their waves added coherently."
        f"{' Filled areas are backgrounds, one on the other.' if filled else ''} Drag to zoom, double-click to reset."
        " Every figure can be saved as SVG or PNG, and its numbers as CSV."
    )
    return section("projections", "Projections", note(words), parts) if parts else NOTHING


def _grids(content: ReportContent) -> Html:
    parts = [
        (titled(view.name), element("div", class_="panels small", data_dalitz=f"{k}.{n}"))
        for k, view in enumerate(content.data_sets)
        for n in range(len(view.projected.grids))
    ]
    folds = {2: "two halves", 3: "six parts"}.get(dalitz_order(content.model.decay.outer)[1], "") if parts else ""
    words = f"Two particles cannot be told apart where they are identical: of {folds} that are equal one is drawn, with all events in it."
    return section("dalitz", "Dalitz plots", note(words) if folds else None, parts) if parts else NOTHING
