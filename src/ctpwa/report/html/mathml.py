"""Formulas as MathML, which browsers typeset by themselves.

What the converter makes is not trusted: of its tree only elements and attributes of MathML that show something are taken over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from ctpwa.base.markup import Html, element, together
from ctpwa.decay.latex import label_parts, text_of_latex

ELEMENTS = frozenset(
    ("math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace", "msqrt", "mstyle", "msub",
     "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover")
)  # fmt: skip
ATTRIBUTES = frozenset(
    ("accent", "columnalign", "columnlines", "columnspacing", "depth", "display", "displaystyle", "fence", "form", "height",
     "linethickness", "lspace", "mathcolor", "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowlines",
     "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "voffset", "width")
)  # fmt: skip
_VALUE = re.compile(r"[\w.%+ #-]*", re.ASCII)
_ENTITY = re.compile(r"&#x[0-9A-Fa-f]{4,6};")  # how the converter spells symbols
_UPRIGHT = re.compile(r"\\(?:mathrm|text)\{((?:[^{}\\^_$]|\\[A-Za-z]+ ?|\\[^A-Za-z])*)\}")
_ARG = re.compile(r"\\arg(?![A-Za-z]) ?")  # which the converter does not know
_PLACE = 0xE000  # characters for private use stand for upright words while the rest is converted


@lru_cache(maxsize=4096)
def math(latex: str) -> Html:
    """A formula; its LaTeX as text if it cannot be converted."""
    found = latex_tree(latex)
    try:
        return element("span", latex, class_="latex") if found is None else _taken_over(*found)
    except ValueError:  # not an element of MathML
        return element("span", latex, class_="latex")


def latex_tree(latex: str) -> tuple[Element, list[str]] | None:
    """MathML of a formula as the converter makes it, and the upright words in it; None if it cannot be converted."""
    words: list[str] = []

    def keep(match: re.Match[str]) -> str:
        words.append(text_of_latex(match[1]))
        return rf"\text{{{chr(_PLACE + len(words) - 1)}}}"

    try:
        return convert_to_element(_UPRIGHT.sub(keep, _ARG.sub(r"\\mathrm{arg}\\,", latex))), words
    except Exception:  # the converter ends with anything, from StopIteration to RecursionError, on what it cannot read
        return None


def node_text(node: Element, words: Sequence[str]) -> str:
    """The text of an element."""
    text = _ENTITY.sub(lambda match: unescape(match[0]), node.text or "")
    if node.tag == "mtext" and len(text) == 1 and 0 <= ord(text) - _PLACE < len(words):
        text = words[ord(text) - _PLACE].replace(" ", "\xa0")  # others are not shown at the ends
    return text


def labelled(label: str) -> Html:
    """A label with LaTeX between dollar signs."""
    return together(math(part) if is_latex else part for part, is_latex in label_parts(label))


def _taken_over(node: Element, words: list[str]) -> Html:
    if node.tag not in ELEMENTS:
        raise ValueError(f"no element of MathML: {node.tag}")
    text = node_text(node, words)
    attributes = {key: value for key, value in node.attrib.items() if key in ATTRIBUTES and _VALUE.fullmatch(value)}
    return element(node.tag, text, (_taken_over(child, words) for child in node), **attributes)
