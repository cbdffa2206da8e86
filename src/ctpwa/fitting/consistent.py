"""Whether the numbers of a result belong together.

A file may have been edited, damaged or made up. Types and finite numbers are checked where a file becomes a result (``plain.py``); here
is what one number says about another. Every function raises a ValueError with the place.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ctpwa.data.summary import SampleSummary
from ctpwa.fitting.asymmetries import CPAsymmetries, asymmetry
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.plain import build
from ctpwa.minimise.verdict import SMALL_EDM, Verdict
from ctpwa.model.amounts import SIGNAL, amount_names, is_amount
from ctpwa.model.parameter import CARTESIAN, PARTS, asymmetry_name, asymmetry_parts

if TYPE_CHECKING:
    from ctpwa.fitting.result import FitResult, FittedCoupling, FittedParameter, FractionSet

METHODS = ("newton", "lbfgs", "minuit")
OVER = ("phase space", "truth")
KINDS = ("waves", "resonances", "jp")
PARTITIONS = ("waves", "jp", "chains")  # every wave is in one of them, so that fractions and interferences add up to 1
ROUNDING = 1e-9  # of numbers that are computed from each other
OF_A_MATRIX = 1e-4  # rounding of correlations: what products of nearly singular matrices leave of sixteen digits
OF_FRACTIONS = 1e-9  # rounding of variances of fractions, which may be sums that cancel
_OF_DATA = re.compile(r"(?:^| )data(?: \d+)?$")  # names of samples of data, see Analysis
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_result(result: FitResult) -> None:
    """Refuse a result whose parts contradict each other."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite agrees with nothing
            _check(result)
    except OverflowError:
        raise ValueError("a number is too large to compute with") from None


def _check(result: FitResult) -> None:
    _known(result.method, METHODS, "method")
    _at_least(result.n_events, 1, "n_events")
    _at_least(result.n_starts, 1, "n_starts")
    if not result.weight > 0:
        raise ValueError(f"weight is {result.weight:g}, not positive")
    if result.created:
        _date(result.created)
    for name in ("values", "gradients", "hessians", "seconds"):
        _at_least(getattr(result.record, name), 0, f"record.{name}")
    _parameters(result)
    _couplings(result)
    _verdict(result.verdict, result.names)
    _minima(result)
    if result.precision is not None:
        _length(result.precision.shifts, len(result.names), "precision.shifts")
        _at_least(result.precision.largest, 0, "precision.largest")
        _known(result.precision.parameter, (*result.names, ""), "precision.parameter")
    _unique([entry.data_set for entry in result.fractions], "fractions", "data_set")
    _simulation(result)
    for i, entry in enumerate(result.fractions):
        _fraction_set(entry, f"fractions[{i}]", _signal(result, entry), _sound(result.verdict))
    if result.asymmetries is not None:
        _asymmetries(result, result.asymmetries)
    for i, sample in enumerate(result.samples):
        _sample(sample, f"samples[{i}]")
    measured = [sample["n_events"] for sample in result.samples if _OF_DATA.search(sample["name"])]
    if result.samples and sum(measured) != result.n_events:
        raise ValueError(f"n_events is {result.n_events}, and the samples of data have {sum(measured)}")


# parameters and couplings


def _parameters(result: FitResult) -> None:
    if not result.parameters or not result.couplings:
        raise ValueError("there are no parameters or no couplings")
    _unique(result.names, "parameters", "name")
    shared = next((name for name in result.names if name in result.fixed), None)
    if shared is not None and len(result.fractions) < 2:  # a parameter may float in one data set only
        raise ValueError(f"{shared!r} is in parameters and in fixed")
    _unique([*result.names, *(p.name for p in result.derived)], "parameters and derived", "name")
    for i, derived in enumerate(result.derived):
        _at_least(derived.error or 0, 0, f"derived[{i}].error")
        if not derived.formula:
            raise ValueError(f"derived[{i}].formula is empty")
    determined = [i for i, p in enumerate(result.parameters) if p.error is not None or _sound(result.verdict)]
    check_covariance(result.covariance[np.ix_(determined, determined)], "covariance")
    for i, (p, variance) in enumerate(zip(result.parameters, np.diag(result.covariance).tolist(), strict=True)):
        _parameter(p, variance, f"parameters[{i}]")
        if p.error is None and variance > 0 and _sound(result.verdict):
            raise ValueError(f"parameters[{i}].error is missing, and the covariance says {math.sqrt(variance):g}")
        if p.at_limit != (p.name in result.verdict.at_limits):
            raise ValueError(f"parameters[{i}].at_limit is {p.at_limit}, and verdict.at_limits says the opposite")


