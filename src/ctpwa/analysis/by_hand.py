"""``open_by_hand``: a result at other values than those that were fitted, or over other data. Nothing is fitted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from ctpwa.analysis.analysis import Analysis, analysis_of
from ctpwa.analysis.reopen import OpenedFit, check_hashes, matches, open_with_data
from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.config.changes import Changes
from ctpwa.config.read import load_document
from ctpwa.config.samples import event_sources
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.conclusion import HowFound, at_point, over_other_data
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import of_coupling
from ctpwa.minimise.drive import Record
from ctpwa.model.couplings import VERTEX

FILES = ("files", "weight_files")


def open_by_hand(
    result: str | os.PathLike[str], changes: Changes, *, engine: str | None = None, device: str | None = None, progress: bool | None = None
) -> OpenedFit:
    """A result with changes: other values, fewer resonances, other data. Everything that follows from them is computed again.

    Changed values have no errors. With other data alone, values and errors are those of the fit.

    Args:
        result:    the file of a result
        changes:   ``set``, ``without`` and ``data``; there is nothing to fix or to float without a fit
        engine:    instead of that of the settings
        device:    instead of that of the settings
        progress:  show progress bars; default: on a terminal when it takes more than two seconds

    Raises:
        ChangeError: if something cannot be changed
        DataError:   if event files are missing or are not those of the fit
    """
    if changes.fix or changes.free:
        raise PhysicsError("nothing is fitted: there is nothing to fix or to float", "set values, or fit again")
    for text in changes.data:
        file = text.partition("=")[2]  # of NAME=FILE
        if not matches(text) and not (file and matches(file)):
            raise DataError(f"--data {text!r}: there is no such file\n fix: give a path relative to the working directory")
    try:
        opened = open_with_data(result, changes.data)
    except DataError as error:
        what, _, fix = str(error).partition("\n fix: ")
        raise DataError(f"−ln L and fractions are computed from events: {what}\n fix: name the data with --data, or {fix}") from None
    fitted, analysis = opened.result, opened.analysis
    same = _same_data(analysis, fitted, changes.data)
    moved = bool(changes.set or changes.without)
    about = ByHand(changes.words, moved, fitted.nll if same else None)
    if not moved:
        return OpenedFit(_over(analysis, fitted, about, engine, device, progress), analysis, opened.path)
    here = load_document(analysis.description, analysis.folder, changes=Changes(set=_fitted_values(opened)))
    document = load_document(here.data, analysis.folder, changes=replace(changes, data=()))
    other = analysis_of(document, name=analysis.name, like=analysis)
    likelihood = other.likelihood(engine, device, progress)
    settings = {key: value for key, value in fitted.settings.items() if key != "minima"} | about.settings
    truths = [other.read(data_set.name, progress=progress).truth for data_set in other.data_sets]
    found = at_point(likelihood, other.start(likelihood), truths, HowFound(fitted.method, likelihood.start, Record(), (), settings))
    return OpenedFit(other.with_origin(found), other, opened.path)


def _over(analysis: Analysis, fitted: FitResult, about: ByHand, engine: str | None, device: str | None, progress: bool | None) -> FitResult:
    """The result with what other data change."""
    result = replace(fitted, settings={**fitted.settings, **about.settings})
    if about.nll is None:
        truths = [analysis.read(data_set.name, progress=progress).truth for data_set in analysis.data_sets]
        result = over_other_data(result, analysis.likelihood(engine, device, progress), truths)
    names = [data_set.name for data_set in analysis.data_sets]
    fractions = tuple(replace(entry, data_set=name) for name, entry in zip(names, result.fractions, strict=True))
    return replace(result, fractions=fractions, samples=tuple(own.as_dict() for own in analysis.summaries), model=analysis.description)


def _same_data(analysis: Analysis, fitted: FitResult, replaced: Sequence[str]) -> bool:
    """Whether data are those that were fitted, whatever their files are called now; all other samples must be.

    Raises:
        DataError: if these are not
    """
    names = {name for own in analysis.data_sets for kind, _, name in event_sources(own) if kind == "data"} if replaced else set()
    now, then = [own.as_dict() for own in analysis.summaries], fitted.samples
    check_hashes([own for own in now if own["name"] not in names], [own for own in then if not _of(own["name"], names)])

    def contents(samples: Sequence) -> list[str]:
        return [file["sha256"] for own in samples if _of(own["name"], names) for kind in FILES for file in own[kind]]

    return contents(now) == contents(then)


def _of(sample: str, names: set[str]) -> bool:
    """Whether a sample is data; one of several sources has a number."""
    return sample in names or sample.rpartition(" ")[0] in names


def _fitted_values(opened: OpenedFit) -> dict[str, complex]:
    """Everything that floated, as ``--set`` would say it."""
    result, settings = opened.result, opened.analysis.settings
    values: dict[str, complex] = {p.name: p.value for p in result.parameters}
    if settings.couplings == VERTEX:
        return values
    whole = {c.name: complex(c.re, c.im) for c in result.couplings}
    first = next(name for name in model_channels(opened.model).couplings if name not in settings.ties)
    kept = {settings.reference_wave or first, *settings.ties}
    couplings = {name: value for name, value in whole.items() if name not in kept}
    return {name: value for name, value in values.items() if not of_coupling(name, result)} | couplings
