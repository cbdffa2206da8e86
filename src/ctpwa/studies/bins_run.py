"""``ctpwa.studies.bins``: cuts events into bins, fits those that are missing, and makes the study of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Unpack

import numpy as np

from ctpwa.analysis.analysis import NO_SAMPLES, Analysis, load_analysis
from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.base.ranks import ONE
from ctpwa.engine.likelihood.interference import ProbedAmplitudes
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.labels import group_label
from ctpwa.fitting.search_settings import DISTANCE
from ctpwa.model.model import Model
from ctpwa.observables.moments_of_photons import moment_states
from ctpwa.studies.about import About
from ctpwa.studies.baseline import BASE
from ctpwa.studies.bin_axes import Bin, BinAxis, all_bins
from ctpwa.studies.bin_fit import SWEEPS, BinFit, BinOptions
from ctpwa.studies.bin_goodness import BinGoodness
from ctpwa.studies.bin_profiles import BinProfiles
from ctpwa.studies.bin_records import TOTAL, bin_groups, goodness_key, group_names, intervals_key, replica_key, sweep_key
from ctpwa.studies.bin_samples import BinnedSamples
from ctpwa.studies.bin_solutions import Solution
from ctpwa.studies.bin_sweeps import solutions_of, starts_of
from ctpwa.studies.bins_study import Bins
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.files import model_and_samples
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.run import Chain, FitTask, RunOptions, StudyRun
from ctpwa.version import VERSION

STARTS = 40
ACCEPTED = "numbers of events are those that were measured: there is no truth, so nothing corrects them for acceptance"


def bins(
    model: Analysis | str | os.PathLike[str] | Mapping[str, Any],
    in_: str,
    and_: str | None = None,
    *,
    starts: int = STARTS,
    seed: int = 0,
    bootstrap: int = 0,
    distance: float = DISTANCE,
    sweeps: int = SWEEPS,
    intervals: bool = True,
    **run: Unpack[RunOptions],
) -> Bins:
    """Fit every bin of a variable, or of two, on its own: mass-independent fits.

    A bin is a cut on measured, simulated and subtracted events. Every bin is fitted from many starts; numbers of events of all waves follow
    as from an extended likelihood, corrected for acceptance if the model file has a truth sample or an efficiency. Bins that cannot be
    fitted say why, and do no harm to others.

    Args:
        model:      a model file, its content, or an analysis; data sets are fitted together in every bin
        in_:        what the bins are of, such as ``mass(eta, pi0): 1.04..2.0/40``; edges may be listed as well, ``t: 0.1, 0.2, 0.5``
        and_:       a second variable
        starts:     number of starts in every bin
        seed:       of random starts and replicas
        bootstrap:  replicas of every bin, in which events count as often as chance has it
        distance:   other solutions are kept whose −ln L is less than this above that of the best, without weights
        sweeps:     then every bin is started again from the solutions of its neighbours, until none is new, and at most so often
        intervals:  look for numbers of events and phases whose errors are not Gaussian, and for their intervals
        run:        how to run it, see ``RunOptions``
    """
    starts, seed = checked_count("starts", starts), checked_seed(seed)
    replicas, sweeps = checked_count("replicas", bootstrap, 0), checked_count("sweeps", sweeps, 0)
    if replicas == 1:
        raise DataError("one replica has no scatter\n fix: ask for at least 2")
    if not (np.isfinite(distance) and distance > 0):
        raise DataError(f"solutions within {distance!r} of the best\n fix: give a number above 0, such as {DISTANCE:g}")
    analysis = model if isinstance(model, Analysis) else load_analysis(model, ONE)
    if not analysis.data_sets:
        raise DataError(f"there are no events to be cut into bins\n fix: {NO_SAMPLES}")
    axes = tuple(BinAxis.read(text, analysis.model) for text in (in_, *([] if and_ is None else [and_])))
    if len(axes) > 1 and axes[0].text == axes[1].text:
        raise DataError(f"bins in {axes[0].text} and in {axes[0].text}\n fix: give two different variables, or only the first")
    binned = BinnedSamples(analysis, axes, run.get("progress"))
    binned.check_not_empty()
    options = BinOptions(starts, seed, distance, sweeps, run.get("engine"), run.get("device"))
    about = _about(binned, options, replicas)
    with StudyRun(analysis, about, run) as study:
        work = _Work(binned, options, study)
        study.fits(work.bins(), "bins")
        for sweep in range(1, sweeps + 1):
            if not (chains := work.sweep(sweep)):
                break
            study.fits(chains, f"sweep {sweep}")
        study.fits(work.after(intervals), "goodness of fit and intervals" if intervals else "goodness of fit")
        if replicas:
            study.fits(work.replicas(replicas), "replicas")
    return Bins.of(study.store)


class _Work:
    """Makes the fits of bins; samples and likelihood of one bin at a time are kept."""

    def __init__(self, binned: BinnedSamples, options: BinOptions, study: StudyRun) -> None:
        self.binned, self.options, self.study = binned, options, study
        self._all = all_bins(binned.axes)
        self._last: BinFit | None = None

    def bins(self) -> list[Chain]:
        """Fits of all bins."""
        return [[FitTask(own.key, partial(self._fit, number, own))] for number, own in enumerate(self._all)]

    def sweep(self, sweep: int) -> list[Chain]:
        """Fits of those bins that a sweep starts again."""
        starts = starts_of(self._all, self.study.store.records, self.options.distance, sweep)
        return [
            [FitTask(sweep_key(own.key, sweep), partial(self._again, number, own, sweep, starts[own.key]))]
            for number, own in enumerate(self._all)
            if own.key in starts
        ]

    def after(self, intervals: bool) -> list[Chain]:
        """Tests of all bins that have a fit, and their profiles.

        Args:
            intervals:  whether profiles are wanted
        """
        references = Bins.of(self.study.store).references
        chains: list[Chain] = []
        for number, own in enumerate(self._all):
            if self._known(own, self.options.sweeps):
                tests = FitTask(goodness_key(own.key), partial(self._goodness, number, own))
                profiles = FitTask(intervals_key(own.key), partial(self._profiles, number, own, references))
                chains.append([tests, profiles] if intervals else [tests])
        return chains

    def replicas(self, n: int) -> list[Chain]:
        """Replicas of all bins."""
        return [
            [FitTask(replica_key(own.key, k), partial(self._replica, number, own, k)) for k in range(n)]
            for number, own in enumerate(self._all)
        ]

    def _of(self, number: int, own: Bin) -> BinFit:
        if self._last is None or self._last.number != number:
            self._last = BinFit(self.binned, self.options, number, own)
        return self._last

    def _fit(self, number: int, own: Bin, before: FitRecord | None) -> FitRecord:
        *others, best = self._of(number, own).records()
        if others:
            self.study.store.add(*others)
        return best

    def _again(self, number: int, own: Bin, sweep: int, starts: Sequence[FitRecord], before: FitRecord | None) -> FitRecord:
        *others, head = self._of(number, own).again(sweep, starts, self._known(own, sweep - 1))
        if others:
            self.study.store.add(*others)
        return head

    def _goodness(self, number: int, own: Bin, before: FitRecord | None) -> FitRecord:
        return BinGoodness(self._of(number, own), self._known(own, self.options.sweeps)[0]).record()

    def _profiles(self, number: int, own: Bin, references: Mapping[int, str], before: FitRecord | None) -> FitRecord:
        names, sets = (self.study.store.about.extent[what] for what in ("couplings", "sets"))
        records = enumerate(self._known(own, self.options.sweeps))
        return BinProfiles(self._of(number, own), [Solution.of(own, k, record, names, sets) for k, record in records], references).record()

    def _replica(self, number: int, own: Bin, k: int, before: FitRecord | None) -> FitRecord:
        known = self._known(own, self.options.sweeps)
        if not known:
            return FitRecord.failed(replica_key(own.key, k), "the bin has no fit")
        return self._of(number, own).replica(k, known[0])

    def _known(self, own: Bin, sweeps: int) -> list[FitRecord]:
        return solutions_of(own.key, self.study.store.records, self.options.distance, sweeps)


def _about(binned: BinnedSamples, options: BinOptions, replicas: int) -> About:
    analysis, axes = binned.analysis, binned.axes
    model, channels = analysis.model, model_channels(analysis.model)
    sets = ProbedAmplitudes.of(model, channels).coherent_sets(channels.couplings)
    groups = {name: len(waves) for name, waves in bin_groups(model).items()}
    corrected = binned.corrected
    extent = {
        "axes": [{"text": axis.text, "edges": list(axis.edges), "label": axis.label, "unit": axis.unit} for axis in axes],
        "couplings": list(channels.couplings),
        "sets": list(sets),
        "groups": groups,
        "names": group_names(model),
        "bootstrap": replicas,
        "states": _moment_states(model, channels.couplings),
    }
    return About(
        Bins.name,
        {
            "bins": [axis.as_option() for axis in axes],
            "starts": options.starts,
            "seed": options.seed,
            "distance": options.distance,
            "sweeps": options.sweeps,
            "simulation": analysis.settings.simulation,
        },
        FitRecord(BASE, float("nan"), False, "there is no fit of all events"),
        model_and_samples(analysis.description, [summary.as_dict() for summary in analysis.summaries]),
        str(model.decay),
        _labels(model, [*channels.couplings, *groups]),
        extent,
        () if corrected else (ACCEPTED,),
        VERSION,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _moment_states(model: Model, couplings: Sequence[str]) -> list[list[float]]:
    """l, m, reflectivity, rank and sign of every coupling; empty if there are no moments of them."""
    try:
        states = moment_states(model)
    except PhysicsError:
        return []
    return [[*states[name].numbers, states[name].sign] for name in couplings]


def _labels(model: Model, names: Sequence[str]) -> dict[str, str]:
    return {name: group_label(model, name) for name in names if name != TOTAL}
