"""``ctpwa.fit``: from a likelihood to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ctpwa.engine.likelihood import Likelihood
from ctpwa.engine.likelihood_sum import LikelihoodSum
from ctpwa.errors import DataError, PhysicsError, suggest
from ctpwa.minimise.drive import Record, Watch, drive
from ctpwa.minimise.lbfgs import lbfgs
from ctpwa.minimise.minima import Minimum, distinct
from ctpwa.minimise.minuit import migrad
from ctpwa.minimise.minuit import minos as minos_errors
from ctpwa.minimise.newton import newton
from ctpwa.minimise.steps import Stop
from ctpwa.minimise.verdict import Judged, judge
from ctpwa.progress import Progress
from ctpwa.results.fractions import FractionCalculator, wave_groups
from ctpwa.results.result import FitResult, FittedCoupling, FittedParameter, FoundMinimum, FractionSet
from ctpwa.results.starts import coarse_search

METHODS = ("newton", "lbfgs", "minuit")
TOLERANCE = 1e-8  # expected distance to the minimum at the end, in -ln L
Fittable = Likelihood | LikelihoodSum


def fit(
    likelihood: Fittable,
    starts: int | Any = 1,
    method: str = "newton",
    *,
    start: Any = None,
    seed: int = 0,
    minos: Sequence[str] = (),
    truth: Mapping[str, Any] | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int | None = None,
    progress: bool | None = None,
    watch: Watch | None = None,
) -> FitResult:
    """Find the minimum of −ln L, and what it means.

    With more than one start, the first is ``start`` and the others have random couplings. Ctrl-C ends the fit with the best point so
    far; the verdict says so.

    Args:
        likelihood:      one likelihood or a sum of them
        starts:          number of starts, or points [start, parameter]
        method:          ``newton`` (trust region with the exact Hessian), ``lbfgs`` or ``minuit`` (MIGRAD)
        start:           the first start; default: the values of the model
        seed:            of random starts
        minos:           parameters that get asymmetric errors
        truth:           phase space before acceptance; fractions are then corrected for efficiency
        tolerance:       expected distance to the minimum at which to stop
        max_iterations:  give up after so many steps
        progress:        show progress bars; default: on a terminal when it takes more than two seconds
        watch:           called with every better point and its value
    """
    if method not in METHODS:
        raise PhysicsError(f"unknown method {method!r}", suggest(method, METHODS))
    unknown = [name for name in minos if name not in likelihood.names]
    if unknown:
        raise PhysicsError(f"MINOS of {unknown[0]!r}, which is not a free parameter", suggest(unknown[0], likelihood.names))
    points = _points(likelihood, starts, start, seed)
    stop, record, minima = _minimise(likelihood, points, method, tolerance, max_iterations, seed, progress, watch)
    _, gradient, H = likelihood.value_grad_hessian(stop.x)
    judged = judge(likelihood.names, stop, gradient, H, likelihood.bounds)
    covariance = judged.covariance
    corrected = likelihood.weighted
    if corrected:
        covariance = covariance @ likelihood.score_products(stop.x) @ covariance
    asymmetric = minos_errors(likelihood, stop.x, minos) if minos and judged.verdict.good else {}
    return FitResult(
        decay=str(_terms(likelihood)[0].model.decay),
        method=method,
        parameters=_parameters(likelihood, points[0], stop, judged, covariance, asymmetric),
        covariance=covariance,
        corrected=corrected,
        couplings=_couplings(likelihood, stop.x, covariance, judged),
        fixed=_fixed(likelihood),
        nll=stop.value,
        n_events=likelihood.n_events,
        weight=likelihood.weight,
        verdict=judged.verdict,
        record=record,
        minima=minima,
        n_starts=len(points),
        fractions=_fractions(likelihood, stop.x, covariance, truth),
        settings={"starts": len(points), "seed": seed, "tolerance": tolerance, "minos": list(minos)},
        version=_version(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _version() -> str:
    from importlib.metadata import version

    return version("ctpwa")


def _terms(likelihood: Fittable) -> tuple[Likelihood, ...]:
    return likelihood.terms if isinstance(likelihood, LikelihoodSum) else (likelihood,)


def _points(likelihood: Fittable, starts: int | Any, start: Any, seed: int) -> np.ndarray:
    """All starts, [start, parameter]."""
    n = len(likelihood.names)
    if not isinstance(starts, (int, np.integer)):
        points = np.atleast_2d(np.asarray(starts, dtype=float))
        if points.shape[1:] != (n,) or not len(points) or not np.isfinite(points).all():
            raise DataError(f"starts have shape {points.shape}\n fix: give finite numbers [start, parameter] for {n} free parameters")
        return points
    if starts < 1:
        raise DataError(f"{starts} starts\n fix: give at least 1")
    first = np.asarray(likelihood.start if start is None else start, dtype=float)
    if first.shape != (n,) or not np.isfinite(first).all():
        raise DataError(f"the start has shape {first.shape}\n fix: give {n} finite numbers, see .names")
    if starts == 1:
        return first[None]
    return np.concatenate([first[None], likelihood.random_couplings(first, int(starts) - 1, seed)])


def _minimise(
    likelihood: Fittable,
    points: np.ndarray,
    method: str,
    tolerance: float,
    max_iterations: int | None,
    seed: int,
    progress: bool | None,
    watch: Watch | None,
) -> tuple[Stop, Record, tuple[FoundMinimum, ...]]:
    """The best end, what it took, and all minima."""
    total = Record()
    if len(points) == 1:
        candidates, others = [Minimum(np.nan, points[0], (0,))], []
    else:
        coarse = coarse_search(likelihood, points, seed, progress)
        total = coarse.record
        if not coarse.minima:
            raise DataError("no start has a finite likelihood\n fix: check the samples and the start values")
        candidates, others = list(coarse.minima[: coarse.promising]), list(coarse.minima[coarse.promising :])
    stops: list[Stop] = []
    with Progress("fit", len(candidates), show=progress) as bar:
        for candidate in candidates:
            stop, record = _run(likelihood, candidate.x, method, tolerance, max_iterations, watch)
            stops.append(stop)
            _add(total, record)
            bar.advance(1)
            if stop.reason == "interrupted":
                others = [*candidates[len(stops) :], *others]
                break
    best = min(range(len(stops)), key=lambda k: stops[k].value)
    hessian = likelihood.value_grad_hessian(stops[best].x)[2] if len(stops) > 1 else None
    found = []
    for minimum in distinct(stops, hessian):
        n = sum(len(candidates[k].starts) for k in minimum.starts)
        found.append(FoundMinimum(minimum.value, n, True, tuple(map(float, minimum.x))))
    found += [FoundMinimum(other.value, len(other.starts), False, tuple(map(float, other.x))) for other in others]
    return stops[best], total, tuple(found)


def _run(
    likelihood: Fittable, x: np.ndarray, method: str, tolerance: float, max_iterations: int | None, watch: Watch | None
) -> tuple[Stop, Record]:
    """One fit from one start."""
    limit = {} if max_iterations is None else {"max_iterations": max_iterations}
    if method == "minuit":
        return migrad(likelihood, x, tolerance=tolerance, max_calls=max_iterations, watch=watch)
    if method == "newton":
        return drive(likelihood, newton(x, likelihood.bounds, tolerance=tolerance, noise=likelihood.rounding, **limit), watch)
    H = likelihood.value_grad_hessian(x)[2]
    steps = lbfgs(x, likelihood.bounds, inverse_metric=_inverse(H), tolerance=tolerance, noise=likelihood.rounding, **limit)
    stop, record = drive(likelihood, steps, watch)
    record.count(2)
    return stop, record


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


def _parameters(
    likelihood: Fittable, start: np.ndarray, stop: Stop, judged: Judged, covariance: np.ndarray, asymmetric: Mapping[str, Any]
) -> tuple[FittedParameter, ...]:
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
                asymmetric.get(name),
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


def _fractions(likelihood: Fittable, x: np.ndarray, covariance: np.ndarray, truth: Mapping[str, Any] | None) -> tuple[FractionSet, ...]:
    """Fractions of every data set; over a truth sample they are the same for all that share their couplings."""
    result = []
    for number, term in enumerate(_terms(likelihood)):
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
