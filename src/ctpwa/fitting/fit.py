"""``ctpwa.fit``: from a likelihood to a result."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.progress import Progress
from ctpwa.base.words import counted
from ctpwa.data.stream import EventStream
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum, advice
from ctpwa.engine.samples.own_events import SampleInput
from ctpwa.fitting.consistent import METHODS
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.points import start_points
from ctpwa.fitting.polar_phases import one_form
from ctpwa.fitting.precision import measure_bias
from ctpwa.fitting.remarks import masses_out_of_range
from ctpwa.fitting.result import FitResult, FittedCoupling, FittedParameter, FoundMinimum, FractionSet
from ctpwa.fitting.starts import USUAL, Coarse, SearchSettings, coarse_search
from ctpwa.minimise.drive import Record, Watch, drive
from ctpwa.minimise.lbfgs import lbfgs
from ctpwa.minimise.minima import Minimum, distinct
from ctpwa.minimise.minos import minos as minos_errors
from ctpwa.minimise.minuit import migrad
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Objective, Scaled
from ctpwa.minimise.steps import HESSIAN, Stop
from ctpwa.minimise.verdict import Judged, judge
from ctpwa.version import VERSION

METRIC_ITERATIONS = 100  # steps of L-BFGS before its metric is renewed
LBFGS_ITERATIONS = 5000
INTERRUPTED = "interrupted"
VANISHING = 1e-9  # intensity, in units of its mean
TOLERANCE = 1e-8  # expected distance to the minimum at the end, in -ln L of events without weights
Fittable = Likelihood | LikelihoodSum
Truth = SampleInput | Sequence[SampleInput | None] | None


def fit(
    likelihood: Fittable,
    starts: int | Any = 1,
    method: str = "newton",
    *,
    start: Any = None,
    seed: int = 0,
    minos: Sequence[str] = (),
    truth: Truth = None,
    tolerance: float = TOLERANCE,
    max_iterations: int | None = None,
    progress: bool | None = None,
    watch: Watch | None = None,
    journal: Journal | None = None,
    search: SearchSettings = USUAL,
) -> FitResult:
    """Find the minimum of −ln L, and what it means.

    With more than one start, the first is ``start`` and the others have random couplings; the end is never worse than the first start.
    Ctrl-C ends the fit with the best point so far, for which errors and fractions are still computed; the verdict says so. A second
    Ctrl-C ends that as well.

    Args:
        likelihood:      one likelihood or a sum of them
        starts:          number of starts, or points [start, parameter]
        method:          ``newton`` (trust region with the exact Hessian), ``lbfgs`` or ``minuit`` (MIGRAD)
        start:           the first start, all parameters in order or some by name; default: the values of the model
        seed:            of random starts
        minos:           parameters that get asymmetric errors
        truth:           phase space before acceptance, one sample or a list with one for each likelihood of a sum; fractions are
                         then corrected for efficiency
        tolerance:       expected distance to the minimum at which to stop, in units in which one standard deviation adds ½ to −ln L:
                         without weights those of −ln L itself
        max_iterations:  give up after so many steps
        progress:        show progress bars; default: on a terminal when it takes more than two seconds
        watch:           called with every better point and its value
        journal:         gets what many starts have found so far; one that another call has filled goes on where that one was
        search:          how to search from many starts
    """
    with likelihood.ranks.interrupts_together():
        journal = Journal() if journal is None else journal
        options = _Options(starts, method, start, seed, minos, tolerance, max_iterations, journal, search)
        return _fit(likelihood, options, truth, progress if likelihood.ranks.first else False, watch)


@dataclass(frozen=True)
class _Options:
    """How to fit, see ``fit``."""

    starts: int | Any
    method: str
    start: Any
    seed: int
    minos: Sequence[str]
    tolerance: float
    max_iterations: int | None
    journal: Journal
    search: SearchSettings


def _fit(likelihood: Fittable, options: _Options, truth: Truth, progress: bool | None, watch: Watch | None) -> FitResult:
    starts, method, start, seed = options.starts, options.method, options.start, options.seed
    minos, tolerance, max_iterations = options.minos, options.tolerance, options.max_iterations
    _check(likelihood, method, seed, minos, tolerance, max_iterations)
    likelihood.ranks.check_same("way to fit", repr(options), "call fit with the same arguments on all ranks")
    truths = _truths(likelihood, truth)
    points = start_points(likelihood, starts, start, seed)
    with Progress("compile what this model needs, once", None, show=progress):
        for term in _terms(likelihood):
            term.engine.prepare()
    learn = isinstance(starts, (int, np.integer))  # points that somebody chose are starts as they are
    how = _How(method, tolerance, max_iterations, progress, watch, options.journal, options.search)
    stop, record, minima = _minimise(likelihood, points, seed, learn, how)
    settings = {"starts": len(points), "seed": seed, "minos": list(minos), "tolerance": tolerance, "max_iterations": max_iterations}
    given = {} if learn else {"points": points}
    about = _About(method, points, record, minima, settings | _machine(likelihood) | given)
    try:
        result = _conclude(likelihood, stop, truths, about, progress)
    except KeyboardInterrupt:  # the point is worth its errors; a second Ctrl-C ends this as well
        return _interrupted(_conclude(likelihood, stop, truths, about, progress))
    if not minos or not result.verdict.good:
        return result
    try:
        with Progress("MINOS", None, show=progress):
            asymmetric = minos_errors(Scaled(likelihood, likelihood.unit), stop.x, minos)
    except KeyboardInterrupt:
        return _interrupted(result)
    return replace(result, parameters=tuple(replace(p, minos=asymmetric.get(p.name)) for p in result.parameters))


@dataclass(frozen=True)
class _About:
    """How a minimum was found."""

    method: str
    points: np.ndarray
    record: Record
    minima: tuple[FoundMinimum, ...]
    settings: Mapping[str, Any]


def _conclude(likelihood: Fittable, stop: Stop, truths: Sequence[Any], about: _About, progress: bool | None) -> FitResult:
    """Everything that follows from the point where the fit ended."""
    with Progress("errors and fractions", None, show=progress):
        value, gradient, H = likelihood.value_grad_hessian(stop.x)
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(H).all()):
            raise DataError(
                f"the likelihood or its derivatives are not finite where the fit ended ({stop.reason})\n"
                " fix: check the start values of the parameters, and give limits to those that must not leave a range"
            )
        judged = _judge(likelihood, stop, gradient, H)
        covariance = judged.covariance
        corrected = likelihood.weighted
        if corrected:
            covariance = covariance @ likelihood.score_products(stop.x) @ covariance
        parameters = _parameters(likelihood, about.points[0], stop, judged, covariance)
        errors = np.array([np.nan if p.error is None else p.error for p in parameters])
        bias = measure_bias(likelihood, stop.x, value, gradient, judged.covariance, errors)
        return FitResult(
            decay=str(_terms(likelihood)[0].model.decay),
            method=about.method,
            parameters=parameters,
            covariance=covariance,
            corrected=corrected,
            couplings=_couplings(likelihood, stop.x, covariance, judged),
            fixed=_fixed(likelihood),
            nll=stop.value,
            n_events=likelihood.n_events,
            weight=likelihood.weight,
            verdict=judged.verdict.with_reasons(
                _no_lower_limit(likelihood, stop), [*_masses(likelihood, stop), *([bias.warning] if bias and bias.warning else [])]
            ),
            record=about.record,
            minima=about.minima,
            n_starts=len(about.points),
            fractions=_fractions(likelihood, stop.x, covariance, truths),
            settings=about.settings,
            precision=bias,
            version=VERSION,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _no_lower_limit(likelihood: Fittable, stop: Stop) -> list[str]:
    """Whether the fit ran towards a point where the intensity of a subtracted event is 0, and −ln L has no lower limit."""
    for term in () if stop.converged else _terms(likelihood):
        own = stop.x[[likelihood.names.index(name) for name in term.names]]
        least = _least_intensity(term, own)
        if least < VANISHING:  # of an event that counts negatively; any other would make −ln L large
            return [
                f"-ln L has no lower limit: at an event with a negative weight the intensity is {least:.0e} of its mean;"
                " use more background events with smaller weights"
            ]
    return []


def _least_intensity(term: Likelihood, x: np.ndarray) -> float:
    """The least intensity of any event, in units of the mean of the data."""
    I = term.intensity(x, "data")
    parts = [I, *([term.intensity(x, "background")] if term.subtracts else [])]
    own = [min((float(part.min()) for part in parts if len(part)), default=np.inf), float(I.sum())]
    found = [np.frombuffer(part) for part in term.ranks.gather(np.array(own).tobytes())]
    return float(min(least for least, _ in found) / (sum(total for _, total in found) / term.n_events))


def _masses(likelihood: Fittable, stop: Stop) -> list[str]:
    """Masses that ended where no events are."""
    values = dict(zip(likelihood.names, stop.x.tolist(), strict=True))
    return [remark for term in _terms(likelihood) for remark in masses_out_of_range(term.model, values)]


def _interrupted(result: FitResult) -> FitResult:
    """A result whose errors are known but which somebody did not wait for."""
    return replace(result, verdict=replace(result.verdict.with_reasons([INTERRUPTED]), good=False))


def _check(likelihood: Fittable, method: str, seed: int, minos: Sequence[str], tolerance: float, max_iterations: int | None) -> None:
    """Refuse what cannot be meant, before anything takes time."""
    if method not in METHODS:
        raise PhysicsError(f"unknown method {method!r}", suggest(method, METHODS))
    if not likelihood.names:
        raise PhysicsError("there is nothing to fit: no parameter is free", "add waves, or let parameters of a resonance float")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise DataError(f"the seed is {seed!r}\n fix: give a whole number, at least 0")
    _check_events(likelihood)
    if isinstance(minos, str):
        raise PhysicsError(f"minos is the text {minos!r}", "give a list of parameters")
    unknown = [name for name in minos if name not in likelihood.names]
    if unknown:
        raise PhysicsError(f"MINOS of {unknown[0]!r}, which is not a free parameter", advice(unknown[0], likelihood))
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise DataError(f"the tolerance is {tolerance!r}\n fix: give a number above 0, such as {TOLERANCE:g}")
    if max_iterations is not None and max_iterations < 1:
        raise DataError(f"max_iterations is {max_iterations!r}\n fix: give at least 1, or leave it out")


def _check_events(likelihood: Fittable) -> None:
    """Refuse samples that cannot determine the parameters: with so few different events −ln L has no minimum, and a fit no end."""
    n, data = len(likelihood.names), sum(term.distinct_events("data") for term in _terms(likelihood))
    if data < n:
        raise DataError(f"data: only {data} different events for {n} free parameters\n fix: give more events, or fix parameters")
    for term in _terms(likelihood):
        if (found := term.distinct_events("phase space")) < len(term.names):
            raise DataError(
                f"phase space: only {found} different events for {len(term.names)} free parameters\n"
                " fix: give more; the normalisation is known only from many more events than there are parameters"
            )


def _truths(likelihood: Fittable, truth: Truth) -> Sequence[SampleInput | None]:
    """A truth sample, or none, for every likelihood."""
    terms = _terms(likelihood)
    truths = [truth] * len(terms) if truth is None or isinstance(truth, (Mapping, EventStream)) else truth
    if len(truths) != len(terms):
        raise DataError(
            f"{counted(len(truths), 'truth sample')} for {counted(len(terms), 'likelihood')}\n"
            " fix: give one for each, None where there is none"
        )
    for term, own in zip(terms, truths, strict=True):
        if own is not None:
            term.check_truth(own)
    return truths


def _machine(likelihood: Fittable) -> dict[str, Any]:
    engine = _terms(likelihood)[0].engine
    size = likelihood.ranks.size
    where = {"engine": engine.name, "device": str(engine.device), "precision": likelihood.precision}
    return where | ({"ranks": size} if size > 1 else {})


def _terms(likelihood: Fittable) -> tuple[Likelihood, ...]:
    return likelihood.terms if isinstance(likelihood, LikelihoodSum) else (likelihood,)


@dataclass(frozen=True)
class _How:
    """How every start is fitted, and who wants to know."""

    method: str
    tolerance: float
    max_iterations: int | None
    progress: bool | None
    watch: Watch | None
    journal: Journal
    search: SearchSettings


def _minimise(likelihood: Fittable, points: np.ndarray, seed: int, learn: bool, how: _How) -> tuple[Stop, Record, tuple[FoundMinimum, ...]]:
    """The best end, what it took, and all minima."""
    known, n_known = _known(likelihood, points, seed, how)
    total = Record(values=n_known)
    others: list[Minimum] = []
    coarse: Coarse | None = None
    if len(points) == 1 or _lineshapes_differ(likelihood, points):
        candidates = [Minimum(np.nan, point, (k,)) for k, point in enumerate(points)]
    else:
        coarse = coarse_search(likelihood, points, seed, how.progress, learn=learn, journal=how.journal, settings=how.search)
        _add(total, replace(coarse.record, history=[]))  # of part of the events
        if not coarse.minima:
            raise DataError("no start has a finite likelihood\n fix: check the samples and the start values")
        if coarse.interrupted:
            return _interrupted_search(likelihood, coarse, known, how, total)
        candidates, others = list(coarse.minima[: coarse.promising]), list(coarse.minima[coarse.promising :])
    stops, interrupted = _run_all(likelihood, candidates, how, total)
    if not stops:  # interrupted before the first of them had a point
        if coarse is not None:
            return _interrupted_search(likelihood, coarse, known, how, total)
        if known is None:
            raise KeyboardInterrupt
        return known, total, (FoundMinimum(known.value, 0, False, tuple(map(float, known.x))),)
    others = [*candidates[len(stops) :], *others]
    candidates = candidates[: len(stops)]
    best, as_it_is = _lowest(stops), None
    reference = candidates[best].value, stops[best].value
    if known is not None and not stops[best].value <= known.value + likelihood.rounding:  # the search has lost it
        as_it_is = len(stops) if interrupted else None
        again = Minimum(np.nan, known.x, ())
        more, interrupted = ([known], True) if interrupted else _run_all(likelihood, [again], how, total, noted=False)
        stops, candidates = [*stops, *more], [*candidates, again]
        best = _lowest(stops)
    best_x = one_form(likelihood, stops[best].x)
    stops = [replace(stop, x=one_form(likelihood, stop.x, near=best_x)) for stop in stops]
    hessian = likelihood.value_grad_hessian(stops[best].x)[2] if len(stops) > 1 else None
    refined = []
    for minimum in distinct(stops, hessian, likelihood.unit, same_value=how.search.same_value):
        n = sum(len(candidates[k].starts) for k in minimum.starts)
        refined.append(FoundMinimum(minimum.value, n, minimum.starts != (as_it_is,), tuple(map(float, minimum.x))))
    how.journal.done = not interrupted
    stop = replace(stops[best], converged=False, reason=INTERRUPTED) if interrupted else stops[best]
    return stop, total, (*refined, *_estimated(others, *reference))


def _known(likelihood: Fittable, points: np.ndarray, seed: int, how: _How) -> tuple[Stop | None, int]:
    """The best point that is known before many starts are searched, which is never given up for a worse one; and what that took."""
    how.journal.begin(points, seed)
    known = [points[0], *([np.array(how.journal.known)] if how.journal.known else [])]
    if len(points) == len(known) == 1:
        return None, 0  # it begins there
    values = np.asarray(likelihood.value(np.array(known)))
    if not np.isfinite(values).any():
        return None, len(known)
    best = int(np.nanargmin(values))
    if how.watch is not None:
        how.watch(known[best], float(values[best]))
    return Stop(known[best], float(values[best]), False, INTERRUPTED, 0), len(known)


def _interrupted_search(
    likelihood: Fittable, coarse: Coarse, known: Stop | None, how: _How, total: Record
) -> tuple[Stop, Record, tuple[FoundMinimum, ...]]:
    """What ``_minimise`` gives of a search after which no whole fit has a point."""
    stop, found = _cut_short(likelihood, coarse, known, how.journal.ends)
    return stop, total, found


def _cut_short(likelihood: Fittable, coarse: Coarse, known: Stop | None, ended: Container[int]) -> tuple[Stop, tuple[FoundMinimum, ...]]:
    """The best point of all events that an interrupted search knows, and the minima that it has found.

    Args:
        likelihood:  of all events
        coarse:      what the search has found, and where it was
        known:       the best point from before
        ended:       the starts that have ended; others were on their way
    """
    promising = coarse.minima[: coarse.promising]
    values = np.asarray(likelihood.value(np.array([minimum.x for minimum in promising]))).tolist()
    pairs = [*zip(promising, values, strict=True), *([] if known is None else [(Minimum(np.nan, known.x, ()), known.value)])]
    best = min(range(len(pairs)), key=lambda k: (np.isnan(pairs[k][1]), pairs[k][1]))
    found = []
    for k, (minimum, value) in enumerate(pairs):
        n = sum(start in ended for start in minimum.starts)
        if k == best or (n and np.isfinite(value)):
            found.append(FoundMinimum(value, n, False, tuple(map(float, minimum.x))))
    rest = [replace(m, starts=tuple(k for k in m.starts if k in ended)) for m in coarse.minima[coarse.promising :]]
    found += _estimated([minimum for minimum in rest if minimum.starts], promising[0].value, values[0])
    stop = Stop(pairs[best][0].x, pairs[best][1], False, INTERRUPTED, 0)
    return stop, tuple(sorted(found, key=lambda minimum: minimum.nll))


def _lowest(stops: Sequence[Stop]) -> int:
    return min(range(len(stops)), key=lambda k: (np.isnan(stops[k].value), stops[k].value))


def _lineshapes_differ(likelihood: Fittable, points: np.ndarray) -> bool:
    """Whether points were given that differ in more than couplings; the quick search knows couplings only."""
    lineshapes = np.delete(points, likelihood.coupling_index, axis=1)
    return bool((lineshapes != lineshapes[0]).any())


def _estimated(minima: Sequence[Minimum], coarse: float, whole: float) -> tuple[FoundMinimum, ...]:
    """Minima of part of the events that nothing was done about; they lie above another one by as much as with this part.

    Args:
        minima:  of part of the events
        coarse:  the value of the other one with the same part, not above any of these
        whole:   its value with all events
    """
    return tuple(
        FoundMinimum(whole + (minimum.value - coarse), len(minimum.starts), False, tuple(map(float, minimum.x)))
        for minimum in minima
        if np.isfinite(minimum.value)
    )


def _run_all(likelihood: Fittable, candidates: Sequence[Minimum], how: _How, total: Record, noted: bool = True) -> tuple[list[Stop], bool]:
    """One fit after the other, and whether they were interrupted; adds to the record what they took.

    Args:
        likelihood:  what is fitted
        candidates:  where to begin
        how:         how to fit
        total:       evaluations and time
        noted:       whether ends are in the journal, and go there
    """
    stops: list[Stop] = []
    with Progress("fit", len(candidates) if len(candidates) > 1 else None, show=how.progress) as bar:
        for k, candidate in enumerate(candidates):
            try:
                if noted and k in how.journal.fits:
                    stop = how.journal.fits[k]
                else:
                    stop, record = _run(likelihood, candidate.x, how.method, how.tolerance, how.max_iterations, _shown(bar, how.watch))
                    _add(total, record)
                    if noted and stop.reason != INTERRUPTED:
                        how.journal.fitted(k, stop)
                stops.append(stop)
                bar.advance(1)
            except KeyboardInterrupt:  # between two of them
                return stops, True
            if stop.reason == INTERRUPTED:
                return stops, True
    return stops, False


def _shown(bar: Progress, watch: Watch | None) -> Watch:
    """A watch that also shows how far the fit is."""

    def told(x: np.ndarray, value: float) -> None:
        bar.describe(f"fit, -ln L = {value:.3f}")
        if watch is not None:
            watch(x, value)

    return told


def _judge(likelihood: Fittable, stop: Stop, gradient: np.ndarray, H: np.ndarray) -> Judged:
    """The verdict on −ln L, in units in which one standard deviation adds ½ to it."""
    unit = likelihood.unit
    judged = judge(likelihood.names, stop, gradient / unit, H / unit, likelihood.bounds)
    verdict = replace(judged.verdict, gradient_norm=unit * judged.verdict.gradient_norm)
    return replace(judged, verdict=verdict, covariance=judged.covariance / unit)


def _run(
    likelihood: Fittable, x: np.ndarray, method: str, tolerance: float, max_iterations: int | None, watch: Watch | None
) -> tuple[Stop, Record]:
    """One fit from one start; minimisers see −ln L in units in which one standard deviation adds ½ to it."""
    unit = likelihood.unit
    told: Watch | None = None if watch is None else lambda x, value: watch(x, unit * value)
    stop, record = _run_scaled(Scaled(likelihood, unit), x, method, tolerance, max_iterations, told)
    return replace(stop, value=unit * stop.value), replace(record, history=[unit * value for value in record.history])


def _run_scaled(
    likelihood: Objective, x: np.ndarray, method: str, tolerance: float, max_iterations: int | None, watch: Watch | None
) -> tuple[Stop, Record]:
    """One fit from one start, by one of the methods."""
    limit: dict[str, Any] = {} if max_iterations is None else {"max_iterations": max_iterations}
    if method == "minuit":
        return migrad(likelihood, x, tolerance=tolerance, max_calls=max_iterations, watch=watch)
    if method == "newton":
        return drive(likelihood, newton(x, likelihood.bounds, tolerance=tolerance, noise=likelihood.rounding, **limit), watch)
    return _run_lbfgs(likelihood, x, tolerance, max_iterations or LBFGS_ITERATIONS, watch)


def _run_lbfgs(likelihood: Objective, x: np.ndarray, tolerance: float, max_iterations: int, watch: Watch | None) -> tuple[Stop, Record]:
    """L-BFGS on top of the Hessian where it begins; where it takes long the Hessian has changed, and it begins anew."""
    total = Record()
    done = 0
    while True:
        H = likelihood.value_grad_hessian(x)[2]
        metric = _inverse(H) if np.isfinite(H).all() else None
        limit = min(METRIC_ITERATIONS, max_iterations - done)
        stop, record = drive(
            likelihood,
            lbfgs(x, likelihood.bounds, inverse_metric=metric, tolerance=tolerance, max_iterations=limit, noise=likelihood.rounding),
            watch,
        )
        record.count(HESSIAN)
        _add(total, record)
        done += stop.iterations
        gained = bool(stop.iterations)
        x = stop.x
        if stop.converged or stop.reason == "interrupted" or done >= max_iterations or not gained:
            return replace(stop, iterations=done), total


def _inverse(H: np.ndarray) -> np.ndarray:
    """A positive definite stand-in for H⁻¹: curvatures by size, none of them tiny."""
    scale = 1 / np.sqrt(np.where(np.diag(H) != 0, np.abs(np.diag(H)), 1.0))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    size = np.abs(values)
    return (vectors / np.maximum(size, 1e-6 * size.max())) @ vectors.T * np.outer(scale, scale)


def _add(total: Record, record: Record) -> None:
    total.values += record.values
    total.gradients += record.gradients
    total.hessians += record.hessians
    total.seconds += record.seconds
    total.history = record.history if not total.history or record.history[-1:] < total.history[-1:] else total.history


def _parameters(likelihood: Fittable, start: np.ndarray, stop: Stop, judged: Judged, covariance: np.ndarray) -> tuple[FittedParameter, ...]:
    result = []
    variances = np.diag(covariance)
    for i, name in enumerate(likelihood.names):
        lower, upper = likelihood.bounds[i]
        known = name not in judged.undetermined and variances[i] > 0
        result.append(
            FittedParameter(
                name,
                float(stop.x[i]),
                float(np.sqrt(variances[i])) if known else None,
                float(start[i]),
                float(lower) if np.isfinite(lower) else None,
                float(upper) if np.isfinite(upper) else None,
                name in judged.verdict.at_limits,
            )
        )
    return tuple(result)


def _couplings(likelihood: Fittable, x: np.ndarray, covariance: np.ndarray, judged: Judged) -> tuple[FittedCoupling, ...]:
    """Magnitudes and phases of all couplings: ∂|c| = Re(c̄ ∂c)/|c|, ∂arg c = Im(c̄ ∂c)/|c|²."""
    found: dict[str, FittedCoupling] = {}
    undetermined = set(judged.undetermined)
    for term in _terms(likelihood):
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        c, _ = term.parameters.native(x[index])
        n = term.plan.n_couplings
        J = term.parameters.jacobian(x[index])
        dc = J[:n] + 1j * J[n : 2 * n]
        own = covariance[np.ix_(index, index)]
        lost = np.array([name in undetermined for name in term.names])
        for name, value, slope in zip(term.coupling_names, c, dc, strict=True):
            size = abs(value)
            known = not (lost & (np.abs(slope) > 0)).any() and size > 0
            d_size, d_phase = ((value.conjugate() * slope).real / size, (value.conjugate() * slope).imag / size**2) if size else (0, 0)
            errors = [float(np.sqrt(max(d @ own @ d, 0.0))) if known else None for d in (d_size, d_phase)]
            found.setdefault(name, FittedCoupling(name, value.real, value.imag, size, errors[0], float(np.angle(value)), errors[1]))
    return tuple(found.values())


def _fixed(likelihood: Fittable) -> dict[str, float]:
    return {p.name: p.value for term in _terms(likelihood) for p in term.parameters.all if p.fixed}


def _fractions(likelihood: Fittable, x: np.ndarray, covariance: np.ndarray, truths: Sequence[Any]) -> tuple[FractionSet, ...]:
    """Fractions of every data set; over a truth sample they are the same for all that share their couplings."""
    result = []
    for number, (term, truth) in enumerate(zip(_terms(likelihood), truths, strict=True)):
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        own = covariance[np.ix_(index, index)]
        calculator = FractionCalculator(term, x[index], truth)
        groups = {kind: calculator.fractions(members, own) for kind, members in wave_groups(term.model).items()}
        resonances = groups["resonances"]
        yields = {
            name: (term.weight * f, float(np.sqrt((term.weight * e) ** 2 + f**2 * term.weight_variance)))
            for name, f, e in zip(resonances.names, resonances.values.tolist(), resonances.errors.tolist(), strict=True)
        }
        name = f"data set {number + 1}" if isinstance(likelihood, LikelihoodSum) else ""
        result.append(FractionSet(name, "phase space" if truth is None else "truth", groups, yields))
    return tuple(result)
