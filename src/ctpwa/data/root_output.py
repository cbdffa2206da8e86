"""ROOT files with histograms, trees and texts, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.base.output import written_whole
from ctpwa.data.options import FilePath

BASKET = 1 << 16  # events that are collected before they are written


class RootOutput:
    """An open file. Names may contain ``/``, which makes folders.

    Args:
        file:  what uproot writes to
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def histogram(
        self, name: str, title: str, axis: str, edges: np.ndarray, values: np.ndarray, variances: np.ndarray | None = None
    ) -> None:
        """A TH1D with bins of one width; with ``variances`` it gets its own errors, Sumw2.

        Args:
            name:       where it goes
            title:      of the histogram
            axis:       title of its axis
            edges:      of the bins, [bin + 1]
            values:     [bin]
            variances:  [bin]
        """
        from uproot.writing.identify import to_TAxis, to_TH1x

        centres, w2 = (edges[1:] + edges[:-1]) / 2, values if variances is None else variances
        self._file[name] = to_TH1x(
            name.rpartition("/")[2],
            title,
            _with_outside(values),
            float(len(values)),
            float(values.sum()),
            float(w2.sum()),
            float((values * centres).sum()),
            float((values * centres**2).sum()),
            np.zeros(0) if variances is None else _with_outside(variances),
            to_TAxis("xaxis", axis, len(values), float(edges[0]), float(edges[-1])),
            to_TAxis("yaxis", "events", 1, 0.0, 1.0),
        )

    def histogram2d(self, name: str, title: str, axes: tuple[str, str], edges: tuple[np.ndarray, np.ndarray], values: np.ndarray) -> None:
        """A TH2D of values [x bin, y bin] with cells of one size."""
        from uproot.writing.identify import to_TAxis, to_TH2x

        x, y = ((own[1:] + own[:-1]) / 2 for own in edges)
        along_x, along_y = values.sum(axis=1), values.sum(axis=0)
        self._file[name] = to_TH2x(
            name.rpartition("/")[2],
            title,
            np.pad(values, 1).T.ravel(),
            float(values.size),
            float(values.sum()),
            float(values.sum()),
            float((along_x * x).sum()),
            float((along_x * x**2).sum()),
            float((along_y * y).sum()),
            float((along_y * y**2).sum()),
            float(x @ values @ y),
            np.zeros(0),
            to_TAxis("xaxis", axes[0], len(x), float(edges[0][0]), float(edges[0][-1])),
            to_TAxis("yaxis", axes[1], len(y), float(edges[1][0]), float(edges[1][-1])),
            to_TAxis("zaxis", "", 1, 0.0, 1.0),
        )

    def tree(self, name: str, columns: Sequence[str], rows: Iterator[Mapping[str, np.ndarray]], basket: int = BASKET) -> int:
        """A TTree of doubles, in the order in which they come; returns how many rows it has.

        Args:
            name:     where it goes
            columns:  names of the branches
            rows:     branch → numbers, for some rows at a time
            basket:   rows that are collected before they are written
        """
        tree = self._file.mktree(name, dict.fromkeys(columns, "float64"))
        waiting: list[Mapping[str, np.ndarray]] = []
        n_waiting = n_rows = 0

        def write() -> None:
            nonlocal n_waiting
            if waiting:
                tree.extend({column: np.concatenate([part[column] for part in waiting]) for column in columns})
            waiting.clear()
            n_waiting = 0

        for part in rows:
            waiting.append(part)
            n_waiting += len(part[columns[0]])
            n_rows += len(part[columns[0]])
            if n_waiting >= basket:
                write()
        write()
        return n_rows

    def text(self, name: str, text: str) -> None:
        """A TObjString."""
        self._file[name] = text


@contextmanager
def root_output(path: FilePath) -> Iterator[RootOutput]:
    """A new ROOT file; what was at ``path`` before stays there until the new one is complete.

    Args:
        path:  ends with .root
    """
    import uproot

    if not str(path).endswith(".root"):
        raise DataError(f"cannot write {str(path)!r} as a ROOT file\n fix: give a name that ends with .root")
    with written_whole(path) as temporary, uproot.recreate(temporary, compression=uproot.ZSTD(3)) as file:
        yield RootOutput(file)


def _with_outside(values: np.ndarray) -> np.ndarray:
    """Bins with those for under- and overflow, which are empty."""
    return np.pad(np.asarray(values, dtype=np.float64), 1)
