"""``load_analysis``: a model file with its samples and fit settings, from the file to a likelihood and the result of a fit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ctpwa.analysis.sample_sets import DataSetReader, SampleSet
from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.memory import parse_bytes
from ctpwa.base.ranks import ONE, Ranks, current_ranks
from ctpwa.base.words import counted
from ctpwa.config.changes import Changes
from ctpwa.config.fit_settings import FitSettings, fit_settings
from ctpwa.config.projections import projections
from ctpwa.config.read import NO_CHANGES, Document, load_document
from ctpwa.config.resolution import with_narrow_states
from ctpwa.config.samples import SIDEBAND, data_sets, event_sources, histogram_files, refuse_repeated_files
from ctpwa.config.sources import DataSet, FileSource
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream
from ctpwa.data.summary import SampleSummary
from ctpwa.engine.backends.registry import engine_names
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum, advice
from ctpwa.engine.samples.memory_plan import Limits
from ctpwa.fitting.search_settings import USUAL, SearchSettings
from ctpwa.model.model import Model
from ctpwa.observe.efficiency import Efficiency
from ctpwa.observe.variable import ProjectionSpec, default_projections

if TYPE_CHECKING:  # only a fit needs them, and scipy
    from ctpwa.fitting.journal import Journal
    from ctpwa.fitting.result import FitResult
    from ctpwa.minimise.drive import Watch

NO_SAMPLES = "add  samples: {data: data.root, phase_space: {generate: 500000}}  to the model file"


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
        folder:       what paths in the description are relative to
        like:         another analysis of the same decay: samples that are the same are those that it has read, and generated phase
                      space is sampled along the resonances of its model
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
        folder: Path | None = None,
        like: Analysis | None = None,
    ) -> None:
        self.ranks, self.included, self.changed = ranks, tuple(included), tuple(changed)
        self.model: Model = model
        self.data_sets, self.settings = tuple(data_sets), settings
        self.description, self.name, self.folder = description, name, folder or Path()
        self._like = like if like is not None and _same_events(model, like.model) else None
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
            if self._like is not None and data_set in self._like.data_sets:
                self._read[data_set.name] = self._like.read(data_set.name, progress=progress)
            else:
                self._read[data_set.name] = self._checked_reader().read(data_set, progress)
        return self._read[data_set.name]

    def share_samples(self, other: Analysis) -> None:
        """Take over the samples of another analysis, which may have other waves: files are not read again, and generated phase space,
        which follows the resonances of a model, is the same.

        Args:
            other:  of the same data sets
        """
        for data_set in self.data_sets:
            self._read[data_set.name] = replace(other.read(data_set.name), resolution=data_set.resolution)

    def with_samples(self, samples: Sequence[SampleSet]) -> Analysis:
        """The same analysis of other events, such as those of one bin.

        Args:
            samples:  of every data set
        """
        other = copy(self)
        other._read = {own.name: own for own in samples}
        return other

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
        patterns = [os.fspath(file) for source in sources for file in source.all_files]
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
        effective_sizes: bool = True,
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
            effective_sizes:  whether the verdict says if too few phase-space events count, even if errors do not count them
        """
        from ctpwa.fitting.fit import fit as fit_likelihood

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
            effective_sizes=effective_sizes,
        )
        return self._with_remarks(self.with_origin(result))

    def _with_remarks(self, result: FitResult) -> FitResult:
        """A result whose verdict says which data hold events twice, and which poles are far from where parameters seem to put them.

        No result is lost for that: Ctrl-C ends the search for poles, and so does anything that keeps it from ending.
        """
        from ctpwa.observables.poles import far_poles

        remarks = [remark for data_set in self.data_sets for remark in self._repeated(data_set)]
        with suppress(KeyboardInterrupt, ArithmeticError, PhysicsError):
            remarks += far_poles(result, self.model)
        return replace(result, verdict=result.verdict.with_reasons(last=remarks)) if remarks else result

    def _repeated(self, data_set: DataSet) -> list[str]:
        from ctpwa.fitting.remarks import repeated_events

        read = [source.summary for source in self.read(data_set.name).sources[: len(data_set.data)]]
        return repeated_events([summary for summary in read if summary is not None])

    def with_origin(self, result: FitResult) -> FitResult:
        """A result with everything needed to repeat the fit.

        Args:
            result:  of the likelihood of this analysis
        """
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
        counted_before = {name for other in self.data_sets[:number] for name in other.amounts.values()}
        constraints = {
            name: pair
            for name, pair in self.constraints.items()
            if (name not in counted_before if name in data_set.amounts.values() else number == 0 and name not in self._elsewhere(data_set))
        }  # once in the sum of all data sets
        likelihood = build_likelihood(
            data=samples.data,
            phase_space=samples.phase_space,
            background=samples.background,
            **self.likelihood_options(data_set),
            engine=engine or settings.engine,
            device=device if device is not None else settings.device,
            constraints=constraints,
            backgrounds=samples.backgrounds,
            subtraction=settings.subtraction,
            resolution=samples.resolution,
            progress=progress,
            ranks=self.ranks,
            precision=precision or settings.precision,
            scratch=settings.scratch,
            device_memory=self._part("device_memory"),
            host_memory=self._part("host_memory"),
        )
        _ = samples.summaries  # of files that were read just now, on all ranks
        return likelihood

    def likelihood_options(self, data_set: DataSet) -> dict[str, Any]:
        """The arguments of ``build_likelihood`` that say which parameters the likelihood of a data set has, whatever its events are.

        Model, limits and fixed parameters are without amounts that only other data sets have.
        """
        elsewhere, settings = self._elsewhere(data_set), self.settings
        relations = {name: formula for name, formula in self.model.relations.items() if name not in elsewhere}
        return {
            "model": replace(self.model, relations=relations) if elsewhere else self.model,
            "representation": settings.representation,
            "reference_wave": settings.reference_wave,
            "couplings": settings.couplings,
            "ties": settings.ties,
            "limits": {name: pair for name, pair in settings.limits.items() if name not in elsewhere},
            "fix": {name: value for name, value in settings.fix.items() if name not in elsewhere},
            "extended": settings.extended,
            "conjugate": data_set.conjugate,
            "data_set": data_set.yields or "",
        }

    def _elsewhere(self, data_set: DataSet) -> set[str]:
        """Fractions of backgrounds that only other data sets have, and their yields."""
        return {name for other in self.data_sets for name in other.amounts.values()} - set(data_set.amounts.values())

    @property
    def constraints(self) -> dict[str, tuple[float, float]]:
        """Gaussian constraints: those of the model, from the errors of the PDG, unless the settings have others."""
        return dict(self.model.constraints) | dict(self.settings.constraints)

    @property
    def memory_limits(self) -> Limits:
        """How much memory the likelihood of each data set may use."""
        return Limits.read(self._part("device_memory"), self._part("host_memory"), self.settings.scratch)

    @property
    def _reader(self) -> DataSetReader:
        proposal = self.model if self._like is None else self._like.model
        return DataSetReader(self.model, self.ranks, self._part("host_memory"), proposal)

    def _checked_reader(self) -> DataSetReader:
        """What reads events, after a look at whether some would count twice."""
        refuse_repeated_files(self.data_sets)
        return self._reader

    def _part(self, name: str) -> int | None:
        """The memory that each of the data sets may use."""
        size = getattr(self.settings, name)
        return None if size is None else max(parse_bytes(size, name) // len(self.data_sets), 1)

    def read_backgrounds(self, name: str | None = None, *, progress: bool | None = None) -> tuple[Background, ...]:
        """The backgrounds of a data set; nothing but what their densities need is read.

        Args:
            name:      of the data set; may be left out if there is only one
            progress:  show progress bars; default: on a terminal when it takes more than two seconds
        """
        data_set = self._data_set(name)
        sidebands = [kind for kind, _, _ in event_sources(data_set) if kind.startswith(SIDEBAND)]
        samples = self._checked_reader().read_kinds(data_set, ["phase_space", *sidebands], progress)[0] if sidebands else {}
        return self._reader.backgrounds(data_set, samples)

    def read_phase_space(self, name: str | None = None, *, progress: bool | None = None) -> Events | EventStream:
        """The phase space of a data set, and nothing else.

        Args:
            name:      of the data set; may be left out if there is only one
            progress:  show progress bars; default: on a terminal when it takes more than two seconds
        """
        return self._checked_reader().read_kinds(self._data_set(name), ["phase_space"], progress)[0]["phase_space"]

    def efficiency(self, name: str | None = None) -> Efficiency | None:
        """The efficiency of a data set as a function of momenta; None if all events are measured, or if only its own events know it.

        Args:
            name:  of the data set; may be left out if there is only one
        """
        given = {source.efficiency for source in self._data_set(name).phase_space}
        source = given.pop() if len(given) == 1 else None
        return None if source is None or source.column is not None else self._reader.efficiency(source)


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
    return analysis_of(document, together, changed=changes.words)


def analysis_of(
    document: Document, ranks: Ranks = ONE, *, name: str | None = None, changed: Sequence[str] = (), like: Analysis | None = None
) -> Analysis:
    """The analysis that a description is of.

    Args:
        document:  what was read
        ranks:     processes that fit together
        name:      the model file; default: that of the document
        changed:   options with which it was changed
        like:      another analysis whose samples it shares, where they are the same
    """
    spec, model = document.spec, document.model
    given, settings = data_sets(spec, model.decay, document.folder), fit_settings(spec)
    samples = tuple(replace(own, resolution=with_narrow_states(own.resolution, model)) for own in given)
    drawn = projections(spec.projections, model.decay)
    called = document.name if name is None else name
    return Analysis(model, samples, settings, document.data, called, drawn, ranks, document.included, changed, document.folder, like)


def _same_events(model: Model, other: Model) -> bool:
    """Whether events of one model are events of another."""
    return model.decay == other.decay and model.columns == other.columns
