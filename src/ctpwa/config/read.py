"""``load_model``: from a YAML file or a mapping to a ``Model``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from ctpwa.config.build import build_model
from ctpwa.config.source import Source
from ctpwa.config.validate import validate
from ctpwa.errors import ConfigError, Problem
from ctpwa.model.model import Model


def load_model(path_or_mapping: str | os.PathLike[str] | Mapping[str, Any]) -> Model:
    """Read a model file, or a mapping of the same form, and build all its waves.

    Raises:
        ConfigError: with every problem found, each with file, line, column and what to do
    """
    if isinstance(path_or_mapping, Mapping):
        return build_model(validate(_plain(path_or_mapping)))
    path = FilePath(path_or_mapping)
    source = Source(_read_text(path), str(path))
    try:
        return build_model(validate(source.data))
    except ConfigError as error:
        raise ConfigError(source.locate(error.problems)) from None


def _read_text(path: FilePath) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        fix = "give the path of a YAML file, or the model as a mapping"
        raise ConfigError([Problem(f"cannot read model file {str(path)!r}: {reason}", (), fix)]) from None


def _plain(value: Any) -> Any:
    """Any mapping, sequence and array as dict and list, as YAML would have made them; complex numbers as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, complex) else value
