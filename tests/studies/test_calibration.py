"""p-values from toys, and the tails of fitted curves."""

import math

import numpy as np
import pytest
from scipy import stats

from ctpwa.observables.significance import log_p_value, standard_deviations
from ctpwa.studies.calibration import ChiSquareTail, Counted, NormalTail, larger, smaller


def test_counts():
    values = np.arange(10.0)
    found = larger(values, 7.0)
    assert (found.extreme, found.total, found.beyond) == (3, 10, False)
    assert found.p_value == pytest.approx(0.3)
    assert found.error == pytest.approx(math.sqrt(0.3 * 0.7 / 10))
    assert found.sigmas == pytest.approx(stats.norm.isf(0.15), rel=1e-12)
    assert smaller(values, 0.5).extreme == 1


def test_beyond_all_toys_is_a_limit():
    found = larger(np.zeros(200), 5.0)
    assert found.beyond
    assert str(found) == "< 0.005"
    assert found.sigmas == pytest.approx(stats.norm.isf(0.0025), rel=1e-12)


def test_no_toys():
    assert math.isnan(Counted(0, 0).p_value)
    assert not Counted(0, 0).beyond


@pytest.mark.parametrize("ndf", [1.0, 2.7, 4.3])
@pytest.mark.parametrize("delta", [0.5, 9.0, 60.0])
def test_degrees_of_freedom_need_not_be_whole(ndf, delta):
    assert log_p_value(delta, ndf) == pytest.approx(stats.chi2.logsf(delta, ndf), rel=1e-10)


def test_the_tail_of_chi_square_is_found(rng):
    tail = ChiSquareTail.of(stats.chi2.rvs(3.4, size=20_000, random_state=rng))
    assert tail.ndf == pytest.approx(3.4, abs=4 * tail.error)
    assert tail.error == pytest.approx(math.sqrt(2 * 3.4 / 20_000), rel=0.05)
    assert tail.log_p_value(30.0) == pytest.approx(stats.chi2.logsf(30.0, 3.4), abs=0.15)


def test_the_tail_of_a_normal_distribution_is_found(rng):
    tail = NormalTail.of(rng.normal(20.0, 6.0, 20_000))
    assert tail.log_p_value(-30.0) == pytest.approx(stats.norm.logcdf(-50 / 6), rel=0.05)
    assert standard_deviations(tail.log_p_value(-30.0)) == pytest.approx(50 / 6, rel=0.03)
