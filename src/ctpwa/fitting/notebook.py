"""A result as notebooks and the Python prompt show it: a verdict and tables."""

from __future__ import annotations

from typing import Any

from ctpwa.base.markup import Html, element, simple_table, together
from ctpwa.fitting.text import Section, changed_lines, headline, sections, shown_names, verdict_lines

OPEN = ("parameters", "couplings", "derived")  # beginnings of titles of tables that are not folded
MORE = "print(result) shows everything, ctpwa.write_report(result, path) draws it"


def result_html(result: Any) -> Html:
    """A ``FitResult`` for a notebook; parts of couplings and smaller tables are folded."""
    verdict, *reasons = "\n".join([*changed_lines(result), *verdict_lines(result)]).split("\n")
    head = element("p", element("strong", verdict.removeprefix("verdict: ")), element("br"), headline(result))
    parts = [_table(section, open_=section.title.startswith(OPEN)) for section in _sections(result)]
    return together(head, element("ul", (element("li", reason.strip()) for reason in reasons)) if reasons else None, parts)


def result_summary(result: Any) -> str:
    """A ``FitResult`` at the prompt: the verdict, and what is not folded in a notebook."""
    tables = [str(section) for section in _sections(result) if section.title.startswith(OPEN)]
    return "\n\n".join(["\n".join([*changed_lines(result), headline(result), *verdict_lines(result)]), *tables, MORE])


def _sections(result: Any) -> list[Section]:
    """All tables of a result; parts of couplings have one of their own, since couplings are shown as magnitude and phase."""
    shown = shown_names(result)
    names = {shown[coupling.name] for coupling in result.couplings}
    found = []
    for section in sections(result):
        if section.title != "parameters":
            found.append(section)
            continue
        split: dict[bool, list[tuple[str, ...]]] = {False: [], True: []}
        for row in section.rows:
            split[row[0].rpartition(".")[0] in names].append(row)
        if split[False]:
            found.append(_without_empty(Section(section.title, section.columns, tuple(split[False]))))
        if split[True]:
            found.append(_without_empty(Section("free parts of couplings", section.columns, tuple(split[True]))))
    return found


def _without_empty(section: Section) -> Section:
    used = [k for k in range(len(section.columns)) if any(row[k] for row in section.rows)]
    return Section(section.title, tuple(section.columns[k] for k in used), tuple(tuple(row[k] for k in used) for row in section.rows))


def _table(section: Section, open_: bool) -> Html:
    inside = simple_table(section.columns, section.rows), element("p", section.foot) if section.foot else None
    return element("details", element("summary", section.title), inside, open=open_)
