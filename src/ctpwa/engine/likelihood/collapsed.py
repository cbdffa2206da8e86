"""A normalisation that no floating parameter touches: its sample becomes one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.engine.backends.expansion import NOTHING, Expansion
from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.plan.tables import expand_gram


@dataclass(frozen=True)
class Collapsed:
    """A normalisation sample whose propagators are all fixed: one Hermitian matrix, Σ w I = c† M c.

    Attributes:
        matrix:  M_jk = Σ w conj(∂_jψ) ∂_kψ
    """

    matrix: np.ndarray

    @cached_property
    def second(self) -> np.ndarray:
        """∂² c† M c over (Re c, Im c)."""
        H = expand_gram(self.matrix.real, self.matrix.imag, len(self.matrix))
        return H + H.T

    def expand_batch(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients for many coupling vectors [vector, coupling]."""
        Mc = c @ self.matrix.T
        return (c.conj() * Mc).sum(axis=1).real, 2 * np.concatenate([Mc.real, Mc.imag], axis=1)

    def expand(self, c: np.ndarray, order: int, n_others: int = 0) -> Expansion:
        """Value, gradient and Hessian of c† M c over (Re c, Im c), and over ``n_others`` numbers on which it does not depend."""
        Mc = np.einsum("jk,k->j", self.matrix, c)  # not a product of matrices, whose threads would get in the way of those of the kernels
        value = float((c.conj() @ Mc).real)
        grad = 2 * np.concatenate([Mc.real, Mc.imag, np.zeros(n_others)]) if order >= 1 else NOTHING
        H = np.pad(self.second, (0, n_others)) if order >= 2 else NOTHING
        return Expansion(value, grad, H)


def collapsed(integrals: WaveIntegrals, n_couplings: int) -> Collapsed:
    """The matrix of couplings, from that of waves: waves that share a coupling are added up."""
    adding = np.zeros((n_couplings, len(integrals.coupling)))
    adding[integrals.coupling, np.arange(len(integrals.coupling))] = 1.0
    return Collapsed(integrals.weight * adding @ integrals.matrix @ adding.T)