def _parameter(p: FittedParameter, variance: float, where: str) -> None:
    if p.error is not None and not (p.error > 0 and variance > 0 and math.isclose(p.error, math.sqrt(variance), rel_tol=ROUNDING)):
        raise ValueError(f"{where}.error is {p.error:g}, and the covariance says {math.sqrt(max(variance, 0)):g}")
    lower, upper = (-math.inf if p.lower is None else p.lower), (math.inf if p.upper is None else p.upper)
    if lower > upper:
        raise ValueError(f"{where} has limits from {lower:g} to {upper:g}")
    near = [end for end in (lower, upper) if math.isclose(p.value, end, rel_tol=ROUNDING, abs_tol=1e-300)]
    if not (lower <= p.value <= upper or near):
        raise ValueError(f"{where}.value is {p.value:g}, outside its limits from {lower:g} to {upper:g}")
    if p.at_limit and not near:
        raise ValueError(f"{where}.value is {p.value:g} and said to be at one of its limits, {lower:g} and {upper:g}")
    if p.minos is not None and p.minos.valid and not (-math.inf < p.minos.lower <= 0 <= p.minos.upper < math.inf):
        raise ValueError(f"{where}.minos goes from {p.minos.lower:g} to {p.minos.upper:g}, not from below 0 to above")


def _simulation(result: FitResult) -> None:
    """The part of the simulation is a part of the errors and of the covariance, and no sample counts for more than its events."""
    part = result.simulation
    for i, p in enumerate(result.parameters):
        if (p.simulation is None) != (part is None or p.error is None):
            raise ValueError(f"parameters[{i}].simulation is {p.simulation}, and simulation or error says the opposite")
    if part is None:
        return
    determined = [i for i, p in enumerate(result.parameters) if p.error is not None or _sound(result.verdict)]
    check_covariance(part.covariance[np.ix_(determined, determined)], "simulation.covariance")
    for i, p in enumerate(result.parameters):
        if p.simulation is not None and p.error is not None:
            _close(p.simulation, math.sqrt(max(part.covariance[i, i], 0.0)), f"parameters[{i}].simulation and simulation.covariance")
            if p.simulation > (1 + ROUNDING) * p.error:
                raise ValueError(f"parameters[{i}].simulation is {p.simulation:g}, more than the error {p.error:g}")
    if result.fractions:
        _length(part.sizes, len(result.fractions), "simulation.sizes")
    for i, size in enumerate(part.sizes):
        for name, number in {"total": size.total, **size.waves}.items():
            _at_least(number, 0, f"simulation.sizes[{i}], {name}")
            if number > size.n_events * (1 + ROUNDING):
                raise ValueError(f"simulation.sizes[{i}], {name} is {number:g}, more than the {size.n_events} events of the sample")


