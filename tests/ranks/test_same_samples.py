"""Ranks that are given whole samples must be given the same ones: each takes its own part."""

import pytest

import ctpwa
from ctpwa.base.errors import CtpwaError
from ranks.cases import model, part, phase_space
from ranks.threads import on_ranks


def build(ranks, data, flat):
    return ctpwa.build_likelihood(model("fixed"), data, flat, engine="reference", ranks=ranks).weight


def events(seed, weights=None):
    return part(phase_space("fixed", 40, seed), range(40), weights)


def test_other_events_of_the_same_number():
    with pytest.raises(CtpwaError, match=r"rank 1 has another sample 'data' than rank 0\n fix: give every rank the whole sample"):
        on_ranks(2, lambda ranks: build(ranks, events(seed=1 + ranks.rank), events(seed=5)))


def test_one_other_weight():
    with pytest.raises(CtpwaError, match="rank 1 has another sample 'data' than rank 0"):
        on_ranks(2, lambda ranks: build(ranks, events(1, [1.0] * 20 + [1.0 + ranks.rank] + [1.0] * 19), events(seed=5)))


def test_the_same():
    assert on_ranks(2, lambda ranks: build(ranks, events(1, [0.5] * 40), events(seed=5))) == [20.0, 20.0]
