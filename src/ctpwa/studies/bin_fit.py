"""The fit of one bin: from its events to all its solutions, each with couplings in events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ctpwa.analysis.sample_sets import SampleSet
from ctpwa.base.errors import CtpwaError, DataError, PhysicsError
from ctpwa.base.words import counted
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream, picked_events
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.likelihood.values import free_parameters, model_values
from ctpwa.fitting.event_couplings import EventCouplings, event_couplings
from ctpwa.fitting.fit import fit
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.search_settings import DISTANCE, USUAL
from ctpwa.observables.projections import event_weights
from ctpwa.studies.baseline import not_interrupted
from ctpwa.studies.bin_axes import Bin
from ctpwa.studies.bin_records import (
    OPEN_SIGN,
    SWEEP,
    bin_groups,
    fitted_at,
    record_of,
    replica_key,
    solution_key,
    sweep_key,
    sweep_solution_key,
)
from ctpwa.studies.bin_samples import BinnedSamples, prefix
from ctpwa.studies.bin_solutions import apart
from ctpwa.studies.bin_sweeps import MOST
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.refits import QUICK

WEAK = 0.3  # of the events of the strongest wave of a coherent set: a weaker one is no good reference
SAME = 1e-3  # of all events: solutions that differ by less are the same
OPEN = 1e-6  # of one standard deviation in −ln L: what conjugate couplings may change
NOTHING = np.zeros((0, 0))
SWEEPS = 10
SIDEBAND = 1  # stream of random numbers of events that are subtracted


_Concluded = tuple[FitResult, EventCouplings, int]  # a solution with its errors, and how many starts ended there


@dataclass(frozen=True, eq=False)
class _Found:
    """A minimum, before its errors are known.

    Attributes:
        likelihood:  in whose parameters it was found
        x:           these
        values:      couplings in events
        nll:         −ln L
        starts:      how many starts ended there
    """

    likelihood: Fittable
    x: np.ndarray
    values: np.ndarray
    nll: float
    starts: int


@dataclass(frozen=True)
class BinOptions:
    """How every bin is fitted.

    Attributes:
        starts:    number of starts
        seed:      of random starts and replicas
        distance:  solutions are kept whose −ln L is less than this above that of the best one
        sweeps:    at most so many of them follow the fits of all bins
        engine:    what computes
        device:    where
    """

    starts: int
    seed: int = 0
    distance: float = DISTANCE
    sweeps: int = SWEEPS
    engine: str | None = None
    device: str | None = None


@dataclass(frozen=True, eq=False)
class BinFit:
    """Fits one bin.

    Attributes:
        binned:   the samples
        options:  how to fit
        number:   of the bin among all of them
        bin:      the bin
    """

    binned: BinnedSamples
    options: BinOptions
    number: int
    bin: Bin

    @cached_property
    def samples(self) -> tuple[SampleSet, ...]:
        """Its events, of every data set."""
        return self.binned.of_bin(self.number)

    @cached_property
    def likelihood(self) -> Fittable:
        """Of its events; of several data sets their sum.

        Raises:
            DataError: if there are none, or no simulation
        """
        for own in self.samples:
            if not own.data.n_events:
                raise DataError(f"{prefix(own.name)}no events")
            if not own.phase_space.n_events:
                raise DataError(
                    f"{prefix(own.name)}{counted(own.data.n_events, 'event')}, and no simulation: phase space has no events here"
                )
        likelihood = self.binned.analysis.with_samples(self.samples).likelihood(self.options.engine, self.options.device, False)
        if (n := int(self._counts()["data"])) < len(likelihood.names):
            raise DataError(f"{counted(n, 'event')}, fewer than {counted(len(likelihood.names), 'free parameter')}")
        return likelihood

    @property
    def first(self) -> Likelihood:
        """Of the first data set: all of them have the same waves."""
        return terms_of(self.likelihood)[0]

    @cached_property
    def _sizes(self) -> np.ndarray:
        """How large a wave with coupling 1 is, [coupling], with lineshapes where the fit starts."""
        size = np.zeros(len(self.first.coupling_names))
        for term in terms_of(self.likelihood):
            integrals = term.integrals(term.start)
            np.add.at(size, integrals.coupling, np.diag(integrals.matrix).real)
        return np.sqrt(size)

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """Waves whose events are counted together."""
        return bin_groups(self.binned.analysis.model)

    def records(self) -> tuple[FitRecord, ...]:
        """All solutions, the best one last; or why there is none."""
        begin = time.perf_counter()
        try:
            found = self._solutions()
        except CtpwaError as error:
            failed = FitRecord.failed(self.bin.key, error, time.perf_counter() - begin)
            return (replace(failed, numbers=self._counts()),)
        seconds = time.perf_counter() - begin
        numbers = self._counts() | {"solutions": float(len(found))}
        keys = [self.bin.key, *(solution_key(self.bin.key, k) for k in range(1, len(found)))]
        records = [
            self._record(key, own, numbers, seconds if k == 0 else 0.0) for k, (key, own) in enumerate(zip(keys, found, strict=True))
        ]
        return tuple(reversed(records))

    def again(self, sweep: int, starts: Sequence[FitRecord], known: Sequence[FitRecord]) -> tuple[FitRecord, ...]:
        """Solutions that are not known, and how many there are as the last record.

        Args:
            sweep:   number of the sweep
            starts:  solutions of other bins to start from
            known:   those of this one, the best first
        """
        begin, key = time.perf_counter(), sweep_key(self.bin.key, sweep)
        try:
            found = self._more(starts, known)
        except CtpwaError as error:
            return (FitRecord.failed(key, error, time.perf_counter() - begin),)
        numbers = self._counts() | {SWEEP: float(sweep)}
        records = [self._record(sweep_solution_key(self.bin.key, sweep, k), own, numbers, 0.0) for k, own in enumerate(found)]
        counts = {"solutions": float(len(found)), "starts": float(len(starts))}
        best = min([known[0].nll, *(own.nll for own in records)])
        return (*records, FitRecord(key, best, True, numbers=counts, seconds=time.perf_counter() - begin))

    def _counts(self) -> dict[str, float]:
        pairs = [(own.data.n_events, own.phase_space.n_events) for own in self.samples]
        return dict(zip(("data", "simulated"), np.sum(pairs, axis=0, dtype=float).tolist(), strict=True))

    def _record(self, key: str, own: _Concluded, numbers: Mapping[str, float], seconds: float) -> FitRecord:
        result, couplings, starts = own
        kept = dict(numbers) | {"starts": float(starts), "unit": float(self.likelihood.unit)}
        kept |= {f"{OPEN_SIGN} {own}": 1.0 for own in self._open()}
        return record_of(key, result, couplings, kept, seconds)

    def replica(self, k: int, best: FitRecord) -> FitRecord:
        """The same events, each counted as often as chance has it, fitted from the best solution.

        Args:
            k:     number of the replica
            best:  the best solution
        """
        begin, key = time.perf_counter(), replica_key(self.bin.key, k)
        try:
            terms = [
                _replica(term, own, [self.options.seed, self.number, k, *([number] if number else [])])
                for number, (term, own) in enumerate(zip(terms_of(self.at(best)[0]), self.samples, strict=True))
            ]
            other = terms[0] if len(terms) == 1 else LikelihoodSum(terms)
            x = free_parameters(other, *fitted_at(best))
            result = self.fitted(other, x[None])
            couplings = self._in_events(other, result)
            return record_of(key, result, replace(couplings, covariance=NOTHING), {}, time.perf_counter() - begin)
        except CtpwaError as error:
            return FitRecord.failed(key, error, time.perf_counter() - begin)

    def _solutions(self) -> list[_Concluded]:
        """Every solution within the distance, the best first, with the number of starts that ended there."""
        likelihood, options = self.likelihood, self.options
        analysis = self.binned.analysis
        start = dict(zip(likelihood.names, analysis.start(likelihood), strict=True))
        seed = int(np.random.SeedSequence([options.seed, self.number]).generate_state(1)[0])
        search = replace(USUAL, distance=options.distance) if options.starts > 1 else USUAL
        method = analysis.settings.method
        first = not_interrupted(fit(likelihood, options.starts, method, start=start, seed=seed, search=search, **QUICK))
        near = [m for m in first.minima if m.refined and m.nll - first.nll <= options.distance * likelihood.unit] or list(first.minima[:1])
        found: list[_Found] = []
        for minimum in near:
            x = np.array(minimum.values)
            self._collect(found, _Found(likelihood, x, self.event_values(likelihood, x), minimum.nll, minimum.starts))
        return self._concluded(found[:MOST])

    def _more(self, starts: Sequence[FitRecord], known: Sequence[FitRecord]) -> list[_Concluded]:
        """Solutions that starts from those of other bins lead to, without those that are known."""
        values = [self.event_values(*self.at(own)) for own in known]
        found: list[_Found] = []
        for start in starts:
            likelihood, x = self.at(start)
            result = self.fitted(likelihood, x[None])
            own = self.event_values(likelihood, result.x)
            if result.verdict.good and not any(self._same(own, one) for one in values):
                self._collect(found, _Found(likelihood, result.x, own, result.nll, 1))
        best = min([known[0].nll, *(own.nll for own in found)])
        near = [own for own in found if own.nll - best <= self.options.distance * self.likelihood.unit]
        return self._concluded(sorted(near, key=lambda own: own.nll)[:MOST])

    def at(self, record: FitRecord) -> tuple[Fittable, np.ndarray]:
        """The couplings of a solution, perhaps of another bin, as free parameters of a likelihood of this one."""
        bare, theta = fitted_at(record)
        c = np.array([bare[name] for name in self.first.coupling_names])
        likelihood = self._with_strong_references(self.likelihood, c * self._sizes)
        return likelihood, free_parameters(likelihood, bare, theta)

    def event_values(self, likelihood: Fittable, x: np.ndarray) -> np.ndarray:
        """Couplings in measured events."""
        return event_couplings(likelihood, x, np.zeros((len(x), len(x))), {}).values

    def _collect(self, found: list[_Found], own: _Found) -> None:
        """Add a solution, or its starts to those of one that is the same."""
        same = next((k for k, other in enumerate(found) if self._same(other.values, own.values)), None)
        if same is None:
            found.append(own)
        else:
            found[same] = replace(found[same], starts=found[same].starts + own.starts)

    def _concluded(self, found: Sequence[_Found]) -> list[_Concluded]:
        """Solutions with their errors, the best first."""
        results = []
        for own in found:
            likelihood = self._with_strong_references(own.likelihood, own.values)
            same = likelihood is own.likelihood
            at = own.x if same else free_parameters(likelihood, _bare(own.likelihood, own.x), _theta(own.likelihood, own.x))
            result = self.fitted(likelihood, at[None], concluded=True)
            results.append((result, self._in_events(likelihood, result), own.starts))
        return sorted(results, key=lambda own: own[0].nll)

    def fitted(self, likelihood: Fittable, points: np.ndarray, *, concluded: bool = False) -> FitResult:
        """The fit from some points.

        Args:
            likelihood:  of the bin
            points:      where to start, [start, parameter]
            concluded:   whether errors count that phase space is finite, as the model file has it
        """
        options = {"simulation": self.binned.analysis.settings.simulation, "progress": False} if concluded else QUICK
        method = self.binned.analysis.settings.method
        return not_interrupted(fit(likelihood, points, method, **options))

    def _in_events(self, likelihood: Fittable, result: FitResult) -> EventCouplings:
        known = np.where(np.isfinite(result.covariance), result.covariance, 0.0)
        return event_couplings(likelihood, result.x, known, self.groups, [own.truth for own in self.samples])

    def _with_strong_references(self, likelihood: Fittable, c: np.ndarray) -> Fittable:
        """The same likelihood where every coherent set has a strong wave as reference: relative to one that is nearly 0 all others are
        nearly infinite, and phases undetermined.
        """
        terms = terms_of(likelihood)
        first, size = terms[0], np.abs(c) ** 2
        sets = np.array(first.amplitude.sets)
        strongest = [int(np.flatnonzero(sets == own)[size[sets == own].argmax()]) for own in range(sets.max() + 1)]
        names = list(first.coupling_names)
        references = {*first.coupling_map.fixed, *first.phases.references}
        own = [size[k] for k, name in enumerate(names) if name in references]
        if len(own) == len(strongest) and all(a >= WEAK * size[k] for a, k in zip(own, strongest, strict=True)):
            return likelihood
        try:
            wanted = [names[k] for k in sorted(strongest, key=lambda k: -size[k])]
            found = [term.with_references(wanted) for term in terms]
            return found[0] if len(found) == 1 else LikelihoodSum(found)
        except PhysicsError:  # something is fixed or tied relative to the references there are
            return likelihood

    def _same(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether two solutions are one, but for conjugate couplings of sets whose sign is open."""
        sets = np.array(self.first.amplitude.sets)
        distance = sum(apart(a[sets == own], b[sets == own], own in self._conjugable) for own in range(sets.max() + 1))
        return bool(distance <= SAME * (np.abs(a) ** 2).sum())

    @cached_property
    def _conjugable(self) -> frozenset[int]:
        """Coherent sets whose couplings may all be conjugated without any change of the likelihood, wherever it is."""
        likelihood = self.likelihood
        x = likelihood.random_couplings(likelihood.start, 1, seed=1)[0]
        value, sets = float(likelihood.value(x)), np.array(self.first.amplitude.sets)
        return frozenset(own for own in range(sets.max() + 1) if self._unchanged(x, sets == own, value))

    def _unchanged(self, x: np.ndarray, members: np.ndarray, value: float) -> bool:
        likelihood = self.likelihood
        c = np.array(list(_bare(likelihood, x).values()))
        turned = np.where(members, c.conj(), c)
        try:
            names = self.first.coupling_names
            other = free_parameters(likelihood, dict(zip(names, turned.tolist(), strict=True)), _theta(likelihood, x))
        except PhysicsError:
            return False
        change = abs(float(likelihood.value(other)) - value)
        return change <= max(OPEN * likelihood.unit, 10 * likelihood.rounding)

    def _open(self) -> Iterator[int]:
        """Sets of more than one wave whose sign of all phases is open."""
        sets = self.first.amplitude.sets
        return (own for own in sorted(self._conjugable) if sets.count(own) > 1)


def _bare(likelihood: Fittable, x: np.ndarray) -> dict[str, complex]:
    known = model_values(likelihood, x).couplings
    return {name: known[name] for name in terms_of(likelihood)[0].coupling_names}


def _theta(likelihood: Fittable, x: np.ndarray) -> dict[str, float]:
    """Lineshape parameters and amounts that float."""
    return {name: value for name, value in model_values(likelihood, x).parameters.items() if name in likelihood.names}


def _replica(likelihood: Likelihood, own: SampleSet, seeds: Sequence[int]) -> Likelihood:
    background = None if own.background is None else _poisson(own.background, [*seeds, SIDEBAND])
    return likelihood.with_weights(_poisson(own.data, seeds), background)


def _poisson(events: Events | EventStream, seed: Sequence[int]) -> np.ndarray:
    weights = event_weights(picked_events(events, None))
    return weights * np.random.default_rng(seed).poisson(1.0, len(weights))
