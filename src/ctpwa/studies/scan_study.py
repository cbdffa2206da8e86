"""``ctpwa scan``: −ln L as a function of one or two quantities, with everything else fitted again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
from scipy.interpolate import RectBivariateSpline

from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.base.words import counted
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section, with_error
from ctpwa.observables.tails import chi2_of_tail, chi2_tail
from ctpwa.studies.baseline import Baseline, about_fit
from ctpwa.studies.checks import checked_count
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.profile import LOWER, SURPRISING, Profile, number
from ctpwa.studies.quantity_names import Asked, read_quantity
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.study import Study, how_many_good

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

POINTS, POINTS_2D = 25, 13  # along every axis
MOST_POINTS = 1000
SIGMAS, MOST_SIGMAS = 3.0, 20.0
MARGIN = 1.1  # by so much scans go further than the last crossing or contour
CENTRE, BETTER, AGAIN = "fit", "better", "again"
FINE = 121  # points along every axis of the interpolated map
SIDES = {-1: "lower", 1: "upper"}
UNITS = {"mass": "  [GeV]", "width": "  [GeV]"}


def confidence(sigmas: float, n: int) -> float:
    """2Δ(−ln L) of ``n`` quantities at the confidence of so many standard deviations of one."""
    return chi2_of_tail(chi2_tail(sigmas**2, 1), n)


@dataclass(frozen=True)
class Crossing:
    """Where a profile has risen by so many standard deviations, on one side.

    Attributes:
        sigmas:  standard deviations
        side:    −1 or 1
        value:   of the quantity; None if it was not found
        reason:  why not, such as a limit
    """

    sigmas: int
    side: int
    value: float | None
    reason: str = ""


class Scan(Study):
    """A likelihood profile in one or two quantities.

    Its grid follows from the range in the record ``fit``; records of points have their values and ``rise``, Δ(−ln L) above the fit in units
    in which one standard deviation adds ½.
    """

    name: ClassVar[str] = "scan"
    title: ClassVar[str] = "Likelihood profile"

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of what is scanned."""
        return tuple(self.about.options["quantities"])

    @property
    def n_points(self) -> int:
        """Along every axis."""
        return int(self.about.options["points"])

    @property
    def levels(self) -> tuple[int, ...]:
        """Standard deviations of crossings and contours."""
        return tuple(range(1, int(self.about.options["sigmas"]) + 1))

    def _number(self, what: str, k: int = 0) -> float:
        return float(self.by_key[CENTRE].numbers[number(what, k)])

    def grid(self, k: int = 0) -> np.ndarray:
        """Values of the k-th quantity."""
        return np.linspace(self._number("low", k), self._number("high", k), self.n_points)

    def value(self, k: int = 0) -> float:
        """Of the k-th quantity where the fit ended."""
        return self._number("value", k)

    def error(self, k: int = 0) -> float | None:
        """Its statistical error there; None if it has none."""
        return self._number("error", k) or None

    def record_at(self, *place: int) -> FitRecord | None:
        """The best record at a place of the grid; None if there is none yet."""
        key = point_key(*place)
        found = [self.by_key[own] for own in (key, f"{key} {AGAIN}") if own in self.by_key]
        return min(found, key=lambda own: (not own.good, own.nll), default=None)

    @cached_property
    def rises(self) -> np.ndarray:
        """2Δ(−ln L) at the grid [first] or [first, second]; NaN where there is no good fit."""
        found = np.full((self.n_points,) * len(self.quantities), np.nan)
        for place in np.ndindex(found.shape):
            record = self.record_at(*place)
            if record is not None and record.good:
                found[place] = 2 * float(record.numbers["rise"])
        return found

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the profile of one quantity has risen by 1, 2, … standard deviations."""
        found = []
        for sigmas in self.levels:
            for side in SIDES:
                record = self.by_key.get(crossing_key(side, sigmas))
                if record is not None:
                    value = float(record.numbers[number("value", 0)]) if record.good else None
                    found.append(Crossing(sigmas, side, value, record.reasons))
        return tuple(found)

    @cached_property
    def better(self) -> FitRecord | None:
        """The lowest good fit that is below the one that was scanned; None if there is none."""
        return min((own for own in self.below if own.good), key=lambda own: own.nll, default=None)

    @cached_property
    def below(self) -> tuple[FitRecord, ...]:
        """All points below the fit that was scanned, good or not: the good ones first, the lowest first."""
        found = [own for own in self.records if float(own.numbers.get("rise", 0.0)) < -LOWER]
        return tuple(sorted(found, key=lambda own: (not own.good, own.nll)))

    @property
    def chapter(self) -> str:
        """Title of its chapter of a report."""
        return f"{self.title} of {' and '.join(self.quantities)}"

    @property
    def headline(self) -> str:
        """Whether there is a better minimum, and the intervals."""
        if CENTRE not in self.by_key:
            return "Nothing has ended yet."
        words = []
        if self.better is not None:
            away = self.about.base.nll - float(self.better.nll)
            where = ", ".join(f"{name} = {self._of(self.better, k)}" for k, name in enumerate(self.quantities))
            words.append(
                f"A BETTER MINIMUM WAS FOUND: -ln L is {away:.3f} lower at {where}. The fit is not the best one, and errors that are taken"
                " from it are wrong: fit again from there, or with more starts."
            )
        elif self.below:
            words.append(self._doubtful())
        every = [self.record_at(*place) for place in np.ndindex(self.rises.shape)]
        done, bad = sum(own is not None for own in every), sum(own is not None and not own.good for own in every)
        words.append(how_many_good(counted(done, "point"), bad))
        if len(self.quantities) == 1 and self.better is None:
            ends = {own.side: own for own in self.crossings if own.sigmas == 1}
            if len(ends) == len(SIDES):
                words.append(f"{self.quantities[0]} = {self._interval(ends)} by the rise of -ln L by ½.")
        return " ".join(words)

    def _doubtful(self) -> str:
        """What to say about points below the fit none of which is good."""
        lowest = self.below[0]
        words = (
            f"{counted(len(self.below), 'point is', 'points are')} NOT good and below the fit, by up to"
            f" {self.about.base.nll - float(lowest.nll):.3f} in -ln L ({lowest.reasons})."
        )
        tried = self.by_key.get(BETTER)
        if tried is None:
            return words
        how = "is no lower than the fit" if tried.good else f"is NOT good: {tried.reasons}"
        return f"{words} What a fit from there finds {how}. There may be a better minimum: fit with more starts."

    def _of(self, record: FitRecord, k: int) -> str:
        return f"{float(record.numbers[number('value', k)]):.6g}"

    def _interval(self, ends: dict[int, Crossing]) -> str:
        centre = self.value()
        parts = []
        for side, own in ends.items():
            parts.append("-+"[side > 0] + (f"({own.reason})" if own.value is None else f"{abs(own.value - centre):.3g}"))
        return f"{centre:.6g} {' '.join(parts)}"

    def sections(self) -> tuple[Section, ...]:
        """Intervals or contours, points, and what is not good."""
        if CENTRE not in self.by_key:
            return ()
        shown = self._one() if len(self.quantities) == 1 else self._two()
        keys = [key for place in np.ndindex(self.rises.shape) for key in [point_key(*place)]]
        bad = tuple((key, self.by_key[key].reasons) for key in keys if key in self.by_key and not self.by_key[key].good)
        return (*shown, *((Section("NOT good", ("point", "reasons"), bad),) if bad else ()))

    def _fitted(self, k: int) -> str:
        return with_error(self.value(k), self.error(k))

    def _one(self) -> tuple[Section, ...]:
        name, centre, error = self.quantities[0], self.value(), self.error()
        ends = {(own.sigmas, own.side): own for own in self.crossings}
        rows = []
        for sigmas in self.levels:
            pair = [ends.get((sigmas, side)) for side in SIDES]
            shown = [_crossing(own, centre) for own in pair]
            rows.append((f"{sigmas} σ", *shown, f"± {sigmas * error:.3g}" if error else ""))
        foot = "crossings are relative to the fit, which is not the best minimum" if self.better is not None else ""
        intervals = Section(f"intervals of {name}, fitted {self._fitted(0)}", ("", "lower", "upper", "parabola"), tuple(rows), foot)
        points = tuple((f"{value:.6g}", _rise(rise)) for value, rise in zip(self.grid(), self.rises.tolist(), strict=True))
        return intervals, Section("points", (name, "2Δ(-ln L)"), points)

    def _two(self) -> tuple[Section, ...]:
        rows = [("fit", "", *(self._fitted(k) for k in range(2)))]
        for sigmas in self.levels:
            level = confidence(sigmas, 2)
            rows.append((f"{sigmas} σ", f"{level:.2f}", *self._extent(level)))
        rho = self._number("correlation")
        title = f"contours, correlation of the fit {rho:+.3f}"
        return (Section(title, ("", "2Δ(-ln L)", *self.quantities), tuple(rows), "from lowest to highest value on each contour"),)

    def _extent(self, level: float) -> tuple[str, ...]:
        """The range of both quantities within a contour of the interpolated map."""
        x, y, z = self.interpolated
        within = z <= level
        if not within.any():
            return "not reached", "not reached"
        found = []
        for axis, values in enumerate((x, y)):
            taken = np.flatnonzero(within.any(axis=1 - axis))
            ends = [f"{values[k]:.5g}" if 0 < k < len(values) - 1 else "beyond" for k in (taken[0], taken[-1])]
            found.append(" to ".join(ends))
        return tuple(found)

    @cached_property
    def interpolated(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A finer grid of two quantities, and 2Δ(−ln L) there [first, second]; as it is where points are missing."""
        x, y, z = self.grid(0), self.grid(1), self.rises
        if not np.isfinite(z).all() or self.n_points < 4:
            return x, y, np.where(np.isfinite(z), z, np.inf)
        fine = tuple(np.linspace(values[0], values[-1], FINE) for values in (x, y))
        return *fine, RectBivariateSpline(x, y, z)(*fine)

    def figures(self) -> dict[str, AnyFigure]:
        """The curve with the parabola of the errors, or the map with contours and the ellipse of the errors."""
        from ctpwa.report.figures.scans import draw_profile, draw_profile_map

        labels = [self.about.labels.get(name, name) + UNITS.get(name.rpartition(".")[2], "") for name in self.quantities]
        if CENTRE not in self.by_key or not np.isfinite(self.rises).any():
            return {}
        if len(self.quantities) == 1:
            known = np.isfinite(self.rises)
            points = [(own.value, own.sigmas**2) for own in self.crossings if own.value is not None]
            return {"scan": draw_profile(labels[0], self.grid()[known], self.rises[known], self.value(), self.error(), points, self.levels)}
        errors = self.error(0), self.error(1)
        covariance = None
        if errors[0] and errors[1]:
            off = self._number("correlation") * errors[0] * errors[1]
            covariance = np.array([[errors[0] ** 2, off], [off, errors[1] ** 2]])
        levels = {f"{sigmas} σ": confidence(sigmas, 2) for sigmas in self.levels}
        return {"scan": draw_profile_map(labels, self.interpolated, (self.value(0), self.value(1)), covariance, levels)}


