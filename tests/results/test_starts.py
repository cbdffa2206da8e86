"""The search from many starts: some random, later ones from the minima of earlier ones."""

import numpy as np
import pytest

import ctpwa
from ctpwa.minimise.minima import Minimum
from ctpwa.results import starts
from ctpwa.results.starts import _turned, coarse_search
from results.cases import likelihood

NAMES = ("a.re", "a.im", "b.re", "b.im", "c.re", "c.im", "d.re", "d.im")


def sizes(x):
    return np.linalg.norm(np.reshape(x, (-1, 2)), axis=1)


def test_some_couplings_are_turned_and_none_is_stretched(rng):
    parent, other = rng.normal(size=8), rng.normal(size=8)
    changed = []
    for seed in range(200):
        x = _turned(NAMES, [Minimum(0.0, parent, (0,))], other, np.random.default_rng(seed))
        np.testing.assert_allclose(sizes(x), sizes(parent), rtol=1e-14)
        different = (x != parent).reshape(-1, 2).any(axis=1)
        turned = x.reshape(-1, 2)[different]
        wanted = other.reshape(-1, 2)[different]
        np.testing.assert_allclose(turned / sizes(turned)[:, None], wanted / sizes(wanted)[:, None], rtol=1e-12)
        changed.append(different.sum())
    assert min(changed) == 1
    assert max(changed) > 1
    assert np.mean(changed) == pytest.approx(0.2 * 4 + 0.8, abs=0.3)


def test_phases_of_polar_couplings(rng):
    names = [name.replace(".re", ".abs").replace(".im", ".phase") for name in NAMES]
    parent, other = rng.normal(size=8), rng.normal(size=8)
    x = _turned(names, [Minimum(0.0, parent, (0,))], other, np.random.default_rng(1))
    np.testing.assert_array_equal(x[::2], parent[::2])
    turned = x[1::2] != parent[1::2]
    assert turned.any()
    np.testing.assert_array_equal(x[1::2][turned], other[1::2][turned])


def test_parents_are_the_best_minima(rng):
    parents = [Minimum(float(k), np.full(8, k + 1.0), (k,)) for k in range(3)]
    seen = {round(float(sizes(_turned(NAMES, parents, rng.normal(size=8), np.random.default_rng(s)))[0] / np.sqrt(2))) for s in range(50)}
    assert seen == {1, 2, 3}


def test_all_starts_are_made_and_counted(monkeypatch):
    monkeypatch.setattr(starts, "RANDOM_STARTS", 3)
    monkeypatch.setattr(starts, "AT_ONCE", 4)
    like = likelihood("fixed")
    points = like.random_couplings(like.start, 12, seed=3)
    found = coarse_search(like, points, 0, False)
    assert sorted(k for minimum in found.minima for k in minimum.starts) == list(range(12))
    assert not found.interrupted
    again = coarse_search(like, points, 0, False)
    assert [minimum.value for minimum in again.minima] == [minimum.value for minimum in found.minima]
    first = coarse_search(like, points[:3], 0, False)
    assert found.minima[0].value <= first.minima[0].value  # what was found is not lost
    assert found.record.hessians > first.record.hessians > 0


def test_points_that_were_given_are_starts_as_they_are(monkeypatch):
    monkeypatch.setattr(starts, "RANDOM_STARTS", 1)
    monkeypatch.setattr(starts, "_turned", lambda *_: pytest.fail("a given point was changed"))
    like = likelihood("fixed")
    ctpwa.fit(like, like.random_couplings(like.start, 4, seed=3))
    assert len(coarse_search(like, like.random_couplings(like.start, 4, seed=3), 0, False, learn=False).minima) >= 1


def test_a_number_of_starts_learns(monkeypatch):
    monkeypatch.setattr(starts, "RANDOM_STARTS", 2)
    turned = []
    real = starts._turned
    monkeypatch.setattr(starts, "_turned", lambda *arguments: turned.append(1) or real(*arguments))
    found = ctpwa.fit(likelihood("fixed"), 6, seed=2)
    assert len(turned) == 4
    assert sum(minimum.starts for minimum in found.minima) == 6
