"""``open_fit``: a result with the model and the samples it came from, to look at it closely."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from glob import glob
from math import isclose
from pathlib import Path

from ctpwa.analysis.analysis import Analysis, analysis_of
from ctpwa.analysis.sample_sets import SampleSet
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.base.timing import phase
from ctpwa.base.words import counted
from ctpwa.config.changes import Changes
from ctpwa.config.read import load_document
from ctpwa.config.samples import event_sources, histogram_files
from ctpwa.config.sources import DataSet, FileSource
from ctpwa.data.columns import sha256_of
from ctpwa.data.density import Density
from ctpwa.data.events import Events
from ctpwa.data.resolution import Resolution
from ctpwa.data.stream import picked_events
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.values import ModelValues
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import fitted_values
from ctpwa.model.amounts import SIGNAL
from ctpwa.model.model import Model
from ctpwa.observables.histograms import Projected
from ctpwa.observables.projections import dalitz_pair, event_weights, project
from ctpwa.observe.mass_resolution import measured_events
from ctpwa.observe.variable import KeptValues

FILES = ("files", "weight_files")
SEED = 1  # of random numbers that move masses of phase-space events as a measurement does
WEIGHT_ROUNDING = 1e-6  # other machines round otherwise; other events differ by more


@dataclass(frozen=True)
class LoadedSamples:
    """The samples of one data set in main memory.

    Attributes:
        name:           of the data set; empty if there is only one
        data:           measured events
        phase_space:    events for the normalisation, or some of them
        background:     events whose contribution is subtracted; None if there are none
        n_phase_space:  how many events for the normalisation there are
        backgrounds:    backgrounds in the data as densities
        conjugate:      whether the events are those of the charge-conjugate decay
        resolution:     how exactly data are measured; None: exactly
        labels:         the final particles in their order
    """

    name: str
    data: Events
    phase_space: Events
    background: Events | None
    n_phase_space: int
    backgrounds: tuple[Background, ...] = ()
    conjugate: bool = False
    resolution: Resolution | None = None
    labels: tuple[str, ...] = ()

    @cached_property
    def measured(self) -> Events:
        """The events for the normalisation as they would be measured."""
        return self.phase_space if self.resolution is None else measured_events(self.resolution, self.phase_space, self.labels, SEED)

    @cached_property
    def values(self) -> KeptValues:
        """Values of variables, each computed once."""
        return KeptValues()

    @property
    def weight(self) -> float:
        """Σ w of data minus background."""
        subtracted = 0.0 if self.background is None else float(event_weights(self.background).sum())
        return float(event_weights(self.data).sum()) - subtracted


@dataclass(frozen=True)
class OpenedFit:
    """A result, and the analysis it came from.

    Attributes:
        result:    what was found
        analysis:  model, samples and settings
        path:      the file of the result; empty if it came from none
    """

    result: FitResult
    analysis: Analysis
    path: str = ""
    _read: dict[int | None, tuple[LoadedSamples, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def model(self) -> Model:
        """What was fitted."""
        return self.analysis.model

    @cached_property
    def values(self) -> ModelValues:
        """Couplings and lineshape parameters as they were fitted."""
        return fitted_values(self.result, self.model)

    def intensity(self, engine: str = "auto", device: str | None = None) -> ModelIntensity:
        """The fitted model, for any events.

        Args:
            engine:  ``auto``, ``cuda``, ``cpu`` or ``reference``
            device:  where to compute; default: a GPU if there is one
        """
        return ModelIntensity(self.model, couplings=self.values.couplings, parameters=self.values.parameters, engine=engine, device=device)

    def read(self, phase_space: int | None = None, *, progress: bool | None = None) -> tuple[LoadedSamples, ...]:
        """The samples of all data sets.

        Args:
            phase_space:  at most this many phase-space events, evenly picked; default: all
            progress:     show progress bars; default: on a terminal when it takes more than two seconds

        Raises:
            DataError: if a file is not the one that was fitted
        """
        if phase_space not in self._read:
            read = tuple(self.analysis.read(data_set.name, progress=progress) for data_set in self.analysis.data_sets)
            check_hashes([summary.as_dict() for samples in read for summary in samples.summaries], self.result.samples)
            self._read[phase_space] = tuple(_loaded(samples, phase_space, self.model.decay.labels) for samples in read)
        return self._read[phase_space]

    def added(self, samples: LoadedSamples) -> dict[str, tuple[Density, float]]:
        """Background of a data set → its density, and how many events of it were found.

        Args:
            samples:  of the data set
        """
        return {own.name: (own.density, self._amount(own.name, samples)) for own in samples.backgrounds}

    def signal(self, samples: LoadedSamples) -> float:
        """How many events of a data set are signal.

        Args:
            samples:  of the data set
        """
        if self.analysis.settings.extended:
            return self._amount(SIGNAL, samples)
        return samples.weight - sum(number for _, number in self.added(samples).values())

    def _amount(self, name: str, samples: LoadedSamples) -> float:
        """Events of a background, or of signal, in a data set."""
        (data_set,) = (own for own in self.analysis.data_sets if own.name == samples.name)
        value = self.result.values[data_set.amounts[name]]
        return value if data_set.yields is not None else samples.weight * value

    @phase("projections")
    def project(
        self, engine: str = "auto", device: str | None = None, *, phase_space: int | None = None, progress: bool | None = None
    ) -> dict[str, Projected]:
        """Name of each data set → its projections, as the model file asks for them, and the Dalitz plot of a decay to three particles.

        Args:
            engine:       ``auto``, ``cuda``, ``cpu`` or ``reference``
            device:       where to compute; default: a GPU if there is one
            phase_space:  draw the fit with at most this many phase-space events; default: all
            progress:     show progress bars; default: on a terminal when it takes more than two seconds
        """
        intensity = self.intensity(engine, device)
        result = {}
        for samples in self.read(phase_space, progress=progress):
            pair = dalitz_pair(self.model.decay, samples.data.n_events)
            result[samples.name] = project(
                intensity.of(samples.conjugate),
                samples.data,
                samples.phase_space,
                samples.background,
                axes=self.analysis.projections,
                grids=[] if pair is None else [pair],
                added=self.added(samples),
                signal=self.signal(samples),
                measured=samples.measured,
                values=samples.values,
                progress=progress,
            )
        return result


def open_fit(result: FitResult | str | os.PathLike[str]) -> OpenedFit:
    """Find the model and the samples of a result again. No file of events is opened yet.

    Files are looked for where the model file was, seen from the working directory or from the folder of the result, and beside the
    result. If they are in several of these places, those are taken whose content was fitted.

    Args:
        result:  a result, or the file that it was saved to

    Raises:
        CtpwaError: if it is the result of a likelihood that was made in Python and not from a model file
        DataError:  if event files are missing
    """
    return open_with_data(result, ())


def open_with_data(result: FitResult | str | os.PathLike[str], data: Sequence[str]) -> OpenedFit:
    """The same with other files of measured events, which need not be those of the fit.

    Args:
        result:  a result, or the file that it was saved to
        data:    files in place of the measured events; ``NAME=FILE`` for one of several data sets
    """
    found, path = (result, "") if isinstance(result, FitResult) else (FitResult.load(result), os.fspath(result))
    if found.model is None or not found.samples:
        raise CtpwaError(
            f"{path or 'the result'} does not say which model and which samples it belongs to: it was fitted in Python\n"
            " fix: fit with  ctpwa fit model.yml,  or with  ctpwa.load_analysis(...).fit()"
        )
    folders = _folders(found, path)
    candidates = []
    for folder in [folder for folder in folders if folder.is_dir()] or folders:
        analysis = analysis_of(load_document(found.model, folder, changes=Changes(data=tuple(data))), name=found.model_file)
        missing = [file for file in event_patterns(analysis.data_sets) if not matches(file)]
        if not missing:
            candidates.append(analysis)
    if not candidates:
        where = " or ".join(repr(str(folder)) for folder in folders)
        raise DataError(
            f"{Path(missing[0]).name!r}{'' if data else ', which was fitted,'} was not found; looked in {where}\n"
            " fix: put the result or the files back where they were, or run this in the folder in which it was fitted"
        )
    return OpenedFit(found, _fitted_one(candidates, found), path)


def described_analysis(result: FitResult, path: str) -> Analysis:
    """The analysis that a result holds, whether its data are still there or not.

    Args:
        result:  what was found; it holds its model
        path:    its file
    """
    first: Analysis | None = None
    for folder in _folders(result, path):
        own = analysis_of(load_document(result.model or {}, folder), name=result.model_file)
        if all(map(matches, event_patterns(own.data_sets))):
            return own
        first = first or own
    assert first is not None
    return first


def _loaded(samples: SampleSet, phase_space: int | None, labels: Sequence[str]) -> LoadedSamples:
    """Samples in main memory, with at most this many phase-space events."""
    return LoadedSamples(
        samples.name,
        picked_events(samples.data, None),
        picked_events(samples.phase_space, phase_space),
        samples.background,
        samples.phase_space.n_events,
        samples.backgrounds,
        samples.conjugate,
        samples.resolution,
        tuple(labels),
    )


def _folders(result: FitResult, path: str) -> list[Path]:
    own, of_model = Path(path).parent, Path(result.model_file).parent
    return list(dict.fromkeys([of_model, own / of_model, own]))


def event_patterns(sets: Sequence[DataSet]) -> list[str]:
    """Files of events, weights and histograms of data sets, or patterns of them."""
    sources = [source for data_set in sets for _, source, _ in event_sources(data_set)]
    files = [source for source in sources if isinstance(source, FileSource)]
    events = [os.fspath(file) for source in files for file in source.all_files]
    return events + [os.fspath(file) for file in histogram_files(sets)]


def matches(pattern: str) -> list[str]:
    """The files that a pattern means and that are there."""
    return [pattern] if Path(pattern).exists() else glob(pattern)


def _fitted_one(candidates: Sequence[Analysis], result: FitResult) -> Analysis:
    """That of several places whose files were fitted; the first if none was, so that reading it says what has changed."""
    places = [sorted(str(Path(file).resolve()) for p in event_patterns(c.data_sets) for file in matches(p)) for c in candidates]
    if all(place == places[0] for place in places):
        return candidates[0]
    fitted = {file["sha256"] for sample in result.samples for kind in FILES for file in sample[kind]}
    contents = [{sha256_of(Path(file)) for file in place} for place in places]
    best = max(range(len(places)), key=lambda k: (contents[k] == fitted, len(contents[k] & fitted)))  # data may be others
    return candidates[best]


def check_hashes(now: Sequence[Mapping], then: Sequence[Mapping]) -> None:
    """Refuse samples that are not those of the fit.

    Args:
        now:   what was read, as in a result
        then:  what was read for the fit
    """
    for present, fitted in zip(now, then, strict=True):
        for kind in FILES:
            if len(present[kind]) != len(fitted[kind]):
                raise DataError(
                    f"{present['name']}: {counted(len(present[kind]), 'file is', 'files are')} there,"
                    f" and {counted(len(fitted[kind]), 'was', 'were')} fitted\n"
                    " fix: remove files that came later, put back those that are missing, or fit again"
                )
            for a, b in zip(present[kind], fitted[kind], strict=True):
                if a["sha256"] != b["sha256"]:
                    raise DataError(
                        f"{a['path']!r} is not the file that was fitted: its content has changed since\n"
                        " fix: put the old file back, or fit again"
                    )
        if not _same_weights(present["weights"], fitted["weights"]):
            raise DataError(f"{present['name']}: its events have other weights than those that were fitted\n fix: fit again")
        if present["n_events"] != fitted["n_events"]:
            raise DataError(f"{present['name']}: {present['n_events']} events, and {fitted['n_events']} were fitted\n fix: fit again")


def _same_weights(now: Mapping[str, float] | None, then: Mapping[str, float] | None) -> bool:
    """Whether their ranges are the same up to rounding; other versions may generate other events."""
    if now is None or then is None:
        return now is then
    return all(isclose(now[key], then[key], rel_tol=WEIGHT_ROUNDING) for key in ("smallest", "largest"))
