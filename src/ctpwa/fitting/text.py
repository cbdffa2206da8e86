"""A result as text for a terminal or a log."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ctpwa.base.errors import on_one_line
from ctpwa.base.words import between, counted
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.simulation import size_line
from ctpwa.model.short_names import short_names, shorten

SMALL_INTERFERENCE = 0.5  # %, and less is only counted
SMALL_CORRELATION = 0.1
ROUNDING = 1e-13  # relative: what is left of an error that is zero
NO_ERROR = "(no error)"
HALF_TURN = 180.0
UNKNOWN = 90.0  # degrees: of angles that are all alike the standard deviation is 104
SHOWN_MINIMA = 5  # besides the best one
COUNTS_TWICE = "a wave counts for each of its resonances, so these do not add up to 100 %"


@dataclass(frozen=True)
class Section:
    """A part of a result: rows under a title.

    Attributes:
        title:    what it is
        columns:  what stands in each column
        rows:     the texts
        foot:     what to say below; may be empty
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    foot: str = ""

    def shortened(self, names: Collection[str]) -> Section:
        """The same with the names of cascades shortened.

        Args:
            names:  of all couplings or waves that may be in it
        """
        rows = tuple(tuple(shorten(cell, names) for cell in row) for row in self.rows)
        return Section(shorten(self.title, names), tuple(shorten(name, names) for name in self.columns), rows, shorten(self.foot, names))

    def __str__(self) -> str:
        rows = [tuple(map(on_one_line, row)) for row in self.rows]
        widths = [max((len(row[k]) for row in rows), default=0) for k in range(len(self.columns))]
        lines = ["  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.title, *lines, *([f"  {self.foot}"] if self.foot else [])])


def _degrees(phase: float) -> float:
    """An angle without what rounding leaves of 0."""
    return round(math.degrees(phase), 9) + 0.0


def with_error(value: float, error: float | None) -> str:
    """Value and error with two digits of the error: ``1.6802 ± 0.0025``."""
    if error is None or not math.isfinite(error):
        return f"{value:.6g} {NO_ERROR}"
    if error <= ROUNDING * abs(value):
        return f"{value:.6g} (fixed)"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 9 or error >= 1e6:
        significant = max(2, math.floor(math.log10(max(abs(value), error))) - math.floor(math.log10(error)) + 2)
        return f"{value:.{significant}g} ± {error:.2g}"
    return f"{fixed_digits(value, digits)} ± {error:.{digits}f}"


def fixed_digits(value: float, digits: int) -> str:
    """A number without the sign that rounding leaves of 0."""
    return f"{value:z.{digits}f}"


def angle_with_error(degrees: float, error: float | None) -> str:
    """An angle and its error, in degrees: ``180 ± 12``; ``unknown`` if every angle is as good."""
    if error is not None and UNKNOWN <= error < math.inf:
        return f"unknown (± {error:.0f})"
    text = with_error(degrees, error)
    return text.removeprefix("-") if float(text.partition(" ")[0]) == -HALF_TURN else text


def result_text(result: Any, waves: bool = False, correlations: bool = False, more: Sequence[Section] = (), reasons: bool = False) -> str:
    """A ``FitResult`` in plain lines.

    Args:
        result:        the result
        waves:         also fractions of every wave, and interferences
        correlations:  also correlations
        more:          what to add after everything else
        reasons:       all reasons of the verdict, not only the worst
    """
    head = [*changed_lines(result), headline(result), *verdict_lines(result, reasons), *minima_lines(result), *remarks(result)]
    return "\n\n".join(["\n".join(head), *map(str, sections(result, waves, correlations)), *map(str, map(_headed, more))])


def _headed(section: Section) -> Section:
    """A table that says in its first row what its columns are, if there are several numbers in a row."""
    return section if len(section.columns) < 3 else Section(section.title, section.columns, (section.columns, *section.rows), section.foot)


def changed_lines(result: Any) -> list[str]:
    """What was changed by hand after the fit; nothing for what was fitted."""
    by_hand = ByHand.of(result)
    return [] if by_hand is None else list(by_hand.lines(result.nll))


def verdict_lines(result: Any, reasons: bool = False) -> list[str]:
    """The verdict on the fit; none where values were changed by hand."""
    names = [coupling.name for coupling in result.couplings]
    return [] if _moved(result) else [f"verdict: {shorten(result.verdict.text(reasons), names)}"]


def headline(result: Any) -> str:
    """What was fitted, and how good it became."""
    parameters, events = counted(len(result.parameters), "free parameter"), counted(result.n_events, "event")
    return f"{result.decay}: -ln L = {result.nll:.6f} with {'' if _moved(result) else f'{parameters} and '}{events}"


def _moved(result: Any) -> bool:
    """Whether values are others than those of a fit."""
    by_hand = ByHand.of(result)
    return by_hand is not None and by_hand.values


def remarks(result: Any) -> list[str]:
    """What it took, and numbers for comparing models."""
    record, by_hand = result.record, ByHand.of(result)
    changed = [f"changed on the command line: {' '.join(words)}"] if (words := result.settings.get("changed")) else []
    if _moved(result):
        return changed
    criteria = [] if by_hand is not None else [f"AIC {result.aic:.2f}, BIC {result.bic:.2f}"]
    return [
        f"{result.method}: {counted(record.hessians, 'Hessian')}, {counted(record.gradients, 'gradient')},"
        f" {counted(record.values, 'value')}, {record.seconds:.2f} s",
        *filter(None, ["; ".join([*criteria, *(["errors corrected for weights"] if result.corrected else [])])]),
        *changed,
        *([] if result.precision is None else [str(result.precision)]),
        *_normalisation(result),
    ]


def _normalisation(result: Any) -> list[str]:
    """How many phase-space events count, or that nobody has asked."""
    if result.simulation is None:
        return ["errors do not count that the phase-space sample is finite"]
    names = [entry.data_set for entry in result.fractions] or [""] * len(result.simulation.sizes)
    return [size_line(size, name) for name, size in zip(names, result.simulation.sizes, strict=True)]


def minima_lines(result: Any) -> list[str]:
    """Where many starts led to; nothing for a single one."""
    if result.n_starts == 1:
        return []
    n = len(result.minima)
    best = f"{counted(result.minima[0].starts, 'start')} in the best one"
    lines = [f"{counted(result.n_starts, 'start')}, {counted(n, 'minimum', 'minima')}, {best}"]
    for minimum in result.minima[1 : SHOWN_MINIMA + 1]:
        note = "" if minimum.refined else "  (part of the events)"
        lines.append(f"  another minimum at {minimum.nll - result.nll:+.2f} in -ln L, {counted(minimum.starts, 'start')}{note}")
    return lines + ([f"  and {n - SHOWN_MINIMA - 1} more"] if n > SHOWN_MINIMA + 1 else [])


def sections(result: Any, waves: bool = False, correlations: bool = False) -> Iterator[Section]:
    """Parameters, couplings and fractions, and more if asked for; it is said once that values which were changed have no errors."""
    if not _moved(result):
        yield from _sections(result, waves, correlations)
        return
    for section in _sections(result, waves):
        yield replace(section, rows=tuple(tuple(cell.replace(f" {NO_ERROR}", "") for cell in row) for row in section.rows))


def _sections(result: Any, waves: bool = False, correlations: bool = False) -> Iterator[Section]:
    yield _parameters(result)
    if result.derived:
        rows = tuple((p.name, with_error(p.value, p.error), f"= {p.formula}") for p in result.derived)
        yield Section("derived parameters", ("parameter", "value", "formula"), rows)
    yield _couplings(result)
    if (distance := result.settings.get("minima")) is not None:
        yield _minima(result, distance)
    known = any(p.error is not None for p in result.parameters)
    for entry in result.fractions:
        where = (f" of {entry.data_set}" if entry.data_set else "") + f" over {entry.over}"
        apart = "chains" if "chains" in entry.groups else "resonances"
        if apart == "chains":
            yield _fractions(f"fractions{where}: chains", "chain", entry.groups["chains"], known)
        direct = not entry.groups["resonances"].names  # every wave stands for itself
        if not direct:
            yield _fractions(
                f"fractions{where}: resonances", "resonance", entry.groups["resonances"], known, entry.yields, apart == "resonances"
            )
        yield _fractions(f"fractions{where}: J^P", "J^P", entry.groups["jp"], known)
        if waves or direct:
            yield _fractions(f"fractions{where}: waves", "wave", _shortened(entry.groups["waves"]), known)
        if waves and not direct:
            yield _interferences(f"interferences{where}: {apart}", entry.groups[apart])
        if waves:
            yield _interferences(f"interferences{where}: waves", _shortened(entry.groups["waves"]))
    if result.asymmetries is not None:
        yield from _asymmetries(result.asymmetries, waves)
    if correlations:
        yield _correlations(result)


def shown_names(result: Any) -> dict[str, str]:
    """What tables call couplings and their parts: a short form for those of cascades."""
    short = short_names([coupling.name for coupling in result.couplings])
    parts = {p.name: p.name.rpartition(".") for p in result.parameters}
    return short | {name: f"{short[owner]}.{part}" for name, (owner, _, part) in parts.items() if owner in short}


def _shortened(group: Fractions) -> Fractions:
    short = short_names(group.names)
    return replace(group, names=tuple(short[name] for name in group.names))


def _parameters(result: Any) -> Section:
    rows, shown = [], shown_names(result)
    for p in result.parameters:
        asymmetric = "" if p.minos is None else _minos(p.minos)
        simulated = "" if p.simulation is None else f"simulation {p.simulation:.2g}"
        limits = between(p.lower, p.upper) + (", there" if p.at_limit else "")
        rows.append((shown.get(p.name, p.name), with_error(p.value, p.error), simulated, asymmetric, limits))
    return Section("parameters", ("parameter", "value", "of which", "MINOS", "limits"), tuple(rows))


def _minos(errors: Any) -> str:
    if not errors.valid:
        return "MINOS failed" + (f": {errors.message}" if errors.message else "")
    return f"MINOS {errors.lower:+.3g} {errors.upper:+.3g}"


def _couplings(result: Any) -> Section:
    rows, shown = [], shown_names(result)
    for c in result.couplings:
        degrees = None if c.phase_error is None else math.degrees(c.phase_error)
        rows.append((shown[c.name], with_error(c.magnitude, c.magnitude_error), angle_with_error(_degrees(c.phase), degrees)))
    return Section("couplings: magnitude, phase in degrees", ("coupling", "magnitude", "phase"), tuple(rows))


def _minima(result: Any, distance: float) -> Section:
    """Parameters of all minima within a distance of the best, one column each."""
    best = result.minima[0].nll
    kept = [minimum for minimum in result.minima if minimum.refined and minimum.nll - best <= distance]
    rows = [
        ("minimum", *(str(k + 1) for k in range(len(kept)))),
        ("above the best in -ln L", *(f"{minimum.nll - best:.4f}" for minimum in kept)),
        ("starts", *(str(minimum.starts) for minimum in kept)),
        *((name, *(f"{minimum.values[i]:.5g}" for minimum in kept)) for i, name in enumerate(result.names)),
    ]
    return Section(f"minima within {distance:g} of the best in -ln L, fitted to all events", ("",) * (1 + len(kept)), tuple(rows))


def _fractions(title: str, of: str, group: Fractions, known: bool, yields: Any = None, apart: bool = True) -> Section:
    """``known``: whether anything has an error; ``apart``: whether no wave counts twice."""
    columns = (of, "fraction") + (("yield",) if yields else ())
    rows = []
    for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True):
        events = (f"{with_error(*yields[name]) if known else f'{yields[name][0]:.6g}'} events",) if yields else ()
        percent = f"{100 * value:.6g} {NO_ERROR}" if not known else with_error(100 * value, 100 * error)
        rows.append((name, f"{percent} %", *events))
    if apart:
        rows.append(("sum", f"{100 * group.sum:.2f} %", *([""] if yields else [])))
    return Section(title, columns, tuple(rows), "" if apart else COUNTS_TWICE)


