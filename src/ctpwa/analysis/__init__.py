"""Reopened fits."""

from ctpwa.analysis.reopen import OpenedFit

__all__ = ["OpenedFit"]
