"""``load_model``: from a YAML file or a mapping to a ``Model``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import ConfigError, Problem
from ctpwa.base.timing import phase
from ctpwa.config.build import build_model
from ctpwa.config.changes import Changes, changed
from ctpwa.config.energy_tables import with_tables
from ctpwa.config.include import INCLUDE, read_parts
from ctpwa.config.plain import MAX_BYTES, Plain
from ctpwa.config.schema import ModelSpec
from ctpwa.config.set_values import ChangeError
from ctpwa.config.source import Source
from ctpwa.config.validate import real_path, validate
from ctpwa.model.model import Model

NO_CHANGES = Changes()


@dataclass(frozen=True)
class Document:
    """A model file that is right.

    Attributes:
        name:    the file; empty if it was a mapping
        folder:  what paths in it are relative to
        data:    its content
        spec:    the same, checked, with full names of couplings, resonances and parameters
        model:   the model it describes
        included:  files that it includes; their content is in ``data``
    """

    name: str
    folder: FilePath
    data: Mapping[str, Any]
    spec: ModelSpec
    model: Model
    included: tuple[FilePath, ...] = ()


def load_model(path_or_mapping: str | os.PathLike[str] | Mapping[str, Any]) -> Model:
    """Read a model file, its text, or a mapping of the same form, and build all its waves.

    Args:
        path_or_mapping:  the file; or, if it has more than one line, the YAML text itself; or a mapping

    Raises:
        ConfigError: with every problem found, each with file, line, column and what to do
    """
    return load_document(path_or_mapping).model


@phase("model file")
def load_document(
    path_or_mapping: str | os.PathLike[str] | Mapping[str, Any],
    folder: FilePath | None = None,
    engines: Collection[str] | None = None,
    fix: Mapping[str, float | None] | None = None,
    changes: Changes = NO_CHANGES,
) -> Document:
    """Read a model file with everything that is in it.

    Args:
        path_or_mapping:  the file, a YAML text of several lines, or a mapping of the same form
        folder:           what paths in a mapping are relative to; default: the working directory
        engines:          what ``engine`` of the fit may be; None: anything, since nothing is computed
        fix:              parameters that are fixed besides, as if the file said so
        changes:          what else is changed, as if it said so

    Raises:
        ConfigError: with every problem found
        ChangeError: if the file is right, and wrong with the changes
    """
    fix = {**(fix or {}), **changes.fix}
    if isinstance(path_or_mapping, Mapping):
        _refuse_include(path_or_mapping)
        return _changing(Plain(text_keys=True).of(path_or_mapping), "", folder or FilePath(), engines, fix, changes)
    if isinstance(path_or_mapping, str) and "\n" in path_or_mapping:
        return _text_document(path_or_mapping, folder or FilePath(), engines, fix, changes)
    path = FilePath(path_or_mapping)
    parts = read_parts(path)
    try:
        document = _changing(with_tables(Plain().of(parts.data), path.parent), str(path), path.parent, engines, fix, changes)
    except ConfigError as error:
        raise ConfigError(parts.locate(error.problems)) from None
    return replace(document, included=parts.included)


def _text_document(
    text: str, folder: FilePath, engines: Collection[str] | None, fix: Mapping[str, float | None], changes: Changes
) -> Document:
    """The document of a YAML text; problems are found in its lines."""
    if len(text.encode("utf-8", errors="replace")) > MAX_BYTES:
        raise ConfigError([Problem(f"a text of more than {MAX_BYTES / 1e6:g} MB", (), "a model has a few thousand bytes")])
    source = Source(text, "text")
    try:
        if isinstance(source.data, Mapping):
            _refuse_include(source.data)
        return _changing(Plain().of(source.data), "", folder, engines, fix, changes)
    except ConfigError as error:
        raise ConfigError(source.locate(error.problems)) from None


def _changing(
    data: Any, name: str, folder: FilePath, engines: Collection[str] | None, fix: Mapping[str, float | None], changes: Changes
) -> Document:
    """The document of a description, which is right before it is changed."""
    if not changes.in_place:
        return _document(_fixing(data, fix), name, folder, engines)
    before = _document(data, name, folder, engines)
    return _changed_document(_fixing(changed(data, before.spec, before.model, folder, changes), fix), before, engines)


def _changed_document(data: Any, document: Document, engines: Collection[str] | None) -> Document:
    """The document with other data; what is wrong with them does not stand in the file, unless it is about ``fix``."""
    try:
        return _document(data, document.name, document.folder, engines)
    except ConfigError as error:
        first = error.problems[0]
        if first.path[:2] == ("fit", "fix"):
            raise
        raise ChangeError(f"with these options the model is wrong: {first.what}", first.fix) from None


def _refuse_include(mapping: Mapping[str, Any]) -> None:
    """A mapping may come from a result of somebody else: it opens no other files than those of events."""
    if INCLUDE in mapping:
        problem = Problem("a mapping cannot include files", (INCLUDE,), "give a model file, or put the mappings together in Python")
        raise ConfigError([problem])


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
