"""Whether the end of a fit is a minimum that can be trusted, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ctpwa.base.words import counted
from ctpwa.minimise.steps import Extended, Stop, held

FLAT = 1e-10  # of the largest curvature, in units in which every parameter alone has curvature 1
SMALL_EDM = 1e-3
PUSHED = 1e-8  # what a parameter that −ln L pushes against its limit would gain beyond it, at least: less is what fits leave
SHOWN = 4  # parameters named in a direction, or at a limit
MOST = 3  # reasons that are told without being asked


@dataclass(frozen=True)
class Verdict:
    """The judgement on a fit.

    Attributes:
        good:           a minimum, found, with all parameters determined
        reasons:        what is wrong, or worth knowing; the worst first, one for each kind
        edm:            expected distance of the value from the minimum, ½ g·H⁻¹·g
        gradient_norm:  largest |∂f/∂x| of parameters that are not at a limit
        eigenvalues:    of the Hessian, in units in which its diagonal is 1, ascending
        flat:           directions that the likelihood does not determine: name → component
        negative:       directions in which the point is a maximum
        at_limits:      parameters at a limit
    """

    good: bool
    reasons: tuple[str, ...]
    edm: Extended
    gradient_norm: Extended
    eigenvalues: tuple[float, ...]
    flat: tuple[dict[str, float], ...] = ()
    negative: tuple[dict[str, float], ...] = ()
    at_limits: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text()

    def text(self, everything: bool = False) -> str:
        """The verdict in a few lines.

        Args:
            everything:  all reasons, and all directions that are not determined or go down
        """
        head = "good: a minimum, all parameters determined" if self.good else "NOT good"
        lines = [f"{head} (EDM {self.edm:.1e})", *(self.reasons if everything else self.reasons[:MOST])]
        if everything:
            lines += [f"goes down: {_words(direction)}" for direction in self.negative[1:]]
            lines += [f"not determined: {_words(direction)}" for direction in self.flat[1:]]
        elif (more := len(self.reasons) - MOST) > 0:
            lines.append(f"and {counted(more, 'more reason')}, see ctpwa show --reasons")
        return "\n  ".join(lines)

    def with_reasons(self, first: Sequence[str] = (), last: Sequence[str] = ()) -> Verdict:
        """The same with more reasons, before or after all others."""
        return replace(self, reasons=tuple(dict.fromkeys((*first, *self.reasons, *last))))


@dataclass(frozen=True)
class Judged:
    """A verdict and the inverse of the Hessian it rests on.

    Attributes:
        verdict:     the verdict
        covariance:  H⁻¹ [parameter, parameter]; 0 for parameters at a limit, and without undetermined directions
        undetermined: parameters that take part in an undetermined direction
    """

    verdict: Verdict
    covariance: np.ndarray
    undetermined: tuple[str, ...]


def judge(names: Sequence[str], stop: Stop, gradient: np.ndarray, H: np.ndarray, bounds: np.ndarray) -> Judged:
    """Look at the end of a minimisation.

    Args:
        names:     of the parameters
        stop:      where and why it ended
        gradient:  there
        H:         the Hessian there
        bounds:    limits [parameter, 2]
    """
    at_limit = (stop.x <= bounds[:, 0]) | (stop.x >= bounds[:, 1])
    pushed = gradient**2 > 2 * PUSHED * np.abs(np.diag(H))  # else it is at the limit by chance, and may move like any other
    free = np.flatnonzero(~(held(stop.x, gradient, bounds) & pushed))
    own = H[np.ix_(free, free)]
    scale = 1 / np.sqrt(np.where(np.abs(np.diag(own)) > 0, np.abs(np.diag(own)), 1.0))
    values, vectors = np.linalg.eigh(own * np.outer(scale, scale)) if len(free) else (np.zeros(0), np.zeros((0, 0)))
    size = np.abs(values).max(initial=0.0)
    is_flat = np.abs(values) <= FLAT * size
    is_negative = (values < 0) & ~is_flat
    use = ~is_flat & ~is_negative
    along = vectors.T @ (scale * gradient[free])
    edm = float(np.sum(along[use] ** 2 / values[use]) / 2)
    inverse = (vectors[:, use] / values[use]) @ vectors[:, use].T * np.outer(scale, scale)
    covariance = np.zeros_like(H)
    covariance[np.ix_(free, free)] = inverse
    flat, negative = (
        tuple(_direction(names, free, vectors[:, k], scale) for k in np.flatnonzero(which)) for which in (is_flat, is_negative)
    )
    loose = np.abs(vectors[:, is_flat | is_negative]).max(axis=1, initial=0.0) > 1e-3
    undetermined = {names[int(i)] for i in free[loose]}
    reasons = []
    if not stop.converged:
        reasons.append(stop.reason)
    if edm > SMALL_EDM:
        reasons.append(f"the minimum is still {edm:.2g} below in -ln L")
    if negative:
        reasons.append(f"not a minimum: it goes down along {_words(negative[0])}{_and_more(negative)}; try more starts")
    if flat:
        reasons.append(_not_determined(flat))
    limits = tuple(names[int(i)] for i in np.flatnonzero(at_limit))
    good = not reasons
    if limits:
        more = f" and {len(limits) - SHOWN} more" if len(limits) > SHOWN else ""
        reasons.append(f"at a limit: {', '.join(limits[:SHOWN])}{more}")
    norm = float(np.abs(gradient[free]).max(initial=0.0))
    verdict = Verdict(good, tuple(reasons), edm, norm, tuple(map(float, values)), flat, negative, limits)
    return Judged(verdict, covariance, tuple(name for name in names if name in undetermined))


def without_what_is_flat(judged: Judged, other: Judged | None) -> Judged:
    """A judgement with the directions that another one, of the same parameters, has found to be undetermined."""
    if other is None or not other.verdict.flat:
        return judged
    verdict = replace(judged.verdict, good=False, flat=other.verdict.flat)
    undetermined = tuple(dict.fromkeys((*judged.undetermined, *other.undetermined)))
    return replace(judged, verdict=verdict.with_reasons([_not_determined(other.verdict.flat)]), undetermined=undetermined)


def _not_determined(flat: Sequence[dict[str, float]]) -> str:
    return f"the likelihood does not determine {_words(flat[0])}{_and_more(flat)}; fix one of these or simplify the model"


def _direction(names: Sequence[str], free: np.ndarray, vector: np.ndarray, scale: np.ndarray) -> dict[str, float]:
    """The most important components of a direction, in the units of the parameters, the first scaled to ±1.

    Args:
        names:   of all parameters
        free:    those that the direction is made of
        vector:  in units in which every parameter alone has curvature 1
        scale:   these units
    """
    weight = np.abs(vector) / np.abs(vector).max()
    order = [i for i in np.argsort(-weight, kind="stable")[: SHOWN * 2] if weight[i] > 1e-3]
    steps = scale * vector
    return {names[int(free[i])]: float(steps[i] / np.abs(steps[order[0]])) for i in order}


def _and_more(directions: Sequence[dict[str, float]]) -> str:
    more = len(directions) - 1
    return f" and {counted(more, 'more direction')}" if more else ""


def _words(direction: dict[str, float]) -> str:
    shown = list(direction.items())[:SHOWN]
    text = " ".join(f"{value:+.2g}·({name})" for name, value in shown)
    return text + (" …" if len(direction) > SHOWN else "")