def check_covariance(C: np.ndarray, where: str, least: float = 0.0) -> None:
    """Symmetric, positive semi-definite, up to rounding.

    Args:
        C:      the matrix
        where:  its name
        least:  absolute rounding of its elements
    """
    variances = np.diag(C)
    negative = np.flatnonzero(variances < -least)
    if len(negative):
        raise ValueError(f"{where}[{negative[0]}][{negative[0]}] is {variances[negative[0]]:g}, a negative variance")
    sigma = np.sqrt(variances.clip(min=0))
    unit = np.outer(sigma, sigma)
    _no_place(~(np.abs(C - C.T) <= OF_A_MATRIX * unit + least), f"{where} is not symmetric")
    _no_place(~(np.abs(C) <= (1 + OF_A_MATRIX) * unit + least), f"{where} has a correlation beyond 1")
    free = np.flatnonzero(variances > least)
    correlation = C[np.ix_(free, free)] / sigma[free] / sigma[free, None]
    smallest = np.linalg.eigvalsh((correlation + correlation.T) / 2).min(initial=0.0)
    if smallest < -OF_A_MATRIX * max(len(free), 1) - (least / variances[free].min() if len(free) else 0.0):
        raise ValueError(f"{where} is not positive semi-definite: an eigenvalue of the correlations is {smallest:.3g}")


def _couplings(result: FitResult) -> None:
    _unique([c.name for c in result.couplings], "couplings", "name")
    values = dict(result.fixed) | {p.name: p.value for p in result.parameters}
    index = {name: k for k, name in enumerate(result.names)}
    for i, c in enumerate(result.couplings):
        where = f"couplings[{i}]"
        _coupling(c, where)
        for kind, parts in PARTS.items():
            names = [f"{c.name}.{part}" for part in parts]
            # unless it is tied, a product over vertices, or different in several data sets
            if all(name in values for name in names) and len(result.fractions) < 2:
                z = complex(*(values[name] for name in names)) if kind == CARTESIAN else cmath.rect(*(values[name] for name in names))
                _close(complex(c.re, c.im), z, f"{where} is not made of its parameters")
                slopes = _slopes(c, kind)
                free = [k for k, name in enumerate(names) if name in index]
                own = [index[names[k]] for k in free]
                for error, slope in ((c.magnitude_error, slopes[0]), (c.phase_error, slopes[1])) if _sound(result.verdict) else ():
                    _coupling_error(error, slope[free], result.covariance[np.ix_(own, own)], where)


def _coupling(c: FittedCoupling, where: str) -> None:
    _at_least(c.magnitude, 0, f"{where}.magnitude")
    _close(complex(c.re, c.im), cmath.rect(c.magnitude, c.phase), f"{where}: magnitude and phase do not belong to re and im")
    for name in ("magnitude_error", "phase_error"):
        _at_least(getattr(c, name) or 0, 0, f"{where}.{name}")


def _slopes(c: FittedCoupling, kind: str) -> np.ndarray:
    """∂|c| and ∂arg c over its own two parameters, up to signs that an error does not have."""
    if kind != CARTESIAN or not c.magnitude:
        return np.eye(2)
    return np.array([[c.re, c.im], [-c.im / c.magnitude, c.re / c.magnitude]]) / c.magnitude


def _coupling_error(error: float | None, slope: np.ndarray, covariance: np.ndarray, where: str) -> None:
    if error is None:
        return
    variance, size = float(slope @ covariance @ slope), float(np.abs(slope) @ np.abs(covariance) @ np.abs(slope))
    if not abs(error * error - variance) <= OF_A_MATRIX * variance + ROUNDING * size:
        raise ValueError(f"{where} has an error of {error:g}, and the covariance says {math.sqrt(max(variance, 0)):g}")


# verdict and minima


def _sound(verdict: Verdict) -> bool:
    """Whether the covariance is that of a minimum; else only parameters that have an error have a covariance, and the rest is rounding."""
    return not (verdict.flat or verdict.negative)


