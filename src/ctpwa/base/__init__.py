"""Errors by kind, and the processes that share a fit."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.base.errors import ConfigError, DataError, GenerationError, PhysicsError, UnknownNameError
    from ctpwa.base.ranks import Ranks, current_ranks
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["ConfigError", "DataError", "GenerationError", "PhysicsError", "Ranks", "UnknownNameError", "current_ranks"]
