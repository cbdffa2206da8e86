"""Angular moments of a pair of particles against its mass: Σ w Y_LM of the data, next to that of the model.

    angular_moments(data, model, edges, *, max_L=4, max_M=0, background=None) -> AngularMoments
    MomentSample(mass, cos_theta, phi=None, weights=None)

With amplitudes of spin J alone in the pair, moments with L > 2J vanish; odd L come from interference of waves of opposite parity.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, pi, sqrt
from typing import Any

import numpy as np
from scipy.special import gammaincc, lpmv

from ctpwa.base.errors import DataError

Array = np.ndarray
MIN_EXPECTED = 10  # events of a bin that counts in χ²


@dataclass(frozen=True)
class MomentSample:
    """Events with the mass of a pair and its helicity angles.

    Attributes:
        mass:       mass of the pair, GeV, [event]
        cos_theta:  helicity cosine of its first particle, [event]
        phi:        its azimuth, [event]; None if only M = 0 is asked for
        weights:    [event]; None if all are 1
    """

    mass: Any
    cos_theta: Any
    phi: Any = None
    weights: Any = None


@dataclass(frozen=True)
class AngularMoments:
    """Moments N ⟨Re Y_LM⟩ in bins of mass.

    Attributes:
        edges:                edges of the bins, GeV, [bin + 1]
        indices:              (L, M) of every moment
        data, data_error:     Σ w Re Y_LM of the data, less background, and its standard deviation, [moment, bin]
        model, model_error:   the same of the model, scaled to the data
        chi2:                 χ² of data and model for every moment, over bins with at least 10 expected events
        ndf:                  number of these bins, less 1 for L = 0 where the total is that of the data
        p_values:             probability of a larger χ² for ndf; parameters that were fitted make it too large
    """

    edges: Array
    indices: tuple[tuple[int, int], ...]
    data: Array
    data_error: Array
    model: Array
    model_error: Array
    chi2: Array
    ndf: Array
    p_values: Array


def spherical_harmonic(L: int, M: int, cos_theta: Array, phi: Array | float = 0.0) -> Array:
    """Re Y_LM = √((2L+1)/4π · (L−M)!/(L+M)!) P_L^M(cos θ) cos Mφ with the Condon–Shortley phase, M ≥ 0."""
    norm = sqrt((2 * L + 1) / (4 * pi) * factorial(L - M) / factorial(L + M))
    if M == 0:
        return norm * np.polynomial.legendre.legval(cos_theta, [0.0] * L + [1.0])
    return norm * lpmv(M, L, cos_theta) * np.cos(M * np.asarray(phi))


def angular_moments(
    data: MomentSample,
    model: MomentSample,
    edges: Any,
    *,
    max_L: int = 4,
    max_M: int = 0,
    background: MomentSample | None = None,
) -> AngularMoments:
    """Moments of data and model in bins of the mass of a pair.

        data:   Σ w Y − Σ_background w Y,   error² = Σ w² Y² + Σ_background w² Y²
        model:  f Σ v Y,   error² = f² Σ v² Y²,   f = (Σ w − Σ_background w) / Σ v over all events, inside the bins or not

    In χ² the variance of data without weights and background is the expected one, f Σ v Y², so that few events in a bin do no harm;
    else it is that of the errors.

    Args:
        data:        measured events
        model:       phase-space events whose weights are intensity times weight
        edges:       edges of the bins of mass, rising, or the number of equal bins over all data
        max_L:       highest L
        max_M:       highest M; 0 needs no azimuth
        background:  events that are subtracted, with positive weights
    """
    if not 0 <= max_M <= max_L:
        raise DataError(f"moments up to L = {max_L}, M = {max_M}\n fix: choose 0 <= max_M <= max_L")
    samples = {"data": _Checked(data, "data", max_M), "model": _Checked(model, "model", max_M)}
    if background is not None:
        samples["background"] = _Checked(background, "background", max_M)
    bins = _edges(edges, samples["data"].mass)
    indices = tuple((L, M) for L in range(max_L + 1) for M in range(min(L, max_M) + 1))
    where = {name: sample.bins(bins) for name, sample in samples.items()}
    sums = {name: [sample.sums(L, M, where[name], len(bins) - 1) for L, M in indices] for name, sample in samples.items()}
    total = {name: float(sample.weights.sum()) for name, sample in samples.items()}
    wanted = total["data"] - total.get("background", 0.0)
    if not total["model"] > 0 or not wanted > 0:
        raise DataError(
            f"the total weight is {wanted:.6g} for the data and {total['model']:.6g} for the model\n fix: both must be positive"
        )
    scale = wanted / total["model"]
    first, second, _ = (np.array(part) for part in zip(*sums["data"], strict=True))
    if background is not None:
        less, more, _ = (np.array(part) for part in zip(*sums["background"], strict=True))
        first, second = first - less, second + more
    expected, spread, flat = (np.array(part) for part in zip(*sums["model"], strict=True))
    expected, spread, flat = scale * expected, scale**2 * spread, scale * flat
    plain = background is None and data.weights is None
    chi2, ndf = _chi2(first - expected, (flat if plain else second) + spread, expected[0] / spherical_harmonic(0, 0, np.ones(1)))
    whole = samples["data"].inside(bins).all() and samples["model"].inside(bins).all()
    ndf = np.array([n - 1 if whole and index == (0, 0) else n for n, index in zip(ndf, indices, strict=True)])
    p_values = np.array([float(gammaincc(n / 2, c / 2)) if n > 0 else 1.0 for c, n in zip(chi2, ndf, strict=True)])
    return AngularMoments(bins, indices, first, np.sqrt(second), expected, np.sqrt(spread), chi2, ndf, p_values)


def _chi2(difference: Array, variance: Array, events: Array) -> tuple[Array, Array]:
    """χ² and number of bins for each moment; bins with few expected events do not count."""
    counted = (events >= MIN_EXPECTED)[None, :] & (variance > 0)
    pulls = np.where(counted, difference, 0.0) / np.sqrt(np.where(counted, variance, 1.0))
    return (pulls**2).sum(axis=1), counted.sum(axis=1)


class _Checked:
    """A sample as arrays of one length."""

    def __init__(self, sample: MomentSample, name: str, max_M: int) -> None:
        if max_M > 0 and sample.phi is None:
            raise DataError(f"moments with M = {max_M} need the azimuth of the {name}\n fix: give phi, or max_M=0")
        self.mass, self.cosine = _array(sample.mass, f"masses of the {name}"), _array(sample.cos_theta, f"cosines of the {name}")
        n = len(self.mass)
        self.phi = np.zeros(n) if sample.phi is None else _array(sample.phi, f"azimuths of the {name}")
        self.weights = np.ones(n) if sample.weights is None else _array(sample.weights, f"weights of the {name}")
        if not n or {len(self.cosine), len(self.phi), len(self.weights)} != {n}:
            raise DataError(
                f"masses, angles and weights of the {name} have different lengths, or none\n fix: give one of each for each event"
            )
        if np.abs(self.cosine).max() > 1:
            raise DataError(f"a cosine of the {name} is {self.cosine[np.abs(self.cosine).argmax()]:.6g}\n fix: give cosines, not angles")

    def inside(self, edges: Array) -> Array:
        """Which events are in some bin; the highest edge belongs to the last one."""
        return np.asarray((self.mass >= edges[0]) & (self.mass <= edges[-1]))

    def bins(self, edges: Array) -> Array:
        """Number of the bin of every event; one more than the last for those in none."""
        n = len(edges) - 1
        bins = np.where(self.mass == edges[-1], n - 1, np.searchsorted(edges, self.mass, side="right") - 1)
        return np.where(self.inside(edges), bins, n)

    def sums(self, L: int, M: int, bins: Array, n: int) -> tuple[Array, Array, Array]:
        """Σ w Y, Σ w² Y² and Σ w Y² in every one of ``n`` bins."""
        Y = spherical_harmonic(L, M, self.cosine, self.phi)
        wY = self.weights * Y
        first, second, third = (np.bincount(bins, f, minlength=n + 1)[:n] for f in (wY, wY**2, wY * Y))
        return first, second, third


def _array(values: Any, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise DataError(f"{name} are not a list of finite numbers\n fix: give one finite number for each event")
    return array


def _edges(edges: Any, mass: Array) -> Array:
    if np.ndim(edges) == 0:
        n = int(edges)
        if n != edges or n < 1:
            raise DataError(f"{edges} bins\n fix: give a whole number of bins, or their edges")
        return np.linspace(mass.min(), mass.max(), n + 1)
    array = np.asarray(edges, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2 or not (np.diff(array) > 0).all():
        raise DataError("edges of bins do not rise\n fix: give at least two rising numbers")
    return array