def _verdict(verdict: Verdict, names: Sequence[str]) -> None:
    _unique(verdict.at_limits, "verdict.at_limits")
    for name in verdict.at_limits:
        _known(name, names, "verdict.at_limits")
    for kind in ("flat", "negative"):
        for i, direction in enumerate(getattr(verdict, kind)):
            for name in direction:
                _known(name, names, f"verdict.{kind}[{i}]")
    if len(verdict.eigenvalues) > len(names):
        raise ValueError(f"verdict.eigenvalues has {len(verdict.eigenvalues)} entries for {len(names)} parameters")
    if not verdict.good and not verdict.reasons:
        raise ValueError("verdict.good is false without a reason")
    doubt = verdict.flat or verdict.negative or not verdict.edm <= SMALL_EDM or any(value <= 0 for value in verdict.eigenvalues)
    if verdict.good and doubt:
        raise ValueError("verdict.good is true, and the rest of the verdict says that it is not a minimum")


def _minima(result: FitResult) -> None:
    if not result.minima:
        raise ValueError("minima is empty")
    for i, minimum in enumerate(result.minima):
        _at_least(minimum.starts, 0, f"minima[{i}].starts")
        _length(minimum.values, len(result.names), f"minima[{i}].values")


# fractions and samples


def _signal(result: FitResult, entry: FractionSet) -> float | None:
    """Events that fractions refer to; None if the parts of several data sets are not known.

    With backgrounds that are densities it is a parameter, or what all resonances say.
    """
    values = dict(result.fixed) | {p.name: p.value for p in result.parameters}
    for data_set in (entry.data_set, ""):
        if (name := amount_names([], data_set)[SIGNAL]) in values:
            return values[name]
    if not any(is_amount(name) for name in (*values, *(p.name for p in result.derived))):
        return result.weight if len(result.fractions) == 1 else None
    f = entry.groups["resonances"].values if "resonances" in entry.groups else np.zeros(0)
    events = [entry.yields[name][0] for name in entry.groups["resonances"].names if name in entry.yields] if len(f) else []
    return float(f @ np.array(events) / (f @ f)) if len(events) == len(f) and f.any() else None


def _fraction_set(entry: FractionSet, where: str, weight: float | None, sound: bool) -> None:
    _known(entry.over, OVER, f"{where}.over")
    if sorted(entry.groups) not in (sorted(KINDS), sorted((*KINDS, "chains"))):
        raise ValueError(f"{where}.groups has {_listed(entry.groups)} instead of {_listed(KINDS)}")
    for kind, group in entry.groups.items():
        _fractions(group, f"{where}.groups[{kind!r}]", kind in PARTITIONS)
        if sound:
            _fraction_errors(group, f"{where}.groups[{kind!r}]")
    resonances = entry.groups["resonances"]
    if sorted(entry.yields) != sorted(resonances.names):
        raise ValueError(f"{where}.yields is of {_listed(entry.yields)}, and the fractions are of {_listed(resonances.names)}")
    for name, fraction in zip(resonances.names, resonances.values.tolist(), strict=True):
        events, error = entry.yields[name]
        _at_least(error, 0, f"{where}.yields[{name!r}][1]")
        if weight is not None:
            _close(events, weight * fraction, f"{where}.yields[{name!r}] is not the fraction of {weight:g} events", 1e-6 * weight)


def _fractions(group: Fractions, where: str, partition: bool) -> None:
    _unique(group.names, f"{where}.names")
    F = group.interference
    size = np.abs(F).sum() + 1
    _no_place(~(np.abs(F - F.T) <= ROUNDING * size), f"{where}.interference is not symmetric")
    _no_place(~(np.abs(np.diag(F) - group.values) <= ROUNDING * size)[:, None], f"{where}.interference has other fractions than values")
    _no_place(group.interference_errors < 0, f"{where}.interference_errors is negative")
    total = float(np.triu(F).sum())
    if partition and not abs(total - 1) <= 1e-6 * size:
        raise ValueError(f"{where}: fractions and interferences add up to {total:g} instead of 1")


def _fraction_errors(group: Fractions, where: str) -> None:
    check_covariance(group.covariance, f"{where}.covariance", OF_FRACTIONS)
    squares, variances = group.interference_errors**2, np.diag(group.covariance)
    _no_place(~(np.abs(squares - squares.T) <= OF_A_MATRIX * squares + OF_FRACTIONS), f"{where}.interference_errors is not symmetric")
    same = np.abs(np.diag(squares) - variances) <= OF_A_MATRIX * variances.clip(min=0) + OF_FRACTIONS
    _no_place(~same[:, None], f"{where}.interference_errors has other errors of fractions than covariance")


