"""Reopened fits, and their figures."""

from ctpwa.analysis.reopen import OpenedFit
from ctpwa.analysis.write_report import fit_figures

__all__ = ["OpenedFit", "fit_figures"]
