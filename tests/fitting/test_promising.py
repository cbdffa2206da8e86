"""Which minima of a part of the events may be the best of all events: Δ of the part has a variance of about 2 Δ (1 − share) / share."""

import pytest

from ctpwa.fitting.starts import FLOOR, SIGMAS, _may_be_near


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_limit_is_five_standard_deviations(share):
    """The Δ that lies on it solves Δ − 30 = 5 √(2 Δ (1 − share) / share)."""
    a = SIGMAS * (2 * (1 - share) / share) ** 0.5
    limit = ((a + (a**2 + 4 * FLOOR) ** 0.5) / 2) ** 2
    assert _may_be_near(limit * (1 - 1e-9), share)
    assert not _may_be_near(limit * (1 + 1e-9), share)


def test_with_all_events_the_floor_is_left():
    assert _may_be_near(FLOOR, 1.0)
    assert not _may_be_near(FLOOR + 1e-9, 1.0)
