"""Settings of ``ctpwa.fit``."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.fitting.search_settings import SearchSettings
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["SearchSettings"]
