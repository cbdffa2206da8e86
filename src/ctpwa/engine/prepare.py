"""From the events of this process to stored samples: spin amplitudes and event tables are computed once, and put where the plan says."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import torch
from torch import Tensor

from ctpwa.engine.build import PROBE_EVENTS, sample_of
from ctpwa.engine.memory_plan import MemoryPlan, Placed
from ctpwa.engine.packed import Layout
from ctpwa.engine.plan import Plan
from ctpwa.engine.sample import Sample
from ctpwa.engine.scratch import ScratchFile, check_scratch
from ctpwa.engine.share import Share
from ctpwa.engine.stored import StoredSample, WeightSums
from ctpwa.engine.stream import Chunk, Streamer
from ctpwa.errors import DataError
from ctpwa.memory import processes_here
from ctpwa.model.model import Model
from ctpwa.progress import Progress
from ctpwa.spin.rotate import RowRotation, RowsNeeded


class Preparation:
    """Prepares samples for the kernels.

    Args:
        model:     the model
        plan:      its tables
        rotation:  which polarisation rows to keep
        device:    where the engine computes
        memory:    where to keep what
        streamer:  brings chunks to the device later
    """

    def __init__(
        self, model: Model, plan: Plan, rotation: RowRotation, device: torch.device, memory: MemoryPlan, streamer: Streamer
    ) -> None:
        self.model, self.plan, self.rotation, self.device = model, plan, rotation, device
        self.memory, self.streamer = memory, streamer

    def stored(self, shares: Mapping[str, Share], progress: bool | None) -> dict[str, StoredSample]:
        """All samples that are kept."""
        if self.memory.disk:
            check_scratch(self.memory.scratch, self.memory.disk * processes_here())
        return {name: self._stored(shares[name], placed, progress) for name, placed in self.memory.placed.items()}

    def _stored(self, share: Share, placed: Placed, progress: bool | None) -> StoredSample:
        result = StoredSample(self.streamer)
        size = self.memory.chunk_events or (max(share.rows.count, 1) if share.stream is None else self.memory.piece_events)
        file = ScratchFile(self.memory.scratch) if placed.disk else None
        done, whole = 0, size >= share.rows.count
        with Progress(f"preparing {share.name}", share.rows.count, show=False if whole else progress) as bar:
            for p4, weights in share.pieces(size):
                sample = self.sample(p4, weights, progress if whole else False, first=done)
                if done < placed.device:
                    result.keep(sample)
                else:
                    result.add(self._chunk(sample, None if done < placed.device + placed.host else file), WeightSums.of(sample.w))
                done += sample.n_events
                bar.advance(sample.n_events)
        return result

    def _chunk(self, sample: Sample, file: ScratchFile | None) -> Chunk:
        """A sample in main memory, or in a file."""
        layout = Layout.of(sample)
        if file is None:
            block = self.streamer.host_block(layout.size)
            layout.pack(sample, block)
            return Chunk(layout, block)
        block = torch.zeros(layout.size, dtype=torch.uint8)
        layout.pack(sample, block)
        return Chunk(layout, None, file, file.append(block))

    def exact_pieces(self, share: Share, progress: bool | None = False) -> Generator[Sample]:
        """A sample in double precision, piece by piece on the device; nothing of it is kept."""
        done = 0
        with Progress(f"integrating {share.name}", share.rows.count, show=progress) as bar:
            for p4, weights in share.pieces(self.memory.piece_events):
                yield self.sample(p4, weights, False, exact=True, first=done)
                done += len(p4[0])
                bar.advance(len(p4[0]))

    def sample(self, p4: Sequence[Tensor], w: Tensor | None, progress: bool | None, *, exact: bool = False, first: int = 0) -> Sample:
        """Events on the device.

        Args:
            p4:        momenta of the final particles, each [event, 4]
            w:         weights; None if all are 1
            progress:  show a progress bar
            exact:     K in double precision, also if the plan is for mixed precision
            first:     number of the first event, for messages
        """
        try:
            return sample_of(
                self.model,
                self.plan,
                self.rotation,
                p4,
                w,
                self.device,
                progress,
                exact=exact,
                first=first,
                chunk_bytes=self.memory.working_bytes,
            )
        except RowsNeeded:
            raise DataError(
                f"some events need more polarisation rows than the {self.plan.n_rows} that the first {PROBE_EVENTS} of each sample"
                " need\n fix: shuffle the samples so that their first events are typical"
            ) from None
