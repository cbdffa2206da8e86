"""Events in ROOT trees: scalar branches, arrays, vectors, TLorentzVector and ROOT::Math::PxPyPzEVector; trees of AmpTools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError, suggest
from ctpwa.data.columns import FINAL_STATE, Column, ColumnKind, OpenFile, fours_of_lists, reading

TREES = ("TTree", "TNtuple", "TNtupleD")
T_LORENTZ_VECTOR = "TLorentzVector"
ANY_VECTOR = "ROOT::Math::LorentzVector<"
PX_PY_PZ_E = f"{ANY_VECTOR}ROOT::Math::PxPyPzE4D<"
AMPTOOLS = tuple(f"{part}_{FINAL_STATE}" for part in ("E", "Px", "Py", "Pz"))  # a list each: one number for every particle
MOST_PARTICLES = 20
CARTESIAN_MEMBERS = ("fT", "fX", "fY", "fZ")  # E, px, py, pz of PxPyPzE4D


@dataclass(frozen=True)
class _Branches:
    """How a column is read: its branches, in which form, and how they become one array.

    Attributes:
        branches:  full names and interpretations: one, or the four of a split four-vector
        library:   ``np`` for plain numbers, ``ak`` for lists and objects
        convert:   arrays of one chunk, number of its first event → [event] or [event, 4]
    """

    branches: tuple[tuple[str, Any], ...]
    library: str
    convert: Callable[[Sequence[Any], int], np.ndarray]


class RootFile(OpenFile):
    """A tree in a ROOT file.

    Args:
        path:  the file
        tree:  name of the tree; default: the only one
    """

    word = "branch"

    def __init__(self, path: Path, tree: str | None = None) -> None:
        import uproot
        from uproot.source.file import MultithreadedFileSource

        self.path = path
        with reading(path, "a ROOT file"):
            # not memory-mapped: the pages of a mapped file would count as memory of this process
            self._file = uproot.open(path, handler=MultithreadedFileSource, object_cache=None, array_cache=None)
        try:
            with reading(path, "a ROOT file"):
                self._tree = self._file[self._tree_name(tree)]
                self.place = f"{path}, tree {self._tree.name!r}"
                self._list_columns()
        except BaseException:
            self.close()
            raise

    def check(self, names: Sequence[str]) -> None:
        """See ``EventFile``. The baskets of a branch say where they end; uproot refuses those that do not add up."""
        with reading(self.path, "a ROOT file"):
            for name, _ in (branch for column in names for branch in self._readers[column].branches):
                branch = self._tree[name]
                if branch.entry_offsets[-1] != branch.num_entries:
                    raise DataError(
                        f"{self.place}, branch {name!r}: {branch.num_entries} events announced, but {branch.entry_offsets[-1]} are there\n"
                        " fix: the file is damaged or was not closed; write it again"
                    )

    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """See ``EventFile``. Baskets are unpacked once; those that reach into the next chunk are kept for it."""
        readers = [self._readers[name] for name in names]
        with reading(self.path, "a ROOT file"):
            # a name with its interpretation is taken as it is; a bare name such as K+_px would be an expression
            parts = [
                self._tree.iterate({name: interpretation}, step_size=size, entry_start=first, entry_stop=last, library=reader.library)
                for reader in readers
                for name, interpretation in reader.branches
            ]
        first_event = first
        while True:
            with reading(self.path, "a ROOT file"):
                arrays = [_only(part) for part in (next(iterator, None) for iterator in parts) if part is not None]
                if not arrays:
                    return
                chunk: dict[str, np.ndarray] = {}
                for name, reader in zip(names, readers, strict=True):
                    own, arrays = arrays[: len(reader.branches)], arrays[len(reader.branches) :]
                    chunk[name] = reader.convert(own, first_event)
                rows = {len(values) for values in chunk.values()}
                expected = min(size, (self._tree.num_entries if last is None else last) - first_event)
                if rows != {expected}:
                    raise DataError(
                        f"{self.place}: {expected} events expected from {first_event} on, {min(rows)} found\n"
                        " fix: the file is damaged; write it again"
                    )
            first_event += expected
            yield chunk

    def _tree_name(self, wanted: str | None) -> str:
        kinds = self._file.classnames(recursive=True, cycle=False)
        trees = sorted(name for name, kind in kinds.items() if kind in TREES)
        if wanted is not None:
            if wanted not in trees:
                raise DataError(f"{self.path}: there is no tree {wanted!r}\n fix: {suggest(wanted, trees) or 'it has no tree at all'}")
            return wanted
        if len(trees) == 1:
            return trees[0]
        if trees:
            raise DataError(f"{self.path} has {len(trees)} trees: {', '.join(trees)}\n fix: say which, with 'tree'")
        others = ", ".join(f"{name} ({kind})" for name, kind in kinds.items()) or "nothing"
        raise DataError(f"{self.path} has no tree; it holds {others}\n fix: write the events as a TTree")

    def _list_columns(self) -> None:
        self._readers: dict[str, _Branches] = {}
        columns: list[Column] = []
        inside = ""  # the split four-vector whose members are not columns of their own
        for name, branch in self._tree.iteritems():
            if inside and name.startswith(inside + "/"):
                continue
            for column, reader in _columns_of(name, branch, self.place):
                columns.append(column)
                if reader is not None:
                    self._readers[column.name] = reader
            inside = name if _is_vector(branch) else ""
        self.columns = (*columns, *self._particles())

    def _particles(self) -> Iterator[Column]:
        """The numbers of every particle in a tree of AmpTools, as many as its first event has."""
        branches = dict(self._tree.iteritems(recursive=False))
        if not all(name in branches for name in AMPTOOLS) or not self._tree.num_entries:
            return
        first = branches[AMPTOOLS[0]].array(entry_stop=1, library="np")[0]
        if np.ndim(first) != 1 or not 1 <= len(first) <= MOST_PARTICLES:
            return
        for name in AMPTOOLS:
            branch = branches[name]
            for i in range(len(first)):
                convert = _number_of_list(f"{self.place}, branch {name!r}", i, len(first))
                self._readers[f"{name}[{i}]"] = _Branches(((name, branch.interpretation),), "ak", convert)
                yield Column(f"{name}[{i}]", ColumnKind.NUMBER, int(branch.num_entries), str(branch.typename))


def _only(part: Any) -> Any:
    """The one array of a chunk with one branch."""
    name = next(iter(part)) if isinstance(part, dict) else part.fields[0]
    return part[name]


def _columns_of(name: str, branch: Any, place: str) -> Iterator[tuple[Column, _Branches | None]]:
    """The columns that a branch makes: usually one, one per leaf for a list of leaves, none for a group of other branches."""
    from uproot.interpretation.grouped import AsGrouped
    from uproot.interpretation.jagged import AsJagged
    from uproot.interpretation.numerical import AsDtype

    interpretation, rows, typename = branch.interpretation, int(branch.num_entries), str(branch.typename)
    where, own = f"{place}, branch {name!r}", ((name, interpretation),)
    if _is_vector(branch):
        yield _vector_column(name, branch, where)
    elif isinstance(interpretation, AsGrouped):
        return
    elif isinstance(interpretation, AsDtype) and interpretation.to_dtype.names:
        for leaf in interpretation.to_dtype.names:
            dtype = interpretation.to_dtype[leaf]
            yield Column(f"{name}.{leaf}", _kind(dtype), rows, str(dtype)), _Branches(own, "np", _leaf(leaf))
    elif isinstance(interpretation, AsDtype):
        yield Column(name, _kind(interpretation.to_dtype), rows, typename), _Branches(own, "np", _plain)
    elif isinstance(interpretation, AsJagged) and _kind(getattr(interpretation.content, "to_dtype", None)) is ColumnKind.NUMBER:
        yield Column(name, ColumnKind.FOUR, rows, typename), _Branches(own, "ak", _lists(where))
    else:
        yield Column(name, ColumnKind.OTHER, rows, typename), None


def _kind(dtype: np.dtype | None) -> ColumnKind:
    if dtype is None or dtype.base.kind not in "iuf":
        return ColumnKind.OTHER
    return {(): ColumnKind.NUMBER, (1,): ColumnKind.NUMBER, (4,): ColumnKind.FOUR}.get(dtype.shape, ColumnKind.OTHER)


def _is_vector(branch: Any) -> bool:
    """Whether a branch holds a TLorentzVector or a ROOT::Math::LorentzVector, in whatever coordinates."""
    typename = str(branch.typename).replace(" ", "")
    return typename == T_LORENTZ_VECTOR or typename.startswith(ANY_VECTOR)


def _vector_column(name: str, branch: Any, where: str) -> tuple[Column, _Branches | None]:
    typename, rows = str(branch.typename), int(branch.num_entries)
    members = {part.rpartition(".")[2]: (f"{name}/{part}", sub) for part, sub in branch.iteritems(recursive=True)}
    cartesian = typename.replace(" ", "").startswith(PX_PY_PZ_E)
    if not members and (cartesian or typename == T_LORENTZ_VECTOR):
        return Column(name, ColumnKind.VECTOR, rows, typename), _unsplit_vector(name, branch, where)
    if not cartesian:
        return Column(name, ColumnKind.OTHER, rows, typename), None
    parts = [members[member] for member in CARTESIAN_MEMBERS]
    reader = _Branches(tuple((part, sub.interpretation) for part, sub in parts), "np", _stack)
    return Column(name, ColumnKind.VECTOR, int(parts[0][1].num_entries), typename), reader


def _unsplit_vector(name: str, branch: Any, where: str) -> _Branches:
    """A four-vector that is stored as an object: a header with class, version and bits, then px, py, pz and E.

    The length of the header depends on how the file was written; it is found from the distance of the objects in the first basket.
    """
    from uproot.interpretation.jagged import AsJagged
    from uproot.interpretation.numerical import AsDtype

    offsets = branch.basket(0).byte_offsets if branch.num_baskets else [0, 0]
    number = ">f4" if "float" in str(branch.typename) else ">f8"
    header = max(int(offsets[1] - offsets[0]) - 4 * np.dtype(number).itemsize, 0)
    lists = _lists(where)
    numbers = AsJagged(AsDtype(number), header_bytes=header)
    return _Branches(((name, numbers),), "ak", lambda arrays, first_event: lists(arrays, first_event)[:, [3, 0, 1, 2]])


def _plain(arrays: Sequence[Any], first_event: int) -> np.ndarray:
    return _without_axis_of_one(arrays[0])


def _without_axis_of_one(array: np.ndarray) -> np.ndarray:
    """``weight[1]/D`` is a number like ``weight/D``."""
    return array[:, 0] if array.shape[1:] == (1,) else array


def _stack(arrays: Sequence[Any], first_event: int) -> np.ndarray:
    return np.stack(arrays, axis=1)


def _leaf(name: str) -> Callable[[Sequence[Any], int], np.ndarray]:
    return lambda arrays, first_event: _without_axis_of_one(arrays[0][name])


def _number_of_list(where: str, index: int, length: int) -> Callable[[Sequence[Any], int], np.ndarray]:
    """One number of lists that all have the same length."""

    def convert(arrays: Sequence[Any], first_event: int) -> np.ndarray:
        import awkward

        lengths = awkward.num(arrays[0], axis=1).to_numpy()
        bad = np.flatnonzero(lengths != length)
        if bad.size:
            raise DataError(
                f"{where}: {lengths[bad[0]]} particles in event {first_event + int(bad[0])}, and {length} in the first\n"
                " fix: write events of one final state to a file"
            )
        return awkward.to_numpy(arrays[0][:, index])

    return convert


def _lists(where: str) -> Callable[[Sequence[Any], int], np.ndarray]:
    def convert(arrays: Sequence[Any], first_event: int) -> np.ndarray:
        import awkward

        lengths, values = awkward.num(arrays[0], axis=1), awkward.flatten(arrays[0], axis=1)
        return fours_of_lists(values.to_numpy(), lengths.to_numpy(), where, first_event)

    return convert
