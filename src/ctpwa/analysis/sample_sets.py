"""The samples of a data set of a model file: from where they are to events, densities and efficiencies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ctpwa.base.errors import DataError
from ctpwa.base.memory import available_bytes, processes_here
from ctpwa.base.ranks import Ranks
from ctpwa.base.timing import phase
from ctpwa.config.samples import SIDEBAND, event_sources
from ctpwa.config.sources import BackgroundSource, DataSet, EfficiencySource, FileSource, GeneratedSource, Source
from ctpwa.data.checks import SampleChecks, is_positive_total, joined_weights, weight_range
from ctpwa.data.density import Density, Flat, InColumn
from ctpwa.data.event_files import EventFiles, open_files
from ctpwa.data.events import Events, concatenate
from ctpwa.data.located import TEXT
from ctpwa.data.options import CHUNK
from ctpwa.data.resolution import GivenPoints, Resolution, group_points
from ctpwa.data.stream import EventStream, JoinedStream
from ctpwa.data.summary import FileRecord, SampleSummary, WeightSummary, grouped
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.generate.importance import sample_phase_space
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.generate.room import check_count
from ctpwa.model.model import Model
from ctpwa.observe.densities import HistogramDensity, formula_density, read_density, sideband_density
from ctpwa.observe.efficiency import (
    COLUMN,
    ColumnEfficiency,
    Efficiency,
    EfficientStream,
    PossibleStream,
    check_possible,
    formula_efficiency,
    read_efficiency,
    summary_with,
    with_efficiency,
    without_column,
)
from ctpwa.observe.mass_resolution import named
from ctpwa.observe.sideband_model import SidebandModel, fit_sideband

MEASURED = ("data", "background")
STREAMED = ("data", "phase_space", "truth")  # samples that may be read in pieces
MOMENTA_FRACTION = 0.25  # of the main memory that momenta may take; what is computed from them has to find room as well
SamplePart = Events | EventFiles | EfficientStream


@dataclass(frozen=True)
class SampleSet:
    """The samples of one data set, read.

    Attributes:
        name:         of the data set; empty if there is only one
        data:         measured events
        phase_space:  events for the normalisation
        background:   events whose contribution is subtracted; None if there are none
        truth:        phase space before acceptance: as given, or without its efficiency; None if it has none
        sources:      where they come from, in the order data, phase space, background, truth, sidebands of backgrounds
        backgrounds:  backgrounds in the data as densities
        resolution:   how exactly data and background are measured; None: exactly
        conjugate:    whether the events are those of the charge-conjugate decay, under CP

    Samples in files that are too large for main memory are streams of events.
    """

    name: str
    data: Events | EventStream
    phase_space: Events | EventStream
    background: Events | None
    truth: Events | EventStream | None
    sources: tuple[SamplePart, ...]
    backgrounds: tuple[Background, ...] = ()
    resolution: Resolution | None = None
    conjugate: bool = False

    @property
    def summaries(self) -> tuple[SampleSummary, ...]:
        """One for each source, and for each histogram and model of a background; files that nobody has read to their end yet are read now.

        All ranks must ask for it.
        """
        read = [source.summary for source in self.sources if source.summary is not None]
        return (*read, *(summary for own in self.backgrounds if (summary := _density_summary(own.name, own.density)) is not None))


@dataclass(frozen=True)
class DataSetReader:
    """Reads or generates the samples of data sets; with several ranks the part of this one.

    Attributes:
        model:        what the samples belong to
        ranks:        processes that share them
        host_memory:  bytes of main memory that those of one data set may take; None: what is free
        proposal:     along whose resonances phase space is generated; None: those of the model
    """

    model: Model
    ranks: Ranks
    host_memory: int | None
    proposal: Model | None = None

    def read(self, data_set: DataSet, progress: bool | None) -> SampleSet:
        """All samples of a data set."""
        samples, sources = self.read_kinds(data_set, [kind for kind, _, _ in event_sources(data_set)], progress)
        background = samples.get("background")
        assert background is None or isinstance(background, Events)
        backgrounds = self.backgrounds(data_set, samples)
        own = (samples["data"], samples["phase_space"], background, samples.get("truth"))
        return SampleSet(data_set.name, *own, sources, backgrounds, data_set.resolution, data_set.conjugate)

    def read_kinds(
        self, data_set: DataSet, kinds: Collection[str], progress: bool | None
    ) -> tuple[dict[str, Events | EventStream], tuple[SamplePart, ...]]:
        """Samples of some kinds, phase space among them, and their sources."""
        wanted = [(kind, source, name) for kind, source, name in event_sources(data_set) if kind in kinds]
        for _, source, name in wanted:
            if isinstance(source, GeneratedSource):  # before anything is read
                check_count(source.n_events, source.seed, len(self.model.decay.labels), torch.device("cpu"), self.ranks.size, name)
        in_pieces, resolution = self._too_large(wanted, data_set.conjugate), data_set.resolution
        rows = resolution.n_points if isinstance(resolution, GivenPoints) else 1
        read: dict[str, list[SamplePart]] = {}
        for kind, source, name in wanted:
            whole = rows > 1 and kind in MEASURED
            part = self._source(source, name, progress, in_pieces and kind in STREAMED and not whole, data_set.conjugate)
            measured = self._with_points(part, rows, name) if whole else part
            read.setdefault(kind, []).append(self._with_note(measured, resolution) if kind in MEASURED else part)
        before = _joined([without_column(part) if isinstance(part, Events) else part for part in read["phase_space"]])
        pairs = list(zip(data_set.phase_space, read["phase_space"], strict=True))
        read["phase_space"] = self.ranks.together(lambda: [self._efficient(source, part) for source, part in pairs])
        samples = {kind: _joined(parts) for kind, parts in read.items()}
        if any(source.efficiency is not None for source, _ in pairs):
            samples.setdefault("truth", before)
        for kind, sample in samples.items():
            self._check_total(kind, sample, data_set.name, efficient=kind == "phase_space" and samples.get("truth") is before)
        if resolution is None and "data" in samples:  # what was smeared may be where nothing is measured
            samples["data"] = self._possible(samples["data"], [source.efficiency for source in data_set.phase_space], data_set.name)
        return samples, tuple(part for parts in read.values() for part in parts)

    def backgrounds(self, data_set: DataSet, samples: Mapping[str, Events | EventStream]) -> tuple[Background, ...]:
        """The backgrounds of a data set, from those of its samples that they need."""
        return tuple(
            Background(own.name, self._density(own, samples, data_set.name), own.fraction, own.floating) for own in data_set.backgrounds
        )

    def _with_note(self, part: SamplePart, resolution: Resolution | None) -> SamplePart:
        """A sample whose summary says how exactly it is measured; that of files read in pieces is not known yet."""
        if resolution is None or not isinstance(part, Events) or part.summary is None:
            return part
        masses = named(resolution, self.model.decay.labels)
        note = f"{resolution.n_points} points of each event" + (f", which smear {masses}" if masses else "")
        return replace(part, summary=replace(part.summary, notes=(*part.summary.notes, note)))

    def _with_points(self, part: SamplePart, rows: int, name: str) -> Events:
        """Events of which each is so many rows of files."""
        if self.ranks.size > 1:
            raise DataError(f"{name}: several processes cannot share rows of which {rows} are an event\n fix: run one process")
        assert isinstance(part, Events)
        return group_points(replace(part, part=None), rows, name)

    def _density(self, background: BackgroundSource, samples: Mapping[str, Events | EventStream], data_set: str) -> Density:
        """The density of a background; that of sideband events needs them and phase space."""
        what, source, decay = f"{data_set} background {background.name!r}".lstrip(), background.density, self.model.decay
        if source.formula is not None:
            return formula_density(source.formula, decay)
        if source.column is not None:
            return InColumn(source.column, source.efficiency)
        path = source.histogram
        if path is not None:
            return self.ranks.together(lambda: read_density(path, decay, what))
        if source.sideband is None:
            return Flat()
        events = samples[f"{SIDEBAND} {background.name}"]
        assert isinstance(events, Events)
        if source.sideband.peaks:
            return fit_sideband(events, samples["phase_space"], source.sideband.peaks, decay, what, self.ranks)
        return sideband_density(events, samples["phase_space"], source.sideband.axes, source.sideband.smoothing, what, self.ranks)

    def _too_large(self, wanted: Sequence[tuple[str, Source, str]], conjugate: bool) -> bool:
        """Whether momenta in files would take too much of the main memory; if so on one rank, then on all."""
        files = [(source, name) for kind, source, name in wanted if kind in STREAMED and isinstance(source, FileSource)]
        room = self.host_memory
        if room is None and (free := available_bytes(torch.device("cpu"))) is not None:
            room = free // processes_here()
        if not files or room is None:
            return False
        n_events = sum(self._open(source, name, None, conjugate).n_events for source, name in files if _in_pieces(source))
        needed = 8 * (4 * len(self.model.decay.labels) + sum(column.size for column in self.model.columns)) * n_events
        return bool(self.ranks.sum(1, lambda: np.array([float(needed > MOMENTA_FRACTION * room)]), b"in pieces")[0])

    def _check_total(self, kind: str, sample: Events | EventStream, data_set: str, efficient: bool) -> None:
        """Refuse weights that add up to zero; those of a sample read in pieces are known only to the likelihood."""
        if not isinstance(sample, Events) or sample.weights is None:
            return
        w = sample.weights
        total, size = self.ranks.sum(2, lambda: np.array([float(w.sum()), float(w.abs().sum())]), f"total {kind}".encode())
        if not is_positive_total(total, size):
            why = "the background is subtracted" if kind == "background" else "negative ones may be there, but not outweigh the others"
            fix = f"give positive weights and a positive scale; {why}"
            if efficient and not size:
                fix = "check its efficiency, which is 0 at all events"
            own = f"{SIDEBAND} {kind.removeprefix(SIDEBAND).strip()!r}" if kind.startswith(SIDEBAND) else kind.replace("_", " ")
            raise DataError(f"{f'{data_set} '.lstrip()}{own}: its weights add up to {total:.6g}\n fix: {fix}")

    def _efficient(self, source: Source, part: SamplePart) -> SamplePart:
        """A source of phase space with its efficiency in the weights."""
        if source.efficiency is None:
            return part
        efficiency = self.efficiency(source.efficiency)
        if not isinstance(part, Events):
            assert isinstance(part, EventFiles)
            return EfficientStream(part, efficiency)
        assert part.summary is not None
        return replace(with_efficiency(part, efficiency), summary=summary_with(part.summary, efficiency))

    def _possible(self, data: Events | EventStream, sources: Sequence[EfficiencySource | None], data_set: str) -> Events | EventStream:
        """Measured events; refuses those where phase space has no efficiency, now or when they are read."""
        given = [source for source in sources if source is not None]
        if not given or len(given) < len(sources):
            return data
        efficiencies, name = [self.efficiency(source) for source in given], f"{data_set} data".lstrip()
        if not isinstance(data, Events):
            return PossibleStream(data, efficiencies, name)
        self.ranks.together(lambda: check_possible(data, efficiencies, name))
        return data

    def efficiency(self, source: EfficiencySource) -> Efficiency:
        """What a source says about the efficiency."""
        if source.formula is not None:
            return formula_efficiency(source.formula, self.model.decay)
        if source.histogram is not None:
            return read_efficiency(source.histogram, self.model.decay)
        assert source.column is not None
        return ColumnEfficiency(source.column)

    def _open(self, source: FileSource, name: str, progress: bool | None, conjugate: bool) -> EventFiles:
        options, model, files = source.options, self.model, dict(source.column_files)
        declared = {column.name for column in model.columns}
        if source.efficiency is not None and source.efficiency.column is not None:
            own = source.efficiency.column
            if own in files:
                files[COLUMN.name] = files[own] if own in declared else files.pop(own)
            else:
                options = replace(options, columns={**options.columns, COLUMN.name: own})
            model = replace(model, columns=(*model.columns, COLUMN))
        return open_files(
            model,
            source.files,
            source.weight_files or None,
            replace(options, column_files=files),
            scale=source.scale,
            name=name,
            progress=progress,
            ranks=self.ranks,
            conjugate=conjugate,
        )

    def _source(self, source: Source, name: str, progress: bool | None, in_pieces: bool, conjugate: bool) -> Events | EventFiles:
        """Generated phase space is the same for a decay and, under CP, for its conjugate."""
        if isinstance(source, FileSource):
            with phase("read"):
                files = self._open(source, name, progress, conjugate)
                return files if in_pieces and _in_pieces(source) else files.load()
        generate = sample_phase_space if source.proposal == "model" else generate_phase_space
        with phase("generate"):
            events = generate(
                self.proposal or self.model, source.n_events, source.seed, columns=source.columns, progress=progress, ranks=self.ranks
            )
        checks = SampleChecks(self.model.decay)
        for start in range(0, events.n_events, CHUNK):
            checks.check([p[start : start + CHUNK] for p in events.values()], start)
        weights, note = self._generated_weights(events)
        notes = (f"generated{note}, seed {source.seed}",)
        return replace(events, summary=SampleSummary(name, (), source.n_events, weights, checks.joined(self.ranks).mass, (), notes))

    def _generated_weights(self, events: Events) -> tuple[WeightSummary | None, str]:
        """The weights of generated events on all ranks, and how the events were sampled."""
        v = events.weights
        if v is None:
            return None, ""
        sums = self.ranks.sum(2, lambda: np.array([float(v.sum()), float(v.square().sum())]), b"effective number")
        effective = round(float(sums[0] ** 2 / sums[1]))
        weights = joined_weights([weight_range(v)] if len(v) else [], self.ranks)
        return weights, f" along the resonances (effective number {grouped(effective)})"


def _density_summary(name: str, density: Density) -> SampleSummary | None:
    """The file that the density of a background comes from, or what was found in sideband events; None if there is nothing to say."""
    what = f"background {name!r}"
    if isinstance(density, HistogramDensity):
        histogram = density.histogram
        return SampleSummary(what, (FileRecord(str(histogram.path), 0, histogram.sha256),), 0, notes=(f"density {histogram.name}",))
    if isinstance(density, SidebandModel):
        return SampleSummary(what, (), density.n_events, notes=(f"fitted to its sideband: {density}",))
    return None


def _in_pieces(source: FileSource) -> bool:
    """Whether any part of the files can be read without the rest."""
    return all(Path(file).suffix.lower() not in TEXT for file in source.files)


def _joined(parts: Sequence[SamplePart]) -> Events | EventStream:
    """Several sources as one sample."""
    if len(parts) == 1:
        return parts[0]
    events = [part for part in parts if isinstance(part, Events)]
    return concatenate(events) if len(events) == len(parts) else JoinedStream(parts)
