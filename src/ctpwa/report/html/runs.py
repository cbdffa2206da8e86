"""Labels for drawings: SVG has no formulas, so a label is a list of texts, each higher or lower, smaller, or in italics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ctpwa.decay.latex import label_parts
from ctpwa.report.html.mathml import latex_tree, node_text

SMALLER, UP, DOWN = 0.72, 0.42, -0.22  # of the size of the letters that a script stands at
BETWEEN = frozenset("=→−+±·<>≈≤≥×")  # with space around them, unless they are a sign
OVER = {"¯": "\u0304", "‾": "\u0304", "―": "\u0304", "~": "\u0303", "^": "\u0302", "→": "\u20d7", "˙": "\u0307"}
RAISED = dict(zip("0123456789+-−*′()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻*′⁽⁾", strict=True))
LOWERED = dict(zip("0123456789+-−()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₍₎", strict=True))


class Run(NamedTuple):
    """A part of a label.

    Attributes:
        text:    what it says
        shift:   how far above the line, in units of the size of the label
        size:    of its letters, likewise
        italic:  whether they lean
    """

    text: str
    shift: float = 0.0
    size: float = 1.0
    italic: bool = False


def label_runs(label: str) -> list[Run]:
    """A label with LaTeX between dollar signs; what cannot be read is shown as it is written."""
    return [run for part, is_latex in label_parts(label) for run in (_latex_runs(part) if is_latex else (Run(part),))]


def plain_label(label: str) -> str:
    """The same where there is nothing but letters: φ₃(1850), cos θ_K⁺(K⁺η)."""
    return "".join(_flat(run) for run in label_runs(label))


@lru_cache(maxsize=4096)
def _latex_runs(latex: str) -> tuple[Run, ...]:
    found = latex_tree(latex)
    try:
        runs = [Run(latex)] if found is None else _walk(*found, 0.0, 1.0)
    except (IndexError, ValueError):  # a fraction without a denominator
        return (Run(latex),)
    return tuple(
        Run("".join(run.text for run in same), round(shift, 3), round(size, 3), italic)
        for (shift, size, italic), same in groupby(runs, key=lambda run: run[1:])
    )


def _walk(node: Element, words: Sequence[str], shift: float, size: float) -> list[Run]:
    """The runs of an element of MathML."""
    children = list(node)

    def inside(child: Element, up: float = 0.0) -> list[Run]:
        return _walk(child, words, shift + up * size, size * SMALLER if up else size)

    if node.tag in {"msub", "msup", "msubsup"}:
        scripts = {"msub": (DOWN,), "msup": (UP,), "msubsup": (DOWN, UP)}[node.tag]
        return [*inside(children[0]), *(run for child, up in zip(children[1:], scripts, strict=True) for run in inside(child, up))]
    if node.tag == "mover":
        base, mark = inside(children[0]), "".join(run.text for run in inside(children[1])).strip()
        return [*base[:-1], base[-1]._replace(text=base[-1].text + OVER.get(mark, mark))] if base else []
    if node.tag == "mfrac":
        return [*inside(children[0]), Run("/", shift, size), *inside(children[1])]
    if node.tag in {"msqrt", "mroot"}:
        return [Run("√(", shift, size), *(run for child in children[:1] for run in inside(child)), Run(")", shift, size)]
    if node.tag == "mspace":
        return [Run(" ", shift, size)]
    if children:
        runs: list[Run] = []
        for k, child in enumerate(children):
            own = inside(child)
            spaced = child.tag == "mo" and 0 < k < len(children) - 1 and own and own[0].text in BETWEEN
            runs += [run._replace(text=f" {run.text} ") for run in own] if spaced else own
        return runs
    text = node_text(node, words)
    if not text:
        return []
    if node.tag == "mi" and len(text) > 1 and text.isalpha():
        text += "\u2009"  # a function such as cos
    return [Run(text, shift, size, node.tag == "mi" and len(text) == 1 and text.isalpha() and node.get("mathvariant") != "normal")]


def _flat(run: Run) -> str:
    if run.shift == 0:
        return run.text
    table = RAISED if run.shift > 0 else LOWERED
    return "".join(table[letter] for letter in run.text) if set(run.text) <= table.keys() else ("_" if run.shift < 0 else "") + run.text
