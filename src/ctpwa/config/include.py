"""``include``: a model file and the parts it includes, as one description that still knows where every key stands."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import ConfigError, Path, Problem, format_path, shortened, suggest
from ctpwa.config.model_file import read_text
from ctpwa.config.source import Source

INCLUDE = "include"
MAX_FILES = 20  # of one model
_ADVICE = "write the name of a YAML file, or a list of them"


@dataclass(frozen=True)
class JoinedParts:
    """A model file with all parts that it includes.

    Attributes:
        sources:   the file, then what it includes: of a key that stands in several of them, the first counts
        data:      the content of all of them; mappings are merged key by key, and null removes a key
        included:  the files besides the first
        removed:   keys that null removed, and the name of the file that says so
    """

    sources: tuple[Source, ...]
    data: Any
    included: tuple[FilePath, ...]
    removed: Mapping[Path, str]

    def locate(self, problems: Iterable[Problem]) -> list[Problem]:
        """The same problems with file, line and column, in the order of the files; they say what null has to do with them."""
        owned = [(self._owner(problem.path), self._with_null(problem)) for problem in problems]
        return [placed for source in self.sources for placed in source.locate(problem for own, problem in owned if own is source)]

    def _with_null(self, problem: Problem) -> Problem:
        """A null that removed nothing; or a name that is missing because null removed it."""
        *above, name = problem.path or ("",)
        siblings: Any = self.data
        for step in above:
            siblings = _below(siblings, step) if _has(siblings, step) else None
        if self.included and _has(siblings, name) and _below(siblings, name) is None:
            near = suggest(str(name), [str(key) for key, value in siblings.items() if value is not None])
            what = f"null removes a key of an included file, and none has {format_path(problem.path)!r}"
            return replace(problem, what=what, fix=near or "remove this line")
        for path, file in self.removed.items():
            if str(path[-1]) in problem.what:
                return replace(problem, fix=f"{problem.fix}; {file} removes {format_path(path)!r}")
        return problem

    def _owner(self, path: Path) -> Source:
        """The file that has the deepest part of a path that exists."""
        here: list[tuple[Source, Any]] = [(source, source.data) for source in self.sources]
        for step in path:
            below = [(source, _below(node, step)) for source, node in here if _has(node, step)]
            if not below:
                break
            merged = isinstance(below[0][1], Mapping)
            here = [pair for pair in below if isinstance(pair[1], Mapping)] if merged else below[:1]
        return here[0][0]


def read_parts(path: FilePath, most: int = MAX_FILES) -> JoinedParts:
    """Read a model file, and what it includes.

    Args:
        path:  the model file
        most:  how many files there may be

    Raises:
        ConfigError: if a file cannot be read or is not YAML, if files include each other, or if there are too many
    """
    main = Source(read_text(path), str(path))
    found = [(main, path), *_included(main, path, (path,), _Count(most))]
    sources, data, removed = tuple(source for source, _ in found), main.data, set[Path]()
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key != INCLUDE}
        for source in sources[1:]:
            data = _merged(data, {key: value for key, value in source.data.items() if key != INCLUDE}, (), removed)
        data = _without(data, (), removed)
    by = {path: next(source.name for source in sources if _leads_to_null(source.data, path)) for path in sorted(removed, key=str)}
    return JoinedParts(sources, data, tuple(file for _, file in found[1:]), by)


class _Count:
    """How many files have been read."""

    def __init__(self, most: int) -> None:
        self.most, self.n = most, 1


def _included(source: Source, path: FilePath, above: tuple[FilePath, ...], count: _Count) -> Iterator[tuple[Source, FilePath]]:
    """What a file includes, the last one first, each followed by what it includes itself."""
    entries = source.data.get(INCLUDE, []) if isinstance(source.data, dict) else []
    names = [entries] if isinstance(entries, str) else entries
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise _error(source, (INCLUDE,), f"{shortened(repr(entries), 60)} is not what {INCLUDE!r} holds", _ADVICE)
    for index, name in reversed(list(enumerate(names))):
        place: Path = (INCLUDE,) if entries is not names else (INCLUDE, index)
        file = path.parent / name
        _check_ring(source, place, file, above)
        count.n += 1
        if count.n > count.most:
            raise _error(source, place, f"more than {count.most} files are included", "put some of them together")
        part = _part(source, place, file)
        yield part, file
        yield from _included(part, file, (*above, file), count)


def _part(source: Source, place: Path, file: FilePath) -> Source:
    try:
        text = read_text(file)
    except ConfigError as error:
        (problem,) = error.problems
        if problem.location:  # inside the file
            raise
        fix = f"correct the path, which is relative to {source.name}"
        raise ConfigError(source.locate([replace(problem, path=place, fix=fix)])) from None
    part = Source(text, str(file))
    if not isinstance(part.data, dict):
        raise _error(part, (), "a part of a model is a mapping of keys", "write keys of a model file, such as  resonances: …")
    return part


def _check_ring(source: Source, place: Path, file: FilePath, above: Sequence[FilePath]) -> None:
    same = [os.path.realpath(one) == os.path.realpath(file) for one in above]
    if any(same):
        ring = " -> ".join(map(str, [*above[same.index(True) :], file]))
        raise _error(source, place, f"files include each other: {ring}", "remove one of these includes")


def _merged(first: Any, second: Any, path: Path, removed: set[Path]) -> Any:
    """Mappings key by key; of anything else the first. Keys that null removes are noted, and still there.

    Args:
        first:    what counts
        second:   what is below it
        path:     where both are
        removed:  gets the keys that are null in the first and not in the second
    """
    if first is None and second is not None and not _is_value(path):
        removed.add(path)
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        return first
    return {**first, **{key: _merged(first[key], value, (*path, key), removed) if key in first else value for key, value in second.items()}}


def _is_value(path: Path) -> bool:
    """Whether null says something where it stands: fixed where the fit would start, a CP difference without a value, no polarisation."""
    return path[:-1] in (("fit", "fix"), ("cp",)) or path == ("production", "polarisation")


def _without(data: Any, path: Path, removed: Container[Path]) -> Any:
    """Data without the keys that null removes."""
    if not isinstance(data, Mapping):
        return data
    return {key: _without(value, (*path, key), removed) for key, value in data.items() if (*path, key) not in removed}


def _leads_to_null(data: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return False
        data = data[step]
    return data is None


def _has(node: Any, step: str | int) -> bool:
    return isinstance(node, Mapping) and any(str(key) == str(step) for key in node)


def _below(node: Mapping[Any, Any], step: str | int) -> Any:
    return next(value for key, value in node.items() if str(key) == str(step))


def _error(source: Source, path: Path, what: str, fix: str) -> ConfigError:
    return ConfigError(source.locate([Problem(what, path, fix)]))
