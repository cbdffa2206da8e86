"""Fits that are opened again."""

from ctpwa.analysis.reopen import OpenedFit

__all__ = ["OpenedFit"]
