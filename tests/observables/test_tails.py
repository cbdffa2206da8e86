"""Probabilities of χ² and normal distributions agree with ``scipy.stats``."""

import math

import numpy as np
import pytest
from scipy import stats

from ctpwa.observables.tails import chi2_density, chi2_of_tail, chi2_tail, normal_tail


@pytest.mark.parametrize("ndf", [1, 2, 3.7, 60])
@pytest.mark.parametrize("chi2", [0.0, 0.3, 5.0, 80.0, math.inf])
def test_tail(chi2, ndf):
    assert chi2_tail(chi2, ndf) == pytest.approx(stats.chi2.sf(chi2, ndf), rel=1e-12, abs=1e-300)


def test_edges():
    assert math.isnan(chi2_tail(1.0, 0))
    assert math.isnan(chi2_tail(1.0, -3))
    assert chi2_tail(-1e-9, 2) == 1.0, "twice a difference of −ln L may be negative by rounding"


def test_the_other_way_round():
    assert chi2_of_tail(chi2_tail(4.2, 3), 3) == pytest.approx(4.2, rel=1e-12)
    assert chi2_of_tail(2 * normal_tail(2.0), 1) == pytest.approx(4.0, rel=1e-12)


def test_density_and_normal():
    x = np.linspace(0.1, 30, 50)
    np.testing.assert_allclose(chi2_density(x, 4.5), stats.chi2.pdf(x, 4.5), rtol=1e-12)
    assert [normal_tail(k) for k in (-1.0, 0.0, 3.3)] == pytest.approx(stats.norm.sf([-1.0, 0.0, 3.3]), rel=1e-12)
