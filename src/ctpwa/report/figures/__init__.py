"""Figures for a paper; importing this loads matplotlib."""

from ctpwa.report.figures.argand import draw_argand
from ctpwa.report.figures.correlation import draw_correlations
from ctpwa.report.figures.dalitz import draw_dalitz
from ctpwa.report.figures.interference import draw_interference
from ctpwa.report.figures.moments import draw_moments
from ctpwa.report.figures.projections import draw_projections
from ctpwa.report.figures.pulls import draw_pulls
from ctpwa.report.figures.style import save_figure

__all__ = [
    "draw_argand",
    "draw_correlations",
    "draw_dalitz",
    "draw_interference",
    "draw_moments",
    "draw_projections",
    "draw_pulls",
    "save_figure",
]
