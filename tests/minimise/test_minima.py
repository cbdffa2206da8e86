"""Which ends of many starts are the same minimum."""

import numpy as np
import pytest

from ctpwa.minimise.minima import SAME_PLACE, SAME_VALUE, distinct
from ctpwa.minimise.steps import Stop


def stop(value, *x):
    return Stop(np.array(x, dtype=float), value, True, "converged", 3)


def test_the_best_comes_first_and_every_start_is_counted():
    stops = [stop(5.0, 1), stop(2.0, 0), stop(9.0, 3), stop(2.0 + 1e-7, 0), stop(5.01, 1), stop(2.0, 0)]
    found = distinct(stops)
    assert [minimum.value for minimum in found] == [2.0, 5.0, 9.0]
    assert [minimum.starts for minimum in found] == [(1, 3, 5), (0, 4), (2,)]
    assert sum(len(minimum.starts) for minimum in found) == len(stops)
    np.testing.assert_array_equal(found[1].x, [1.0])


def test_a_minimum_is_represented_by_its_best_end():
    found = distinct([stop(1.0 + SAME_VALUE / 2, 7), stop(1.0, 8)])
    assert len(found) == 1
    assert found[0].value == 1.0
    np.testing.assert_array_equal(found[0].x, [8.0])


def test_values_that_are_close_form_no_chain():
    """Every end is compared with the best of its group, so a row of small differences does not become one minimum."""
    found = distinct([stop(0.8 * SAME_VALUE * k, 0) for k in range(5)])
    assert [minimum.starts for minimum in found] == [(0, 1), (2, 3), (4,)]


def test_ends_without_a_value_are_left_out():
    found = distinct([None, stop(np.nan, 1), stop(3.0, 2), stop(np.inf, 1), None])
    assert [minimum.starts for minimum in found] == [(2,)]
    assert distinct([None, None]) == []
    assert distinct([]) == []


def test_different_places_with_the_same_value():
    """Mirror solutions: the same likelihood, far from each other in standard deviations."""
    H = np.diag([4.0, 1.0])
    stops = [stop(1.0, 0, 0), stop(1.0, 5, 0), stop(1.0, 0.1, 0.1), stop(1.0, 5, 0.2)]
    assert [minimum.starts for minimum in distinct(stops)] == [(0, 1, 2, 3)]
    assert [minimum.starts for minimum in distinct(stops, H)] == [(0, 2), (1, 3)]


@pytest.mark.parametrize(("distance", "same"), [(0.9, True), (1.1, False)])
def test_half_a_standard_deviation(distance, same):
    H = np.array([[25.0]])
    shift = distance * np.sqrt(SAME_PLACE / 25.0)
    assert (len(distinct([stop(1.0, 0.0), stop(1.0, shift)], H)) == 1) == same


def test_a_flat_direction_does_not_make_two_minima_of_one():
    H = np.diag([4.0, 0.0])
    assert len(distinct([stop(1.0, 0, 0), stop(1.0, 0, 1000)], H)) == 1


def test_negative_curvature_does_not_hide_a_distance():
    """(1, 1) is far from the origin in both directions, though s·H·s is zero there."""
    H = np.diag([4.0, -4.0])
    assert len(distinct([stop(1.0, 0, 0), stop(1.0, 1, 1)], H)) == 2