def _asymmetries(found: Any, waves: bool) -> Iterator[Section]:
    """Of couplings and of fractions."""
    rows = []
    for own in found.couplings:
        degrees = None if own.phase_error is None else math.degrees(own.phase_error)
        rows.append((own.name, f"{with_error(100 * own.value, _percent(own.error))} %", angle_with_error(_degrees(own.phase), degrees)))
    title = "CP asymmetries of couplings: (|c̄|² - |c|²)/(|c̄|² + |c|²), arg(c̄/c) in degrees"
    yield Section(title, ("coupling", "asymmetry", "phase"), tuple(rows))
    for kind in ("resonances", "waves") if waves else ("resonances",):
        pairs = [(name, f"{with_error(100 * value, 100 * error)} %") for name, (value, error) in found.fractions[kind].items()]
        title = f"CP asymmetries of fractions over {found.over}: (f̄ - f)/(f̄ + f), {kind}"
        yield Section(title, (kind[:-1], "asymmetry"), tuple(pairs))


def _percent(error: float | None) -> float | None:
    return None if error is None else 100 * error


def _interferences(title: str, group: Fractions) -> Section:
    """Pairs, the largest first."""
    pairs = [(i, j) for i in range(len(group.names)) for j in range(i + 1, len(group.names))]
    pairs.sort(key=lambda pair: -abs(group.interference[pair]))
    large = [pair for pair in pairs if 100 * abs(group.interference[pair]) >= SMALL_INTERFERENCE]
    rows = tuple(
        (group.names[i], group.names[j], f"{with_error(100 * group.interference[i, j], 100 * group.interference_errors[i, j])} %")
        for i, j in large
    )
    return Section(title, ("", "", "interference"), rows, _rest(len(pairs) - len(large), f"{SMALL_INTERFERENCE:g} %"))


def _correlations(result: Any) -> Section:
    shown = shown_names(result)
    rho, names = np.asarray(result.correlation), [shown.get(name, name) for name in result.names]
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    pairs.sort(key=lambda pair: -abs(rho[pair]))
    large = [pair for pair in pairs if abs(rho[pair]) >= SMALL_CORRELATION]
    rows = tuple((names[i], names[j], f"{rho[i, j]:+.3f}") for i, j in large)
    return Section("correlations", ("", "", "correlation"), rows, _rest(len(pairs) - len(large), f"{SMALL_CORRELATION:g}"))


def _rest(n: int, limit: str) -> str:
    return f"{n} more below {limit}" if n else ""
