"""How much of every added density there is beside the signal.

    p(x) = s I/σ + Σ_b a_b b(x)/B_b,    B_b = the mean of b over the phase-space sample

    −ln L = −Σ w ln p = −Σ w ln (I + Σ β_b b) + W ln σ − W ln s,    β_b = (a_b/s) σ/B_b

With fractions s = 1 − Σ f and a_b = f_b; in an extended likelihood s and a_b are yields, and s + Σ a_b is added to −ln L. Both are linear
in the parameters m that are fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log, nan

import numpy as np

from ctpwa.engine.backends.expansion import NOTHING, Expansion


@dataclass(frozen=True)
class Amount:
    """s or a_b: a number plus a sum of parameters.

    Attributes:
        constant:  the number
        slopes:    parameter name → ±1
    """

    constant: float
    slopes: dict[str, float]

    def at(self, values: Mapping[str, float]) -> float:
        """Its value, with parameters by name."""
        return self.constant + sum(slope * values[name] for name, slope in self.slopes.items())


@dataclass(frozen=True)
class Mixture:
    """Signal and added densities.

    Attributes:
        parameters:  names of m, those that are fixed included
        signal:      s
        amounts:     a of every density
        means:       B of every density
        extended:    whether they are yields
    """

    parameters: tuple[str, ...]
    signal: Amount
    amounts: tuple[Amount, ...]
    means: np.ndarray
    extended: bool

    @cached_property
    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Constants and slopes of s and all a_b: [1 + density], [1 + density, parameter]."""
        shares = (self.signal, *self.amounts)
        slopes = np.array([[share.slopes.get(name, 0.0) for name in self.parameters] for share in shares])
        return np.array([share.constant for share in shares]), slopes.reshape(len(shares), len(self.parameters))

    def shares(self, m: np.ndarray) -> np.ndarray:
        """S and all a_b."""
        constants, slopes = self._linear
        return constants + slopes @ m

    def beta(self, m: np.ndarray, sigma: float) -> np.ndarray:
        """β of every density."""
        shares = self.shares(m)
        return shares[1:] * (sigma / shares[0]) / self.means

    def chain(self, m: np.ndarray, sigma: float, relative: np.ndarray) -> np.ndarray:
        """∂(y, β)/∂(y, m), where y are the variables of σ and ``relative`` is ∂ln σ/∂y."""
        n_y, beta = len(relative), self.beta(m, sigma)
        J = np.zeros((n_y + len(beta), n_y + len(m)))
        J[:n_y, :n_y] = np.eye(n_y)
        J[n_y:, :n_y] = np.outer(beta, relative)
        J[n_y:, n_y:] = sigma * self._ratio_slopes(m) / self.means[:, None]
        return J

    def slope_of_signal(self, m: np.ndarray) -> np.ndarray:
        """∂ ln s/∂m."""
        return self._linear[1][0] / self.shares(m)[0]

    def _ratio_slopes(self, m: np.ndarray) -> np.ndarray:
        """∂(a/s)/∂m."""
        shares, S, A = self.shares(m), self._linear[1][0], self._linear[1][1:]
        return (A - shares[1:, None] * (S / shares[0])) / shares[0]

    def _ratio_curvature(self, m: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_b weights_b ∂²(a_b/s)/∂m∂m."""
        s, *a = self.shares(m)
        S, A = self._linear[1][0], self._linear[1][1:]
        cross = np.outer(weights @ A, S)
        return -(cross + cross.T) / s**2 + 2 * float(weights @ np.array(a)) / s**3 * np.outer(S, S)

    def outside(self, m: np.ndarray, W: float) -> tuple[float, np.ndarray]:
        """−W ln s, and in an extended likelihood s + Σ a: value and gradient over m; NaN where there is no signal."""
        shares, slopes = self.shares(m), self._linear[1]
        s = float(shares[0])
        value, gradient = -W * log(s) if s > 0 else nan, slopes[0] * (-W / s if s else nan)
        return (value + float(shares.sum()), gradient + slopes.sum(axis=0)) if self.extended else (value, gradient)

    def _outside_curvature(self, m: np.ndarray, W: float) -> np.ndarray:
        """∂² of the same."""
        slope = self.slope_of_signal(m)
        return W * np.outer(slope, slope)

    def combine(
        self, V: Expansion, W: float, norm: Expansion, norm_weight: float, m: np.ndarray, order: int
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """−ln L and its derivatives over (y, m).

        Args:
            V:            Σ w ln (I + Σ β b) over (y, β)
            W:            Σ w of the same events
            norm:         Σ w I over the phase-space sample, over (y, β), on which it does not depend
            norm_weight:  Σ w over it
            m:            the parameters
            order:        highest derivative
        """
        sigma, n_y = norm.value / norm_weight, len(V.gradient) - len(self.amounts)
        if not sigma > 0:
            return np.nan, V.gradient, V.hessian
        outside, d_outside = self.outside(m, W)
        value = -V.value + W * log(sigma) + outside
        if order == 0:
            return float(value), NOTHING, NOTHING
        relative = norm.gradient[:n_y] / norm.value
        V_beta = V.gradient[n_y:]
        pulled = float(V_beta @ self.beta(m, sigma))
        over_ratios = sigma * V_beta / self.means
        grad = np.concatenate([(W - pulled) * relative - V.gradient[:n_y], d_outside - over_ratios @ self._ratio_slopes(m)])
        if order == 1:
            return float(value), grad, NOTHING
        J = self.chain(m, sigma, relative)
        curved = norm.hessian[:n_y, :n_y] / norm.value  # ∂²σ/σ = ∂² ln σ + ∂ln σ ∂ln σ
        H = -J.T @ V.hessian @ J
        H[:n_y, :n_y] += (W - pulled) * curved - W * np.outer(relative, relative)
        cross = np.outer(relative, V_beta @ J[n_y:, n_y:])
        H[:n_y, n_y:] -= cross
        H[n_y:, :n_y] -= cross.T
        H[n_y:, n_y:] += self._outside_curvature(m, W) - self._ratio_curvature(m, over_ratios)
        return float(value), grad, (H + H.T) / 2
