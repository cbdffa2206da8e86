"""Fractions of groups of waves as forms of couplings, f = c† Q c / c† A c, whose errors are of second order where a group is near 0.

    f = |z|²,   z = √Q c / √(c† A c),   K = covariance of (Re z, Im z):     Var f = gᵀ V g + 2 tr(S K S K)

To first order the error of |z|² vanishes where z does, however uncertain z is; the second term is exact for Gaussian couplings at z = 0.
Straight lines along which couplings move are tangents of what they follow, which counts in three places:

* f does not depend on the common size of all couplings, nor on the common phase of a coherent set: they do not move.
* c/√(c† A c) is on a sphere. A variance λ along a tangent is that of an angle θ: it counts as (1 − exp(−4λ))/4, since
  Var sin²θ = 2 ((1 − exp(−4λ))/4)².
* z itself may turn, by a phase or among the waves of a group, while |z| stays. S shrinks all directions but that of z by v/(v + |z|²),
  with the variance v of |z|: they count where z is near 0, and nothing far from there.

The normalisation c† A c is never near 0, and is of first order only. ``docs/fitting.md`` says how large these errors are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.engine.likelihood.integrals import WaveIntegrals

NOTHING = 1e-12  # of the largest eigenvalue: what is less is 0


def form_of(integrals: WaveIntegrals, n: int, waves: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The matrix of couplings and its slopes over lineshape parameters, from those of waves, or of some of them."""
    adding = np.zeros((n, len(integrals.coupling)))
    adding[integrals.coupling, np.arange(len(integrals.coupling))] = 1.0 if waves is None else np.isin(integrals.wave, list(waves))
    return adding @ integrals.matrix @ adding.T, adding @ integrals.slopes @ adding.T if len(integrals.slopes) else integrals.slopes


@dataclass(frozen=True, eq=False)
class FormOfGroup:
    """Q of a group of waves, and which couplings it is of.

    Attributes:
        couplings:  their numbers
        matrix:     Q, [own coupling, own coupling]
    """

    couplings: np.ndarray
    matrix: np.ndarray

    @classmethod
    def of(cls, integrals: WaveIntegrals, waves: Sequence[int], sizes: np.ndarray) -> FormOfGroup:
        """From integrals of waves; sizes are the units of 1/coupling."""
        members = np.flatnonzero(np.isin(integrals.wave, list(waves)))
        couplings, own = np.unique(integrals.coupling[members], return_inverse=True)
        Q = np.zeros((len(couplings), len(couplings)), dtype=complex)
        np.add.at(Q, (own[:, None], own), integrals.matrix[np.ix_(members, members)])
        return cls(couplings, Q / np.outer(sizes[couplings], sizes[couplings]))

    @classmethod
    def added(cls, integrals: Sequence[tuple[float, WaveIntegrals]], waves: Sequence[int], sizes: np.ndarray) -> FormOfGroup:
        """The sum over data sets, each with a factor."""
        own = [(factor, cls.of(one, waves, sizes)) for factor, one in integrals]
        return cls(own[0][1].couplings, np.sum([factor * one.matrix for factor, one in own], axis=0))

    def root(self) -> np.ndarray:
        """R with R† R = Q, [amplitude, own coupling]."""
        values, vectors = np.linalg.eigh(self.matrix)
        kept = values > NOTHING * values.max(initial=0.0)
        return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).conj().T)


@dataclass(frozen=True, eq=False)
class CouplingSpread:
    """How couplings scatter, in units in which c† A c is 1.

    Attributes:
        c:           couplings
        directions:  in which they move, each by one standard deviation, [direction, coupling]; not along their common size, nor phases
    """

    c: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, A: np.ndarray, c: np.ndarray, dc: np.ndarray, covariance: np.ndarray, sets: Sequence[int]) -> CouplingSpread:
        """From the covariance of free parameters.

        Args:
            A:           the form of everything
            c, dc:       couplings, and their derivatives over the free parameters, [coupling, free]
            covariance:  of the free parameters
            sets:        coherent set of each coupling
        """
        sigma = float((c.conj() @ A @ c).real)
        moved = (dc @ _root(covariance)).T
        for lost in [c, *(1j * np.where(np.array(sets) == own, c, 0) for own in set(sets))]:
            length = float((lost.conj() @ A @ lost).real)
            if length > NOTHING * sigma:
                moved = moved - np.outer((moved.conj() @ A @ lost).real / length, lost)
        angles2, axes = np.linalg.eigh((moved.conj() @ A @ moved.T).real / sigma)
        return cls(c / np.sqrt(sigma), np.sqrt(on_sphere(angles2.clip(min=0)))[:, None] * (axes.T @ moved) / np.sqrt(sigma))

    def second_order(self, groups: Iterable[FormOfGroup]) -> np.ndarray:
        """What the second order adds to the covariance of f of groups of waves, [group, group]: 2 tr(S K S K)."""
        moved = [self._amplitude(own) for own in groups]
        group = np.repeat(np.arange(len(moved)), [len(own) for own in moved])
        every = np.concatenate([np.zeros((0, len(self.directions))), *moved])
        of_group = (group == np.arange(len(moved))[:, None]).astype(float)
        return np.asarray(2 * of_group @ (every @ every.T) ** 2 @ of_group.T)

    def _amplitude(self, group: FormOfGroup) -> np.ndarray:
        """How (Re z, Im z) of a group moves, with S, [part of z, direction]: S K S is the product of it with itself."""
        root = group.root()
        z, moved = root @ self.c[group.couplings], root @ self.directions[:, group.couplings].T
        z, moved = np.concatenate([z.real, z.imag]), np.concatenate([moved.real, moved.imag])
        f = float(z @ z)
        if not f > 0:
            return moved
        along = np.outer(z, z @ moved) / f
        variance = float(((z @ moved) ** 2).sum()) / f
        return np.asarray(along + np.sqrt(variance / (variance + f)) * (moved - along))


def _root(covariance: np.ndarray) -> np.ndarray:
    """R with R Rᵀ = covariance, however different the units of parameters are."""
    errors = np.sqrt(np.diag(covariance).clip(min=0))
    units = np.where(errors > 0, errors, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(units, units))
    return np.asarray(errors[:, None] * vectors * np.sqrt(values.clip(min=0)))


def on_sphere(angle2: np.ndarray) -> np.ndarray:
    """√(½ Var sin²θ)/λ of Gaussian angles θ with variance λ: 1 if that is small."""
    safe = np.where(angle2 > 0, angle2, 1.0)
    return np.asarray(np.where(angle2 > 0, -np.expm1(-4 * safe) / (4 * safe), 1.0))
