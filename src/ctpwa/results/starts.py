"""Many starts: a coarse search with part of the events and lineshapes that stand still, then the whole fit from each of its minima.

A coarse minimum is left as it is when the part of the events that was used already excludes, at five standard deviations, that it is
the best one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ctpwa.engine.likelihood import Likelihood
from ctpwa.engine.likelihood_sum import LikelihoodSum
from ctpwa.minimise.drive import Record, drive_many
from ctpwa.minimise.minima import Minimum, distinct
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Restricted
from ctpwa.minimise.steps import Stop
from ctpwa.progress import Progress

COARSE_EVENTS = 10_000
COARSE_PER_PARAMETER = 100
COARSE_TOLERANCE = 1e-2
FLOOR, SIGMAS = 30.0, 5.0


@dataclass(frozen=True)
class Coarse:
    """What the coarse search found.

    Attributes:
        minima:    the best first, values of the part that was used, scaled to all events
        promising: how many of them may be the best
        record:    evaluations and time
        interrupted:  whether Ctrl-C ended it
    """

    minima: tuple[Minimum, ...]
    promising: int
    record: Record
    interrupted: bool = False


def coarse_search(
    likelihood: Likelihood | LikelihoodSum, starts: np.ndarray, seed: int, progress: bool | None, watch: Callable[[], None] | None = None
) -> Coarse:
    """Minimise from many points with part of the events, couplings only.

    Args:
        likelihood:  the whole likelihood
        starts:      points [start, parameter]; their lineshape parameters are those of the first
        seed:        which events
        progress:    whether to show a progress bar
        watch:       is called now and then
    """
    n = max(COARSE_EVENTS, COARSE_PER_PARAMETER * starts.shape[1])
    part = likelihood.coarse(starts[0], n, seed)
    restricted = Restricted(part, starts[0], likelihood.coupling_index)
    steps = [newton(x[restricted.index], restricted.bounds, tolerance=COARSE_TOLERANCE, noise=restricted.rounding) for x in starts]
    with Progress("search from many starts", len(starts), show=progress) as bar:
        stops, record = drive_many(restricted, steps, advance=bar.advance)
    full = [None if stop is None else replace(stop, x=restricted.full(stop.x)) for stop in stops]
    minima = distinct(full)
    share = min(1.0, n / max(likelihood.n_events, 1))
    best = minima[0].value if minima else np.nan
    promising = sum(_may_be_best(minimum.value - best, share) for minimum in minima)
    return Coarse(tuple(minima), promising, record, any(stop is None or stop.reason == "interrupted" for stop in stops))


def _may_be_best(above: float, share: float) -> bool:
    """Whether a minimum that lies so much above the best may still be the best with all events: Var ≈ 2 Δ / share."""
    return above <= FLOOR + SIGMAS * np.sqrt(2 * above * (1 - share) / share)


def as_stop(minimum: Minimum) -> Stop:
    """A minimum that was not refined, as the end of a fit."""
    return Stop(minimum.x, minimum.value, False, "only searched coarsely", 0)
