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
from ctpwa.data.stream import picked_events
from ctpwa.observables.projections import event_weights
from ctpwa.studies.bin_axes import BinAxis, bin_numbers


@dataclass(frozen=True, eq=False)
class BinnedSamples:
    """The samples of an analysis, and in which bin every event is.

    Attributes:
        analysis:  model, samples and settings; of one data set
        axes:      what the bins are of
    """

    analysis: Analysis
    axes: tuple[BinAxis, ...]
    progress: bool | None = None
    _kept: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def samples(self) -> SampleSet:
        """All events, in main memory."""
        read = self.analysis.read(progress=self.progress)
        phase_space, truth = picked_events(read.phase_space, None), None if read.truth is None else picked_events(read.truth, None)
        accepted = float(event_weights(phase_space).sum())
        everything = None if truth is None else float(event_weights(truth).sum())
        if everything is not None and accepted > everything * (1 + 1e-9):
            raise DataError(
                f"the weights of phase space add up to {accepted:.6g}, and those of its truth to {everything:.6g}\n"
                " fix: give all generated events as truth, of which phase space has those that are accepted; or leave truth out"
            )
        return replace(read, data=picked_events(read.data, None), phase_space=phase_space, truth=truth)

    @property
    def corrected(self) -> bool:
        """Whether generated events are known, so that numbers of events are corrected for acceptance."""
        return self.samples.truth is not None

    def _numbers(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Events of a sample in the order of their bins, and where each bin begins."""
        if kind not in self._kept:
            events = getattr(self.samples, kind)
            own = bin_numbers(self.axes, events, self.analysis.model)
            order = np.argsort(own, kind="stable")
            size = math.prod(axis.n for axis in self.axes)
            self._kept[kind] = order, np.searchsorted(own[order], np.arange(size + 1))
        return self._kept[kind]

    def check_not_empty(self) -> None:
        """Refuse bins that are elsewhere than all measured events."""
        data, model = picked_events(self.samples.data, None), self.analysis.model
        if (bin_numbers(self.axes, data, model) >= 0).any():
            return
        ranges = [(axis, axis.values(data, model)) for axis in self.axes]
        where = " and ".join(f"{axis.text} between {values.min():.4g} and {values.max():.4g}" for axis, values in ranges)
        raise DataError(f"none of the {counted(data.n_events, 'measured event')} is in any bin\n fix: they have {where}: give bins there")

    def of_bin(self, number: int) -> SampleSet:
        """The events of one bin.

        Args:
            number:  of the bin among all of them
        """
        own = self.samples
        background, truth = self._picked("background", number), self._picked("truth", number)
        if background is not None and not background.n_events:
            background = None
        data, phase_space = self._picked("data", number), self._picked("phase_space", number)
        assert data is not None
        assert phase_space is not None
        return replace(own, data=data, phase_space=phase_space, background=background, truth=truth)

    def _picked(self, kind: str, number: int) -> Events | None:
        events: Events | None = getattr(self.samples, kind)
        if events is None:
            return None
        order, begins = self._numbers(kind)
        return events.picked(torch.from_numpy(order[begins[number] : begins[number + 1]]))
