"""Parts that the page has many of: tables, tabs, sections, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctpwa.base.markup import NOTHING, Content, Html, element


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        content:  what stands in it
        value:    what it is sorted by; None: its text
        kind:     class, such as ``text`` or ``large``
    """

    content: Content
    value: float | str | None = None
    kind: str = ""


def text(content: str, value: float | str | None = None) -> Cell:
    """A cell with plain text, to the left."""
    return Cell(content, content if value is None else value, "text")


def number(content: str, value: float | None, *, large: bool = False) -> Cell:
    """A cell with a number, to the right; ``large`` marks one that deserves a look."""
    return Cell(content, "" if value is None else value, "large" if large else "")


def named(label: Html, name: str) -> Cell:
    """A cell with a formula that is sorted by a name."""
    return Cell(label, name, "text")


def table(identifier: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, names: Sequence[str] = ()) -> Html:
    """A table that can be sorted by its columns, all of it in view; columns in which nothing stands are left out.

    On a narrow screen every row becomes a block, in which each number stands after the name of its column.

    Args:
        identifier:  of the element
        columns:     what stands in each column
        rows:        cells
        names:       what a filter looks for in each row; default: its text
    """
    left = [cell.kind == "text" for cell in rows[0]] if rows else [False for _ in columns]
    used = [k for k in range(len(columns)) if k == 0 or not rows or any(row[k].content for row in rows)]
    head = [element("th", columns[k], scope="col", class_="text" if left[k] else None) for k in used]
    body = [
        element(
            "tr",
            (element("td", row[k].content, class_=row[k].kind or None, data_v=row[k].value, data_label=columns[k]) for k in used),
            data_name=names[n] if names else None,
        )
        for n, row in enumerate(rows)
    ]
    inside = element("table", element("thead", element("tr", head)), element("tbody", body), class_="sortable", id=identifier)
    return element("div", inside, class_="scroll")


def filtered(identifier: str, what: str) -> Html:
    """A field that filters the rows of a table."""
    words = f"filter {what}"
    return element("input", class_="filter", type="search", placeholder=words, aria_label=words, data_of=identifier)


def tabs(group: str, names: Sequence[tuple[str, Content]]) -> Html:
    """Buttons that show one of several parts; (key, what stands on it)."""
    buttons = [element("button", label, data_tab=key) for key, label in names]
    return element("div", buttons, class_="tabs", data_of=group) if len(names) > 1 else NOTHING


def note(*content: Content) -> Html:
    """A paragraph that explains."""
    return element("p", content, class_="note")


def titled(name: str) -> Html:
    """A heading with the name of a data set; nothing if it has none."""
    return element("h3", name) if name else NOTHING


def chart(name: str) -> Html:
    """The place where the page draws a chart."""
    return element("figure", data_chart=name)


def folded(title: str, *content: Content) -> Html:
    """A part that opens with a click."""
    return element("details", element("summary", title), content)


def section(identifier: str, title: str, *parts: Content) -> Html:
    """A part of the page under a heading."""
    return element("section", element("h2", title), parts, id=identifier)
