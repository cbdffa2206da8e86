"""Pulls of many toys, against numbers drawn from known distributions."""

import numpy as np
import pytest

from ctpwa.observables.pulls import pull_table, summarise_pulls

TRUTH = np.array([1.0, -3.0, 0.2])
SIGMA = np.array([0.1, 2.0, 0.05])


def summaries(n=400, shift=0.0, scale=1.0):
    z = np.random.default_rng(1).normal(size=(n, 3))
    z = (z - z.mean(axis=0)) / z.std(axis=0, ddof=1)
    values = TRUTH + (z + shift) * SIGMA
    return summarise_pulls(["a", "b", "c"], values, np.broadcast_to(scale * SIGMA, values.shape), TRUTH)


def test_right_values_and_errors_are_not_flagged():
    for s, sigma in zip(summaries(), SIGMA, strict=True):
        assert (s.n, s.mean_error, s.flag) == (400, 0.05, "")
        assert s.width_error == pytest.approx(1 / np.sqrt(798))
        assert s.error == pytest.approx(sigma)
        assert s.spread == pytest.approx(sigma)


def test_a_bias_is_flagged():
    assert [s.flag for s in summaries(shift=0.4)] == ["biased"] * 3


@pytest.mark.parametrize("scale", [0.8, 1.3])
def test_wrong_errors_are_flagged(scale):
    for s in summaries(scale=scale):
        assert s.flag == "width"
        assert s.width == pytest.approx(s.spread / s.error)


def test_table():
    lines = pull_table(summaries(shift=0.4)).splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("a ")
    assert all(line.endswith("biased") for line in lines[1:])


def test_two_toys_have_one():
    """Pulls 1 and 3: mean 2, standard deviation √2."""
    (two,) = summarise_pulls(["a"], np.array([[1.5], [2.5]]), np.full((2, 1), 0.5), np.ones(1))
    assert (two.n, two.mean, two.mean_error) == pytest.approx((2, 2.0, np.sqrt(0.5)))
    assert (two.width, two.width_error, two.spread, two.error) == pytest.approx((np.sqrt(2), np.sqrt(0.5), np.sqrt(0.5), 0.5))


def test_one_toy_has_no_spread():
    with pytest.raises(ValueError, match="1 toy cannot have a spread"):
        summarise_pulls(["a"], np.ones((1, 1)), np.ones((1, 1)), np.ones(1))
