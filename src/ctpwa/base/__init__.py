"""Errors by kind, and the processes that share a fit."""

from ctpwa.base.errors import ConfigError, DataError, GenerationError, PhysicsError, UnknownNameError
from ctpwa.base.ranks import Ranks, current_ranks

__all__ = ["ConfigError", "DataError", "GenerationError", "PhysicsError", "Ranks", "UnknownNameError", "current_ranks"]
