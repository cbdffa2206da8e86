"""Pieces of HTML: formulas, tables, escaped text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from latex2mathml.converter import convert


@lru_cache(maxsize=4096)
def math(latex: str) -> str:
    """A formula as MathML, which browsers typeset by themselves."""
    return convert(latex.replace(r"\mathrm", r"\text") if r"\mathrm{" in latex else latex)


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        html:   what stands in it
        value:  what it is sorted by; None: its text
        kind:   class, such as ``text`` or ``large``
    """

    html: str
    value: float | str | None = None
    kind: str = ""


def text(content: str, value: float | str | None = None) -> Cell:
    """A cell with plain text, to the left."""
    return Cell(escape(content), content if value is None else value, "text")


def number(content: str, value: float | None, *, large: bool = False) -> Cell:
    """A cell with a number, to the right; ``large`` marks one that deserves a look."""
    return Cell(escape(content), "" if value is None else value, "large" if large else "")


def formula(latex: str, name: str) -> Cell:
    """A cell with a formula that is sorted by a name."""
    return Cell(math(latex), name, "text")


def table(identifier: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, names: Sequence[str] = ()) -> str:
    """A table that can be sorted by its columns.

    Args:
        identifier:  of the element
        columns:     what stands in each column
        rows:        cells
        names:       what a filter looks for in each row; default: its text
    """
    kinds = [cell.kind == "text" for cell in rows[0]] if rows else [False for _ in columns]
    head = "".join(
        f'<th scope="col"{_class("text" if left else "")}>{escape(name)}</th>' for name, left in zip(columns, kinds, strict=True)
    )
    body = []
    for k, row in enumerate(rows):
        label = f' data-name="{escape(names[k])}"' if names else ""
        cells = "".join(f"<td{_class(cell.kind)}{_value(cell)}>{cell.html}</td>" for cell in row)
        body.append(f"<tr{label}>{cells}</tr>")
    inside = f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    return f'<div class="scroll"><table class="sortable" id="{identifier}">{inside}</table></div>'


def filtered(identifier: str, what: str) -> str:
    """A field that filters the rows of a table."""
    words = f"filter {escape(what)}"
    return f'<input class="filter" type="search" placeholder="{words}" aria-label="{words}" data-of="{identifier}">'


def tabs(group: str, names: Sequence[tuple[str, str]]) -> str:
    """Buttons that show one of several parts; (key, text)."""
    buttons = "".join(f'<button data-tab="{key}">{escape(label)}</button>' for key, label in names)
    return f'<div class="tabs" data-of="{group}">{buttons}</div>' if len(names) > 1 else ""


def section(identifier: str, title: str, *parts: str) -> str:
    """A part of the page under a heading."""
    return f'<section id="{identifier}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _value(cell: Cell) -> str:
    return "" if cell.value is None else f' data-v="{escape(str(cell.value))}"'
