"""Where the events of a sample lie: on the engine's device, or in chunks in main memory and on disk that pass through it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from ctpwa.engine.samples.sample import Sample
from ctpwa.engine.samples.streamer import Chunk, Streamer


class SampleSource(Protocol):
    """The events of a sample, whenever they are wanted."""

    @property
    def resident(self) -> Sequence[Sample]:
        """Those that lie on the device."""

    @property
    def streams(self) -> bool:
        """Whether there are others."""

    def passing(self) -> Generator[Sample]:
        """The others: on the device one after the other, each until the next is asked for. Close it if it is not read to its end."""


@dataclass(frozen=True)
class WeightSums:
    """Sums over the weights of a sample.

    Attributes:
        total:     Σ w
        absolute:  Σ |w|
        squared:   Σ w²
        unequal:   how many are not 1
    """

    total: float = 0.0
    absolute: float = 0.0
    squared: float = 0.0
    unequal: int = 0

    @classmethod
    def of(cls, w: torch.Tensor) -> WeightSums:
        """Of weights [event]."""
        if len(w) and w.stride(0) == 0:  # all are the same number
            one, n = float(w[0]), len(w)
            return cls(n * one, n * abs(one), n * one**2, n * (one != 1))
        return cls(float(w.sum()), float(w.abs().sum()), float(w.square().sum()), int((w != 1).sum()))

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(
            self.total + other.total, self.absolute + other.absolute, self.squared + other.squared, self.unequal + other.unequal
        )


class StoredSample:
    """A sample that was prepared once.

    Args:
        streamer:  brings chunks to the device

    Attributes:
        resident:  events on the device, the first ones of the sample
        chunks:    all others
        weights:   sums over the weights of all
    """

    def __init__(self, streamer: Streamer) -> None:
        self.streamer = streamer
        self.resident: list[Sample] = []
        self.chunks: list[Chunk] = []
        self.weights = WeightSums()

    @classmethod
    def on_device(cls, samples: Sequence[Sample], streamer: Streamer) -> StoredSample:
        """A sample in pieces that all lie on the device."""
        stored = cls(streamer)
        for sample in samples:
            stored.keep(sample)
        return stored

    def keep(self, sample: Sample) -> None:
        """Add events that lie on the device."""
        self.resident.append(sample)
        self.weights = self.weights + WeightSums.of(sample.w)

    def add(self, chunk: Chunk, weights: WeightSums) -> None:
        """Add events that lie elsewhere."""
        self.chunks.append(chunk)
        self.weights = self.weights + weights

    @property
    def n_events(self) -> int:
        """Number of events."""
        return sum(sample.n_events for sample in self.resident) + sum(chunk.layout.n_events for chunk in self.chunks)

    @property
    def streams(self) -> bool:
        """Whether some events are not on the device."""
        return bool(self.chunks)

    def passing(self) -> Generator[Sample]:
        """See ``SampleSource``."""
        return self.streamer.samples(self.chunks) if self.chunks else _nothing()

    def wherever(self) -> Generator[Sample]:
        """All events in the order of the input, with their order, on the device or in main memory; each until the next is asked for."""
        yield from self.resident
        yield from self.streamer.host_samples(self.chunks)

    def orders(self) -> Iterator[torch.Tensor | None]:
        """The order of the events of every chunk, in main memory."""
        return self.streamer.orders(self.chunks)


def _nothing() -> Generator[Sample]:
    yield from ()
