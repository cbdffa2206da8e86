"""Runs the fits of a study: those that are missing, one after the other, each kept as soon as it has ended.

Several processes (``torchrun``) share the fits: each has all events and takes every so many chains.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TypedDict

from ctpwa.analysis.analysis import Analysis
from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import DataError
from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.studies.about import About
from ctpwa.studies.baseline import Baseline, baseline
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.store import StudyStore, remove_study


class RunOptions(TypedDict, total=False):
    """How any study is run.

    Attributes:
        path:      a Parquet file for finished fits; a study that is in it goes on. Default: none is written; several processes need one
        engine:    ``auto``, or a backend such as ``cuda``, ``cpu`` or ``reference``; default: that of the model file
        device:    where to compute; default: that of the model file
        progress:  show progress bars; default: on a terminal when it takes more than two seconds
        ranks:     processes that share the fits; default: this one alone
        force:     start over: what the file holds of an earlier study is removed
    """

    path: str | os.PathLike[str] | None
    engine: str | None
    device: str | None
    progress: bool | None
    ranks: Ranks
    force: bool


@dataclass(frozen=True)
class FitTask:
    """A fit that has to be done.

    Attributes:
        key:  which of the fits of a study it is
        run:  does it; is given what the fit before it in its chain has found, None for the first
    """

    key: str
    run: Callable[[FitRecord | None], FitRecord]


Chain = Sequence[FitTask]  # fits of which each may begin where the one before it ended


class StudyRun:
    """A study while it runs. At the end of the block all fits are in the file; after an error or an interruption those that had ended.

    Args:
        opened:   the fit that it is of; or an analysis, if it is of no fit
        about:    what it is
        options:  how to run it

    Attributes:
        store:   the finished fits
        engine:  which computes, as it was asked for or as the model file says
        device:  where to compute, likewise
    """

    def __init__(self, opened: OpenedFit | Analysis, about: About, options: RunOptions) -> None:
        path = None if options.get("path") is None else Path(str(options["path"]))
        settings = opened.settings if isinstance(opened, Analysis) else opened.analysis.settings
        self._opened = opened
        self.engine, self.device = options.get("engine") or settings.engine, options.get("device") or settings.device
        self.ranks, self.progress = options.get("ranks", ONE), options.get("progress")
        if path is None and self.ranks.size > 1:
            raise DataError("several processes share a study through its file\n fix: give  path='model.toys.parquet',  or another name")
        if path is not None and options.get("force"):
            self.ranks.on_first(lambda: remove_study(path))
        self.store = StudyStore(about, path, rank=self.ranks.rank)

    def __enter__(self) -> StudyRun:
        self.store.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.ranks.on_first(self.store.finish)
        self.store.__exit__(kind, error, trace)

    @property
    def opened(self) -> OpenedFit:
        """The fit that it is of."""
        assert isinstance(self._opened, OpenedFit)
        return self._opened

    @cached_property
    def baseline(self) -> Baseline:
        """The fit with its likelihood; made when it is needed, which it is not if no fit is missing."""
        return baseline(self.opened, engine=self.engine, device=self.device, progress=self.progress)

    @cached_property
    def intensity(self) -> ModelIntensity:
        """The fitted model."""
        return self.opened.intensity(self.engine, self.device)

    def has(self, keys: Sequence[str]) -> bool:
        """Whether all of these fits are done."""
        return all(key in self.store.records for key in keys)

    def fits(self, chains: Sequence[Chain], title: str) -> None:
        """Do all fits that are missing.

        Args:
            chains:  the fits; chains do not depend on each other, and several processes share them
            title:   of the progress bar
        """
        ranks, store = self.ranks, self.store
        own = [chain for number, chain in enumerate(chains) if number % ranks.size == ranks.rank]
        with Progress(title, sum(map(len, own)), show=self.progress if ranks.first else False) as bar:
            bar.done = sum(task.key in store.records for chain in own for task in chain)
            for chain in own:
                before: FitRecord | None = None
                for task in chain:
                    if task.key not in store.records:
                        store.add(task.run(before))
                        bar.advance(1)
                    before = store.records[task.key]
        ranks.on_first(lambda: None)  # what the others have found is complete
        store.join_journals()
