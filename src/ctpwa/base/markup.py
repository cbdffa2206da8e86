"""Pieces of pages and of what notebooks show. Text is escaped where it is put in, always: names and messages may come from anyone's file.

``Html`` is not a text and is made by the functions of this module alone, so that a text cannot pass for markup, nor markup be
formatted into a text. Elements and attributes that can run something are refused.
"""

from __future__ import annotations

import re
import struct
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NoReturn
from zlib import crc32

VOID = frozenset({"br", "input", "link", "meta"})  # elements without content
_TAG = re.compile(r"[a-z][a-z0-9]*")
_ATTRIBUTE = re.compile(r"(?!on|style$|src)[a-z][a-z-]*", re.IGNORECASE)
_LINK = re.compile(r"#[\w-]+|data:,")  # to a part of this page, or to nothing
_RUNS = frozenset({"script", "style", "iframe", "object", "embed", "base", "form", "foreignobject"})
_PNG, _FIRST, _LAST = b"\x89PNG\r\n\x1a\n", b"IHDR", b"IEND"
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


@dataclass(frozen=True)
class Html:
    """A piece of a page.

    Attributes:
        source:  what stands in the file
    """

    source: str

    def __bool__(self) -> bool:
        return bool(self.source)

    def __str__(self) -> NoReturn:
        raise TypeError("a piece of a page cannot be formatted into a text; give it to element()")


Content = Html | str | None | Iterable["Content"]
NOTHING = Html("")


def together(*content: Content) -> Html:
    """Pieces one after the other; texts are escaped."""
    return Html("".join(_sources(content)))


def element(tag: str, *content: Content, **attributes: str | float | bool | None) -> Html:
    """An element of the page.

    Args:
        tag:         such as ``div``
        content:     pieces and texts in it
        attributes:  ``data_name`` is data-name, ``class_`` is class; None and False leave one out, True gives it no value

    Raises:
        ValueError: for elements and attributes that could run something, and links that leave the page
    """
    if not _TAG.fullmatch(tag) or tag in _RUNS:
        raise ValueError(f"no element {tag!r} in a page")
    start = tag + "".join(_attribute(name, value) for name, value in attributes.items() if value is not None and value is not False)
    return Html(f"<{start}>" if tag in VOID else f"<{start}>{''.join(_sources(content))}</{tag}>")


def simple_table(columns: Sequence[Content], rows: Iterable[Sequence[Content]]) -> Html:
    """A table as notebooks show it.

    Args:
        columns:  what stands above each column
        rows:     cells
    """
    head = element("thead", element("tr", (element("th", column) for column in columns)))
    return element("table", head, element("tbody", (element("tr", (element("td", cell) for cell in row)) for row in rows)))


def picture(png: bytes, alt: str, scale: float = 1.0) -> Html:
    """An image that is in the page itself.

    Args:
        png:    the content of a PNG file
        alt:    what stands in its place where images are not shown
        scale:  pixels of the page for each of the image

    Raises:
        ValueError: if it is not a whole PNG file and nothing else
    """
    width, height = picture_size(png, scale)
    sized = _attribute("alt", alt) + _attribute("width", width) + _attribute("height", height)
    return Html(f'<img src="data:image/png;base64,{b64encode(png).decode()}"{sized}>')


def picture_size(png: bytes, scale: float = 1.0) -> tuple[int, int]:
    """Width and height of an image on the page, as of ``picture``."""
    width, height = (round(scale * pixels) for pixels in _png_size(png))
    return width, height


def _png_size(png: bytes) -> tuple[int, int]:
    """Width and height of an image, every chunk of which is checked."""
    kinds, at = [], len(_PNG)
    while png.startswith(_PNG) and at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        body, end = png[at + 4 : at + 8 + length], at + 12 + length
        if end > len(png) or struct.unpack_from(">I", png, end - 4)[0] != crc32(body):
            break
        kinds.append(body[:4])
        at = end
    if at != len(png) or kinds[:1] != [_FIRST] or kinds[-1:] != [_LAST]:
        raise ValueError("not a whole PNG file")
    width, height = struct.unpack_from(">II", png, len(_PNG) + 8)
    return width, height


def _sources(content: Content) -> Iterable[str]:
    if isinstance(content, Html):
        yield content.source
    elif isinstance(content, str):
        yield _escaped(content)
    elif content is not None:
        for part in content:
            yield from _sources(part)


def _attribute(name: str, value: str | float | bool) -> str:
    spelled = name.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(spelled) or (spelled == "href" and not _LINK.fullmatch(str(value))):
        raise ValueError(f"no attribute {spelled}={value!r} in a page")
    return f" {spelled}" if value is True else f' {spelled}="{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    return escape(_NO_CHARACTER.sub("\ufffd", text))
