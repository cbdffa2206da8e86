"""Fit fractions and interferences, with errors from the whole covariance.

    f_G = ∫ |Σ_{j∈G} c_j A_j|² / ∫ |Σ_j c_j A_j|²,       f_{GH} = 2 Re ∫ conj(Σ_{j∈G} c_j A_j) Σ_{k∈H} c_k A_k / ∫ …

Couplings and resonance parameters both move them; derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctpwa.decay.spin import format_parity, format_spin
from ctpwa.engine.integrals import WaveIntegrals
from ctpwa.engine.likelihood import Likelihood
from ctpwa.model.model import Model, Wave


@dataclass(frozen=True)
class Fractions:
    """Fractions of one kind of group.

    Attributes:
        names:         of the groups
        values:        fractions; they need not add up to 1, because groups interfere
        covariance:    of the fractions
        interference:  [group, group]: fractions on the diagonal, interference above and below it (the same number in both places)
        interference_errors:  their standard deviations
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    interference: np.ndarray
    interference_errors: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt(np.diag(self.covariance).clip(min=0))

    @property
    def sum(self) -> float:
        """Σ of the fractions; the rest to 1 is interference."""
        return float(self.values.sum())


def wave_groups(model: Model) -> dict[str, dict[str, list[int]]]:
    """Waves that belong together: by wave, by resonance with all its charge states, by J^P of the system from the parent."""
    groups: dict[str, dict[str, list[int]]] = {"waves": {}, "resonances": {}, "jp": {}}
    for index, wave in enumerate(model.waves):
        groups["waves"][wave.name] = [index]
        for resonance in dict.fromkeys(resonance.name for resonance in wave.resonances):
            groups["resonances"].setdefault(resonance, []).append(index)
        groups["jp"].setdefault(_spin_parity(wave), []).append(index)
    return groups


def _spin_parity(wave: Wave) -> str:
    """J^P of the intermediate states that the parent decays to."""
    top = [node for node in wave.chain.nodes[0].daughters if not isinstance(node, int)]
    return " ".join(f"{format_spin(node.particle.two_J)}{format_parity(node.particle.P)}" for node in top) or "none"


class FractionCalculator:
    """All fractions at a point of a likelihood.

    Args:
        likelihood:  the likelihood
        x:           its free parameters
        truth:       events to integrate over instead of its phase-space sample
    """

    def __init__(self, likelihood: Likelihood, x: np.ndarray, truth: Mapping[str, Any] | None = None) -> None:
        self.integrals: WaveIntegrals = likelihood.integrals(x, truth)
        self._x = np.asarray(x, dtype=float)
        c, _ = likelihood.parameters.native(self._x)
        self._c = c[self.integrals.coupling]
        n_c = likelihood.plan.n_couplings
        J = likelihood.parameters.jacobian(self._x)
        self._dc = J[:n_c][self.integrals.coupling] + 1j * J[n_c : 2 * n_c][self.integrals.coupling]  # ∂c_member/∂x
        self._dtheta = J[2 * n_c :][likelihood.floating_order]  # ∂θ/∂x of the floating lineshape parameters

    def product(self, first: np.ndarray, second: np.ndarray) -> tuple[float, np.ndarray]:
        """Re ∫ conj(Σ_first c A) Σ_second c A and its gradient; the arguments say which members belong to each sum."""
        M = self.integrals.matrix
        a, b = self._c * first, self._c * second
        value = float((a.conj() @ M @ b).real)
        grad = ((self._dc * first[:, None]).conj().T @ (M @ b) + (self._dc * second[:, None]).T @ (M.T @ a.conj())).real
        if len(self.integrals.slopes):
            slopes = np.einsum("j,tjk,k->t", a.conj(), self.integrals.slopes, b).real
            grad = grad + slopes @ self._dtheta
        return value, grad

    def fractions(self, groups: Mapping[str, Sequence[int]], covariance: np.ndarray) -> Fractions:
        """Fractions of groups of waves.

        Args:
            groups:      name → indices of waves
            covariance:  of the free parameters
        """
        members = [np.isin(self.integrals.wave, list(waves)).astype(float) for waves in groups.values()]
        n = len(members)
        total, d_total = self.product(np.ones(len(self._c)), np.ones(len(self._c)))
        interference, errors = np.zeros((n, n)), np.zeros((n, n))
        values, grads = np.zeros(n), np.zeros((n, len(self._x)))
        for i in range(n):
            for j in range(i, n):
                value, grad = self.product(members[i], members[j])
                factor = 1.0 if i == j else 2.0
                fraction = factor * value / total
                slope = factor * grad / total - fraction * d_total / total
                interference[i, j] = interference[j, i] = fraction
                errors[i, j] = errors[j, i] = np.sqrt(max(float(slope @ covariance @ slope), 0.0))
                if i == j:
                    values[i], grads[i] = fraction, slope
        return Fractions(tuple(groups), values, grads @ covariance @ grads.T, interference, errors)
