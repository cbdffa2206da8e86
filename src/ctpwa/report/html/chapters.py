"""A chapter for every study around the fit: its tables, figures and notes."""

from __future__ import annotations

import re

from ctpwa.base.markup import Html, element, picture, picture_size
from ctpwa.fitting.text import Section
from ctpwa.report.content import FigureView, ReportContent, StudyView
from ctpwa.report.html.labels import Labels, NamedFormulas
from ctpwa.report.html.marks import Cell, note, section, table

WIDE = 450  # pixels of a page: on a phone letters of wider pictures would be smaller than three quarters of their size
Formulas = Labels | NamedFormulas
_NUMBER = re.compile(r"[(±–/\s]*([-+−]?\d+(?:\.\d*)?(?:e[-+]?\d+)?)")
_WORDS = re.compile(r"[^\W\d_]{4}")  # in no number with its error and unit


def study_chapters(content: ReportContent) -> dict[str, tuple[str, Html]]:
    """Identifier of each chapter → what the navigation calls it, and the chapter."""
    labels = Labels(content.model, content.result)
    found = {}
    for k, study in enumerate(content.studies):
        identifier = f"study{k + 1}"
        found[identifier] = (study.title, study_chapter(identifier, study, labels))
    return found


def study_chapter(identifier: str, study: StudyView, labels: Formulas) -> Html:
    """One chapter.

    Args:
        identifier:  of its element
        study:       what there is to see
        labels:      makes formulas of names
    """
    figures = [element("figure", picture(own.png, own.alt, own.scale), class_=_kind(own)) for own in study.figures]
    return section(
        identifier,
        study.title,
        (element("p", labels.text(words), class_="warning") for words in study.warnings),
        element("p", labels.text(study.headline)),
        ((element("h3", own.title), _table(f"{identifier}-{k}", own, labels)) for k, own in enumerate(study.sections)),
        figures,
        (note(labels.text(words)) for words in study.notes),
    )


def _kind(own: FigureView) -> str:
    """Wide pictures would have letters too small to read on a phone: there they are moved sideways."""
    return "picture wide" if picture_size(own.png, own.scale)[0] > WIDE else "picture"


def _table(identifier: str, own: Section, labels: Formulas) -> tuple[Html, ...]:
    numeric = [k > 0 and all(_is_number(row[k]) for row in own.rows) for k in range(len(own.columns))]
    rows = [[_cell(text, labels, number=numeric[k]) for k, text in enumerate(row)] for row in own.rows]
    below = (note(labels.text(own.foot)),) if own.foot else ()
    return table(identifier, own.columns, rows, names=[" ".join(row) for row in own.rows]), *below


def _is_number(text: str) -> bool:
    return not text.strip("– /") or (_NUMBER.match(text) is not None and not _WORDS.search(text))


def _cell(text: str, labels: Formulas, *, number: bool) -> Cell:
    if not number:
        return Cell(labels.text(text) if text else "", text, "text")
    match = _NUMBER.match(text)
    return Cell(text.replace("-", "−"), "" if match is None else float(match[1].replace("−", "-")))
