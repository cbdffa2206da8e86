"""Hermitian forms of couplings, c† Q c / c† A c, whose errors are of second order where a group of waves is near 0.

    Var f = gᵀ V g + ½ tr(H C H C),     H = ∂²f over (Re c, Im c),     C = covariance of c across what f does not depend on

To first order the error of |c|² vanishes where c does, however uncertain c is. The second term is exact for a quadratic form of Gaussian
couplings. f does not depend on the common size of all couplings, nor on the common phase of a coherent set: C is projected on what is
orthogonal to them. Couplings that move along a curved valley of −ln L are not Gaussian: where f is far from 0, and the term small if it
were right, it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctpwa.engine.likelihood.integrals import WaveIntegrals

FAR = 3.0  # standard deviations of first order from 0, where the first order is enough


def nearness(f: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """How much the second order counts: 1 at 0, and nothing ``FAR`` standard deviations of first order from there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d2 = np.where(f == 0, 0.0, f**2 / variance.clip(min=0))
    return np.asarray((1 - d2 / FAR**2).clip(0, 1))


def form_of(integrals: WaveIntegrals, n: int, waves: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The matrix of couplings and its slopes over lineshape parameters, from those of waves, or of some of them."""
    adding = np.zeros((n, len(integrals.coupling)))
    adding[integrals.coupling, np.arange(len(integrals.coupling))] = 1.0 if waves is None else np.isin(integrals.wave, list(waves))
    return adding @ integrals.matrix @ adding.T, adding @ integrals.slopes @ adding.T if len(integrals.slopes) else integrals.slopes


def curvature(Q: np.ndarray, A: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Hessian of c† Q c / c† A c over (Re c, Im c)."""
    z = np.concatenate([c.real, c.imag])
    Q, A = (np.block([[M.real, -M.imag], [M.imag, M.real]]) for M in (Q, A))
    sigma = z @ A @ z
    f = z @ Q @ z / sigma
    mixed = np.outer(2 * (Q @ z - f * (A @ z)) / sigma, 2 * A @ z)
    return np.asarray((2 * (Q - f * A) - mixed - mixed.T) / sigma)


def projection(c: np.ndarray, sets: Sequence[int]) -> np.ndarray:
    """Onto changes of (Re c, Im c) that are orthogonal to those of the common size, and of the common phase of every coherent set."""
    of_set = np.array(sets)[:, None] == np.arange(max(sets) + 1)
    turned = 1j * c[:, None] * of_set
    lost = np.concatenate([c[:, None], turned], axis=1)
    lost = np.concatenate([lost.real, lost.imag])  # all orthogonal to each other
    length = np.sqrt((lost**2).sum(axis=0))
    lost = lost[:, length > 0] / length[length > 0]
    return np.asarray(np.eye(len(lost)) - lost @ lost.T)


def without_own_phase(a: np.ndarray, C: np.ndarray) -> np.ndarray:
    """What shrinks changes of the common phase of the couplings of a group, [re | im · coupling, same].

    |Σ c A|² does not depend on it, but a straight line along it leads away from 0, so that a phase that is hardly known would be an error
    of the size. Where the group is d standard deviations from 0 that direction counts 1/(1 + d²), all of it at 0, where there is no phase:
    the error of |c|² of a Gaussian coupling is right at 0 and far from it, and at most a tenth too small between.

    Args:
        a:  the couplings of the group, 0 elsewhere
        C:  covariance of (Re c, Im c)
    """
    size = float(np.sqrt((np.abs(a) ** 2).sum()))
    if not size > 0:
        return np.eye(2 * len(a))
    along, around = (np.concatenate([own.real, own.imag]) / size for own in (a, 1j * a))
    variance = max(float(along @ C @ along), 0.0)
    return np.asarray(np.eye(2 * len(a)) - (1 - np.sqrt(variance / (variance + size**2))) * np.outer(around, around))
