"""What events of the phase-space sample do to fractions over that sample, beside what they do to them through the parameters.

    δf = t + A δx,     δx = −H⁻¹ δg,     Var f = A V Aᵀ + Σ t tᵀ + A X + (A X)ᵀ,     X = Σ δx tᵀ

V is the covariance of the free parameters with the part of the simulation. t and A δx cancel in part, so that X is negative where A is
positive, and errors with V alone are too large. As all of Σ δf δfᵀ is a sum of squares, no variance is negative.

Over a truth sample fractions are integrated over other events: their direct effect is not counted. That is right where truth is large.
Where it holds the phase-space events themselves, errors are too large, as they would be without all this; where it is another small sample,
they lack its scatter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ctpwa.engine.likelihood.fraction_scatter import CoherentSums, FractionScatter
from ctpwa.engine.likelihood.simulation import Influence


@dataclass(frozen=True, eq=False)
class SampleInfluence:
    """What events of the phase-space sample of one likelihood do to a fit.

    Attributes:
        influence:  to its gradient
        inverse:    H⁻¹ over its free parameters
    """

    influence: Influence
    inverse: np.ndarray


@dataclass(frozen=True, eq=False)
class DirectEffect:
    """The direct effect on fractions and interferences of some groups.

    Attributes:
        products:  Σ t tᵀ of the fractions [group, group]
        squares:   Σ t² [group, group]: of fractions on the diagonal, of interferences above and below it
        moved:     X, Σ t δx [group, group, free]
    """

    products: np.ndarray
    squares: np.ndarray
    moved: np.ndarray

    def to_variances(self, slopes: np.ndarray) -> np.ndarray:
        """What it adds to variances of fractions and interferences [group, group].

        Args:
            slopes:  A [group, group, free]
        """
        return self.squares + 2 * (slopes * self.moved).sum(axis=-1)

    def to_covariance(self, slopes: np.ndarray) -> np.ndarray:
        """What it adds to the covariance of the fractions.

        Args:
            slopes:  A [group, free]
        """
        every = np.arange(len(slopes))
        crossed = slopes @ self.moved[every, every].T
        return self.products + crossed + crossed.T


@dataclass(frozen=True)
class AskedFractions:
    """Groups of waves of all kinds, each once, and pairs of them within a kind.

    Attributes:
        groups:  waves of each
        pairs:   numbers of two groups, the smaller one first → number of the interference
        kinds:   kind → numbers of its groups
    """

    groups: tuple[tuple[int, ...], ...]
    pairs: Mapping[tuple[int, int], int]
    kinds: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, kinds: Mapping[str, Mapping[str, Sequence[int]]]) -> AskedFractions:
        """Those of kind → name of a group → indices of waves."""
        numbers: dict[tuple[int, ...], int] = {}
        pairs: dict[tuple[int, int], int] = {}
        found = {}
        for kind, groups in kinds.items():
            found[kind] = [numbers.setdefault(tuple(sorted(waves)), len(numbers)) for waves in groups.values()]
            for first, second in combinations(found[kind], 2):
                pairs.setdefault((min(first, second), max(first, second)), len(pairs))
        return cls(tuple(numbers), pairs, found)

    def places(self, kind: str) -> np.ndarray:
        """Where fractions and interferences of a kind are among all [group, group]: first all fractions, then all interferences."""
        own, n = self.kinds[kind], len(self.groups)
        found = [[a if j == k else n + self.pairs[min(a, b), max(a, b)] for k, b in enumerate(own)] for j, a in enumerate(own)]
        return np.array(found, dtype=np.int64).reshape(len(own), len(own))

    def sums(self, wave: np.ndarray, values: Mapping[str, np.ndarray]) -> CoherentSums:
        """What to ask a likelihood for.

        Args:
            wave:    of each member of its integrals
            values:  kind → fractions and interferences [group, group]
        """
        members = np.array([np.isin(wave, waves) for waves in self.groups], dtype=float).reshape(-1, len(wave))
        known = np.zeros(len(self.groups) + len(self.pairs))
        for kind in self.kinds:
            known[self.places(kind)] = values[kind]
        first, second = np.array(list(self.pairs), dtype=np.int64).reshape(-1, 2).T
        return CoherentSums(members, first, second, known)

    def effects(self, scatter: FractionScatter, inverse: np.ndarray) -> dict[str, DirectEffect]:
        """The direct effect on the groups of every kind.

        Args:
            scatter:  sums over the events
            inverse:  H⁻¹
        """
        moved, found = -scatter.crossed @ inverse, {}
        for kind, own in self.kinds.items():
            places = self.places(kind)
            found[kind] = DirectEffect(scatter.products[np.ix_(own, own)], scatter.squares[places], moved[places])
        return found
