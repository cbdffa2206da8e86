"""The events of a sample with other weights: spin amplitudes and event tables stay where they are."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ctpwa.engine.samples.sample import Sample
from ctpwa.engine.samples.stored_sample import SampleSource, StoredSample, WeightSums


@dataclass(frozen=True)
class Reweighted:
    """Events of which some pass through the device, and get their weights there.

    Attributes:
        source:    the events with their own weights
        resident:  those that lie on the device, with the new weights
        passing_weights:  of all others, in the order in which they come
        weights:   sums over the new weights of all
    """

    source: StoredSample
    resident: tuple[Sample, ...]
    passing_weights: tuple[Tensor, ...]
    weights: WeightSums

    @property
    def streams(self) -> bool:
        """Some of its events are not on the device."""
        return True

    def passing(self) -> Generator[Sample]:
        """See ``SampleSource``."""
        with closing(self.source.passing()) as samples:
            for sample, w in zip(samples, self.passing_weights, strict=True):
                yield _reweighted(sample, w.to(sample.w.device))


def reweighted(source: StoredSample, w: Tensor) -> SampleSource:
    """The same events with other weights.

    Args:
        source:  the events
        w:       one weight for each, in the order of the input
    """
    done, resident, passing = 0, [], []
    for sample in source.resident:
        own = w[done : done + sample.n_events].to(sample.w.device)
        resident.append(_reweighted(sample, own if sample.order is None else own[sample.order]))
        done += sample.n_events
    for chunk, order in zip(source.chunks, source.orders(), strict=True):
        own = w[done : done + chunk.layout.n_events]
        passing.append(own if order is None else own[order])
        done += chunk.layout.n_events
    if not passing:
        return StoredSample.on_device(resident, source.streamer)
    return Reweighted(source, tuple(resident), tuple(passing), WeightSums.of(w))


def _reweighted(sample: Sample, w: Tensor) -> Sample:
    """A sample with weights in its own order; events move only if some of them have negative weights."""
    negative = w < 0
    if not bool(negative.any()):
        return replace(sample, w=w, n_positive=len(w))
    order = torch.argsort(negative.to(torch.int8), stable=True)
    return sample.picked(order, w[order], order if sample.order is None else sample.order[order])
