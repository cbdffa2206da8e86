"""The ``samples`` and ``data_sets`` sections: what can be said about files without opening them."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import DataError, Path, suggest
from ctpwa.base.words import counted
from ctpwa.config.backgrounds import BackgroundChecks, background_sources, beginning_of_yields
from ctpwa.config.columns import check_sample_columns
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.resolution import check_resolution, read_resolution
from ctpwa.config.schema import DataSetSpec, ModelSpec, SampleSpec
from ctpwa.config.sources import DataSet, EfficiencySource, FileSource, GeneratedSource, Source
from ctpwa.data.event_column import EventColumn
from ctpwa.data.located import SUFFIXES, TEXT
from ctpwa.data.naming import MomentaNames
from ctpwa.data.options import ReadOptions, expand
from ctpwa.data.regular import Identity
from ctpwa.data.weights import SUFFIXES as WEIGHT_SUFFIXES
from ctpwa.decay.chain import Decay
from ctpwa.decay.conjugate import conjugate_decay
from ctpwa.observe.errors import VariableError
from ctpwa.observe.variable import parse_variable

EFFICIENCY = "write  efficiency: 0.3 + 0.1*cos_theta(K+; K+ K-),  {column: eff}  or  {histogram: efficiency.json}"
KINDS = ("data", "phase_space", "background", "truth")
SIDEBAND = "sideband"  # the kind of sideband events, before the name of their background
GENERATED = ("phase_space", "truth")  # what may be generated; measured events may not


def data_sets(spec: ModelSpec, decay: Decay, folder: FilePath) -> tuple[DataSet, ...]:
    """All data sets of a description that ``check_samples`` has found right.

    Args:
        spec:    the model description
        decay:   its decay
        folder:  what paths are relative to
    """

    def source(sample: SampleSpec) -> Source:
        return _source(sample, folder)

    return tuple(
        DataSet(
            name,
            **{kind: tuple(map(source, getattr(entry, kind))) for kind in KINDS},
            backgrounds=background_sources(entry.backgrounds, decay, folder, source, spec.particles),
            resolution=read_resolution(entry.resolution, decay),
            conjugate=entry.conjugate,
            yields=beginning_of_yields(spec, name),
        )
        for name, _, entry in _entries(spec)
    )


def refuse_repeated_files(data_sets: Sequence[DataSet]) -> None:
    """Refuse files whose events would count twice: in one sample, as data of two data sets, or read alike for two samples of a data set.

    Phase space may also be the truth, and several data sets may share it; with other weights a file may be data and background.
    """
    owners: dict[Any, str] = {}
    for data_set in data_sets:
        for kind in KINDS:
            name = f"{data_set.name} {kind}".replace("_", " ").lstrip()
            for source in getattr(data_set, kind):
                for path, identity in _identities(source):
                    events = (identity, source.options.tree)
                    alike = (data_set.name, events, source.options.weight, source.weight_files)
                    sample = (kind, events) if kind == "data" else (kind, data_set.name, events)
                    for key in [sample] + ([alike] if kind != "truth" else []):
                        if key in owners:
                            raise DataError(
                                f"{name}: {str(path)!r} is the same file as {owners[key]}, so its events would count twice\n"
                                " fix: name it once"
                            )
                    owners |= dict.fromkeys([sample, alike], f"{str(path)!r} of {name}")
        _refuse_data_as_sideband(data_set)


def _refuse_data_as_sideband(data_set: DataSet) -> None:
    """Refuse sideband events that are the data themselves: what is in the data would be taken for background."""
    data = {_alike(source, identity) for source in data_set.data for _, identity in _identities(source)}
    for own in data_set.backgrounds:
        for source in own.density.sideband.sources if own.density.sideband is not None else ():
            for path, identity in _identities(source):
                if _alike(source, identity) in data:
                    raise DataError(
                        f"{data_set.name} sideband {own.name!r}: {str(path)!r} is the same file as the data\n".lstrip()
                        + " fix: give events beside the signal, or other weights"
                    )


def _alike(source: Source, identity: Identity) -> tuple[Any, ...]:
    """What the events of a file are, and how they count."""
    assert isinstance(source, FileSource)
    return identity, source.options.tree, source.options.weight, source.weight_files


def _identities(source: Source) -> Iterator[tuple[FilePath, Identity]]:
    """The files of a source that are there; others are refused when they are read, and so are those that it names twice."""
    found: dict[Identity, FilePath] = {}
    try:
        for path in expand(source.files) if isinstance(source, FileSource) else ():
            about = os.stat(path)
            found.setdefault((about.st_dev, about.st_ino), path)
    except (DataError, OSError):
        pass
    return ((path, identity) for identity, path in found.items())


def check_samples(spec: ModelSpec, decay: Decay, columns: Sequence[EventColumn], problems: Problems, made: Collection[str] = ()) -> None:
    """Everything about samples that is certainly wrong becomes a problem; no file is opened. ``made``: columns of generated events."""
    if "samples" in spec.model_fields_set and spec.samples is None:
        fix = "write  samples: {data: data.root, phase_space: {generate: 500000}}, or remove the key"
        problems.add(SpecError("'samples' is empty", fix, key=()), ("samples",))
    if spec.samples is not None and spec.data_sets:
        problems.add(SpecError("both 'samples' and 'data_sets' are given", "move everything under 'data_sets'", key=()), ("data_sets",))

    in_files = {path: _in_files(entry, decay, path, problems) for _, path, entry in _entries(spec)}

    def check(sample: SampleSpec, kind: str, place: Path) -> None:
        measured = next(own for path, own in in_files.items() if place[: len(path)] == path)
        _check_sample(sample, kind, decay, measured, place, problems)
        check_sample_columns(sample, columns, place, problems, made)

    backgrounds = BackgroundChecks(
        decay, columns, spec.fit.extended, problems, spec.particles, lambda sample, place: check(sample, "sideband", place)
    )
    for _, path, entry in _entries(spec):
        for kind in KINDS:
            for i, sample in enumerate(getattr(entry, kind)):
                check(sample, kind, (*path, kind, i))
        backgrounds.check(entry.backgrounds, (*path, "backgrounds"))
        check_resolution(entry.resolution, decay, (*path, "resolution"), problems)


def _in_files(entry: DataSetSpec, decay: Decay, path: Path, problems: Problems) -> Decay:
    """What the files of a data set hold: the decay, or its charge conjugate."""
    found = decay
    if entry.conjugate:
        with problems.collect((*path, "conjugate")):
            found = conjugate_decay(decay)
    return found


def _entries(spec: ModelSpec) -> Iterator[tuple[str, Path, DataSetSpec]]:
    if spec.samples is not None:
        yield "", ("samples",), spec.samples
    for name, entry in spec.data_sets.items():
        yield name, ("data_sets", name), entry


def histogram_files(data_sets: Sequence[DataSet]) -> tuple[FilePath, ...]:
    """The histograms of efficiencies and backgrounds."""
    efficiencies = [source.efficiency for data_set in data_sets for source in data_set.phase_space if source.efficiency is not None]
    densities = [background.density for data_set in data_sets for background in data_set.backgrounds]
    found = [source.histogram for source in efficiencies] + [source.histogram for source in densities]
    return tuple(file for file in found if file is not None)


def event_sources(data_set: DataSet) -> Iterator[tuple[str, Source, str]]:
    """Kind, source and name of everything with events that a data set reads: its samples, then sidebands of backgrounds."""
    start = f"{data_set.name} " if data_set.name else ""
    own = [(kind, kind.replace("_", " "), getattr(data_set, kind)) for kind in KINDS]
    own += [
        (f"{SIDEBAND} {b.name}", f"{SIDEBAND} {b.name!r}", b.density.sideband.sources) for b in data_set.backgrounds if b.density.sideband
    ]
    for kind, words, sources in own:
        for i, source in enumerate(sources):
            yield kind, source, f"{start}{words}" + (f" {i + 1}" if len(sources) > 1 else "")


def _source(sample: SampleSpec, folder: FilePath) -> Source:
    efficiency = None
    if sample.efficiency is not None:
        given = sample.efficiency
        efficiency = EfficiencySource(given.formula, given.column, None if given.histogram is None else folder / given.histogram)
    if sample.generate is not None:
        numbers = {name: source for name, source in sample.columns.items() if not isinstance(source, str)}
        return GeneratedSource(sample.generate, sample.seed or 0, numbers, sample.proposal or "model", efficiency)  # type: ignore[arg-type]
    files, weight_files = (tuple(_in_folder(file, folder) for file in files) for files in (sample.file, sample.weight_file))
    column_files = {name: tuple(_in_folder(file, folder) for file in own) for name, own in sample.column_files.items()}
    return FileSource(files, _options(sample), weight_files, sample.scale, efficiency, column_files)


def _in_folder(file: str, folder: FilePath) -> FilePath:
    """A path or pattern in a folder, whose own name is no pattern."""
    return FilePath(glob.escape(str(folder))) / file if glob.has_magic(file) else folder / file


def _options(sample: SampleSpec) -> ReadOptions:
    momenta: MomentaNames | list[str]
    if isinstance(sample.momenta, Mapping):
        momenta = {name: columns[0] if len(columns) == 1 else columns for name, columns in sample.momenta.items()}
    else:
        momenta = sample.momenta
    return ReadOptions(
        sample.tree, momenta, sample.weight, sample.order, sample.unit, sample.mass_tolerance, sample.parent_tolerance, sample.columns
    )  # fmt: skip


def _check_sample(sample: SampleSpec, kind: str, decay: Decay, measured: Decay, path: Path, problems: Problems) -> None:
    """What is wrong with a sample of a decay, whose files hold what was measured."""
    with problems.collect(path):
        _check_source(sample, kind)
    in_columns = [file for own in sample.column_files.values() for file in own]
    listed = (
        ("file", sample.file, SUFFIXES),
        ("weight_file", sample.weight_file, WEIGHT_SUFFIXES),
        ("column_files", in_columns, WEIGHT_SUFFIXES),
    )
    for key, files, known in listed:
        for file in files:
            with problems.collect(path, key):
                suffix = FilePath(file).suffix.lower()
                if suffix not in known:
                    raise SpecError(f"unknown suffix {suffix!r} of {file!r}", f"use one of {', '.join(known)}")
    if sample.weight is True:
        problems.add(SpecError("'weight' is true", "name the column of the weights, or say false"), path, "weight")
    if sample.weight and sample.weight_file:
        problems.add(SpecError("both 'weight' and 'weight_file' are given", "leave one of them out"), path, "weight_file")
    with problems.collect(path, "order"):
        try:
            _options(sample).positions  # noqa: B018 - raises if the order is wrong
        except DataError as error:
            what, _, fix = str(error).partition("\n fix: ")
            raise SpecError(what, fix) from None
    _check_particles(sample, measured, path, problems)
    with problems.collect(path, "efficiency"):
        _check_efficiency(sample, kind, decay)


def _check_efficiency(sample: SampleSpec, kind: str, decay: Decay) -> None:
    """One efficiency, of phase space, in words that are understood; no file is opened."""
    given = sample.efficiency
    if given is None:
        return
    if kind != "phase_space":
        raise SpecError(f"'efficiency' of {kind!r}", "move it to phase_space; without a truth sample fractions are corrected with it")
    named = [key for key in ("formula", "column", "histogram") if getattr(given, key) is not None]
    if len(named) != 1:
        raise SpecError(f"'efficiency' with {' and '.join(named) or 'nothing'}", EFFICIENCY)
    if given.column is not None and sample.generate is not None:
        raise SpecError("generated events have no column of efficiencies", "give a formula or a histogram")
    if given.formula is not None:
        try:
            parse_variable(given.formula, decay)
        except VariableError as error:
            raise SpecError(error.what, error.fix) from None


def _check_source(sample: SampleSpec, kind: str) -> None:
    """Files or generated, and nothing that belongs to the other."""
    if sample.generate is not None:
        if kind not in GENERATED:
            raise SpecError(f"{kind!r} cannot be generated here", "give a file; ctpwa generate makes toy data", key=("generate",))
        for key in sample.model_fields_set - {"generate", "seed", "proposal", "columns", "efficiency"}:
            raise SpecError(f"{key!r} next to 'generate'", "generate events or read them from files, not both", key=(key,))
        return
    if not sample.file:
        raise SpecError("neither a file nor 'generate'", "write {file: data.root}" + (" or {generate: 500000}" * (kind in GENERATED)))
    for key in ("seed", "proposal"):
        if getattr(sample, key) is not None:
            raise SpecError(f"{key!r} of a sample that is read from files", "leave it out", key=(key,))


def _check_particles(sample: SampleSpec, decay: Decay, path: Path, problems: Problems) -> None:
    named = [("mass_tolerance", name) for name in sample.mass_tolerance] if isinstance(sample.mass_tolerance, Mapping) else []
    if isinstance(sample.momenta, Mapping):
        named += [("momenta", name) for name in sample.momenta]
        for name, columns in sample.momenta.items():
            if len(columns) not in (1, 4):
                error = SpecError(f"{counted(len(columns), 'column')} for {name!r}", "name one stem or column, or four columns")
                problems.add(error, path, "momenta", name)
        if sample.momenta and any(FilePath(file).suffix.lower() in TEXT for file in sample.file):
            fix = f"list the particles in the order of their lines: [{', '.join(decay.labels)}]"
            problems.add(SpecError("a text file has no names of columns", fix), path, "momenta")
    elif sorted(sample.momenta) != sorted(decay.labels):
        error = SpecError(f"{', '.join(sample.momenta)} are not the final particles", f"list each of {', '.join(decay.labels)} once")
        problems.add(error, path, "momenta")
    for key, name in named:
        known = (*decay.labels, *(state.label for state in decay.held if key == "mass_tolerance"))
        if name not in known:
            error = SpecError(f"{name!r} is not a final particle of {decay}", suggest(name, known), key=())
            problems.add(error, (*path, key, name))
