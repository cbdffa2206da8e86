"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files

from ctpwa.base.markup import NOTHING, Html, element, together
from ctpwa.base.output import written_whole
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.labels import decay_label
from ctpwa.observables.projections import dalitz_order
from ctpwa.report.content import ReportContent, StudyPage
from ctpwa.report.html import chapters, physics, sections
from ctpwa.report.html.charts import page_data
from ctpwa.report.html.labels import NamedFormulas
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
    labels: list[Html] = []

    def label(piece: Html) -> dict[str, int]:
        """Formulas are in templates, from which the script copies them."""
        labels.append(piece)
        return {"label": len(labels) - 1}

    data = data_block("data", page_data(content), default=label)
    title, version = plain_label(decay_label(content.model.decay)), content.result.version
    return _page(title, version, sections.head(content), shown, together(element("template", own, class_="label") for own in labels), data)


def write_study_page(content: StudyPage, path: str | os.PathLike[str]) -> None:
    """Write the page of one study, whole or not at all."""
    page = study_page(content)
    with written_whole(path) as file:
        file.write_text(page, encoding="utf-8")


def study_page(content: StudyPage) -> str:
    """A page with the chapter of one study; its tables and figures are what the navigation leads to."""
    own = content.study
    head = element(
        "header",
        element("h1", content.decay),
        element("p", f"{own.title}, {content.created[:16].replace('T', ' ')}".rstrip(", "), class_="subtitle"),
        id="top",
    )
    shown = {"study": (own.title, chapters.study_chapter("study", own, NamedFormulas(content.labels)))}
    return _page(f"{own.title}: {content.decay}", content.version, head, shown, NOTHING, data_block("data", {}))


def _page(title: str, version: str, head: Html, shown: Mapping[str, tuple[str, Html]], templates: Html, data: Html) -> str:
    """Everything around the sections, which are identifier → what the navigation calls it, and the section."""
    style, script = (files("ctpwa.report.html").joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    links = [element("li", element("a", name, href=f"#{key}")) for key, (name, _) in shown.items()]
    about = element(
        "head",
        element("meta", charset="utf-8"),
        security_policy(style, script),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"ctpwa {version}"),  # by which it is recognised
        element("title", title),
        element("link", rel="icon", href="data:,"),
        own_style(style),
    )
    main = element("main", head, (html for _, html in shown.values()), element("footer", f"ctpwa {version}"))
    body = element("body", element("nav", element("ul", links)), main, templates, data, own_script(script))
    return "<!doctype html>\n" + element("html", about, body, lang="en").source + "\n"


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
