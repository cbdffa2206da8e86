"""Variations of a model for systematic errors: a YAML list, each entry with a name and what it changes in the description of a fit."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import ConfigError, Path, Problem, suggest
from ctpwa.config.changes import Changes
from ctpwa.config.merged import ADD, LINESHAPE, merged, moved, place_in
from ctpwa.config.model_file import read_text
from ctpwa.config.plain import Plain
from ctpwa.config.problems import MAX_PROBLEMS, SpecError
from ctpwa.config.read import Document, load_document
from ctpwa.config.schema import ModelSpec
from ctpwa.config.set_values import ChangeError
from ctpwa.config.source import Source

EXAMPLE = "- {name: radius, radius: 4.0}"
SUBSET, INDEPENDENT, NONE = "subset", "independent", "none"
SCATTER = (SUBSET, INDEPENDENT, NONE)
UP, DOWN = "up", "down"
OF_VARIATIONS = ("name", "group", "scatter", "shift", UP, DOWN)
OF_CHANGES = ("set", "float", "without", "data", "model", ADD, LINESHAPE)
OF_MODELS = tuple(name for field, own in ModelSpec.model_fields.items() if (name := own.alias or field) not in ("include", "decay"))
SAMPLES = ("samples", "data_sets")
MOST = 1000  # variations


@dataclass(frozen=True)
class Side:
    """One fit of a variation.

    Attributes:
        sign:      ``up`` or ``down``; empty if the variation has one side
        document:  what is fitted
        starts:    whether it says itself how many starts there are
    """

    sign: str
    document: Document
    starts: bool = False


@dataclass(frozen=True)
class Cause:
    """What a variation is called, and how its events belong to those of the fit.

    Attributes:
        name:     of the variation
        group:    variations of one group have the same cause; empty: it has its own
        scatter:  if it changes a sample, how the two belong together: ``subset``, ``independent`` or ``none``; empty: it does not say
    """

    name: str
    group: str
    scatter: str


@dataclass(frozen=True)
class Variation(Cause):
    """A change of the fit, or two opposite ones.

    Attributes:
        sides:  one fit, or those upwards and downwards
    """

    sides: tuple[Side, ...]


@dataclass(frozen=True)
class VariedFit:
    """What variations are of.

    Attributes:
        document:  its description
        fixed:     parameters that are fixed, and their values
        free:      parameters that float
        engines:   what ``engine`` of the fit may be; None: anything
    """

    document: Document
    fixed: Mapping[str, float]
    free: Collection[str]
    engines: Collection[str] | None = None


def read_variations(given: str | os.PathLike[str] | Sequence[Mapping[str, Any]], of: VariedFit) -> tuple[Variation, ...]:
    """All variations of a file, or of a list of the same form.

    Args:
        given:  a YAML file, in which paths are relative to its folder; or a list, in which they are relative to the working directory
        of:     the fit

    Raises:
        ConfigError: with every problem found, each with file, line, column and what to do
    """
    source: Source | None = None
    folder, data = FilePath(), given
    if isinstance(given, (str, os.PathLike)):
        path = FilePath(given)
        source = Source(read_text(path, "file of variations", "give the path of a YAML file with a list of variations"), str(path), EXAMPLE)
        folder, data = path.parent, source.data
    reader = _Reader(of, folder)
    try:
        found = reader.read(Plain(text_keys=source is None).of(data))
        if reader.problems:
            raise ConfigError(reader.problems)
    except ConfigError as error:
        if source is None:
            raise
        own = [problem for problem in error.problems if not problem.location]
        raise ConfigError([*(problem for problem in error.problems if problem.location), *source.locate(own)]) from None
    return found


class _Reader:
    def __init__(self, of: VariedFit, folder: FilePath) -> None:
        self.of, self.folder = of, folder
        self.problems: list[Problem] = []

    def read(self, data: Any) -> tuple[Variation, ...]:
        if not isinstance(data, list) or not data:
            raise ConfigError([Problem("variations are a list with one entry each", (), f"write  {EXAMPLE}")])
        if len(data) > MOST:
            raise ConfigError([Problem(f"there are {len(data)} variations", (), f"write at most {MOST}")])
        names: dict[str, int] = {}
        found = []
        for index, entry in enumerate(data):
            try:
                variation = self._variation(entry, index)
                if variation.name in names:
                    raise _problem(f"two variations are named {variation.name!r}", (index, "name"), "rename one of them")
                names[variation.name] = index
                found.append(variation)
            except ConfigError as error:
                self.problems += error.problems
            if len(self.problems) >= MAX_PROBLEMS:
                break
        return tuple(found)

    def _variation(self, entry: Any, index: int) -> Variation:
        if not isinstance(entry, dict):
            raise _problem("a variation is a mapping of keys", (index,), f"write  {EXAMPLE}")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            what = "the variation has no name" if name is None else f"the name {name!r} is not text"
            raise _problem(what, (index, "name"), f"add  name: …,  such as  {EXAMPLE}" if name is None else f"quote it: '{name}'")
        if not isinstance(entry.get("group", ""), str):
            raise _problem(f"the group {entry['group']!r} is not text", (index, "group"), f"quote it: '{entry['group']}'")
        scatter = entry.get("scatter", "")
        if scatter not in SCATTER and "scatter" in entry:
            raise _problem(f"{scatter!r} is not a value of 'scatter'", (index, "scatter"), f"write {', '.join(SCATTER)}")
        self._check_keys(entry, (index,), (*OF_VARIATIONS, *OF_CHANGES, *OF_MODELS))
        try:
            return Variation(name, entry.get("group", ""), scatter, tuple(self._sides(entry, index)))
        except ConfigError as error:
            raise ConfigError([replace(own, what=f"variation {name!r}: {own.what}") for own in error.problems]) from None

    def _check_keys(self, entry: Mapping[str, Any], where: Path, known: Sequence[str]) -> None:
        for key in entry:
            if key not in known:
                fix = suggest(str(key), known)
                raise _problem(f"unknown key {key!r}", (*where, str(key)), fix if fix.startswith("did") else "remove it", at_key=True)

    def _sides(self, entry: Mapping[str, Any], index: int) -> Iterator[Side]:
        common = {key: value for key, value in entry.items() if key not in OF_VARIATIONS}
        given = [key for key in (UP, DOWN) if key in entry]
        if "shift" in entry:
            if given or "model" in entry:
                other = [*given, "model"][0]
                raise _problem(f"'shift' next to {other!r}", (index, "shift"), "make two variations of it", at_key=True)
            for sign, factor in ((UP, 1), (DOWN, -1)):
                yield self._side(sign, common, index, self._shifted(entry["shift"], (index, "shift"), factor))
        elif given:
            if len(given) < 2:
                missing = DOWN if given == [UP] else UP
                raise _problem(f"{given[0]!r} without {missing!r}", (index, given[0]), f"add  {missing}: …,  or write its keys without it")
            for sign in (UP, DOWN):
                if not isinstance(entry[sign], dict) or not entry[sign]:
                    raise _problem(f"{sign!r} must be a mapping of changes", (index, sign), f"write  {sign}: {{radius: 4.0}}")
                self._check_keys(entry[sign], (index, sign), (*OF_CHANGES, *OF_MODELS))
                if both := [key for key in entry[sign] if key in common]:
                    raise _problem(f"{both[0]!r} is in {sign!r} and beside it", (index, sign, both[0]), "write it once", at_key=True)
                yield self._side(sign, common | entry[sign], index, {}, entry[sign])
        elif common:
            yield self._side("", common, index, {})
        else:
            raise _problem("it changes nothing", (index,), f"say what, such as  {EXAMPLE}")

    def _shifted(self, given: Any, where: Path, factor: int) -> dict[str, float]:
        """Values of fixed parameters, shifted by their errors."""
        if not isinstance(given, dict) or not given:
            raise _problem("'shift' must be a mapping of parameters to their errors", where, "write  shift: {phi(1680).mass: 0.02}")
        for name, error in given.items():
            self._check_fixed(name, (*where, str(name)))
            if not _is_number(error) or not (0 < error < math.inf):
                raise _problem(f"the error of {name!r} is {error!r}", (*where, str(name)), "write a number above 0")
        return {name: self.of.fixed[name] + factor * error for name, error in given.items()}

    def _check_fixed(self, name: Any, where: Path) -> None:
        """Refuse parameters that a fit finds itself: another start changes nothing."""
        if name in self.of.free:
            fix = f"leave it out, or fix it at another value with  fit: {{fix: {{{name}: …}}}}"
            raise _problem(f"{name!r} floats in the fit, which finds it whatever it is set to", where, fix, at_key=True)
        if name not in self.of.fixed:
            near = suggest(str(name), self.of.fixed)
            raise _problem(f"the fit has no fixed parameter {name!r}", where, near or "ctpwa show lists them", at_key=True)

    def _side(self, sign: str, change: Mapping[str, Any], index: int, shifted: Mapping[str, float], own: Collection[str] = ()) -> Side:
        """One fit.

        Args:
            sign:     of the side
            change:   what is changed
            index:    of the variation
            shifted:  values of parameters that are shifted
            own:      keys that stand under the name of the side
        """

        def place(path: Path) -> Path:
            return (index, sign, *path) if path and path[0] in own else (index, *path)

        try:
            document = self._document(change, shifted)
        except ChangeError as error:
            what = error.what.removeprefix("--").replace(" --without ", ", ")
            raise _problem(what, place(_blamed(error, change, shifted)), error.fix) from None
        except SpecError as error:
            key = error.key or ()
            raise _problem(error.what, place(key), error.fix, at_key=len(key) > 1) from None
        except ConfigError as error:
            problems = [own if own.location else replace(own, path=place(place_in(change, own.path))) for own in error.problems]
            raise ConfigError(problems) from None
        if document.spec == self.of.document.spec and document.folder == self.of.document.folder:
            raise _problem("it changes nothing: the fit says the same", (index, *([sign] if own else [])), "change a value, or remove it")
        fit = change.get("fit")
        return Side(sign, document, isinstance(fit, Mapping) and "starts" in fit)

    def _document(self, change: Mapping[str, Any], shifted: Mapping[str, float]) -> Document:
        base = self.of.document
        if "model" in change:
            base = self._other_model(change["model"])
        changes = Changes(
            without=_names(change, "without"),
            free=_names(change, "float"),
            set={**self._values(change), **{name: complex(value) for name, value in shifted.items()}},
            data=self._files(change),
        )
        data = load_document(base.data, base.folder, self.of.engines, changes=changes).data if changes.in_place else base.data
        rest = {key: value for key, value in change.items() if key not in OF_CHANGES or key in (ADD, LINESHAPE)}
        rest |= {key: moved(rest[key], self.folder, base.folder) for key in SAMPLES if key in rest}
        for key in SAMPLES:
            if key in rest and not data.get(key):
                other = "data_sets" if key == "samples" else "samples"
                raise SpecError(f"the model has no {key!r}", f"write  {other}: …,  as it does", key=(key,))
        found = load_document(merged(data, rest), base.folder, self.of.engines)
        return replace(found, name=base.name)

    def _other_model(self, given: Any) -> Document:
        """Another model file of the same decay; one without samples has those of the fit."""
        own = self.of.document
        if not isinstance(given, str):
            raise SpecError(f"{given!r} is not a model file", "write the path of a YAML file, relative to this one", key=("model",))
        try:
            found = load_document(self.folder / given, engines=self.of.engines)
        except ConfigError as error:
            unread = [replace(problem, path=("model",)) for problem in error.problems if not problem.location]
            raise ConfigError([*(problem for problem in error.problems if problem.location), *unread]) from None
        if str(found.model.decay) != str(own.model.decay):
            raise SpecError(
                f"it is of {found.model.decay}, and the fit of {own.model.decay}", "give a model of the same decay", key=("model",)
            )
        if any(found.data.get(key) for key in SAMPLES):
            return found
        samples = {key: moved(own.data[key], own.folder, found.folder) for key in SAMPLES if own.data.get(key)}
        return load_document({**found.data, **samples}, found.folder, self.of.engines)

    def _values(self, change: Mapping[str, Any]) -> dict[str, complex]:
        given = change.get("set", {})
        if not isinstance(given, dict):
            raise SpecError("'set' must be a mapping of parameters to values", "write  set: {phi(1680).mass: 1.68}", key=("set",))
        found = {}
        for name, value in given.items():
            if name in self.of.free:
                self._check_fixed_value(name)
            try:
                found[str(name)] = complex(value.replace(" ", "")) if isinstance(value, str) else complex(value)
            except (TypeError, ValueError):
                raise SpecError(f"{value!r} is not a number", "write a number", key=("set", str(name))) from None
        return found

    def _check_fixed_value(self, name: str) -> None:
        fix = f"leave it out, or fix it there with  fit: {{fix: {{{name}: …}}}}"
        raise SpecError(f"{name!r} floats in the fit, which finds it whatever it is set to", fix, key=("set", name))

    def _files(self, change: Mapping[str, Any]) -> tuple[str, ...]:
        """Other measured events: a file, a list of them, or files by the names of data sets."""
        given = change.get("data", [])
        pairs = given.items() if isinstance(given, dict) else [("", given)]
        files = [(name, file) for name, own in pairs for file in (own if isinstance(own, list) else [own])]
        if not all(isinstance(file, str) and file for _, file in files):
            raise SpecError("'data' is not a file, a list of files or files by data set", "write  data: other.root", key=("data",))
        return tuple((f"{name}=" if name else "") + os.path.abspath(self.folder / file) for name, file in files)


def _names(change: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = change.get(key, [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SpecError(f"{key!r} is not a name or a list of names", f"write  {key}: [phi(1680)]", key=(key,))
    return tuple(names)


def _blamed(error: ChangeError, change: Mapping[str, Any], shifted: Mapping[str, float]) -> Path:
    """The key of a change that cannot be made."""
    for key in ("set", "without", "float", "data"):
        if error.what.startswith(f"--{key}"):
            named = [name for name in (*shifted, *change.get("set", {})) if repr(name) in error.what] if key == "set" else []
            return ("shift" if named and named[0] in shifted else key, *named[:1])
    return ()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _problem(what: str, path: Path, fix: str, *, at_key: bool = False) -> ConfigError:
    return ConfigError([Problem(what, path, fix, at_key=at_key)])
