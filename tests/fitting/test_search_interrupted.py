"""Ctrl-C in a search from many starts ends the fit, not the search alone."""

import signal

import ctpwa
from ctpwa.fitting.starts import coarse_search
from fitting.cases import likelihood


def test_ctrl_c_in_the_search(at_step):
    at_step("search", lambda: signal.raise_signal(signal.SIGINT))
    like = likelihood("fixed")
    found = coarse_search(like, like.random_couplings(like.start, 4, seed=3), 0, False)
    assert found.interrupted
    result = ctpwa.fit(like, 4, seed=3, progress=False)
    assert not result.verdict.good
    assert "interrupted" in result.verdict.reasons