def _rise(rise: float) -> str:
    return f"{rise:.4f}".replace("-0.0000", "0.0000") if math.isfinite(rise) else "not known"


def _crossing(own: Crossing | None, centre: float) -> str:
    if own is None:
        return ""
    return own.reason if own.value is None else f"{own.value:.6g} ({own.value - centre:+.3g})"


def point_key(*place: int) -> str:
    """The key of a point of the grid."""
    return " ".join(map(str, place))


def crossing_key(side: int, sigmas: int) -> str:
    """The key of a crossing."""
    return f"{SIDES[side]} {sigmas}"


def scan(fit: Fit, *quantities: str, points: int | None = None, sigmas: float = SIGMAS, **run: Unpack[RunOptions]) -> Scan:
    """Profile −ln L over one or two quantities: at every point of a grid all other parameters are fitted again.

    A quantity is a free or derived parameter, ``fraction(RESONANCE)``, ``phase(COUPLING, COUPLING)``, ``pole(RESONANCE).mass`` or
    ``pole(RESONANCE).width``; with ``=LOW..HIGH`` after it in a range of its own. Of one quantity also the places are found where
    −ln L has risen by 1, 2, … standard deviations, as MINOS defines them.

    Args:
        fit:         a reopened fit, a result, its file, or a model file, which is fitted first
        quantities:  one or two
        points:      along every axis; default: 25 for one quantity, 13 for two
        sigmas:      how far to go in standard deviations, where no range is given
        run:         how to run it, see ``RunOptions``
    """
    if len(quantities) not in (1, 2):
        raise DataError(f"{counted(len(quantities), 'quantity', 'quantities')} to scan\n fix: name one or two")
    n = checked_count("points", (POINTS if len(quantities) == 1 else POINTS_2D) if points is None else points, 3)
    if n > MOST_POINTS:
        raise DataError(f"{n} points along an axis\n fix: give at most {MOST_POINTS}")
    if not isinstance(sigmas, (int, float)) or isinstance(sigmas, bool) or not 1 <= sigmas <= MOST_SIGMAS:
        raise DataError(f"a scan of {sigmas!r} standard deviations\n fix: give a number from 1 to {MOST_SIGMAS:g}")
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    asked = [read_quantity(text, opened.result, opened.model) for text in quantities]
    if len({one.name for one in asked}) < len(asked):
        raise DataError(f"{asked[0].name} is named twice\n fix: name two different quantities")
    options = {
        "quantities": [one.name for one in asked],
        "ranges": [None if one.range is None else list(one.range) for one in asked],
        "points": n,
        "sigmas": float(sigmas),
    }
    about = about_fit(opened, Scan.name, options, _notes(opened.result))
    about = replace(about, labels=dict(about.labels) | {one.name: one.label for one in asked})
    with StudyRun(opened, about, run) as study:
        work = _Work(study, asked, n, float(sigmas))
        study.fits([[FitTask(CENTRE, work.centre)]], "scan")
        work.grid()
        work.rest()
    return Scan.of(study.store)


