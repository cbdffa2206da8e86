"""``load_analysis``: a model file with its samples and fit settings, from the file to a likelihood and the result of a fit."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.memory import available_bytes, parse_bytes, processes_here
from ctpwa.base.ranks import ONE, Ranks, current_ranks
from ctpwa.base.words import counted
from ctpwa.config.changes import Changes
from ctpwa.config.fit_settings import FitSettings, fit_settings
from ctpwa.config.projections import projections
from ctpwa.config.read import NO_CHANGES, load_document
from ctpwa.config.resolution import with_narrow_states
from ctpwa.config.samples import SIDEBAND, data_sets, event_sources, histogram_files, refuse_repeated_files
from ctpwa.config.sources import BackgroundSource, DataSet, EfficiencySource, FileSource, GeneratedSource, Source
from ctpwa.data.checks import SampleChecks, is_positive_total, joined_weights, weight_range
from ctpwa.data.density import Density, Flat, InColumn
from ctpwa.data.event_files import EventFiles, open_events
from ctpwa.data.events import Events, concatenate
from ctpwa.data.located import TEXT
from ctpwa.data.options import CHUNK
from ctpwa.data.resolution import GivenPoints, Resolution, group_points
from ctpwa.data.stream import EventStream, JoinedStream
from ctpwa.data.summary import FileRecord, SampleSummary, WeightSummary, grouped
from ctpwa.engine.backends.registry import engine_names
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum, advice
from ctpwa.engine.samples.memory_plan import Limits
from ctpwa.fitting.fit import fit as fit_likelihood
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.starts import USUAL, SearchSettings
from ctpwa.generate.importance import sample_phase_space
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.generate.room import check_count
from ctpwa.minimise.drive import Watch
from ctpwa.model.model import Model
from ctpwa.observables.poles import far_poles
from ctpwa.observe.densities import HistogramDensity, formula_density, read_density, sideband_density
from ctpwa.observe.efficiency import (
    COLUMN,
    ColumnEfficiency,
    Efficiency,
    EfficientStream,
    formula_efficiency,
    read_efficiency,
    summary_with,
    with_efficiency,
    without_column,
)
from ctpwa.observe.mass_resolution import named
from ctpwa.observe.sideband_model import SidebandModel, fit_sideband
from ctpwa.observe.variable import ProjectionSpec, default_projections

MEASURED = ("data", "background")
STREAMED = ("data", "phase_space", "truth")  # samples that may be read in pieces
MOMENTA_FRACTION = 0.25  # of the main memory that momenta may take; what is computed from them has to find room as well
SamplePart = Events | EventFiles | EfficientStream
NO_SAMPLES = "add  samples: {data: data.root, phase_space: {generate: 500000}}  to the model file"


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


class Analysis:
    """A model, where its samples are, and how to fit it. Samples are read when they are first needed, and kept.

    Args:
        model:        the model
        data_sets:    where the samples are; may be empty
        settings:     how to fit
        description:  the content of the model file
        name:         the model file; empty if there is none
        projections:  histograms to be drawn; default: all masses of subsystems and helicity cosines of pairs
        ranks:        processes that fit together: each reads its own part of every sample
        included:     files that the model file includes
        changed:      options with which the model file was changed
    """

    def __init__(
        self,
        model: Model,
        data_sets: Sequence[DataSet],
        settings: FitSettings,
        description: Mapping[str, Any],
        name: str = "",
        projections: Sequence[ProjectionSpec] = (),
        ranks: Ranks = ONE,
        included: Sequence[Path] = (),
        changed: Sequence[str] = (),
    ) -> None:
        self.ranks, self.included, self.changed = ranks, tuple(included), tuple(changed)
        self.model, self.data_sets, self.settings = model, tuple(data_sets), settings
        self.description, self.name = description, name
        self.projections: tuple[ProjectionSpec, ...] = tuple(projections) or default_projections(model.decay)
        self._read: dict[str, SampleSet] = {}

    def read(self, name: str | None = None, *, progress: bool | None = None) -> SampleSet:
        """Read or generate all samples of a data set; with several ranks the part of this one.

        Args:
            name:      of the data set; may be left out if there is only one
            progress:  show progress bars; default: on a terminal when it takes more than two seconds

        Raises:
            DataError: if there is no such data set, or a sample is wrong
        """
        data_set = self._data_set(name)
        if data_set.name not in self._read:
            self._read[data_set.name] = self._samples(data_set, progress)
        return self._read[data_set.name]

    def forget(self) -> None:
        """Release the samples; what was built from them stays."""
        self._read.clear()

    @property
    def summaries(self) -> tuple[SampleSummary, ...]:
        """One line for each source of every sample, read if need be."""
        return tuple(summary for data_set in self.data_sets for summary in self.read(data_set.name).summaries)

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of events and weights that are there, read or not, and what the model file includes."""
        sources = [source for data_set in self.data_sets for _, source, _ in event_sources(data_set) if isinstance(source, FileSource)]
        patterns = [os.fspath(file) for source in sources for file in (*source.files, *source.weight_files)]
        patterns += map(os.fspath, histogram_files(self.data_sets))
        found = (Path(file) for pattern in patterns for file in ([pattern] if os.path.exists(pattern) else glob(pattern)))
        return (*found, *self.included)

    def likelihood(
        self,
        engine: str | None = None,
        device: str | torch.device | None = None,
        progress: bool | None = None,
        precision: str | None = None,
    ) -> Likelihood | LikelihoodSum:
        """The likelihood of all data sets, with the constraints and ties of the settings.

        Args:
            engine:     instead of that of the settings
            device:     instead of that of the settings
            progress:   show progress bars; default: on a terminal when it takes more than two seconds
            precision:  instead of that of the settings
        """
        if not self.data_sets:
            raise DataError(f"{self.name or 'the model'}: nothing to fit, there are no samples\n fix: {NO_SAMPLES}")
        terms = [self._likelihood(i, data_set, engine, device, progress, precision) for i, data_set in enumerate(self.data_sets)]
        return terms[0] if len(terms) == 1 else LikelihoodSum(terms)

    def start(self, likelihood: Likelihood | LikelihoodSum) -> np.ndarray:
        """Start values of the free parameters of a likelihood: those of the model, and those that the settings give."""
        values = dict(zip(likelihood.names, likelihood.start, strict=True))
        for name, value in self.settings.start.items():
            if name not in values:
                raise PhysicsError(f"start value of {name!r}, which is not a free parameter", advice(name, likelihood))
            values[name] = value
        return np.array([values[name] for name in likelihood.names])

    def fit(
        self,
        engine: str | None = None,
        device: str | torch.device | None = None,
        *,
        likelihood: Likelihood | LikelihoodSum | None = None,
        start: Any = None,
        starts: int | None = None,
        method: str | None = None,
        seed: int | None = None,
        minos: Sequence[str] | None = None,
        precision: str | None = None,
        progress: bool | None = None,
        watch: Watch | None = None,
        journal: Journal | None = None,
        search: SearchSettings = USUAL,
        simulation: bool | None = None,
    ) -> FitResult:
        """Fit all data sets; anything not given here is taken from the settings. The result also holds the model, samples and settings.

        Args:
            engine:      instead of that of the settings
            device:      instead of that of the settings
            likelihood:  what ``likelihood()`` returned, if it already exists
            start:       the first start, all parameters in order or some by name
            starts:      number of starts
            method:      ``newton``, ``lbfgs`` or ``minuit``
            seed:        of random starts
            minos:       parameters that get asymmetric errors
            precision:   ``double`` or ``mixed``
            progress:    show progress bars; default: on a terminal when it takes more than two seconds
            watch:       called with every improved point and its value
            journal:     receives what many starts have found so far, and continues with what is in it
            search:      how to search from many starts
            simulation:  whether errors count that the phase-space sample is finite
        """
        settings = self.settings
        if likelihood is None:
            likelihood = self.likelihood(engine, device, progress, precision)
        if start is None or isinstance(start, Mapping):
            start = dict(zip(likelihood.names, self.start(likelihood), strict=True)) | dict(start or {})
        truths = [self.read(data_set.name, progress=progress).truth for data_set in self.data_sets]
        result = fit_likelihood(
            likelihood,
            settings.starts if starts is None else starts,
            settings.method if method is None else method,
            start=start,
            seed=settings.seed if seed is None else seed,
            minos=settings.minos if minos is None else minos,
            truth=None if all(truth is None for truth in truths) else truths,
            progress=progress,
            watch=watch,
            journal=journal,
            search=search,
            simulation=settings.simulation if simulation is None else simulation,
        )
        return self._with_remarks(self._with_origin(result))

    def _with_remarks(self, result: FitResult) -> FitResult:
        """A result whose verdict says which poles are far from where parameters seem to put them.

        No result is lost for that: Ctrl-C ends the search for poles, and so does anything that keeps it from ending.
        """
        try:
            remarks = far_poles(result, self.model)
        except (KeyboardInterrupt, ArithmeticError, PhysicsError):
            return result
        return replace(result, verdict=result.verdict.with_reasons(last=remarks))

    def _with_origin(self, result: FitResult) -> FitResult:
        """A result with everything needed to repeat the fit."""
        settings = self.settings
        how: dict[str, Any] = {
            "representation": settings.representation,
            "reference_wave": settings.reference_wave,
            "couplings": settings.couplings,
            "constraints": self.constraints,
            "limits": settings.limits,
            "extended": settings.extended,
            "subtraction": settings.subtraction,
            "ties": settings.ties,
            "fix": {name: result.fixed.get(name, value) for name, value in settings.fix.items()},
        }
        how |= {"changed": list(self.changed)} if self.changed else {}
        names = [data_set.name for data_set in self.data_sets]
        return result.with_origin(
            samples=tuple(summary.as_dict() for summary in self.summaries),
            model=self.description,
            model_file=self.name,
            settings=dict(result.settings) | how,
            fractions=tuple(replace(entry, data_set=name) for name, entry in zip(names, result.fractions, strict=True)),
        )

    def _data_set(self, name: str | None) -> DataSet:
        known = {data_set.name: data_set for data_set in self.data_sets}
        if not known:
            raise DataError(f"{self.name or 'the model'}: there are no samples\n fix: {NO_SAMPLES}")
        if name is None and len(known) == 1:
            return self.data_sets[0]
        if name is None:
            raise DataError(f"there are {counted(len(known), 'data set')}: {', '.join(known)}\n fix: say which to read")
        if name not in known:
            raise DataError(f"there is no data set {name!r}\n fix: {suggest(name, known)}")
        return known[name]

    def _likelihood(
        self,
        number: int,
        data_set: DataSet,
        engine: str | None,
        device: str | torch.device | None,
        progress: bool | None,
        precision: str | None,
    ) -> Likelihood:
        settings, samples = self.settings, self.read(data_set.name, progress=progress)
        model, limits, fix = self.known_to(data_set)
        counted_before = {name for other in self.data_sets[:number] for name in other.fractions}
        constraints = {
            name: pair
            for name, pair in self.constraints.items()
            if (name not in counted_before if name in data_set.fractions else number == 0 and name not in self._elsewhere(data_set))
        }  # once in the sum of all data sets
        likelihood = build_likelihood(
            model,
            samples.data,
            samples.phase_space,
            samples.background,
            engine=engine or settings.engine,
            device=device if device is not None else settings.device,
            representation=settings.representation,
            reference_wave=settings.reference_wave,
            couplings=settings.couplings,
            ties=settings.ties,
            constraints=constraints,
            limits=limits,
            backgrounds=samples.backgrounds,
            extended=settings.extended,
            subtraction=settings.subtraction,
            resolution=samples.resolution,
            fix=fix,
            progress=progress,
            ranks=self.ranks,
            precision=precision or settings.precision,
            scratch=settings.scratch,
            device_memory=self._part("device_memory"),
            host_memory=self._part("host_memory"),
            conjugate=data_set.conjugate,
        )
        _ = samples.summaries  # of files that were read just now, on all ranks
        return likelihood

    def known_to(self, data_set: DataSet) -> tuple[Model, dict[str, tuple[float, float]], dict[str, float | None]]:
        """Model, limits and fixed parameters as the likelihood of a data set knows them: without backgrounds that only others have."""
        elsewhere, settings = self._elsewhere(data_set), self.settings
        relations = {name: formula for name, formula in self.model.relations.items() if name not in elsewhere}
        limits = {name: pair for name, pair in settings.limits.items() if name not in elsewhere}
        fix = {name: value for name, value in settings.fix.items() if name not in elsewhere}
        return replace(self.model, relations=relations) if elsewhere else self.model, limits, fix

    def _elsewhere(self, data_set: DataSet) -> set[str]:
        """Fractions of backgrounds that only other data sets have."""
        return {name for other in self.data_sets for name in other.fractions} - set(data_set.fractions)

    @property
    def constraints(self) -> dict[str, tuple[float, float]]:
        """Gaussian constraints: those of the model, from the errors of the PDG, unless the settings have others."""
        return dict(self.model.constraints) | dict(self.settings.constraints)

    @property
    def memory_limits(self) -> Limits:
        """How much memory the likelihood of each data set may use."""
        return Limits.read(self._part("device_memory"), self._part("host_memory"), self.settings.scratch)

    def _part(self, name: str) -> int | None:
        """The memory that each of the data sets may use."""
        size = getattr(self.settings, name)
        return None if size is None else max(parse_bytes(size, name) // len(self.data_sets), 1)

    def _samples(self, data_set: DataSet, progress: bool | None) -> SampleSet:
        samples, sources = self._read_kinds(data_set, [kind for kind, _, _ in event_sources(data_set)], progress)
        background = samples.get("background")
        assert background is None or isinstance(background, Events)
        backgrounds = self._backgrounds(data_set, samples)
        own = (samples["data"], samples["phase_space"], background, samples.get("truth"))
        return SampleSet(data_set.name, *own, sources, backgrounds, data_set.resolution, data_set.conjugate)

    def read_backgrounds(self, name: str | None = None, *, progress: bool | None = None) -> tuple[Background, ...]:
        """The backgrounds of a data set; nothing but what their densities need is read.

        Args:
            name:      of the data set; may be left out if there is only one
            progress:  show progress bars; default: on a terminal when it takes more than two seconds
        """
        data_set = self._data_set(name)
        sidebands = [kind for kind, _, _ in event_sources(data_set) if kind.startswith(SIDEBAND)]
        samples = self._read_kinds(data_set, ["phase_space", *sidebands], progress)[0] if sidebands else {}
        return self._backgrounds(data_set, samples)

    def read_phase_space(self, name: str | None = None, *, progress: bool | None = None) -> Events | EventStream:
        """The phase space of a data set, and nothing else.

        Args:
            name:      of the data set; may be left out if there is only one
            progress:  show progress bars; default: on a terminal when it takes more than two seconds
        """
        return self._read_kinds(self._data_set(name), ["phase_space"], progress)[0]["phase_space"]

    def efficiency(self, name: str | None = None) -> Efficiency | None:
        """The efficiency of a data set as a function of momenta; None if all events are measured, or if only its own events know it.

        Args:
            name:  of the data set; may be left out if there is only one
        """
        given = {source.efficiency for source in self._data_set(name).phase_space}
        source = given.pop() if len(given) == 1 else None
        return None if source is None or source.column is not None else self._efficiency(source)

    def _read_kinds(
        self, data_set: DataSet, kinds: Collection[str], progress: bool | None
    ) -> tuple[dict[str, Events | EventStream], tuple[SamplePart, ...]]:
        """Samples of some kinds, phase space among them, and their sources."""
        refuse_repeated_files(self.data_sets)
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
        return samples, tuple(part for parts in read.values() for part in parts)

    def _backgrounds(self, data_set: DataSet, samples: Mapping[str, Events | EventStream]) -> tuple[Background, ...]:
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
            return InColumn(source.column)
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
        room = self._part("host_memory")
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
        efficiency = self._efficiency(source.efficiency)
        if not isinstance(part, Events):
            assert isinstance(part, EventFiles)
            return EfficientStream(part, efficiency)
        assert part.summary is not None
        return replace(with_efficiency(part, efficiency), summary=summary_with(part.summary, efficiency))

    def _efficiency(self, source: EfficiencySource) -> Efficiency:
        if source.formula is not None:
            return formula_efficiency(source.formula, self.model.decay)
        if source.histogram is not None:
            return read_efficiency(source.histogram, self.model.decay)
        assert source.column is not None
        return ColumnEfficiency(source.column)

    def _open(self, source: FileSource, name: str, progress: bool | None, conjugate: bool) -> EventFiles:
        options, model = source.options, self.model
        if source.efficiency is not None and source.efficiency.column is not None:
            options = replace(options, columns={**options.columns, COLUMN.name: source.efficiency.column})
            model = replace(model, columns=(*model.columns, COLUMN))
        return open_events(
            model,
            source.files,
            tree=options.tree,
            momenta=options.momenta,
            weight=options.weight,
            weight_file=source.weight_files or None,
            scale=source.scale,
            order=options.order,
            unit=options.unit,
            mass_tolerance=options.mass_tolerance,
            parent_tolerance=options.parent_tolerance,
            columns=options.columns,
            name=name,
            progress=progress,
            ranks=self.ranks,
            conjugate=conjugate,
        )

    def _source(self, source: Source, name: str, progress: bool | None, in_pieces: bool, conjugate: bool) -> Events | EventFiles:
        """Generated phase space is the same for a decay and, under CP, for its conjugate."""
        if isinstance(source, FileSource):
            files = self._open(source, name, progress, conjugate)
            return files if in_pieces and _in_pieces(source) else files.load()
        generate = sample_phase_space if source.proposal == "model" else generate_phase_space
        events = generate(self.model, source.n_events, source.seed, columns=source.columns, progress=progress, ranks=self.ranks)
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


def load_analysis(
    path_or_mapping: str | os.PathLike[str] | Mapping[str, Any],
    ranks: Ranks | None = None,
    *,
    fix: Mapping[str, float | None] | None = None,
    changes: Changes = NO_CHANGES,
) -> Analysis:
    """Read a model file with its samples and fit settings; no file of events is opened yet.

    Args:
        path_or_mapping:  a model file, or a mapping of the same form, whose paths are relative to the working directory
        ranks:            processes that fit together; default: those that torchrun started, or this one alone
        fix:              parameters that are fixed besides those of the file, as if they stood there under ``fit: fix``; None: at
                          their start value
        changes:          what else is changed in it, as options of the command line do

    Raises:
        ConfigError: with every problem found, each with file, line, column and what to do
    """
    together = current_ranks() if ranks is None else ranks
    document = together.together(lambda: load_document(path_or_mapping, engines=engine_names(), fix=fix, changes=changes))
    together.check_same("model file", repr(document.data), "copy the same model file to all machines")
    spec, model = document.spec, document.model
    given, settings = data_sets(spec, model.decay, document.folder), fit_settings(spec)
    samples = tuple(replace(own, resolution=with_narrow_states(own.resolution, model)) for own in given)
    drawn = projections(spec.projections, model.decay)
    return Analysis(model, samples, settings, document.data, document.name, drawn, together, document.included, changes.words)
