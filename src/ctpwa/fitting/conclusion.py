"""What follows from the point where a fit ended: errors, verdict, couplings, fractions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.base.progress import Progress
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.likelihood.simulation import NormalisationSize, SimulationScatter
from ctpwa.fitting.ambiguities import ambiguities
from ctpwa.fitting.asymmetries import CPAsymmetries, coupling_asymmetries, fraction_asymmetries
from ctpwa.fitting.counted_events import largest_of_couplings, normalisation_sizes
from ctpwa.fitting.derived import derived_parameters
from ctpwa.fitting.direct_effect import SampleInfluence
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.fractions import FractionCalculator, Fractions, SignalEvents, chain_groups, wave_groups
from ctpwa.fitting.holes import hole
from ctpwa.fitting.minimum import INTERRUPTED
from ctpwa.fitting.physical import PhysicalEdge
from ctpwa.fitting.precision import measure_bias
from ctpwa.fitting.remarks import (
    doubtful_minimum,
    events_without_background,
    large_fractions,
    masses_out_of_range,
    one_arbitrary_start,
    weak_reference,
)
from ctpwa.fitting.result import FitResult, FittedCoupling, FittedParameter, FoundMinimum, FractionSet
from ctpwa.fitting.simulation import SimulationPart, advice_on_errors, few_for_parameters, too_few_events
from ctpwa.minimise.drive import Record
from ctpwa.minimise.steps import Answer, Stop
from ctpwa.minimise.verdict import Judged, Verdict, judge, without_what_is_flat
from ctpwa.model.open_signs import open_signs
from ctpwa.version import VERSION

ROUNDING = 1e-13  # of a derivative of |c| or arg c, relative to that of c: less is 0, such as that of |c| over the phase


@dataclass(frozen=True)
class HowFound:
    """How a minimum was found."""

    method: str
    points: np.ndarray
    record: Record
    minima: tuple[FoundMinimum, ...]
    settings: Mapping[str, Any]


def conclude(
    likelihood: Fittable,
    stop: Stop,
    truths: Sequence[Any],
    about: HowFound,
    progress: bool | None,
    simulation: bool = True,
    effective_sizes: bool = True,
) -> FitResult:
    """Everything that follows from the point where the fit ended.

    Args:
        likelihood:       what was fitted
        stop:             where that ended
        truths:           a truth sample, or None, for each data set
        about:            how it was found
        progress:         show progress bars
        simulation:       whether errors count the finite phase-space sample
        effective_sizes:  whether the verdict says if too few of its events count
    """
    with Progress("errors and fractions", None, show=progress):
        known = stop.known or Answer(*likelihood.value_grad_hessian(stop.x))
        value, gradient, H = known.value, known.gradient, known.hessian
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(H).all()):
            raise DataError(
                f"the likelihood or its derivatives are not finite where the fit ended ({stop.reason})\n"
                " fix: check the start values of the parameters, and give limits to those that must not leave a range"
            )
        endless = "" if stop.converged else hole(likelihood, stop.x)
        edge = PhysicalEdge.of(likelihood)
        slope, curvature = (gradient, H) if edge is None else edge.at_barrier(likelihood, stop, gradient, H)
        judged = _judge(likelihood, stop, slope, curvature, endless)
        if edge is not None:
            judged = without_what_is_flat(judged, edge.undetermined(likelihood, stop, about.points[0]))
        covariance = judged.covariance
        corrected = likelihood.weighted
        if corrected:
            covariance = covariance @ likelihood.score_products(stop.x) @ covariance
        scatter = likelihood.simulation_scatter(stop.x) if simulation else None
        part = None if scatter is None else _simulation(scatter, judged.covariance)
        if part is not None:
            covariance = covariance + part.covariance
        parameters = _parameters(likelihood, about.points[0], stop, judged, covariance, part)
        errors = np.array([np.nan if p.error is None else p.error for p in parameters])
        bias = measure_bias(likelihood, stop.x, value, gradient, judged.covariance, errors)
        own = None if scatter is None else _own_influences(likelihood, scatter, judged.covariance)
        found = _fractions(likelihood, stop.x, covariance, truths, judged.undetermined, own)
        remarks = [
            *([] if edge is None else edge.remark(stop)),
            *_masses(likelihood, stop),
            *_without_background(likelihood),
            *([bias.warning] if bias and bias.warning else []),
            *found.remarks,
        ]
        if stop.reason != INTERRUPTED:
            remarks += dict.fromkeys(sentence for term in terms_of(likelihood) for sentence in open_signs(term.model))
            same = ambiguities(likelihood, about.minima, about.settings.get("minima"))
            remarks += one_arbitrary_start(likelihood, about.points)
            remarks += [*same.values(), *doubtful_minimum(about.minima, len(about.points), likelihood.unit, same)]
        verdict = judged.verdict if endless else judged.verdict.with_reasons(last=remarks)
        if not endless and part is not None:
            verdict = _with_sizes(verdict, likelihood, part.sizes, found.sets, advice_on_errors(likelihood.names, errors, part.errors))
        elif not endless and effective_sizes:
            verdict = _with_sizes(verdict, likelihood, normalisation_sizes(likelihood, stop.x), found.sets)
        return FitResult(
            decay=str(terms_of(likelihood)[0].model.decay),
            method=about.method,
            parameters=parameters,
            covariance=covariance,
            corrected=corrected,
            couplings=_couplings(likelihood, stop.x, covariance, judged),
            fixed=_fixed(likelihood),
            derived=derived_parameters(likelihood, stop.x, covariance, judged.undetermined),
            nll=stop.value,
            n_events=likelihood.n_events,
            weight=likelihood.weight,
            verdict=verdict,
            record=about.record,
            minima=about.minima,
            n_starts=len(about.points),
            fractions=found.sets,
            settings=about.settings,
            precision=bias,
            simulation=part,
            asymmetries=found.asymmetries,
            version=VERSION,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def at_point(likelihood: Fittable, x: np.ndarray, truths: Sequence[Any], about: HowFound) -> FitResult:
    """What follows from a point that no fit has found: values, −ln L and fractions, all of them without errors."""
    nothing = np.full((len(x), len(x)), np.nan)
    limits = tuple(name for name, value, pair in zip(likelihood.names, x, likelihood.bounds, strict=True) if value in pair)
    verdict = Verdict(False, ("nothing was fitted",), np.inf, np.inf, (), at_limits=limits)
    judged = Judged(verdict, nothing, likelihood.names)
    value = float(likelihood.value(x))
    found = _fractions(likelihood, x, nothing, truths, likelihood.names)
    return FitResult(
        decay=str(terms_of(likelihood)[0].model.decay),
        method=about.method,
        parameters=_parameters(likelihood, x, Stop(x, value, False, "nothing was fitted", 0), judged, nothing, None),
        covariance=nothing,
        corrected=likelihood.weighted,
        couplings=tuple(replace(c, magnitude_error=None, phase_error=None) for c in _couplings(likelihood, x, nothing, judged)),
        fixed=_fixed(likelihood),
        derived=derived_parameters(likelihood, x),
        nll=value,
        n_events=likelihood.n_events,
        weight=likelihood.weight,
        verdict=verdict,
        record=about.record,
        minima=about.minima,
        n_starts=1,
        fractions=found.sets,
        settings=about.settings,
        asymmetries=found.asymmetries,
        version=VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def over_other_data(result: FitResult, likelihood: Fittable, truths: Sequence[Any]) -> FitResult:
    """A result with −ln L and yields of other events; values and errors, also those of fractions, are those of the fit.

    Where the number of signal events is a parameter, errors of yields leave out how single phase-space events move both it and the
    fraction at once.
    """
    x = np.array([result.value(name) for name in likelihood.names])
    sets = []
    for term, truth, entry in zip(terms_of(likelihood), truths, result.fractions, strict=True):
        own = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        order = [result.names.index(name) for name in term.names]
        calculator, covariance = FractionCalculator(term, x[own], truth), result.covariance[np.ix_(order, order)]
        signal, members = SignalEvents.of(term, x[own]), wave_groups(term.model)["resonances"]
        sets.append(replace(entry, yields=calculator.yields(members, entry.groups["resonances"], covariance, signal)))
    value = float(likelihood.value(x))
    return replace(result, nll=value, n_events=likelihood.n_events, weight=likelihood.weight, fractions=tuple(sets), precision=None)


def _simulation(scatter: SimulationScatter, inverse: np.ndarray) -> SimulationPart:
    """What the finite phase-space samples add to the covariance, with ``inverse`` H⁻¹."""
    added = inverse @ scatter.products @ inverse
    return SimulationPart((added + added.T) / 2, scatter.sizes)


def _own_influences(likelihood: Fittable, scatter: SimulationScatter, inverse: np.ndarray) -> list[SampleInfluence]:
    """What the phase-space events of every data set do to a fit of all of them, with ``inverse`` H⁻¹."""
    found = []
    for term, own in zip(terms_of(likelihood), scatter.influences, strict=True):
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        found.append(SampleInfluence(own, inverse[np.ix_(index, index)]))
    return found


def _with_sizes(
    verdict: Verdict,
    likelihood: Fittable,
    sizes: Sequence[NormalisationSize],
    fractions: Sequence[FractionSet],
    advice: Sequence[str] = (),
) -> Verdict:
    """The verdict with what the size of the simulation says: a remark, or that errors cannot be trusted."""
    few, remarks = [], []
    for term, size, entry in zip(terms_of(likelihood), sizes, fractions, strict=True):
        few += too_few_events(size, len(term.names), largest_of_couplings(term, entry.groups["waves"].values), entry.data_set)
        remarks += few_for_parameters(size, len(term.names), entry.data_set)
    noted = verdict.with_reasons(few, [] if few else [*remarks, *advice])
    return replace(noted, good=noted.good and not few)


def _masses(likelihood: Fittable, stop: Stop) -> list[str]:
    """Masses that ended where no events are."""
    values = dict(zip(likelihood.names, stop.x.tolist(), strict=True))
    values |= {p.name: p.value for p in derived_parameters(likelihood, stop.x)}
    return [remark for term in terms_of(likelihood) for remark in masses_out_of_range(term.model, values)]


def _without_background(likelihood: Fittable) -> list[str]:
    """Densities of background that are 0 at measured events."""
    remarks = []
    for number, term in enumerate(terms_of(likelihood)):
        name = f"data set {number + 1}" if isinstance(likelihood, LikelihoodSum) else ""
        remarks += events_without_background(term.events_without_background(), term.n_events, name)
    return remarks


def _judge(likelihood: Fittable, stop: Stop, gradient: np.ndarray, H: np.ndarray, endless: str) -> Judged:
    """The verdict on −ln L, in units in which one standard deviation adds ½ to it.

    If −ln L falls without limit, for the reason ``endless``, nothing else is worth saying, and nothing is determined.
    """
    unit = likelihood.unit
    judged = judge(likelihood.names, stop, gradient / unit, H / unit, likelihood.bounds)
    verdict = replace(judged.verdict, gradient_norm=unit * judged.verdict.gradient_norm)
    if endless:
        verdict = replace(verdict, good=False, reasons=(endless,))
        judged = replace(judged, covariance=np.zeros_like(H), undetermined=likelihood.names)
    return replace(judged, verdict=verdict, covariance=judged.covariance / unit)


def _parameters(
    likelihood: Fittable, start: np.ndarray, stop: Stop, judged: Judged, covariance: np.ndarray, part: SimulationPart | None
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
                simulation=float(part.errors[i]) if known and part is not None else None,
            )
        )
    return tuple(result)


def _couplings(likelihood: Fittable, x: np.ndarray, covariance: np.ndarray, judged: Judged) -> tuple[FittedCoupling, ...]:
    """Magnitudes and phases of all couplings without their asymmetries: ∂|c| = Re(c̄ ∂c)/|c|, ∂arg c = Im(c̄ ∂c)/|c|²."""
    found: dict[str, FittedCoupling] = {}
    undetermined = set(judged.undetermined)
    for term in terms_of(likelihood):
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        c, _ = term.parameters.bare.native(x[index])
        n = len(term.coupling_names)
        J = term.parameters.bare.jacobian(x[index])
        dc = J[:n] + 1j * J[n : 2 * n]
        own = covariance[np.ix_(index, index)]
        lost = np.array([name in undetermined for name in term.names])
        for name, value, slope in zip(term.coupling_names, c, dc, strict=True):
            size = abs(value)
            known = not (lost & (np.abs(slope) > 0)).any() and size > 0
            turned = value.conjugate() * slope
            along, across = (np.where(np.abs(d) > ROUNDING * np.abs(turned), d, 0.0) for d in (turned.real, turned.imag))
            d_size, d_phase = (along / size, across / size**2) if size else (0, 0)
            errors = [float(np.sqrt(max(d @ own @ d, 0.0))) if known else None for d in (d_size, d_phase)]
            found.setdefault(name, FittedCoupling(name, value.real, value.imag, size, errors[0], float(np.angle(value)), errors[1]))
    return tuple(found.values())


def _fixed(likelihood: Fittable) -> dict[str, float]:
    own = [(p, term.parameters.derived) for term in terms_of(likelihood) for p in term.parameters.all]
    return {p.name: p.value for p, derived in own if p.fixed and p.name not in derived}


@dataclass(frozen=True)
class _FoundFractions:
    """Fractions of every data set, asymmetries if some couplings have any, and what to remark."""

    sets: tuple[FractionSet, ...]
    asymmetries: CPAsymmetries | None
    remarks: tuple[str, ...]


def _fractions(
    likelihood: Fittable,
    x: np.ndarray,
    covariance: np.ndarray,
    truths: Sequence[Any],
    undetermined: Collection[str],
    influences: Sequence[SampleInfluence] | None = None,
) -> _FoundFractions:
    """Fractions, which over a truth sample are the same for all data sets that share their couplings.

    Args:
        likelihood:    of all data sets
        x:             its free parameters
        covariance:    of them
        truths:        a truth sample, or None, for each data set
        undetermined:  parameters without an error
        influences:    of phase-space events, for each data set, if the covariance counts that they are finite
    """
    result, remarks = [], []
    known: dict[str, float] = {}
    asymmetries: CPAsymmetries | None = None
    for number, (term, truth) in enumerate(zip(terms_of(likelihood), truths, strict=True)):
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        own = covariance[np.ix_(index, index)]
        calculator = FractionCalculator(term, x[index], truth)
        members = wave_groups(term.model)
        direct = {} if influences is None else calculator.direct_effects(members, influences[number])
        groups = {kind: calculator.fractions(own_members, own, direct.get(kind)) for kind, own_members in members.items()}
        signal = SignalEvents.of(term, x[index])
        yields = calculator.yields(members["resonances"], groups["resonances"], own, signal, direct.get("resonances"))
        name = f"data set {number + 1}" if isinstance(likelihood, LikelihoodSum) else ""
        over = "phase space" if truth is None else "truth"
        result.append(FractionSet(name, over, groups, yields))
        apart = chain_groups(term.model)
        same = next((groups[kind] for kind, own_members in members.items() if own_members == apart), None)
        remarks += large_fractions(calculator.fractions(apart, own) if same is None else same, name)
        for coupling, size in _sizes_in_errors(term, members["waves"], groups["waves"]).items():
            known[coupling] = max(size, known.get(coupling, 0.0))
        if asymmetries is None and term.model.asymmetries:
            couplings = coupling_asymmetries(term.parameters, x[index], own, undetermined)
            of_fractions = {kind: fraction_asymmetries(calculator, members[kind], own) for kind in ("resonances", "waves")}
            asymmetries = CPAsymmetries(couplings, over, of_fractions)
    for reference in terms_of(likelihood)[0].coupling_map.fixed:
        remarks += weak_reference(reference, known)
    return _FoundFractions(tuple(result), asymmetries, tuple(remarks))


def _sizes_in_errors(term: Likelihood, members: Mapping[str, Sequence[int]], fractions: Fractions) -> dict[str, float]:
    """By how many of its errors the fraction of a wave is above 0: of every coupling that could be 1 and interferes with the one that is,
    that of its strongest wave.
    """
    sets = dict(zip(term.coupling_names, term.amplitude.sets, strict=True))
    own = {sets[name] for name in term.coupling_map.fixed if name in sets}
    found: dict[str, float] = {}
    for group, value, error in zip(fractions.names, fractions.values, fractions.errors, strict=True):
        coupling = term.model.waves[members[group][0]].coupling
        if sets.get(coupling) in own and coupling not in term.coupling_map.tied and np.isfinite(error):
            found[coupling] = max(float(value / error) if error > 0 else np.inf, found.get(coupling, 0.0))
    return found
