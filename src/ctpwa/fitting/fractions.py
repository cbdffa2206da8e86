"""Fit fractions and interferences, with errors from the full covariance.

    f_G = ∫ |Σ_{j∈G} c_j A_j|² / ∫ |Σ_j c_j A_j|²,       f_{GH} = 2 Re ∫ conj(Σ_{j∈G} c_j A_j) Σ_{k∈H} c_k A_k / ∫ …

Couplings and resonance parameters both move them; derivatives are exact. Errors of fractions are of second order in the couplings
(``coupling_forms.py``), which counts where they are near 0; those of interferences are of first order, which does not vanish there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.samples.own_events import SampleInput
from ctpwa.fitting.coupling_forms import CouplingSpread, FormOfGroup, form_of
from ctpwa.fitting.direct_effect import AskedFractions, DirectEffect, SampleInfluence
from ctpwa.fitting.labels import chain_name
from ctpwa.model.model import Model
from ctpwa.model.parameters import Parameters
from ctpwa.model.spin_parity import spin_parity


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
        """Σ of the fractions; the difference from 1 is interference."""
        return float(self.values.sum())


def wave_groups(model: Model) -> dict[str, dict[str, list[int]]]:
    """Waves that belong together: by wave, by resonance with all its charge states, by J^P of the system from the parent.

    Where a wave has several resonances, and so counts for each of them, also by the resonances it goes through.
    """
    groups: dict[str, dict[str, list[int]]] = {"waves": {}, "resonances": {}, "jp": {}}
    for index, wave in enumerate(model.waves):
        groups["waves"][wave.name] = [index]
        for resonance in dict.fromkeys(resonance.name for resonance in wave.shown):
            groups["resonances"].setdefault(resonance, []).append(index)
        groups["jp"].setdefault(spin_parity(wave), []).append(index)
    if any(len({resonance.name for resonance in wave.shown}) > 1 for wave in model.waves):
        groups["chains"] = chain_groups(model)
    return groups


def chain_groups(model: Model) -> dict[str, list[int]]:
    """Waves that go through the same resonances, each wave once: their fractions add up to 1 where nothing interferes."""
    groups: dict[str, list[int]] = {}
    for index, wave in enumerate(model.waves):
        groups.setdefault(chain_name(wave), []).append(index)
    return groups


@dataclass(frozen=True)
class SignalEvents:
    """How many events of the data are signal.

    Attributes:
        value:     N
        slope:     ∂N over the free parameters
        variance:  of N, where no parameter knows it: the data might have been more
    """

    value: float
    slope: np.ndarray
    variance: float

    @classmethod
    def of(cls, likelihood: Likelihood, x: np.ndarray) -> SignalEvents:
        """Σ w of data minus background, without what densities of background explain; or the yield of an extended likelihood."""
        mixture, parameters = likelihood.mixture, likelihood.parameters
        if mixture is None:
            return cls(likelihood.weight, np.zeros(len(x)), likelihood.weight_variance)
        full = dict(zip((p.name for p in parameters.all), parameters.full(x), strict=True))
        share = mixture.signal.constant + sum(factor * full[name] for name, factor in mixture.signal.slopes.items())
        over_theta = parameters.jacobian(x)[2 * likelihood.plan.n_couplings :]
        slope = np.zeros(len(x))
        for name, factor in mixture.signal.slopes.items():
            slope += factor * over_theta[parameters.theta_names.index(name)]
        if mixture.extended:
            return cls(float(share), slope, 0.0)
        return cls(float(likelihood.weight * share), likelihood.weight * slope, float(share**2 * likelihood.weight_variance))


class FractionCalculator:
    """All fractions at a point of a likelihood.

    Args:
        likelihood:  the likelihood
        x:           its free parameters
        truth:       events to integrate over instead of its phase-space sample
        integrals:   at this point, if they are known
    """

    def __init__(
        self, likelihood: Likelihood, x: np.ndarray, truth: SampleInput | None = None, integrals: WaveIntegrals | None = None
    ) -> None:
        self.integrals = likelihood.integrals(x, truth) if integrals is None else integrals
        self._likelihood, self._x, self._over_truth = likelihood, np.asarray(x, dtype=float), truth is not None
        self._set_couplings(likelihood.parameters)

    def signed(self, sign: int) -> FractionCalculator:
        """Fractions of the decay (1) or of its charge conjugate (−1) over the same events."""
        other = copy(self)
        other._set_couplings(self._likelihood.parameters.signed(sign))
        return other

    def _set_couplings(self, parameters: Parameters) -> None:
        likelihood = self._likelihood
        c, _ = parameters.native(self._x)
        n_c = likelihood.plan.n_couplings
        J = parameters.jacobian(self._x)
        self._couplings, self._d_couplings = c, J[:n_c] + 1j * J[n_c : 2 * n_c]
        self._c, self._dc = c[self.integrals.coupling], self._d_couplings[self.integrals.coupling]  # of members, and over x
        self._dtheta = J[2 * n_c :][likelihood.floating_order]  # ∂θ/∂x of the floating lineshape parameters

    def direct_effects(self, kinds: Mapping[str, Mapping[str, Sequence[int]]], own: SampleInfluence) -> dict[str, DirectEffect]:
        """What events of the phase-space sample do to fractions beside what they do to the parameters; nothing over a truth sample.

        It takes one pass over the sample for all kinds together.

        Args:
            kinds:  kind → name of a group → indices of waves
            own:    what the events do to the fit
        """
        if self._over_truth:
            return {}
        asked = AskedFractions.of(kinds)
        sums = asked.sums(self.integrals.wave, {kind: self._matrix(groups)[0] for kind, groups in kinds.items()})
        return asked.effects(self._likelihood.fraction_scatter(self._x, sums, own.influence), own.inverse)

    def fractions(self, groups: Mapping[str, Sequence[int]], covariance: np.ndarray, direct: DirectEffect | None = None) -> Fractions:
        """Fractions of groups of waves.

        Args:
            groups:      name → indices of waves
            covariance:  of the free parameters
            direct:      effect of phase-space events on these groups, if the covariance counts that they are finite
        """
        values, grads = self._matrix(groups)
        every = np.arange(len(values))
        variances, own = ((grads @ covariance) * grads).sum(axis=-1), grads[every, every]
        C = own @ covariance @ own.T
        if direct is not None:
            variances, C = variances + direct.to_variances(grads), C + direct.to_covariance(own)
        C = C + self._second_order(groups, covariance)
        variances[every, every] = np.diag(C)
        return Fractions(tuple(groups), np.diag(values).copy(), C, values, np.sqrt(variances.clip(min=0)))

    def values_and_slopes(self, groups: Mapping[str, Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Fractions of groups of waves [group], and their gradients over the free parameters [group, free].

        Args:
            groups:  name → indices of waves
        """
        values, grads = self._matrix(groups)
        every = np.arange(len(values))
        return values[every, every], grads[every, every]

    def yields(
        self,
        groups: Mapping[str, Sequence[int]],
        fractions: Fractions,
        covariance: np.ndarray,
        signal: SignalEvents,
        direct: DirectEffect | None = None,
    ) -> dict[str, tuple[float, float]]:
        """Events of every group with their standard deviation: N f, with ∂(N f) = N ∂f + f ∂N.

        Args:
            groups:      name → indices of waves
            fractions:   of these groups, with errors
            covariance:  of the free parameters
            signal:      N
            direct:      effect of phase-space events on these groups, if the covariance counts that they are finite
        """
        _, slopes = self.values_and_slopes(groups)
        N, f = signal.value, fractions.values
        crossed = slopes @ covariance @ signal.slope
        if direct is not None:
            every = np.arange(len(f))
            crossed = crossed + direct.moved[every, every] @ signal.slope
        own = float(signal.slope @ covariance @ signal.slope) + signal.variance
        errors = np.sqrt((N**2 * np.diag(fractions.covariance) + 2 * N * f * crossed + f**2 * own).clip(min=0))
        return {name: (float(N * f[k]), float(errors[k])) for k, name in enumerate(groups)}

    def _second_order(self, groups: Mapping[str, Sequence[int]], covariance: np.ndarray) -> np.ndarray:
        """What the second order of the couplings adds to the covariance of fractions, [group, group]."""
        if not np.isfinite(covariance).all():
            return np.zeros((len(groups), len(groups)))
        n, names = len(self._couplings), self._likelihood.coupling_names
        A, dA = form_of(self.integrals, n)
        size = np.sqrt(np.diag(A).real.clip(min=0))
        size[size == 0] = 1.0
        d_ln_size = (np.diagonal(dA, axis1=1, axis2=2).real / (2 * size**2)).T @ self._dtheta if len(dA) else 0.0
        c = size * self._couplings
        dc = size[:, None] * self._d_couplings + c[:, None] * d_ln_size
        sets = [self._likelihood.amplitude.sets[k // (n // len(names))] for k in range(n)]
        spread = CouplingSpread.of(A / np.outer(size, size), c, dc, covariance, sets)
        return spread.second_order(FormOfGroup.of(self.integrals, waves, size) for waves in groups.values())

    def _matrix(self, groups: Mapping[str, Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Fractions and interferences [group, group], and their gradients over the free parameters."""
        members = np.array([np.isin(self.integrals.wave, list(waves)) for waves in groups.values()], dtype=float).reshape(-1, len(self._c))
        every = np.ones((1, len(self._c)))
        products, slopes = self._products(np.concatenate([members, every]))
        total, d_total = products[-1, -1], slopes[-1, -1]
        n = len(members)
        factor = 2.0 - np.eye(n)
        values = factor * products[:n, :n] / total
        return values, factor[..., None] * slopes[:n, :n] / total - values[..., None] * d_total / total

    def _products(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Re ∫ conj(Σ_G c A) Σ_H c A of all pairs of groups, [group, group], and its gradient over the free parameters.

        Args:
            members:  which members belong to each group, [group, member]
        """
        M = self.integrals.matrix
        a = members * self._c
        products = (a.conj() @ M @ a.T).real
        half = np.tensordot(members, self._dc.conj()[:, None, :] * (M @ a.T)[:, :, None], axes=1).real  # from ∂ of the first factor
        slopes = half + half.swapaxes(0, 1)
        if len(self.integrals.slopes):
            over_theta = np.einsum("gj,tjk,hk->ght", a.conj(), self.integrals.slopes, a, optimize=True).real
            slopes = slopes + over_theta @ self._dtheta
        return products, slopes
