"""A model description with parts of another one in it: mappings key by key, samples with how to read them, names in any spelling."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import Path, suggest
from ctpwa.config.changes import with_files
from ctpwa.config.problems import SpecError
from ctpwa.config.samples import KINDS
from ctpwa.config.set_values import names_of
from ctpwa.decay.pdg import normalise

ADD, LINESHAPE, RESONANCES = "add", "lineshape", "resonances"
_PATHS = frozenset({"file", "weight_file", "column_files", "histogram", "sideband", *KINDS})  # keys of paths
_OWN_FILES = ("weight_file", "column_files")  # what belongs to the events of a file
_NAMES = frozenset({"columns", "momenta"})  # mappings whose keys are names of the user
_SHAPE = ("lineshape", "options", "parameters")  # keys of a resonance that belong to its lineshape


def merged(data: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A description with a change in it.

    Args:
        data:    a description that is right
        change:  keys of a description, merged into it: null removes one. Besides, ``add``: resonances that are new, and
                 ``lineshape``: resonances with another lineshape, which replaces options and parameters of the old one

    Raises:
        SpecError: if a resonance is there already, or is not; its key is the place in the change
    """
    new = deepcopy(dict(data))
    known = new.get(RESONANCES) or {}
    resonances = dict(known)
    for name, entry in _mapping(change, ADD).items():
        if (taken := _spelled(name, known)) is not None:
            raise SpecError(f"the model has {taken!r} already", f"change it with  resonances: {{{taken}: …}}", key=(ADD, name))
        resonances[name] = entry
    for name, entry in _mapping(change, LINESHAPE).items():
        own = _known(name, known, LINESHAPE)
        old = {key: value for key, value in (resonances[own] or {}).items() if key not in _SHAPE}
        resonances[own] = _merged(old, entry if isinstance(entry, Mapping) else {"lineshape": entry}, (RESONANCES, own))
    for name, entry in _mapping(change, RESONANCES).items():
        own = _known(name, known, RESONANCES)
        resonances[own] = _merged(resonances[own] or {}, entry, (RESONANCES, own))
    if resonances:
        new[RESONANCES] = {name: entry for name, entry in resonances.items() if entry is not None}
    rest = {key: value for key, value in change.items() if key not in (ADD, LINESHAPE, RESONANCES)}
    found: dict[str, Any] = _merged(new, rest, ())
    return found


def place_in(change: Mapping[str, Any], path: Path) -> Path:
    """Where a change says what a path of the merged description leads to.

    Args:
        change:  what was merged
        path:    in the description
    """
    if path[:1] == (RESONANCES,) and len(path) > 1:
        for section in (ADD, LINESHAPE, RESONANCES):
            name = _spelled(str(path[1]), _mapping(change, section))
            if name is not None:
                whole = section == LINESHAPE and not isinstance(change[section][name], Mapping)
                return (section, name, *(() if whole else path[2:]))
    return path


def moved(value: Any, old: FilePath, new: FilePath, key: str = "") -> Any:
    """A part of a description that stands in another folder: its paths still lead to the same files.

    Args:
        value:  the part
        old:    the folder that its paths are relative to
        new:    the one that they will be relative to
        key:    that the part has
    """
    if isinstance(value, Mapping):
        inside = key == "column_files"  # whose keys are names of the user as well
        return {own: item if own in _NAMES else moved(item, old, new, key if inside else str(own)) for own, item in value.items()}
    if isinstance(value, list):
        return [moved(item, old, new, key) for item in value]
    if not isinstance(value, str) or key not in _PATHS or os.path.isabs(value) or os.path.realpath(old) == os.path.realpath(new):
        return value
    return os.path.relpath(old / value, new)


def _merged(first: Any, second: Any, path: Path) -> Any:
    if _is_sample(path):
        return _with_sample(first, second)
    if path == ("fit", "fix"):
        return names_of(first) | names_of(second) if isinstance(second, (str, list, Mapping)) else second
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        return second
    left = {key: value for key, value in first.items() if key not in second or second[key] is not None}
    changed = {key: _merged(first.get(key), value, (*path, str(key))) for key, value in second.items() if value is not None}
    return left | changed


def _is_sample(path: Path) -> bool:
    owner = path[:-1]
    return path[-1:] != () and path[-1] in KINDS and (owner == ("samples",) or (owner[:1] == ("data_sets",) and len(owner) == 2))


def _with_sample(first: Any, second: Any) -> Any:
    """Other files, read as those before; or other ways to read or to weight the same."""
    if isinstance(second, str) or (isinstance(second, list) and all(isinstance(file, str) for file in second)):
        second = {"file": second}
    entries = first if isinstance(first, list) else [first] if first is not None else []
    if not isinstance(second, Mapping):
        return second
    given = [entry if isinstance(entry, Mapping) else {"file": entry} for entry in entries]
    if "file" in second and given and not any("generate" in entry for entry in given):
        files = second["file"] if isinstance(second["file"], list) else [second["file"]]
        given = [{key: value for key, value in entry.items() if key not in _OWN_FILES or key not in second} for entry in given]
        return _merged(with_files(given if len(given) > 1 else given[0], files), {k: v for k, v in second.items() if k != "file"}, ())
    if not given or "file" in second or ("generate" in second and not all("generate" in entry for entry in given)):
        return dict(second)
    changed = [_merged(entry, second, ()) for entry in given]
    return changed if len(changed) > 1 else changed[0]


def _mapping(change: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """A section of a change; one that is not a mapping cannot be merged."""
    value = change.get(section)
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
        raise SpecError(f"{section!r} must be a mapping of resonances", f"write  {section}: {{phi(1680): …}}", key=(section,))
    return value or {}


def _spelled(name: str, known: Mapping[str, Any]) -> str | None:
    """The known name that is meant, in any spelling."""
    return next((own for own in known if normalise(own) == normalise(name)), None)


def _known(name: str, known: Mapping[str, Any], section: str) -> str:
    own = _spelled(name, known)
    if own is None:
        near = suggest(name, known)
        raise SpecError(f"the model has no resonance {name!r}", near or "add a new one with  add: …", key=(section, name))
    return own
