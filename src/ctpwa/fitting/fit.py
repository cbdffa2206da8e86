"""``ctpwa.fit``: from a likelihood to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.progress import Progress
from ctpwa.base.timing import phase
from ctpwa.base.words import counted
from ctpwa.data.stream import EventStream
from ctpwa.engine.likelihood.likelihood_sum import advice
from ctpwa.engine.samples.own_events import SampleInput
from ctpwa.fitting.conclusion import HowFound, conclude
from ctpwa.fitting.consistent import METHODS
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.minimum import INTERRUPTED, How, find_minimum
from ctpwa.fitting.points import start_points
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.search_settings import DISTANCE, USUAL, SearchSettings
from ctpwa.minimise.drive import Watch
from ctpwa.minimise.minos import minos as minos_errors
from ctpwa.minimise.objective import Scaled
from ctpwa.model.parameter import asymmetry_owner

TOLERANCE = 1e-8  # expected distance to the minimum at the end, in -ln L of events without weights
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
    simulation: bool = True,
    effective_sizes: bool = True,
    curvature: np.ndarray | None = None,
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
        max_iterations:  give up after this many steps
        progress:        show progress bars; default: on a terminal when it takes more than two seconds
        watch:           called with every improved point and its value
        journal:         receives what many starts have found so far; one that another call has filled continues where that call was
        search:          how to search from many starts
        simulation:      whether errors count that the phase-space sample is finite; that takes two more passes over it. MINOS errors
                         do not count it
        effective_sizes: whether the verdict says if too few phase-space events count; one more pass if errors do not count them
        curvature:       the Hessian of −ln L where the start is near the minimum, about, such as that of a fit to similar events:
                         gradients, which take less time, then lead to it. Where they do not, all is done as without it
    """
    with likelihood.ranks.interrupts_together():
        journal = Journal() if journal is None else journal
        options = _Options(
            starts, method, start, seed, minos, tolerance, max_iterations, journal, search, simulation, effective_sizes, curvature
        )
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
    simulation: bool
    effective_sizes: bool
    curvature: np.ndarray | None = field(repr=False)  # numbers of a large matrix take as long to write as an evaluation


def _fit(likelihood: Fittable, options: _Options, truth: Truth, progress: bool | None, watch: Watch | None) -> FitResult:
    starts, method, start, seed = options.starts, options.method, options.start, options.seed
    minos, tolerance, max_iterations = options.minos, options.tolerance, options.max_iterations
    _check(likelihood, method, seed, minos, tolerance, max_iterations)
    for name, flag in (("simulation", options.simulation), ("effective_sizes", options.effective_sizes)):
        if not isinstance(flag, (bool, np.bool_)):
            raise DataError(f"{name} is {flag!r}\n fix: give True or False")
    likelihood.ranks.check_same("way to fit", repr(options), "call fit with the same arguments on all ranks")
    truths = _truths(likelihood, truth)
    points = start_points(likelihood, starts, start, seed)
    _check_distance(options.search.distance, len(points))
    _check_signal(likelihood, points[0])
    with phase("compile"), Progress("compile what this model needs, once", None, show=progress):
        for term in terms_of(likelihood):
            term.engine.prepare()
    learn = isinstance(starts, (int, np.integer))  # points that somebody chose are starts as they are
    curvature = _checked_curvature(options.curvature, len(likelihood.names), len(points))
    how = How(method, tolerance, max_iterations, progress, watch, options.journal, options.search, curvature)
    with phase("fit"):
        stop, record, minima = find_minimum(likelihood, points, seed, learn, how)
    settings = {"starts": len(points), "seed": seed, "minos": list(minos), "tolerance": tolerance, "max_iterations": max_iterations}
    settings |= {"simulation": bool(options.simulation)}
    if options.search.distance is not None:
        settings |= {"minima": options.search.distance * likelihood.unit}
    given = {} if learn else {"points": points}
    about = HowFound(method, points, record, minima, settings | _machine(likelihood) | given)
    with phase("errors"):
        try:
            result = conclude(likelihood, stop, truths, about, progress, options.simulation, options.effective_sizes)
        except KeyboardInterrupt:  # the point is worth its errors; a second Ctrl-C ends this as well
            return _interrupted(conclude(likelihood, stop, truths, about, progress, options.simulation, options.effective_sizes))
    if curvature is not None and stop.reason != INTERRUPTED and not (result.verdict.good and result.verdict.edm <= tolerance):
        return _fit(likelihood, replace(options, starts=1, start=stop.x, journal=Journal(), curvature=None), truth, progress, watch)
    if not minos or not result.verdict.good:
        return result
    try:
        with phase("errors"), Progress("MINOS", None, show=progress):
            asymmetric = minos_errors(Scaled(likelihood, likelihood.unit), stop.x, minos)
    except KeyboardInterrupt:
        return _interrupted(result)
    return replace(result, parameters=tuple(replace(p, minos=asymmetric.get(p.name)) for p in result.parameters))


