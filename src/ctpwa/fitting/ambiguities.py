"""Minima that no data tell apart: the same intensity in every event, with other couplings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import model_values
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.result import FoundMinimum

INVISIBLE = 1e-4  # Σ (ln I₁/I₂ − mean)² over all events: what fits leave of a difference that is none
SAME = 1e-3  # relative difference of couplings that counts as none
SHOWN = 4  # couplings that are named


def ambiguities(likelihood: Fittable, minima: Sequence[FoundMinimum], distance: float | None) -> dict[int, str]:
    """Which minima within a distance of the best have its intensity in every event: their places among all, and how their couplings
    differ from its.

    Args:
        likelihood:  what was fitted
        minima:      where the starts led to, the best first
        distance:    in −ln L; None: minima were not asked for
    """
    if distance is None:
        return {}
    best, *others = minima
    found = {}
    for place, other in enumerate(others, start=1):
        if not (best.refined and other.refined and other.nll - best.nll <= distance):
            continue
        a, b = (np.array(minimum.values) for minimum in (best, other))
        apart = separation(likelihood, a, b)
        if apart is not None and apart < INVISIBLE:
            found[place] = (
                f"minimum {place + 1} is an ambiguity: its intensity is that of the best one in every event, with"
                f" {_difference(likelihood, a, b)}; no number of events tells them apart, so quote both, or choose one by other knowledge"
            )
    return found


def separation(likelihood: Fittable, a: np.ndarray, b: np.ndarray) -> float | None:
    """Σ (ln I_a/I_b − mean)² over the measured events, about twice what −ln L of such data tells two points apart by; None if intensities
    are not to be had.

    Args:
        likelihood:  says what the intensity is
        a, b:        its free parameters
    """
    try:
        return sum(
            _of_term(term, *(x[[likelihood.names.index(name) for name in term.names]] for x in (a, b))) for term in terms_of(likelihood)
        )
    except DataError:  # of samples that are computed in every evaluation
        return None


def _of_term(term: Likelihood, a: np.ndarray, b: np.ndarray) -> float:
    first, second = (term.intensity(x, "data").cpu().numpy() for x in (a, b))
    known = (first > 0) & (second > 0)
    if not np.array_equal(first > 0, second > 0):
        return float("inf")
    ratio = np.log(first[known] / second[known])
    sums = np.array([float(known.sum()), ratio.sum(), (ratio**2).sum()])
    n, total, squares = np.sum([np.frombuffer(part) for part in term.ranks.gather(sums.tobytes())], axis=0)
    return float(max(squares - total**2 / n, 0.0)) if n else 0.0


def _difference(likelihood: Fittable, a: np.ndarray, b: np.ndarray) -> str:
    """How the couplings of two points differ, in words."""
    first, second = (model_values(likelihood, x).couplings for x in (a, b))

    def same(name: str, value: complex) -> bool:
        return abs(second[name] - value) <= SAME * abs(value)

    if all(same(name, value.conjugate()) for name, value in first.items()):
        return "all couplings complex conjugate, that is with all phases of the other sign"
    other = [name for name, value in first.items() if not same(name, value)]
    if other and all(same(name, -first[name]) for name in other):
        return f"the other sign of {_listed(other)}"
    turned = [name for name in other if abs(abs(first[name]) - abs(second[name])) <= SAME * abs(first[name])]
    if other and len(turned) == len(other):
        return f"other phases of {_listed(other)}"
    return f"other couplings of {_listed(other)}" if other else "other lineshape parameters"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
