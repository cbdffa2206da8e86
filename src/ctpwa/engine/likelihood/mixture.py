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
class Shares:
    """Values of s and all a_b at a point m.

    Attributes:
        values:  s, then all a_b
        slopes:  ∂/∂m of them [1 + density, parameter]
    """

    values: np.ndarray
    slopes: np.ndarray

    @cached_property
    def ratios(self) -> np.ndarray:
        """a/s."""
        return self.values[1:] / self.values[0]

    @cached_property
    def ratio_slopes(self) -> np.ndarray:
        """∂(a/s)/∂m."""
        return (self.slopes[1:] - self.ratios[:, None] * self.slopes[0]) / self.values[0]

    def ratio_curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ_b weights_b ∂²(a_b/s)/∂m∂m."""
        s, S = self.values[0], self.slopes[0]
        cross = np.outer(weights @ self.slopes[1:], S)
        return -(cross + cross.T) / s**2 + 2 * float(weights @ self.ratios) / s**2 * np.outer(S, S)


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

    def at(self, m: np.ndarray) -> Shares:
        """How much there is of everything at some values of the parameters; kept until others are asked for."""
        key = m.tobytes()
        last = self._last.get("at")
        if last is None or last[0] != key:
            constants, slopes = self._linear
            last = self._last["at"] = key, Shares(constants + slopes @ m, slopes)
        return last[1]

    @cached_property
    def _last(self) -> dict[str, tuple[bytes, Shares]]:
        return {}

    def expect(self, m: np.ndarray) -> None:
        """Compute now what ``combine`` needs of the parameters alone."""
        _ = self.at(m).ratio_slopes

    def beta(self, m: np.ndarray, sigma: float) -> np.ndarray:
        """β of every density."""
        return self.relative_beta(m) * sigma

    def relative_beta(self, m: np.ndarray) -> np.ndarray:
        """β/σ of every density."""
        return self.at(m).ratios / self.means

    def chain(self, m: np.ndarray, sigma: float, relative: np.ndarray) -> np.ndarray:
        """∂(y, β)/∂(y, m), where y are the variables of σ and ``relative`` is ∂ln σ/∂y."""
        return self._chain(self.at(m), sigma, relative)

    def _chain(self, here: Shares, sigma: float, relative: np.ndarray) -> np.ndarray:
        y = np.eye(len(relative), len(relative) + len(self.parameters))
        return np.concatenate([y, self._rows(here, sigma, relative)])

    def _rows(self, here: Shares, sigma: float, relative: np.ndarray) -> np.ndarray:
        """∂β/∂(y, m)."""
        over_sigma = sigma / self.means
        return np.concatenate([np.outer(here.ratios * over_sigma, relative), over_sigma[:, None] * here.ratio_slopes], axis=1)

    def slope_of_signal(self, m: np.ndarray) -> np.ndarray:
        """∂ ln s/∂m."""
        here = self.at(m)
        return here.slopes[0] / here.values[0]

    def outside(self, m: np.ndarray, W: float) -> tuple[float, np.ndarray]:
        """−W ln s, and in an extended likelihood s + Σ a: value and gradient over m; NaN where there is no signal."""
        return self._outside(self.at(m), W)

    def _outside(self, here: Shares, W: float) -> tuple[float, np.ndarray]:
        s = float(here.values[0])
        value, gradient = -W * log(s) if s > 0 else nan, here.slopes[0] * (-W / s if s else nan)
        return (value + float(here.values.sum()), gradient + here.slopes.sum(axis=0)) if self.extended else (value, gradient)

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
        here = self.at(m)
        outside, d_outside = self._outside(here, W)
        value = -V.value + W * log(sigma) + outside
        if order == 0:
            return float(value), NOTHING, NOTHING
        relative = norm.gradient[:n_y] / norm.value
        over_ratios = V.gradient[n_y:] * (sigma / self.means)
        pulled = float(over_ratios @ here.ratios)
        grad = np.concatenate([(W - pulled) * relative - V.gradient[:n_y], d_outside - over_ratios @ here.ratio_slopes])
        if order == 1:
            return float(value), grad, NOTHING
        own = self._rows(here, sigma, relative)
        over_beta = V.hessian[:, n_y:] @ own  # ∂²/∂(y, β)∂β times ∂β/∂(y, m)
        H = -0.5 * (own.T @ over_beta[n_y:])
        H[:n_y] -= over_beta[:n_y]
        H[:n_y, :n_y] += (W - pulled) / 2 * (norm.hessian[:n_y, :n_y] / norm.value)  # ∂²σ/σ = ∂² ln σ + ∂ln σ ∂ln σ
        H[:n_y, :n_y] -= W / 2 * np.outer(relative, relative) + V.hessian[:n_y, :n_y] / 2
        H[:n_y, n_y:] -= np.outer(relative, V.gradient[n_y:] @ own[:, n_y:])
        slope = here.slopes[0] / here.values[0]
        H[n_y:, n_y:] += 0.5 * (W * np.outer(slope, slope) - here.ratio_curvature(over_ratios))
        return float(value), grad, H + H.T
