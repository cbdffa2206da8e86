"""From the events of this process to stored samples: spin amplitudes and event tables are computed once, and put where the plan says."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.memory import processes_here
from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE
from ctpwa.base.turns import in_turn
from ctpwa.data.density import Density, checked_density, is_estimated
from ctpwa.data.resolution import Resolution
from ctpwa.data.stream import Piece
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.build import PROBE_EVENTS, original_order, sample_of
from ctpwa.engine.samples.chunk_bytes import ChunkLayout
from ctpwa.engine.samples.memory_plan import MemoryPlan, Placement
from ctpwa.engine.samples.own_events import Share
from ctpwa.engine.samples.sample import CHUNK_EVENTS, Sample
from ctpwa.engine.samples.scratch_file import ScratchFile, check_scratch
from ctpwa.engine.samples.stored_sample import StoredSample, WeightSums
from ctpwa.engine.samples.streamer import Chunk, Streamer
from ctpwa.spin.reaction import RefusedEventError
from ctpwa.spin.rotate import RowsNeeded
from ctpwa.spin.stage import SpinStage

HAPPENED = ("phase space", "truth")  # samples of what happened, not of what was measured: each event is one point


@dataclass(frozen=True)
class Preparation:
    """Prepares samples for the kernels.

    Attributes:
        plan:      the tables of the model
        memory:    where to keep what
        streamer:  brings chunks to the device later
        stage:     computes spin amplitudes, in the rows that are kept
        densities: those that are added to the intensity, with their names
        resolution: makes several points of every event that a logarithm is taken of; None: each is one
    """

    plan: Plan
    memory: MemoryPlan
    streamer: Streamer
    stage: SpinStage
    densities: tuple[tuple[str, Density], ...] = ()
    resolution: Resolution | None = None

    def stored(self, shares: Mapping[str, Share], progress: bool | None) -> dict[str, StoredSample]:
        """All samples that are kept."""
        if self.memory.disk:
            check_scratch(self.memory.scratch, self.memory.disk * processes_here())
        return {name: self._stored(shares[name], placed, progress) for name, placed in self.memory.placed.items()}

    def _stored(self, share: Share, placed: Placement, progress: bool | None) -> StoredSample:
        result = StoredSample(self.streamer)
        size = self.memory.chunk_events
        if size is None:
            result.keep(self._whole(share, progress))
            return result
        file = ScratchFile(self.memory.scratch) if placed.disk else None
        done, k = 0, points_of(self.resolution, share.name)
        with Progress(f"preparing {share.name}", share.part.count, show=progress) as bar:
            for piece in share.pieces(max(size // k, 1)):
                sample = self.sample(share.name, piece.n_events, [piece], False, first=done)
                done += sample.n_events
                if k * done <= placed.device:
                    result.keep(sample)
                else:
                    result.add(self._chunk(sample, None if k * done <= placed.device + placed.host else file), WeightSums.of(sample.w))
                bar.advance(sample.n_events)
        return result

    def _whole(self, share: Share, progress: bool | None) -> Sample:
        """A sample on the device, in one piece; its momenta come in several if they are elsewhere."""
        n = share.part.count
        if share.stream is None and self.stage.device.type == "cpu":
            return self.sample(share.name, n, share.pieces(max(n, 1)), progress)
        return self.sample(share.name, n, share.pieces(self._piece_events(share, CHUNK_EVENTS)), progress)

    def _piece_events(self, share: Share, about: int) -> int:
        """Events of a piece of a sample that comes in several: whole chunks of the spin amplitudes, where they are no longer than it."""
        k, n = points_of(self.resolution, share.name), share.part.count
        if n <= about:
            return max(n, 1)
        one = share.first(1)
        chunk = max(self.stage.chunk_events(one.p4, one.columns) // k, 1)
        return about // chunk * chunk or about

    def _chunk(self, sample: Sample, file: ScratchFile | None) -> Chunk:
        """A sample in main memory, or in a file."""
        layout = ChunkLayout.of(sample)
        if file is None:
            block = self.streamer.host_block(layout.size)
            layout.pack(sample, block)
            return Chunk(layout, block)
        block = torch.zeros(layout.size, dtype=torch.uint8)
        layout.pack(sample, block)
        return Chunk(layout, None, file, file.append(block))

    def exact_pieces(self, share: Share, progress: bool | None = False, step: int = 1) -> Generator[Sample]:
        """A sample in double precision, or one of every so many of its events, piece by piece on the device; nothing of it is kept."""
        share, done = share.thinned(step, ONE), 0
        with Progress(f"integrating {share.name}", share.part.count, show=progress) as bar:
            about = max(self.memory.piece_events // points_of(self.resolution, share.name), 1)
            for piece in share.pieces(self._piece_events(share, about)):
                sample = self.sample(share.name, piece.n_events, [piece], False, exact=True, first=done)
                yield sample
                done += sample.n_events
                bar.advance(sample.n_events)
                del sample  # before the next one takes as much again

    @in_turn
    def sample(
        self, name: str, n_events: int, pieces: Iterable[Piece], progress: bool | None, *, exact: bool = False, first: int = 0
    ) -> Sample:
        """Events on the device, or what is wrong with them; see ``sample_of``."""
        resolution = None if name in HAPPENED else self.resolution
        positive = name == "data" and resolution is None
        added = [partial(_density, density, own, name, positive and is_estimated(density)) for own, density in self.densities]
        separate = self.memory.separate
        prepare = partial(sample_of, self.stage, self.plan, exact=exact, one_weight=separate, first=first, added=added)
        try:
            sample = prepare(n_events, pieces, progress, resolution=resolution)
        except RefusedEventError as error:
            raise DataError(f"{name}: {error}") from None
        except RowsNeeded:
            raise DataError(
                f"some events need more rows of spin amplitudes than the {self.plan.n_rows} that the first {PROBE_EVENTS} of each sample"
                " need\n fix: shuffle the samples so that their first events are typical"
            ) from None
        if name == "data" and sample.v is not None:
            self._check_smeared(sample, name, first)
        return sample

    def _check_smeared(self, sample: Sample, name: str, first: int) -> None:
        """Refuse densities that are estimated and 0 at all points of a measured event."""
        for b, (own, density) in enumerate(self.densities):
            if is_estimated(density):
                checked_density(original_order(added_values(sample, self.plan, b), sample.order), own, name, first, positive=True)


def added_values(sample: Sample, plan: Plan, b: int) -> Tensor:
    """An added density at the events of a sample, in their order there: the sum over the points of each."""
    values = sample.E[plan.added_row + b]
    return values if sample.v is None else (values.view(sample.v.shape) * sample.v).sum(dim=1)


def points_of(resolution: Resolution | None, sample: str) -> int:
    """How many points the events of a sample have."""
    return 1 if resolution is None or sample in HAPPENED else resolution.n_points


def _density(density: Density, name: str, sample: str, positive: bool, piece: Piece, first: int) -> Tensor:
    """The density of a background at some events of a sample, of which ``first`` is the number of the first."""
    try:
        values = density(piece)
    except DataError as error:
        what = "" if f"background {name!r}" in str(error) else f"density of background {name!r}: "
        after = f" after the first {first} events" if first else ""
        raise DataError(f"{sample}{after}: {what}{error}") from None
    return checked_density(values, name, sample, first, positive=positive)
