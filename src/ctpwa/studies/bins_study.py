"""``ctpwa bins``: one fit in every bin of a mass or of other variables, from many starts, with yields and phases against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ctpwa.base.errors import DataError, suggest
from ctpwa.base.words import counted
from ctpwa.fitting.event_couplings import Number
from ctpwa.fitting.search_settings import DISTANCE
from ctpwa.fitting.text import Section, angle_with_error, fixed_digits, with_error
from ctpwa.observables.moments_of_photons import PhotonMoments, moment_indices, moments_of_states
from ctpwa.observables.photon_density import PhotonState
from ctpwa.report.content import BinCurve
from ctpwa.studies.bin_axes import Bin, BinAxis, all_bins
from ctpwa.studies.bin_intervals import LEVELS, Interval
from ctpwa.studies.bin_records import DECAY, GOODNESS, INSIDE, INTERVALS, SWEEP, TOTAL, couplings_of, events_of, intervals_key, replica_key
from ctpwa.studies.bin_solutions import HALF_TURN, Solution, followed, near_angle, unwrapped
from ctpwa.studies.bin_sweeps import solutions_of
from ctpwa.studies.bin_tests import FOOT, TESTED, BinTests
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.study import Study

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

COLUMNS = 5  # of a table of waves
TIMES = 10.0  # as long as the shorter side of an interval: a longer one says how many digits are shown


class Bins(Study):
    """Fits of all bins, and what follows from them together."""

    name: ClassVar[str] = "bins"
    title: ClassVar[str] = "Fits in bins"

    @cached_property
    def axes(self) -> tuple[BinAxis, ...]:
        """What the bins are of."""
        return tuple(
            BinAxis(str(own["text"]), tuple(own["edges"]), str(own["label"]), str(own["unit"])) for own in self.about.extent["axes"]
        )

    @cached_property
    def bins(self) -> tuple[Bin, ...]:
        """All bins."""
        return all_bins(self.axes)

    @property
    def couplings(self) -> tuple[str, ...]:
        """Names of all couplings."""
        return tuple(self.about.extent["couplings"])

    @property
    def groups(self) -> dict[str, int]:
        """Waves, and groups of them → how many waves."""
        return dict(self.about.extent["groups"])

    @cached_property
    def solutions(self) -> tuple[tuple[Solution, ...], ...]:
        """Solutions of every bin, the best first, in the order of ``bins``; along the first axis each continues the nearest one."""
        sets = self.about.extent["sets"]
        found: dict[str, tuple[Solution, ...]] = {}
        n = self.axes[0].n
        for start in range(0, len(self.bins), n):
            row = self.bins[start : start + n]
            own = [[Solution.of(bin, k, record, self.couplings, sets) for k, record in enumerate(self._records(bin))] for bin in row]
            for bin, mine in zip(row, own, strict=True):
                mine[:1] = [best.with_intervals(self.by_key.get(intervals_key(bin.key))) for best in mine[:1]]
            for bin, solutions in zip(row, followed(own), strict=True):
                found[bin.key] = tuple(solutions)
        return tuple(found[bin.key] for bin in self.bins)

    def _records(self, own: Bin) -> list[FitRecord]:
        """Of all solutions of a bin that are worth something."""
        options = self.about.options
        return solutions_of(own.key, self.by_key, float(options.get("distance", DISTANCE)), int(options.get("sweeps", 0)))

    @cached_property
    def references(self) -> dict[int, str]:
        """Coherent set → the coupling whose phase others are compared with: the one with most events in all bins."""
        sets = np.array(self.about.extent["sets"])
        total = np.zeros(len(sets))
        for row in self.solutions:
            if row:
                total += np.abs(row[0].values) ** 2
        return {
            int(own): self.couplings[int(np.flatnonzero(sets == own)[total[sets == own].argmax()])] for own in sorted(set(sets.tolist()))
        }

    def events(self, name: str = TOTAL, second: int = 0, *, best: bool = True) -> BinCurve:
        """Numbers of events of a wave, or of a group of waves, against the first axis.

        Args:
            name:    of the wave, of a J^P such as ``2+ e=+``, of a resonance, or ``total``
            second:  number of the bin on the second axis
            best:    of the best solutions alone
        """
        names = self.about.extent["names"]
        if name not in names:
            raise DataError(f"no wave and no group of waves is called {name!r}\n fix: {suggest(name, names)}")
        return self._curve(lambda own: own.events[names[name]], second, best, lambda own: own.of_events.get(names[name]))

    def phases(self, a: str, b: str | None = None, second: int = 0, *, best: bool = True) -> BinCurve:
        """Arg c_a − arg c_b in degrees against the first axis, without jumps from 180 to −180.

        Args:
            a:       a coupling
            b:       another one, that interferes with it; default: the strongest one that does
            second:  number of the bin on the second axis
            best:    of the best solutions alone
        """
        for name in (a, *([] if b is None else [b])):
            if name not in self.couplings:
                raise DataError(f"no coupling is called {name!r}\n fix: {suggest(name, self.couplings)}")
        sets = dict(zip(self.couplings, self.about.extent["sets"], strict=True))
        other = self.references[sets[a]] if b is None else b
        if sets[other] != sets[a]:
            raise DataError(
                f"{a!r} and {other!r} do not interfere: their phase difference means nothing\n fix: take waves of one reflectivity"
            )
        compared = other == self.references[sets[a]]
        found = self._curve(lambda own: own.phase(a, other), second, best, lambda own: own.of_phases.get(a) if compared else None)
        values = found.values.copy()
        values[found.best] = unwrapped(values[found.best].tolist(), found.errors[found.best].tolist())
        beside = dict(zip(found.centres[found.best].tolist(), values[found.best].tolist(), strict=True))
        for k in np.flatnonzero(~found.best):
            values[k] = near_angle(values[k], beside[float(found.centres[k])])
        return replace(found, values=values)

    def moments(self, alpha: int, L: int, M: int, second: int = 0, *, best: bool = True) -> BinCurve:
        """A moment H^α(LM) of two pseudoscalars that photons made, in events, against the first axis; of α = 2 its imaginary part.

        Args:
            alpha:   0, 1 or 2
            L, M:    up to twice the highest spin; M from 0 (α = 2: from 1) to L
            second:  number of the bin on the second axis
            best:    of the best solutions alone
        """
        states = self._states
        if not states:
            raise DataError(
                "these bins have no moments\n fix: these are of two pseudoscalars without lineshapes, made by polarised photons"
            )
        highest = 2 * max(state.l for state in states)
        if (alpha, L, M) not in moment_indices(highest):
            raise DataError(f"no moment H{alpha}({L}{M})\n fix: L goes to {highest}, M from 0 to L, and from 1 of H2")
        return self._curve(lambda own: self._moments(own)[alpha, L, M], second, best)

    @property
    def _states(self) -> list[PhotonState]:
        """Of all couplings, if they have moments."""
        return [PhotonState(*numbers) for numbers in self.about.extent.get("states", [])]

    def _moments(self, own: Solution) -> PhotonMoments:
        return moments_of_states(self._states, own.values, own.covariance)

    def _curve(self, number: Any, second: int, best: bool, interval: Any = lambda own: None) -> BinCurve:
        found = []
        for own, row in zip(self.bins, self.solutions, strict=True):
            if len(own.place) > 1 and own.place[1] != second:
                continue
            for solution in row[:1] if best else row:
                value, error = number(solution)
                centre, half = (own.low[0] + own.high[0]) / 2, (own.high[0] - own.low[0]) / 2
                ends = interval(solution)
                known = (*(n * error for n in LEVELS),) * 2 if ends is None else (*ends.below, *ends.above)
                error = error if ends is None else (ends.lower + ends.upper) / 2
                found.append((centre, half, value, error, solution.branch, solution.k == 0, *known))
        columns = np.array(found, dtype=float).reshape(-1, 6 + 2 * len(LEVELS)).T
        centres, widths, values, errors, branch, is_best = columns[:6]
        return BinCurve(centres, widths, values, errors, branch.astype(int), is_best.astype(bool), *np.split(columns[6:], 2))

    @cached_property
    def tests(self) -> BinTests:
        """Whether the best solutions describe their bins."""
        return BinTests(self.bins, self.by_key)

    # what is printed

    @property
    def headline(self) -> str:
        """How many bins, how many of them have a fit, and whether solutions compete."""
        done = [own for own in self.bins if own.key in self.by_key]
        fitted = [row for row in self.solutions if row]
        remarks = self.tests.remarks()
        good = sum(bool(row) and row[0].record.good and not remark for row, remark in zip(self.solutions, remarks, strict=True))
        axes = " and ".join(axis.text for axis in self.axes)
        words = f"{counted(len(self.bins), 'bin')} of {axes}: {counted(len(fitted), 'fit')}, {good} good"
        if failed := sum(map(bool, remarks)):
            words += f"; {failed} of them {'fails' if failed == 1 else 'fail'} a test"
        if len(done) < len(self.bins):
            words += f"; {len(self.bins) - len(done)} not done yet"
        several = sum(len(row) > 1 for row in fitted)
        within = self.about.options["distance"]
        return words + (
            "." if not several else f". {counted(several, 'bin has', 'bins have')} other solutions within {within:g} of the best −ln L."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Bins that fits do not describe."""
        return self.tests.warnings()

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know to read the numbers."""
        sets = {own for row in self.solutions for solution in row for own in solution.open_sets}
        signs = (
            f"the common sign of all phases relative to {self.references[own]} is open: complex conjugate couplings are the same"
            " solution, and each bin has the sign that is nearer to the bin before it"
            for own in sorted(sets)
        )
        return (*self.about.notes, *signs, *self._not_gaussian(), *self._not_found())

    def _not_found(self) -> tuple[str, ...]:
        """Sweeps, tests and intervals that failed."""
        failed = [own for own in self.records if {SWEEP, INTERVALS, GOODNESS} & set(own.key.split()) and not np.isfinite(own.nll)]
        return tuple(f"bin {own.key}: {own.reasons}" for own in failed)

    def _not_gaussian(self) -> tuple[str, ...]:
        """How many errors are not Gaussian."""
        best = [row[0] for row in self.solutions if row]
        events, phases = (sum(len(own) for own in kind) for kind in ([x.of_events for x in best], [x.of_phases for x in best]))
        bins = sum(bool(own.of_events or own.of_phases) for own in best)
        if not bins:
            return ()
        return (
            f"−ln L is no parabola in {counted(events, 'number')} of events and {counted(phases, 'phase')} of {counted(bins, 'bin')}:"
            " errors there are asymmetric, +upper −lower, to where it has risen by ½, and in brackets to where it has risen by 4.5,"
            " which is three standard deviations; they cover other solutions that are so good",
        )

    def sections(self) -> tuple[Section, ...]:
        """Bins, events of waves, phases, other solutions, replicas."""
        return tuple(own for own in (self._overview(), *self._events(), *self._phases(), *self._others(), *self._bootstrap()) if own.rows)

    def _overview(self) -> Section:
        rows, tested = [], len(TESTED) if self.tests.known else 0
        for own, row, tests, fails in zip(self.bins, self.solutions, self.tests.cells(), self.tests.remarks(), strict=True):
            record = self.by_key.get(own.key)
            if record is None:
                continue
            events, simulated = (f"{record.numbers.get(name, 0):.0f}" for name in ("data", "simulated"))
            if not row:
                rows.append((own.words, events, simulated, *[""] * (3 + tested), record.reasons))
                continue
            record = row[0].record
            number, error = row[0].events[TOTAL]
            starts = _origin(record) if SWEEP in record.numbers else f"{_origin(record)} of {self.about.options['starts']}"
            remark = fails if record.good else record.reasons.partition(";")[0]
            rows.append((own.words, events, simulated, with_error(number, error), f"{record.nll:.3f}", starts, *tests[:tested], remark))
        columns = ("bin", "measured", "simulated", "events", "−ln L", "starts", *TESTED[:tested], "")
        return Section("bins", columns, tuple(rows), FOOT if tested else "")

    def _tables(self, title: str, names: Sequence[str], cell: Any, foot: str = "") -> list[Section]:
        """Tables with a row for every bin and a column for every name, a few columns each."""
        fitted = [(own, row[0]) for own, row in zip(self.bins, self.solutions, strict=True) if row]
        found = []
        for start in range(0, len(names), COLUMNS):
            part = names[start : start + COLUMNS]
            rows = tuple((own.words, *(cell(solution, name) for name in part)) for own, solution in fitted)
            found.append(Section(title, ("bin", *part), rows, foot))
        return found

    def _shown(self) -> list[str]:
        """Groups that are shown: waves, and groups of several of them."""
        return [name for name, n in self.groups.items() if name != TOTAL and (n > 1 or name in self.couplings)] or [TOTAL]

    def _events(self) -> list[Section]:
        return self._tables("events", self._shown(), lambda own, name: _with_interval(own.events[name], own.of_events.get(name)))

    def _compared(self) -> list[tuple[str, str]]:
        """Couplings with the ones that their phases are compared with."""
        sets = self.about.extent["sets"]
        return [(name, self.references[own]) for name, own in zip(self.couplings, sets, strict=True) if self.references[own] != name]

    def _phases(self) -> list[Section]:
        found = []
        for reference in dict.fromkeys(b for _, b in self._compared()):
            names = [a for a, b in self._compared() if b == reference]

            def cell(own: Solution, name: str, b: str = reference) -> str:
                return _angle(own.phase(name, b), own.of_phases.get(name))

            found += self._tables(f"phases relative to {reference}, degrees", names, cell)
        return found

    def _others(self) -> list[Section]:
        rows = []
        for own, row in zip(self.bins, self.solutions, strict=True):
            for solution in row[1:]:
                above = solution.record.nll - row[0].record.nll
                differs = sorted(self.couplings, key=lambda name: -abs(_event_change(row[0], solution, name)))[:3]
                words = ", ".join(f"{name}: {abs(_value(solution, name)) ** 2:.0f}" for name in differs)
                rows.append((own.words, str(solution.k + 1), f"{above:.3f}", _origin(solution.record), _letters(solution.branch), words))
        foot = "solutions with the same letter continue each other; events are those of the waves that differ most from the best solution"
        return [Section("other solutions", ("bin", "solution", "above in −ln L", "starts", "branch", "events"), tuple(rows), foot)]

    def _bootstrap(self) -> list[Section]:
        names = self._shown()
        spreads = {own.key: spread for own in self.bins if (spread := self.scatter(own.key))}
        if not spreads:
            return []

        def cell(own: Solution, name: str) -> str:
            found = spreads.get(own.bin.key)
            return "" if found is None else f"{found[name]:.3g}"

        return self._tables("bootstrap: how numbers of events scatter", names, cell)

    def scatter(self, key: str) -> dict[str, float]:
        """Standard deviations of numbers of events in the replicas of a bin; empty if there are fewer than two good ones.

        Args:
            key:  of the bin
        """
        replicas = [self.by_key[own] for k in range(self.about.extent["bootstrap"]) if (own := replica_key(key, k)) in self.by_key]
        good = [events_of(record) for record in replicas if record.good]
        if len(good) < 2:
            return {}
        return {name: float(np.std([own[name][0] for own in good], ddof=1)) for name in self.groups}

    def phase_scatter(self, key: str, a: str, b: str) -> float:
        """Standard deviation of arg c_a − arg c_b in the replicas of a bin, in degrees, about that of the fit; NaN without replicas.

        Args:
            key:   of the bin
            a, b:  couplings
        """
        names = list(self.couplings)
        best = next((row[0].record for own, row in zip(self.bins, self.solutions, strict=True) if row and own.key == key), None)
        replicas = [self.by_key.get(replica_key(key, k)) for k in range(self.about.extent["bootstrap"])]
        found = [couplings_of(record, names) for record in (best, *replicas) if record is not None and record.good]
        if len(found) < 3:
            return float("nan")
        turns = [c[names.index(a)] * np.conj(c[names.index(b)]) for c in found]
        apart = [float(np.degrees(np.angle(turn * np.conj(turns[0])))) for turn in turns[1:]]
        return float(np.std(apart, ddof=1))

    def figures(self) -> dict[str, AnyFigure]:
        """Events and phases against the first axis; one figure of each for every bin of the second."""
        from ctpwa.report.figures.bins import Panel, draw_bins, draw_p_values

        if not any(self.solutions):
            return {}
        found: dict[str, AnyFigure] = {}
        axis = self.axes[0]
        limits = axis.edges[0], axis.edges[-1]
        label = axis.label + (f"  [{axis.unit}]" if axis.unit else "")
        others = range(self.axes[1].n) if len(self.axes) > 1 else range(1)
        for second in others:
            end = "" if len(others) == 1 else f"-{second + 1}"
            waves = [Panel(self.about.labels.get(name, name), self.events(name, second, best=False)) for name in [TOTAL, *self._shown()]]
            found[f"bins-events{end}"] = draw_bins(waves, label, _per_bin(axis), limits, zero=True)
            turned = [
                Panel(f"{self.about.labels.get(a, a)} $-$ {self.about.labels.get(b, b)}", self.phases(a, b, second, best=False))
                for a, b in self._compared()
            ]
            turned = [panel for panel in turned if (panel.points.errors <= HALF_TURN / 2).any()]  # of others nothing would be drawn
            if self._states:
                own = moment_indices(2 * max(state.l for state in self._states))
                panels = [Panel(f"$H^0({L}{M})$", self.moments(0, L, M, second, best=False)) for alpha, L, M in own if alpha == 0]
                panels = [panel for panel in panels if np.nan_to_num(panel.points.values).any()]  # the waves leave no others
                found[f"bins-moments{end}"] = draw_bins(panels, label, _per_bin(axis), limits)
            if self.tests.known:
                found[f"bins-goodness{end}"] = draw_p_values(*self._p_values(second), label, limits, self.tests.threshold)
            if turned:
                found[f"bins-phases{end}"] = draw_bins(
                    turned, label, "phase difference [deg]", (axis.edges[0], axis.edges[-1]), most_error=HALF_TURN / 2
                )
        return found

    def _p_values(self, second: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Centres of the bins of one bin of the second axis, and their p-values."""
        own = [len(one.place) == 1 or one.place[1] == second for one in self.bins]
        kinds = {"masses and angles": DECAY, "constant in the bin": INSIDE}
        return self.axes[0].centres, {title: self.tests.p_values(kind)[own] for title, kind in kinds.items()}


