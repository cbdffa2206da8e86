"""The edge of what is physical: where the spin density matrix of the parent has an eigenvalue 0.

Beyond it there is no −ln L, and minimisers step back; where the edge is curved they do not find the lowest point along it. From there a
barrier leads on: −ln L − μ ln det ρ, which has a minimum inside for every μ > 0, for ever smaller μ. At the last one −ln L is at most
μ times the size of ρ above its lowest physical value, and curvatures of the sum are those along the edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.minimise.objective import Objective
from ctpwa.minimise.steps import Stop
from ctpwa.minimise.verdict import SMALL_EDM, Judged, judge
from ctpwa.model.parameters import Parameters

AT_EDGE = "converged at the edge of what is physical"
HEIGHTS = (0.1, 0.01, 1e-3, 1e-4, 1e-5)  # μ, in units in which one standard deviation adds ½ to −ln L
AWAY = 0.1  # of the way back to where a fit has started
NEAR = 1e-5  # an eigenvalue that counts as 0
STUCK = 0.01  # an eigenvalue below which a fit that does not converge may have met the edge
INVISIBLE = 1e-9  # curvature of −ln L for each event, of an element of ρ that nothing depends on
EVEN = 0.5  # the lowest eigenvalue falls in proportion to μ at the edge, and stays where it is inside


@dataclass(frozen=True)
class PhysicalEdge:
    """Where the density matrices of a likelihood stop being positive.

    Attributes:
        names:  free parameters of the likelihood
        parts:  for each density matrix with elements that move, the parameters that it belongs to
    """

    names: tuple[str, ...]
    parts: tuple[Parameters, ...]

    @classmethod
    def of(cls, likelihood: Fittable) -> PhysicalEdge | None:
        """The edge of a likelihood; None if it has none."""
        parts: dict[tuple[str, ...], Parameters] = {}
        for term in terms_of(likelihood):
            if term.parameters.feeds is not None and term.parameters.feeds_move:
                parts.setdefault(term.parameters.feeds.names, term.parameters)
        return cls(likelihood.names, tuple(parts.values())) if parts else None

    def _own(self, part: Parameters) -> np.ndarray:
        return np.array([self.names.index(name) for name in part.names], dtype=np.int64)

    def lowest(self, x: np.ndarray) -> float:
        """The lowest eigenvalue."""
        return min(part.feed_room(x[self._own(part)]) for part in self.parts)

    def barrier(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """−Σ ln det ρ, with its derivatives over the free parameters."""
        value, grad, H = 0.0, np.zeros(len(x)), np.zeros((len(x), len(x)))
        for part in self.parts:
            index = self._own(part)
            own, slope, curvature = part.feed_barrier(x[index])
            value += own
            grad[index] += slope
            H[np.ix_(index, index)] += curvature
        return value, grad, H

    def at_barrier(self, likelihood: Fittable, stop: Stop, gradient: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian of −ln L with the barrier that a fit ended at, if it did."""
        if stop.reason != AT_EDGE:
            return gradient, self._without_rounding(likelihood, H)
        _, slope, curvature = self.barrier(stop.x)
        height = likelihood.unit * HEIGHTS[-1]
        return gradient + height * slope, H + height * curvature

    def _without_rounding(self, likelihood: Fittable, H: np.ndarray) -> np.ndarray:
        """A Hessian without elements of density matrices on which nothing depends: of their curvature only rounding is left."""
        sources = {name for part in self.parts for name in self._sources(part)}
        nothing = [k for k, name in enumerate(self.names) if name in sources and abs(H[k, k]) < INVISIBLE * likelihood.weight]
        cleaned = H.copy()
        cleaned[nothing], cleaned[:, nothing] = 0.0, 0.0
        return cleaned

    def undetermined(self, likelihood: Fittable, stop: Stop, start: np.ndarray) -> Judged | None:
        """What the likelihood alone does not determine, seen from inside, if the barrier has led to the edge; None if it has not.

        The intensity is linear in ρ: what it does not depend on at one point it does not depend on anywhere.
        """
        if stop.reason != AT_EDGE:
            return None
        x = self.inside(stop.x, start)
        value, gradient, H = likelihood.value_grad_hessian(x)
        if not np.isfinite(H).all():
            return None
        return judge(self.names, Stop(x, value, True, "", 0), 0 * gradient, self._without_rounding(likelihood, H), likelihood.bounds)

    def inside(self, x: np.ndarray, start: np.ndarray) -> np.ndarray:
        """A point near ``x``, with the density matrix a bit nearer to where it was at the start of a fit."""
        feeds = {name for part in self.parts for name in self._sources(part)}
        moved = np.array([name in feeds for name in self.names])
        return np.where(moved, x + AWAY * (start - x), x)

    @staticmethod
    def _sources(part: Parameters) -> set[str]:
        """Free parameters that a density matrix depends on."""
        assert part.feeds is not None
        related = {name for relation in part.relations if relation.name in part.feeds.names for name in relation.arguments}
        return (related | set(part.feeds.names)) & set(part.names)

    def stops(self, objective: Objective, stop: Stop) -> bool:
        """Whether the edge, and no limit of a parameter, keeps a fit from going on; its last small steps may look like an end."""
        if self.lowest(stop.x) > (NEAR if stop.converged else STUCK):
            return False
        _, gradient, H = objective.value_grad_hessian(stop.x)
        if not (np.isfinite(gradient).all() and np.isfinite(H).all()):
            return True
        return judge(self.names, stop, gradient, H, objective.bounds).verdict.edm > SMALL_EDM

    def remark(self, stop: Stop) -> list[str]:
        """What the verdict says about it."""
        lowest = self.lowest(stop.x)
        if stop.reason != AT_EDGE and lowest > NEAR:
            return []
        return [
            f"the density matrix of the parent is at the edge of what is physical: its lowest eigenvalue is {lowest:.1g};"
            " errors are those along the edge"
        ]


class WithBarrier:
    """An objective with the barrier of an edge.

    Args:
        whole:   the objective
        edge:    the edge
        height:  μ
    """

    def __init__(self, whole: Objective, edge: PhysicalEdge, height: float) -> None:
        self.whole, self.edge, self.height = whole, edge, height
        self.names, self.bounds, self.rounding = whole.names, whole.bounds, whole.rounding

    def value(self, p: Any) -> Any:
        """The value."""
        return self.whole.value(p) + self.height * self.edge.barrier(p)[0]

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Value and gradient."""
        (value, grad), (own, slope, _) = self.whole.value_and_grad(p), self.edge.barrier(p)
        return value + self.height * own, grad + self.height * slope

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian."""
        (value, grad, H), (own, slope, curvature) = self.whole.value_grad_hessian(p), self.edge.barrier(p)
        return value + self.height * own, grad + self.height * slope, H + self.height * curvature
