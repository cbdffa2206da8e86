"""Many starts: a coarse search with part of the events and lineshapes that stand still, then the whole fit from each of its minima.

Minima of a sum of waves differ in the phases of a few of them. So only some of the starts are random in all couplings; each later one
takes one of the best minima so far and turns some of its couplings, which finds better minima sooner than chance does. Where a start
begins depends on the seed, its number and the ends of certain starts before it, not on which of the others have ended by chance: a
search that was killed goes on with the starts that are left and finds the same.

A coarse minimum is left as it is when the part of the events that was used already excludes, at five standard deviations, that it is
the best one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ctpwa.base.progress import Progress
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.fitting.holes import hole, may_have_holes
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.one_form import one_form
from ctpwa.fitting.search_settings import USUAL, SearchSettings
from ctpwa.minimise.drive import Record, drive_many
from ctpwa.minimise.minima import Minimum, distinct
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Restricted, Scaled
from ctpwa.minimise.steps import Steps, Stop

COARSE_TOLERANCE = 1e-2
FLOOR, SIGMAS = 30.0, 5.0
RANDOM_SHARE = 0.25  # of many starts that are random
PARENTS, TURNED = 4, 0.2  # of how many minima later ones come, and which part of the couplings is turned
KNOWN = 0.75  # of the random ones, the first of them, must have ended before later ones begin


@dataclass(frozen=True)
class Coarse:
    """What the coarse search found.

    Attributes:
        minima:    the best first, values of the part that was used, scaled to all events: good for comparing them with each other only
        promising: how many of them may be the best
        record:    evaluations and time
        interrupted:  whether Ctrl-C ended it
    """

    minima: tuple[Minimum, ...]
    promising: int
    record: Record
    interrupted: bool = False


def coarse_search(
    likelihood: Likelihood | LikelihoodSum,
    starts: np.ndarray,
    seed: int,
    progress: bool | None,
    *,
    learn: bool = True,
    journal: Journal | None = None,
    settings: SearchSettings = USUAL,
) -> Coarse:
    """Minimise from many points with part of the events, couplings only.

    Args:
        likelihood:  the whole likelihood
        starts:      points [start, parameter]; their lineshape parameters are those of the first
        seed:        which events
        progress:    whether to show a progress bar
        learn:       whether later starts are minima of earlier ones with some couplings turned to those of the given point
        journal:     gets every end; starts that are in it have ended already
        settings:    how many events, and how many starts at a time
    """
    n = max(settings.events, settings.per_parameter * starts.shape[1])
    share = min(1.0, n / max(likelihood.n_events, 1))
    journal = Journal() if journal is None else journal
    record, interrupted, cut_short = _search(likelihood, starts, n, seed, progress, learn, journal, settings)
    ends: list[Stop | None] = [journal.ends.get(k, cut_short.get(k)) for k in range(len(starts))]
    minima = distinct(ends, same_value=settings.same_value)
    best = minima[0].value if minima else np.nan
    if settings.distance is not None and minima:
        ends = [None if end is None else replace(end, x=one_form(likelihood, end.x, near=minima[0].x)) for end in ends]
        metric = likelihood.value_grad_hessian(minima[0].x)[2] / likelihood.unit
        minima = distinct(ends, metric, same_value=settings.same_value)
    promising = sum(_may_be_near(minimum.value - best, share, settings.distance or 0.0) for minimum in minima)
    minima = [replace(minimum, value=likelihood.unit * minimum.value) for minimum in minima]
    return Coarse(tuple(minima), promising, record, interrupted)


def _search(
    likelihood: Likelihood | LikelihoodSum,
    starts: np.ndarray,
    n: int,
    seed: int,
    progress: bool | None,
    learn: bool,
    journal: Journal,
    settings: SearchSettings,
) -> tuple[Record, bool, dict[int, Stop]]:
    """Run all starts that are left; ends go to the journal. Returns where interrupted ones were as well."""
    if len(journal.ends) == len(starts):
        return Record(), False, {}
    part = likelihood.coarse(starts[0], n, seed)
    restricted = Restricted(Scaled(part, likelihood.unit), starts[0], likelihood.coupling_index)
    points = starts[:, restricted.index]
    first = min(len(points), max(settings.random, int(RANDOM_SHARE * len(points)))) if learn else len(points)
    at_once = first if first == len(points) else max(first, settings.at_once)
    begun: list[int] = []
    give_up = (lambda y: hole(part, restricted.full(y))) if may_have_holes(part) else None

    def minimisers() -> Iterator[Steps | None]:
        for k, x in enumerate(points):
            if k in journal.ends:
                continue
            teachers = range(max(int(KNOWN * first), k - at_once)) if k >= first else range(0)
            while not all(j in journal.ends for j in teachers):
                yield None
            parents = distinct([_at(journal.ends[j], restricted.index) for j in teachers], same_value=settings.same_value)[:PARENTS]
            start = _turned(restricted.names, parents, x, np.random.default_rng((seed, k))) if parents and len(x) else x
            begun.append(k)
            yield newton(start, restricted.bounds, tolerance=COARSE_TOLERANCE, noise=restricted.rounding, eager=True)

    with Progress("search from many starts", len(starts), show=progress) as bar:
        bar.done = len(journal.ends)

        def ended(number: int, stop: Stop) -> None:
            journal.ended(begun[number], replace(stop, x=restricted.full(stop.x)))
            bar.advance(1)

        stops, record = drive_many(restricted, minimisers(), ended=ended, at_once=at_once, give_up=give_up)
    left = {k: stop for k, stop in zip(begun, stops, strict=False) if k not in journal.ends and stop is not None}
    return record, len(journal.ends) < len(points), {k: replace(stop, x=restricted.full(stop.x)) for k, stop in left.items()}


def _at(stop: Stop, index: np.ndarray) -> Stop:
    """An end with some of its parameters only."""
    return replace(stop, x=stop.x[index])


def _turned(names: Sequence[str], parents: Sequence[Minimum], towards: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One of the minima, with some of its complex numbers turned to the phases of another point; their magnitudes stay.

    Args:
        names:    of the parameters
        parents:  the minima
        towards:  the other point
        random:   which minimum, and which numbers
    """
    x = parents[int(random.integers(len(parents)))].x.copy()
    numbers: dict[str, dict[str, int]] = {}
    for i, name in enumerate(names):
        number, _, what = name.rpartition(".")
        numbers.setdefault(number, {})[what] = i
    chosen = random.random(len(numbers)) < TURNED
    chosen[random.integers(len(numbers))] = True
    for of, is_chosen in zip(numbers.values(), chosen, strict=True):
        if is_chosen and "phase" in of:
            x[of["phase"]] = towards[of["phase"]]
        elif is_chosen:
            index = list(of.values())
            size = float(np.linalg.norm(towards[index]))
            x[index] = towards[index] * (np.linalg.norm(x[index]) / size if size > 0 else 1.0)
    return x


def _may_be_near(above: float, share: float, distance: float = 0.0) -> bool:
    """Whether a minimum that lies so much above the best may still be the best with all events, or as near: Var ≈ 2 Δ / share."""
    return above <= distance + FLOOR + SIGMAS * np.sqrt(2 * above * (1 - share) / share)