def _per_bin(axis: BinAxis) -> str:
    widths = np.diff(axis.edges)
    if not np.allclose(widths, widths[0], rtol=1e-9):
        return "events per bin"
    width, unit = (1000 * widths[0], "MeV") if axis.unit == "GeV" else (widths[0], axis.unit)
    return f"events / {width:.4g} {unit}".rstrip()


def _origin(record: FitRecord) -> str:
    """How many starts ended in a solution, or that it was found from a neighbour."""
    return f"sweep {record.numbers[SWEEP]:.0f}" if SWEEP in record.numbers else f"{record.numbers['starts']:.0f}"


def _angle(own: Number, ends: Interval | None) -> str:
    """Nothing if a wave may be absent."""
    if ends is not None:
        return _with_interval(own, ends) if ends.lower + ends.upper < 2 * HALF_TURN else "unknown"
    return angle_with_error(*own) if math.isfinite(own[1]) else ""


def _with_interval(own: Number, ends: Interval | None) -> str:
    """``12.3 ± 1.1``, or ``12.3 +2.0 −0.9 (+9.1 −2.9)`` with three standard deviations in brackets."""
    if ends is None:
        return with_error(*own)
    known = [end for end in (ends.lower, ends.upper) if 0 < end < math.inf]
    least = max(min(known), max(known) / TIMES) if known else math.inf
    digits = max(0, 1 - math.floor(math.log10(least))) if known else 0
    near, far = (f"+{ends.above[n]:.{digits}f} −{ends.below[n]:.{digits}f}".replace("inf", "∞") for n in (0, -1))
    return f"{fixed_digits(own[0], digits)} {near}" + ("" if math.isnan(ends.below[-1]) else f" ({far})")


def _value(own: Solution, name: str) -> complex:
    return complex(own.values[own.names.index(name)])


def _event_change(a: Solution, b: Solution, name: str) -> float:
    return abs(_value(a, name)) ** 2 - abs(_value(b, name)) ** 2


def _letters(branch: int) -> str:
    """A … z, aa, ab, …"""
    return (_letters(branch // 26 - 1) if branch >= 26 else "") + chr(ord("a") + branch % 26)
