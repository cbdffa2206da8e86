"""Whether enough phase-space events count at a point: not where a narrow resonance makes up the intensity."""

import numpy as np
import pytest

import ctpwa
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.fitting.counted_events import largest_of_couplings, too_few_at
from fitting.cases import model, phase_space


@pytest.fixture(scope="module")
def likelihood():
    data, flat = (phase_space("phi and K2", n, seed) for n, seed in ((50, 1), (1000, 2)))
    return ctpwa.build_likelihood(model("phi and K2"), data, flat, engine="reference", progress=False)


def at(likelihood, **values):
    x = likelihood.start.copy()
    for name, value in values.items():
        x[likelihood.names.index(f"phi(1680).{name}")] = value
    return x


def test_a_wide_one(likelihood):
    assert too_few_at(likelihood, at(likelihood)) == []


def test_a_narrow_one(likelihood):
    (reason,) = too_few_at(likelihood, at(likelihood, width=1e-6))
    assert "of 1000 phase-space events count" in reason


def test_a_narrow_one_that_does_not_matter(likelihood):
    x = at(likelihood, width=1e-6)
    x[likelihood.coupling_index] *= 1e9
    assert too_few_at(likelihood, x) == []


def test_both_are_added(likelihood):
    """Of two data sets each is looked at, and named."""
    both = LikelihoodSum([likelihood, likelihood])
    (one, two) = too_few_at(both, at(likelihood, width=1e-6))
    assert "of data set 1 count" in one
    assert "of data set 2 count" in two


def test_charge_conjugates_share_a_coupling(likelihood):
    assert largest_of_couplings(likelihood, np.array([0.1, 0.2, 0.5])) == [0.1, 0.5]
