"""How figures look, and how they are saved."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from ctpwa.output import written_whole

STYLE: Any = {
    "font.family": "serif",
    "font.serif": ["cmr10", "DejaVu Serif"],
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
FIT_COLOUR = "#B2182B"
# distinguishable with any colour vision: Okabe–Ito, with line styles as a second hint
LINES = (
    ("#0072B2", "-"), ("#E69F00", "-"), ("#009E73", "-"), ("#CC79A7", "-"),
    ("#56B4E9", "--"), ("#D55E00", "--"), ("#7A5195", "--"), ("#666666", "--"),
)  # fmt: skip
SUFFIXES = {".png": {"Software": "ctpwa"}, ".pdf": {"Creator": "ctpwa"}}  # with a mark by which they are recognised


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write ``stem``.png and ``stem``.pdf, each whole or not at all; the folder is made if it is not there."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.parent / f"{stem.name}{suffix}" for suffix in SUFFIXES]
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it comments on the dates of the fonts that matplotlib ships
    with mpl.rc_context(STYLE):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # it is laid out, once for both files
        for file in files:
            with written_whole(file) as temporary:
                figure.savefig(temporary, metadata=SUFFIXES[file.suffix])
    return files
