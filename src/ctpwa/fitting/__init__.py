"""Settings of ``ctpwa.fit``."""

from ctpwa.fitting.starts import SearchSettings

__all__ = ["SearchSettings"]