def _asymmetries(result: FitResult, found: CPAsymmetries) -> None:
    """Asymmetries follow from Δ, which are parameters, and are of the resonances that have fractions."""
    values = result.values
    _unique([own.name for own in found.couplings], "asymmetries.couplings", "name")
    for i, own in enumerate(found.couplings):
        where = f"asymmetries.couplings[{i}]"
        for part, x in zip(asymmetry_parts(asymmetry_name(own.name)), (own.re, own.im), strict=True):
            if part in values:
                _close(x, values[part], f"{where} has another Δ than the parameter {part!r}")
        value, phase = asymmetry(complex(own.re, own.im))
        _close(own.value, value, f"{where}.value does not follow from its Δ", ROUNDING)
        _close(own.phase, phase, f"{where}.phase does not follow from its Δ", ROUNDING)
        for error in (own.error, own.phase_error):
            _at_least(error or 0, 0, f"{where}, an error")
    _known(found.over, OVER, "asymmetries.over")
    if sorted(found.fractions) != ["resonances", "waves"]:
        raise ValueError(f"asymmetries.fractions has {_listed(found.fractions)} instead of 'resonances', 'waves'")
    for kind, own_fractions in found.fractions.items():
        for entry in result.fractions[:1]:
            if sorted(own_fractions) != sorted(entry.groups[kind].names):
                raise ValueError(f"asymmetries.fractions[{kind!r}] is of {_listed(own_fractions)}, and the fractions are of others")
        for name, (value, error) in own_fractions.items():
            _at_least(error, 0, f"asymmetries.fractions[{kind!r}][{name!r}][1]")
            if not abs(value) <= 1 + ROUNDING:
                raise ValueError(f"asymmetries.fractions[{kind!r}][{name!r}] is {value:g}, beyond 1")


def _sample(sample: Mapping[str, Any], where: str) -> None:
    summary: SampleSummary = build(SampleSummary, {"repeated": 0} | dict(sample), where)  # which earlier versions did not count
    _at_least(summary.n_events, 0, f"{where}.n_events")
    for kind in ("files", "weight_files"):
        for i, file in enumerate(getattr(summary, kind)):
            _at_least(file.n_events, 0, f"{where}.{kind}[{i}].n_events")
            if not _SHA256.fullmatch(file.sha256):
                raise ValueError(f"{where}.{kind}[{i}].sha256 is not a hash: {file.sha256!r}")


# what all of them need


def _at_least(number: float, least: float, where: str) -> None:
    if not number >= least:
        raise ValueError(f"{where} is {number:g}, less than {least:g}")


def _close(a: complex, b: complex, message: str, absolute: float = 0.0) -> None:
    if not abs(a - b) <= ROUNDING * max(abs(a), abs(b)) + absolute:
        raise ValueError(f"{message}: {a:g} and {b:g}")


def _length(values: Sequence[Any], n: int, where: str) -> None:
    if len(values) != n:
        raise ValueError(f"{where} has {len(values)} entries instead of {n}")


def _unique(names: Sequence[str], where: str, key: str = "") -> None:
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{where} has {f'{key} ' if key else ''}{twice!r} twice")


def _known(word: str, known: Sequence[str], where: str) -> None:
    if word not in known:
        raise ValueError(f"{where} has {word!r}, which is none of {_listed(known)}")


def _listed(words: Sequence[str] | Mapping[str, Any]) -> str:
    names = [repr(word) for word in words]
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "") if names else "nothing"


def _no_place(wrong: np.ndarray, message: str) -> None:
    """Refuse a matrix that is wrong somewhere."""
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(f"{message}: look at [{i}][{j}]")


def _date(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"created is {text!r}, not a date") from None
