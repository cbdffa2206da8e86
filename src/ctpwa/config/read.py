"""``load_model``: from a YAML file or a mapping to a ``Model``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import ConfigError, Problem
from ctpwa.config.build import build_model
from ctpwa.config.model_file import read_text
from ctpwa.config.plain import Plain
from ctpwa.config.schema import ModelSpec
from ctpwa.config.source import Source
from ctpwa.config.validate import real_path, validate
from ctpwa.model.model import Model


@dataclass(frozen=True)
class Document:
    """A model file that is right.

    Attributes:
        name:    the file; empty if it was a mapping
        folder:  what paths in it are relative to
        data:    its content
        spec:    the same, checked, with full names of couplings, resonances and parameters
        model:   the model it describes
    """

    name: str
    folder: FilePath
    data: Mapping[str, Any]
    spec: ModelSpec
    model: Model


def load_model(path_or_mapping: str | os.PathLike[str] | Mapping[str, Any]) -> Model:
    """Read a model file, or a mapping of the same form, and build all its waves.

    Raises:
        ConfigError: with every problem found, each with file, line, column and what to do
    """
    return load_document(path_or_mapping).model


def load_document(
    path_or_mapping: str | os.PathLike[str] | Mapping[str, Any],
    folder: FilePath | None = None,
    engines: Collection[str] | None = None,
    fix: Mapping[str, float | None] | None = None,
) -> Document:
    """Read a model file with everything that is in it.

    Args:
        path_or_mapping:  the file, or a mapping of the same form
        folder:           what paths in a mapping are relative to; default: the working directory
        engines:          what ``engine`` of the fit may be; None: anything, since nothing is computed
        fix:              parameters that are fixed besides, as if the file said so
    """
    if isinstance(path_or_mapping, Mapping):
        return _document(_fixing(Plain(text_keys=True).of(path_or_mapping), fix), "", folder or FilePath(), engines)
    path = FilePath(path_or_mapping)
    source = Source(read_text(path), str(path))
    try:
        return _document(_fixing(Plain().of(source.data), fix), str(path), path.parent, engines)
    except ConfigError as error:
        raise ConfigError(source.locate(error.problems)) from None


def _fixing(data: Any, fix: Mapping[str, float | None] | None) -> Any:
    """A description with more parameters under ``fix`` of its fit."""
    section = data.get("fit") if isinstance(data, dict) else None
    if not fix or not isinstance(data, dict) or not isinstance(section, dict | None):
        return data
    own = (section or {}).get("fix") or {}
    named = {own: None} if isinstance(own, str) else dict.fromkeys(own) if isinstance(own, list) else own
    return data | {"fit": (section or {}) | {"fix": {**named, **fix}}} if isinstance(named, dict) else data


def _document(data: Any, name: str, folder: FilePath, engines: Collection[str] | None) -> Document:
    checked = validate(data)
    try:
        model, spec = build_model(checked, engines)
        return Document(name, folder, data, spec, model)
    except ConfigError as error:
        raise ConfigError([_as_written(problem, data) for problem in error.problems]) from None


def _as_written(problem: Problem, data: Any) -> Problem:
    """Samples and projections may be written as a text, a mapping or a list; the path follows what was written."""
    if problem.path[:1] not in (("samples",), ("data_sets",), ("projections",)):
        return problem
    return replace(problem, path=real_path(problem.path, data))
