"""Reopened fits, and their figures."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.analysis.reopen import OpenedFit
    from ctpwa.analysis.write_report import fit_figures
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["OpenedFit", "fit_figures"]