def _notes(result: FitResult) -> list[str]:
    notes = []
    if result.corrected:
        notes.append(
            "events have weights: -ln L is in units of Σw²/Σw, in which its rise is about that of errors; the parabola has those that are"
            " corrected for weights"
        )
    if result.simulation is not None:
        notes.append("intervals are statistical: neither they nor the parabola count that the phase-space sample is finite")
    return notes


class _Work:
    """The fits of a scan.

    Args:
        study:   the study while it runs
        asked:   the quantities
        n:       points along every axis
        sigmas:  how far to go
    """

    def __init__(self, study: StudyRun, asked: Sequence[Asked], n: int, sigmas: float) -> None:
        self.study, self.asked, self.n, self.sigmas = study, asked, n, sigmas

    @cached_property
    def profile(self) -> Profile:
        """Made when it is needed, which it is not if no fit is missing."""
        return Profile(self.study.baseline, self.asked)

    @property
    def _now(self) -> Scan:
        """The study as far as it is."""
        return Scan.of(self.study.store)

    def centre(self, before: FitRecord | None) -> FitRecord:
        """The fit itself, with what the grid follows from."""
        own, profile = self.study.baseline, self.profile
        reach = MARGIN * math.sqrt(confidence(self.sigmas, len(self.asked)))
        numbers = {"rise": 0.0, number("correlation", 0): profile.correlation}
        for k in range(len(self.asked)):
            low, high = profile.range(k, reach)
            numbers |= {number("value", k): profile.values[k], number("error", k): profile.errors[k]}
            numbers |= {number("low", k): low, number("high", k): high}
        values = dict(zip(own.result.names, own.x.tolist(), strict=True))
        return FitRecord(CENTRE, own.result.nll, True, "", values, numbers=numbers)

    def _point(self, key: str, values: Sequence[float], from_key: str | None, before: FitRecord | None) -> FitRecord:
        """A point of the grid, from the one before it in its chain, or from another one."""
        begin = time.perf_counter()
        near = self.study.store.records[from_key] if before is None and from_key is not None else before
        try:
            point = self.profile.at(values, self._scales, near)
        except CtpwaError as error:
            return FitRecord.failed(key, error, time.perf_counter() - begin)
        return self.profile.record(key, point, time.perf_counter() - begin)

    @cached_property
    def _scales(self) -> list[float]:
        """What counts as 1 in the quantities."""
        now = self._now
        return [now.error(k) or float(np.ptp(now.grid(k))) / (2 * self.sigmas) for k in range(len(self.asked))]

    def _nearest(self, k: int) -> int:
        now = self._now
        return int(np.argmin(np.abs(now.grid(k) - now.value(k))))

    def _outwards(self, k: int) -> list[range]:
        """Places along an axis from the fit to both ends."""
        middle = self._nearest(k)
        return [range(middle, self.n), range(middle - 1, -1, -1)]

    def grid(self) -> None:
        """All points of the grid, from the fit outwards."""
        grids = [self._now.grid(k) for k in range(len(self.asked))]

        def tasks(places: Sequence[tuple[int, ...]], from_key: str | None = None) -> list[FitTask]:
            points = [(point_key(*place), [float(grid[i]) for grid, i in zip(grids, place, strict=True)]) for place in places]
            return [FitTask(key, partial(self._point, key, values, from_key)) for key, values in points]

        if len(grids) == 1:
            self.study.fits([tasks([(i,) for i in way]) for way in self._outwards(0)], "scan")
            self._again(tasks)
            return
        middle = self._nearest(1)
        self.study.fits([tasks([(i, middle) for i in way]) for way in self._outwards(0)], "scan, first row")
        chains = []
        for i in range(self.n):
            for way in self._outwards(1):
                places = [(i, j) for j in way if j != middle]
                chains.append(tasks(places, point_key(i, middle)))
        self.study.fits(chains, "scan")

    def _again(self, tasks: Callable[..., list[FitTask]]) -> None:
        """Where a path may have jumped to another branch, the way back from its last good point, which stays on that branch."""
        chains = []
        for way in self._outwards(0):
            found = [self.study.store.records[point_key(i)] for i in way]
            good = [k for k, own in enumerate(found) if own.good]
            if good and self._jumps(found):
                back, last = tasks([(i,) for i in reversed(way[: good[-1]])]), point_key(way[good[-1]])
                chains.append([FitTask(f"{task.key} {AGAIN}", partial(self._backwards, task, last)) for task in back])
        self.study.fits(chains, "scan, back")

    def _backwards(self, task: FitTask, last: str, before: FitRecord | None) -> FitRecord:
        record = task.run(self.study.store.records[last] if before is None else before)
        return replace(record, key=f"{task.key} {AGAIN}")

    @staticmethod
    def _jumps(found: Sequence[FitRecord]) -> bool:
        """Whether a path outwards has a point that is not where it was expected, or below the one before it."""
        good = [own for own in found if own.good]
        rises = [float(own.numbers["rise"]) for own in good]
        falls = any(b < a - LOWER for a, b in pairwise(rises))
        return falls or len(good) < len(found) or any(float(own.numbers["jump"]) > SURPRISING for own in good)

    def rest(self) -> None:
        """Where one quantity crosses 1, 2, … standard deviations; and the better minimum, if any point is below the fit."""
        if len(self.asked) == 1:
            levels = range(1, int(self.sigmas) + 1)
            chains = [[FitTask(crossing_key(side, level), partial(self._crossing, side, level))] for level in levels for side in SIDES]
            self.study.fits(chains, "scan, crossings")
        below = [own for own in self._now.below if own.key != BETTER]
        if below:
            self.study.fits([[FitTask(BETTER, partial(self._better, below[0].key))]], "scan, better minimum")

    def _better(self, key: str, before: FitRecord | None) -> FitRecord:
        """The minimum near a point that is below the fit."""
        own: Baseline = self.study.baseline
        start = self.study.store.records[key].values
        found = own.recorded(BETTER, lambda: own.refit(own.likelihood, start=dict(start), simulation=True))
        if not found.good:
            return found
        x = np.array([found.values[name] for name in own.likelihood.names])
        numbers = {number("value", k): quantity.at(x)[0] for k, quantity in enumerate(self.profile.quantities)}
        return replace(found, numbers=numbers | {"rise": (found.nll - own.result.nll) / own.likelihood.unit})

    def _crossing(self, side: int, level: int, before: FitRecord | None) -> FitRecord:
        begin, key, now = time.perf_counter(), crossing_key(side, level), self._now
        apart = side * (now.grid() - now.value())
        known = [(float(apart[i]), now.record_at(i)) for i in np.argsort(apart) if apart[i] > 0]
        usable = [(distance, record) for distance, record in known if record is not None and record.good]
        end = max(float(apart.max()), 0.0)
        try:
            point, reason = self.profile.crossing(side, level, self._scales[0], usable, end, self.asked[0].range is None)
        except CtpwaError as error:
            return FitRecord.failed(key, error, time.perf_counter() - begin)
        if point is None:
            return FitRecord.failed(key, reason, time.perf_counter() - begin)
        return replace(self.profile.record(key, point, time.perf_counter() - begin), good=not reason, reasons=reason)
