"""From starts to the best minimum: every start is minimised by one of the methods, many of them after a coarse search."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.base.progress import Progress
from ctpwa.fitting.fittable import Fittable
from ctpwa.fitting.holes import hole, may_have_holes
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.one_form import one_form
from ctpwa.fitting.physical import AT_EDGE, EVEN, HEIGHTS, PhysicalEdge, WithBarrier
from ctpwa.fitting.result import FoundMinimum
from ctpwa.fitting.search_settings import SearchSettings
from ctpwa.fitting.starts import Coarse, coarse_search
from ctpwa.minimise.drive import GiveUp, Record, Watch, drive
from ctpwa.minimise.lbfgs import lbfgs
from ctpwa.minimise.minima import Minimum, distinct
from ctpwa.minimise.minuit import migrad
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Objective, Scaled
from ctpwa.minimise.steps import HESSIAN, Answer, Stop

METRIC_ITERATIONS = 100  # steps of L-BFGS before its metric is renewed
LBFGS_ITERATIONS = 5000
NEAR_ITERATIONS = 40  # steps from a point near the minimum, with a Hessian that is nearly right
NEAR_TOLERANCE = 0.1  # of what a fit may leave to gain: the Hessian with which that is measured is not exact
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class How:
    """How every start is fitted, and who is told about it.

    Attributes:
        curvature:  of −ln L near the minimum, about; None if it is not known
    """

    method: str
    tolerance: float
    max_iterations: int | None
    progress: bool | None
    watch: Watch | None
    journal: Journal
    search: SearchSettings
    curvature: np.ndarray | None = None


def find_minimum(
    likelihood: Fittable, points: np.ndarray, seed: int, learn: bool, how: How
) -> tuple[Stop, Record, tuple[FoundMinimum, ...]]:
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
    known_there = Answer(*likelihood.value_grad_hessian(stops[best].x)) if len(stops) > 1 else None
    hessian = None if known_there is None else known_there.hessian
    refined = []
    for minimum in distinct(stops, hessian, likelihood.unit, same_value=how.search.same_value):
        n = sum(len(candidates[k].starts) for k in minimum.starts)
        refined.append(FoundMinimum(minimum.value, n, minimum.starts != (as_it_is,), tuple(map(float, minimum.x))))
    how.journal.done = not interrupted
    stop = replace(stops[best], known=known_there)
    if interrupted:
        stop = replace(stop, converged=False, reason=INTERRUPTED)
    return stop, total, (*refined, *_estimated(others, *reference))


def _known(likelihood: Fittable, points: np.ndarray, seed: int, how: How) -> tuple[Stop | None, int]:
    """The best point that is known before many starts are searched, which is never replaced by a worse one; and what that took."""
    how.journal.begin(points, seed, how.search.distance)
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
    likelihood: Fittable, coarse: Coarse, known: Stop | None, how: How, total: Record
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
        ended:       the starts that have ended; others were still running
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
    """Minima of part of the events that were not followed up; they lie above another one by as much as with this part.

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


def _run_all(likelihood: Fittable, candidates: Sequence[Minimum], how: How, total: Record, noted: bool = True) -> tuple[list[Stop], bool]:
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
                    stop, record = _run(likelihood, candidate.x, how, _shown(bar, how.watch))
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


def _run(likelihood: Fittable, x: np.ndarray, how: How, watch: Watch | None) -> tuple[Stop, Record]:
    """One fit from one start; minimisers see −ln L in units in which one standard deviation adds ½ to it."""
    unit = likelihood.unit
    told: Watch | None = None if watch is None else lambda x, value: watch(x, unit * value)
    scaled = Scaled(likelihood, unit)
    give_up = partial(hole, likelihood) if may_have_holes(likelihood) else None
    run = partial(_run_scaled, method=how.method, tolerance=how.tolerance, max_iterations=how.max_iterations, give_up=give_up)
    if how.curvature is None:
        stop, record = run(scaled, x, watch=told)
    else:
        stop, record = _run_near(scaled, x, how.curvature / unit, how.tolerance, told, give_up)
        if not stop.converged and stop.reason != INTERRUPTED:
            stop, more = run(scaled, stop.x, watch=told)
            _add(record, more)
    edge = PhysicalEdge.of(likelihood)
    if edge is not None and stop.reason != INTERRUPTED and edge.stops(scaled, stop):
        stop = _along_edge(scaled, edge, x, stop, record, partial(run, watch=None))
        if told is not None:
            told(stop.x, stop.value)
    return replace(stop, value=unit * stop.value), replace(record, history=[unit * value for value in record.history])


def _along_edge(
    scaled: Scaled, edge: PhysicalEdge, start: np.ndarray, stuck: Stop, record: Record, run: Callable[..., tuple[Stop, Record]]
) -> Stop:
    """The lowest point within what is physical, from where a fit has met the edge of it; adds to the record what that took."""
    x, room, shrinks = edge.inside(stuck.x, start), np.inf, 0.0
    for height in HEIGHTS:
        stop, more = run(WithBarrier(scaled, edge, height), x)
        _add(record, replace(more, history=[]))
        if not stop.converged:
            return replace(stuck, converged=False)
        x, before, room = stop.x, room, edge.lowest(stop.x)
        shrinks = room / before
    if shrinks > EVEN:  # the lowest point is inside, whatever the height
        inside, more = run(scaled, x)
        _add(record, more)
        if inside.converged and not edge.stops(scaled, inside):
            return inside
    return replace(stop, value=stop.value - HEIGHTS[-1] * edge.barrier(x)[0], reason=AT_EDGE)


def _run_scaled(
    likelihood: Objective,
    x: np.ndarray,
    method: str,
    tolerance: float,
    max_iterations: int | None,
    watch: Watch | None,
    give_up: GiveUp | None,
) -> tuple[Stop, Record]:
    """One fit from one start, by one of the methods."""
    limit: dict[str, Any] = {} if max_iterations is None else {"max_iterations": max_iterations}
    if method == "minuit":
        return migrad(likelihood, x, tolerance=tolerance, max_calls=max_iterations, watch=watch)
    if method == "newton":
        return drive(likelihood, newton(x, likelihood.bounds, tolerance=tolerance, noise=likelihood.rounding, **limit), watch, give_up)
    return _run_lbfgs(likelihood, x, tolerance, max_iterations or LBFGS_ITERATIONS, watch, give_up)


def _run_near(
    likelihood: Objective, x: np.ndarray, H: np.ndarray, tolerance: float, watch: Watch | None, give_up: GiveUp | None
) -> tuple[Stop, Record]:
    """From a point near the minimum by gradients alone, with a Hessian that is nearly right."""
    steps = lbfgs(
        x,
        likelihood.bounds,
        inverse_metric=_inverse(H),
        tolerance=NEAR_TOLERANCE * tolerance,
        max_iterations=NEAR_ITERATIONS,
        noise=likelihood.rounding,
    )
    return drive(likelihood, steps, watch, give_up)


def _run_lbfgs(
    likelihood: Objective, x: np.ndarray, tolerance: float, max_iterations: int, watch: Watch | None, give_up: GiveUp | None
) -> tuple[Stop, Record]:
    """L-BFGS on top of the Hessian where it begins; where it takes long the Hessian has changed, and it starts over."""
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
            give_up,
        )
        record.count(HESSIAN)
        _add(total, record)
        done += stop.iterations
        gained = bool(stop.iterations)
        x = stop.x
        if give_up is not None and not stop.converged and give_up(x):
            return replace(stop, iterations=done), total
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
