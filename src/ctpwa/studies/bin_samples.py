"""The samples of an analysis, cut into bins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from ctpwa.analysis.analysis import Analysis
from ctpwa.analysis.sample_sets import SampleSet
from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.events import Events
from ctpwa.data.resolution import Resolution
from ctpwa.data.stream import Piece, picked_events
from ctpwa.observables.projections import event_weights
from ctpwa.studies.bin_axes import BinAxis, bin_numbers

FIRST = 1000  # events that are looked at
UNSHARP = 0.25  # of the width of a bin: events that are measured worse may be of another one


@dataclass(frozen=True, eq=False)
class BinnedSamples:
    """The samples of an analysis, and in which bin every event is.

    Attributes:
        analysis:  model, samples and settings
        axes:      what the bins are of
    """

    analysis: Analysis
    axes: tuple[BinAxis, ...]
    progress: bool | None = None
    _kept: dict[tuple[int, str], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def samples(self) -> tuple[SampleSet, ...]:
        """All events of all data sets, in main memory."""
        found = tuple(self._read(own.name) for own in self.analysis.data_sets)
        with_truth = [own.truth is not None for own in found]
        if any(with_truth) and not all(with_truth):
            name, other = found[with_truth.index(True)].name, found[with_truth.index(False)].name
            raise DataError(
                f"{name!r} has a truth sample or an efficiency, and {other!r} has none: numbers of events would be corrected for acceptance"
                " in part\n fix: give all data sets one, or none"
            )
        return found

    def _read(self, name: str) -> SampleSet:
        read = self.analysis.read(name, progress=self.progress)
        phase_space, truth = picked_events(read.phase_space, None), None if read.truth is None else picked_events(read.truth, None)
        accepted = float(event_weights(phase_space).sum())
        everything = None if truth is None else float(event_weights(truth).sum())
        if everything is not None and accepted > everything * (1 + 1e-9):
            raise DataError(
                f"{prefix(name)}the weights of phase space add up to {accepted:.6g}, and those of its truth to {everything:.6g}\n"
                " fix: give all generated events as truth, of which phase space has those that are accepted; or leave truth out"
            )
        found = replace(read, data=picked_events(read.data, None), phase_space=phase_space, truth=truth)
        if found.resolution is not None:
            self._check_sharp(found, found.resolution)
        return found

    def _check_sharp(self, own: SampleSet, resolution: Resolution) -> None:
        """Refuse bins of what is hardly known better than they are wide."""
        assert isinstance(own.data, Events)
        events, labels = own.data.picked(slice(0, FIRST)), self.analysis.model.decay.labels
        points = resolution.points(Piece([events[label] for label in labels], None, dict(events.columns)))
        of_points = Events(dict(zip(labels, points.piece.p4, strict=True)), None, dict(points.piece.columns))
        v = points.v.cpu().numpy()
        v = v / v.sum(axis=1, keepdims=True)
        for axis in self.axes:
            x = axis.values(of_points, self.analysis.model).reshape(v.shape)
            mean = (v * x).sum(axis=1, keepdims=True)
            spread, narrowest = float(np.sqrt((v * (x - mean) ** 2).sum(axis=1).mean())), float(np.diff(axis.edges).min())
            if spread > UNSHARP * narrowest:
                raise DataError(
                    f"{prefix(own.name)}{axis.text} is measured to {spread:.2g}, and bins are {narrowest:.2g} wide: events are in wrong"
                    f" bins, which a resolution does not correct\n fix: make bins {spread / UNSHARP:.2g} wide or more, or take another"
                    " variable"
                )

    @property
    def corrected(self) -> bool:
        """Whether generated events are known, so that numbers of events are corrected for acceptance."""
        return all(own.truth is not None for own in self.samples)

    def _numbers(self, k: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Events of a sample of data set k in the order of their bins, and where each bin begins."""
        if (k, kind) not in self._kept:
            events = getattr(self.samples[k], kind)
            own = bin_numbers(self.axes, events, self.analysis.model)
            order = np.argsort(own, kind="stable")
            size = math.prod(axis.n for axis in self.axes)
            self._kept[k, kind] = order, np.searchsorted(own[order], np.arange(size + 1))
        return self._kept[k, kind]

    def check_not_empty(self) -> None:
        """Refuse bins that are elsewhere than all measured events of a data set."""
        model = self.analysis.model
        for k, own in enumerate(self.samples):
            begins, data = self._numbers(k, "data")[1], own.data
            if begins[-1] > begins[0]:  # events of no bin come first
                continue
            assert isinstance(data, Events)
            ranges = [(axis, axis.values(data, model)) for axis in self.axes]
            where = " and ".join(f"{axis.text} between {values.min():.4g} and {values.max():.4g}" for axis, values in ranges)
            raise DataError(
                f"{prefix(own.name)}none of the {counted(data.n_events, 'measured event')} is in any bin"
                f"\n fix: they have {where}: give bins there"
            )

    def of_bin(self, number: int) -> tuple[SampleSet, ...]:
        """The events of one bin, of every data set.

        Args:
            number:  of the bin among all of them
        """
        return tuple(self._of_data_set(k, number) for k in range(len(self.samples)))

    def _of_data_set(self, k: int, number: int) -> SampleSet:
        background, truth = self._picked(k, "background", number), self._picked(k, "truth", number)
        if background is not None and not background.n_events:
            background = None
        data, phase_space = self._picked(k, "data", number), self._picked(k, "phase_space", number)
        assert data is not None
        assert phase_space is not None
        return replace(self.samples[k], data=data, phase_space=phase_space, background=background, truth=truth)

    def _picked(self, k: int, kind: str, number: int) -> Events | None:
        events: Events | None = getattr(self.samples[k], kind)
        if events is None:
            return None
        order, begins = self._numbers(k, kind)
        return events.picked(torch.from_numpy(order[begins[number] : begins[number + 1]]))


def prefix(name: str) -> str:
    """The name of a data set before what is said of it; nothing if there is only one."""
    return f"{name}: " if name else ""