def _interrupted(result: FitResult) -> FitResult:
    """A result whose errors are known, but whose fit was interrupted."""
    return replace(result, verdict=replace(result.verdict.with_reasons([INTERRUPTED]), good=False))


def _check(likelihood: Fittable, method: str, seed: int, minos: Sequence[str], tolerance: float, max_iterations: int | None) -> None:
    """Refuse what makes no sense, before anything takes time."""
    if method not in METHODS:
        raise PhysicsError(f"unknown method {method!r}", suggest(method, METHODS))
    if not likelihood.names:
        raise PhysicsError("there is nothing to fit: no parameter is free", "add waves, or let parameters of a resonance float")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise DataError(f"the seed is {seed!r}\n fix: give a whole number, at least 0")
    _check_events(likelihood)
    _check_asymmetries(likelihood)
    if isinstance(minos, str):
        raise PhysicsError(f"minos is the text {minos!r}", "give a list of parameters")
    unknown = [name for name in minos if name not in likelihood.names]
    if unknown:
        raise PhysicsError(f"MINOS of {unknown[0]!r}, which is not a free parameter", advice(unknown[0], likelihood))
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise DataError(f"the tolerance is {tolerance!r}\n fix: give a number above 0, such as {TOLERANCE:g}")
    if max_iterations is not None and max_iterations < 1:
        raise DataError(f"max_iterations is {max_iterations!r}\n fix: give at least 1, or leave it out")


def _checked_curvature(curvature: np.ndarray | None, n: int, n_starts: int) -> np.ndarray | None:
    """A Hessian of all free parameters, for one start."""
    if curvature is None:
        return None
    H = np.asarray(curvature, dtype=float)
    if H.shape != (n, n) or not np.isfinite(H).all() or not H.any():
        raise DataError(
            f"the curvature is no Hessian of {counted(n, 'free parameter')}\n fix: give finite numbers that are not all 0, or leave it out"
        )
    if n_starts > 1:
        raise DataError(f"a curvature, and {n_starts} starts\n fix: give one start, which is near the minimum")
    return H


def _check_distance(distance: float | None, n_starts: int) -> None:
    """Refuse to keep minima at a distance that is none, or those of one start."""
    if distance is None:
        return
    if not (np.isfinite(distance) and distance > 0):
        raise DataError(f"minima within {distance!r} of the best\n fix: give a number above 0, such as {DISTANCE:g}")
    if n_starts == 1:
        raise DataError("all minima are asked for, and there is one start\n fix: add  --starts 20,  or  starts=20")


def _check_events(likelihood: Fittable) -> None:
    """Refuse samples that cannot determine the parameters: with so few distinct events −ln L has no minimum, and a fit no end."""
    n, data = len(likelihood.names), sum(term.distinct_events("data") for term in terms_of(likelihood))
    if data < n:
        raise DataError(f"data: only {data} different events for {n} free parameters\n fix: give more events, or fix parameters")
    for term in terms_of(likelihood):
        if (found := term.distinct_events("phase space")) < len(term.names):
            raise DataError(
                f"phase space: only {found} different events for {len(term.names)} free parameters\n"
                " fix: give more; the normalisation is known only from many more events than there are parameters"
            )


def _check_signal(likelihood: Fittable, x: np.ndarray) -> None:
    """Refuse a start at which backgrounds leave nothing for the signal."""
    for term in terms_of(likelihood):
        own = term.parameters.full(x[[likelihood.names.index(name) for name in term.names]])
        values = {p.name: float(value) for p, value in zip(term.parameters.all, own, strict=True)}
        if term.mixture is not None and not term.mixture.signal.at(values) > 0:
            raise PhysicsError(
                f"the backgrounds leave {term.mixture.signal.at(values):g} for the signal where the fit starts",
                "give fractions that add up to less than 1, and a positive yield of the signal",
            )


def _check_asymmetries(likelihood: Fittable) -> None:
    """Refuse to fit asymmetries to samples of one kind."""
    free = {part for term in terms_of(likelihood) for part in term.names if asymmetry_owner(part)}
    signs = {term.parameters.sign for term in terms_of(likelihood)}
    if free and len(signs) == 1:
        which = "the charge-conjugate decay" if signs == {-1} else "the decay"
        raise PhysicsError(
            f"{min(free)!r} is free, and all samples are of {which}",
            "add the likelihood of the other one, built with conjugate=True for the conjugate; or fix it",
        )


def _truths(likelihood: Fittable, truth: Truth) -> Sequence[SampleInput | None]:
    """A truth sample, or none, for every likelihood."""
    terms = terms_of(likelihood)
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
    engine = terms_of(likelihood)[0].engine
    size = likelihood.ranks.size
    where = {"engine": engine.name, "device": str(engine.device), "precision": likelihood.precision}
    return where | ({"ranks": size} if size > 1 else {})
