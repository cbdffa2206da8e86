"""Probabilities of χ² and normal distributions: those of ``scipy.stats``, which takes long to import."""

from __future__ import annotations

import math

import numpy as np
from scipy import special


def chi2_tail(chi2: float, ndf: float) -> float:
    """Probability of a larger χ²; NaN without degrees of freedom."""
    return float(special.chdtrc(ndf, max(chi2, 0.0))) if ndf > 0 else math.nan


def chi2_of_tail(probability: float, ndf: float) -> float:
    """The χ² that is exceeded with this probability."""
    return float(special.chdtri(ndf, probability))


def chi2_density(chi2: np.ndarray, ndf: float) -> np.ndarray:
    """Probability density of χ²."""
    half = ndf / 2
    return np.exp(special.xlogy(half - 1, chi2) - chi2 / 2 - special.gammaln(half) - half * math.log(2))


def normal_tail(sigmas: float) -> float:
    """Probability of more than so many standard deviations, on one side."""
    return float(special.ndtr(-sigmas))
