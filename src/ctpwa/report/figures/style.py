"""How figures look, and how they are saved."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backend_bases import RendererBase
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure as PlainFigure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from ctpwa.base.output import written_whole
from ctpwa.decay.latex import label_parts
from ctpwa.observe.variable import Variable

STYLE: Any = {
    "font.family": ["cmr10", "DejaVu Serif"],  # the second for letters that the first does not have
    "font.size": 9,
    "mathtext.fontset": "cm",
    "axes.formatter.use_mathtext": True,
    "axes.labelsize": 10,
    "axes.linewidth": 0.7,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.top": True,
    "ytick.right": True,
    "xtick.minor.visible": True,
    "ytick.minor.visible": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
}
WIDTH = 7.4  # inches; two columns of a journal page
AnyFigure = PlainFigure  # of matplotlib
_UNKNOWN = re.compile(r'\\&|["`]')
SUFFIXES = {".png": {"Software": "ctpwa"}, ".pdf": {"Creator": "ctpwa"}}  # with a mark by which they are recognised


class Figure(PlainFigure):
    """A figure that no label keeps from being drawn: where matplotlib cannot read its LaTeX, it is shown as it is written."""

    def _repr_png_(self) -> bytes:
        """For notebooks, whether they have loaded pyplot or not."""
        return png_of(self, 110)

    def draw(self, renderer: RendererBase) -> None:
        """Draw everything; texts that stop it are written out first."""
        try:
            super().draw(renderer)
        except ValueError:
            unreadable = [text for text in self.findobj(Text) if isinstance(text, Text) and not _readable(text.get_text())]
            if not unreadable:
                raise
            for text in unreadable:
                text.set_parse_math(False)
            super().draw(renderer)


def png_of(figure: PlainFigure, dpi: float) -> bytes:
    """A figure as the content of a PNG file.

    Args:
        figure:  what to draw
        dpi:     pixels per inch
    """
    file = BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(file, format="png", dpi=dpi, metadata=SUFFIXES[".png"])
    return file.getvalue()


def _readable(label: str) -> bool:
    try:
        for line in label.splitlines():
            if is_math_text(line):
                MathTextParser("path").parse(line)
    except ValueError:
        return False
    return True


def figure_label(label: str) -> str:
    r"""A label with LaTeX between dollar signs as matplotlib spells it: it does not know ``\&`` and two quotation marks."""
    parts = label_parts(label)
    return "".join(f"${_UNKNOWN.sub(_spelled, part)}$" if is_latex else part.replace("$", r"\$") for part, is_latex in parts)


def _spelled(match: re.Match[str]) -> str:
    return {r"\&": "&", '"': "{}''", "`": "{}'"}[match[0]]


def axis_label(variable: Variable) -> str:
    """A variable and its unit."""
    return figure_label(variable.label + (f"  [{variable.unit}]" if variable.unit else ""))


def save_figure(figure: PlainFigure, stem: Path, *, suffixes: Sequence[str] = tuple(SUFFIXES)) -> list[Path]:
    """Write ``stem``.png and ``stem``.pdf, each whole or not at all; the folder is made if it does not exist.

    Args:
        figure:    what to write
        stem:      the name of the files without suffix
        suffixes:  which files
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.parent / f"{stem.name}{suffix}" for suffix in suffixes]
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it comments on the dates of the fonts that matplotlib ships
    with mpl.rc_context(STYLE):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # it is laid out, once for both files
        for file in files:
            with written_whole(file) as temporary:
                figure.savefig(temporary, metadata=SUFFIXES[file.suffix])
    return files
