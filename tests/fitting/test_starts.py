"""The search from many starts: some random, later ones from the minima of earlier ones."""

import json
from dataclasses import fields

import numpy as np
import pytest

import ctpwa
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting import minimum, starts
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.search_settings import SearchSettings
from ctpwa.fitting.starts import Coarse, _turned, coarse_search
from ctpwa.fitting.text import minima_lines
from ctpwa.minimise.drive import Record
from ctpwa.minimise.minima import Minimum
from ctpwa.minimise.newton import newton
from ctpwa.minimise.steps import Ask, Stop
from fitting.cases import likelihood, make, phase_space

NAMES = ("a.re", "a.im", "b.re", "b.im", "c.re", "c.im", "d.re", "d.im")


def sizes(x):
    return np.linalg.norm(np.reshape(x, (-1, 2)), axis=1)


def test_the_hessian_at_the_best_minimum_is_computed_once():
    """It tells minima apart, and errors follow from it."""
    whole, seen = make("floating"), []

    class Counting(Likelihood):
        def value_grad_hessian(self, p):
            seen.append(np.array(p))
            return super().value_grad_hessian(p)

    points = np.array([whole.start, whole.start * 1.001])  # in lineshapes as well: each of them is fitted with all events
    found = ctpwa.fit(Counting(**{own.name: getattr(whole, own.name) for own in fields(whole)}), points)
    last = [p for p in seen if p.shape == found.x.shape and np.allclose(p, found.x, rtol=1e-12)]
    assert len(last) == 1


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


def test_all_starts_are_made_and_counted():
    few = SearchSettings(random=3, at_once=4)
    like = likelihood("fixed")
    points = like.random_couplings(like.start, 12, seed=3)
    found = coarse_search(like, points, 0, False, settings=few)
    assert sorted(k for minimum in found.minima for k in minimum.starts) == list(range(12))
    assert not found.interrupted
    again = coarse_search(like, points, 0, False, settings=few)
    assert [minimum.value for minimum in again.minima] == [minimum.value for minimum in found.minima]
    first = coarse_search(like, points[:3], 0, False, settings=few)
    assert found.minima[0].value <= first.minima[0].value  # what was found is not lost
    assert found.record.hessians > first.record.hessians > 0


def test_points_that_were_given_are_starts_as_they_are(monkeypatch):
    monkeypatch.setattr(starts, "_turned", lambda *_: pytest.fail("a given point was changed"))
    like = likelihood("fixed")
    points, one = like.random_couplings(like.start, 4, seed=3), SearchSettings(random=1)
    ctpwa.fit(like, points, search=one)
    assert len(coarse_search(like, points, 0, False, learn=False, settings=one).minima) >= 1


def test_a_number_of_starts_learns(monkeypatch):
    turned = []
    real = starts._turned
    monkeypatch.setattr(starts, "_turned", lambda *arguments: turned.append(1) or real(*arguments))
    found = ctpwa.fit(likelihood("fixed"), 6, seed=2, search=SearchSettings(random=2))
    assert len(turned) == 4
    assert sum(minimum.starts for minimum in found.minima) == 6


# what was found is neither lost nor compared with something else


class Killed(BaseException):
    """Nothing catches it."""


# a search of small steps: few random starts, later ones learn, only part of the events is used
FEW_AT_ONCE = SearchSettings(random=4, at_once=4, events=40, per_parameter=1)


@pytest.fixture(scope="module")
def few():
    return make("fixed", 60, phase_space=phase_space("fixed", 150, 2))


@pytest.fixture(scope="module")
def expected(few):
    return search(few)


def search(like, journal=None):
    return ctpwa.fit(like, 14, seed=5, progress=False, journal=journal, search=FEW_AT_ONCE)


def killed_after(n, like):
    """The journal of a fit that was killed after its n-th change, as a file would have it."""
    journal = Journal()

    def told():
        told.changes += 1
        if told.changes == n:
            raise Killed

    told.changes = 0
    journal.told = told
    with pytest.raises(Killed):
        search(like, journal)
    return Journal.from_dict(json.loads(json.dumps(journal.as_dict())))


@pytest.mark.parametrize("n", [1, 2, 6, 11, 15, 16])
def test_a_search_that_was_killed_goes_on_with_the_starts_that_are_left(n, few, expected):
    """In the middle of random starts, of starts that learn, and of whole fits: the end is that of a fit that nobody has killed."""
    journal = killed_after(n, few)
    done = len(journal.ends)
    assert done == min(n - 1, 14)
    assert len(journal.fits) == max(n - 15, 0)
    told = []
    journal.told = lambda: told.append(len(journal.ends))
    found = search(few, journal)
    assert told[1 : 15 - done] == list(range(done + 1, 15))  # after the beginning every start that is left, once
    assert found.nll == pytest.approx(expected.nll, abs=1e-8)
    assert (np.abs(found.x - expected.x) < 1e-5 * expected.errors).all()
    assert [(m.starts, m.refined) for m in found.minima] == [(m.starts, m.refined) for m in expected.minima]
    np.testing.assert_allclose([m.nll for m in found.minima], [m.nll for m in expected.minima], atol=0.01)
    assert journal.done


def test_where_a_start_begins_does_not_depend_on_which_others_have_ended(few):
    """With some of the ends known from the beginning the others come out as before."""
    like = few
    points = like.random_couplings(like.start, 12, seed=3)
    journal = Journal()
    whole = coarse_search(like, points, 0, False, journal=journal, settings=FEW_AT_ONCE)
    half = Journal(ends={k: journal.ends[k] for k in (0, 1, 2, 3, 4, 7)})
    again = coarse_search(like, points, 0, False, journal=half, settings=FEW_AT_ONCE)
    assert [m.starts for m in again.minima] == [m.starts for m in whole.minima]
    for k, stop in journal.ends.items():
        np.testing.assert_allclose(half.ends[k].x, stop.x, rtol=1e-6)


def test_another_search_does_not_go_on_from_a_journal():
    journal = Journal(start=(1.0,), starts=3, seed=4)
    with pytest.raises(ctpwa.base.DataError, match="had 3 starts with seed 4\n fix: give the same"):
        ctpwa.fit(likelihood("fixed"), 2, journal=journal)


@pytest.mark.parametrize("wrong", [{"start": [1.0, float("nan")]}, {"starts": 2}, {"ends": [{"number": 0}]}])
def test_journals_that_are_wrong(wrong):
    stop = {"number": 2, "x": [1.0], "value": 1.0, "converged": True, "reason": "converged", "iterations": 1}
    right = {"start": [1.0], "starts": 3, "seed": 0, "ends": [stop], "fits": []}
    assert Journal.from_dict(right).ends[2].x.tolist() == [1.0]
    with pytest.raises((ValueError, KeyError, TypeError)):
        Journal.from_dict(right | wrong)


@pytest.mark.parametrize("interrupted", [False, True])
def test_minima_of_part_of_the_events_are_compared_with_each_other(interrupted, monkeypatch):
    """What is said of a minimum that was not refined is how far it lies above the best one with the same events."""
    like = likelihood("fixed")
    best = ctpwa.fit(like, progress=False)
    parts = [
        Minimum(best.nll + value, x, (k,)) for k, (value, x) in enumerate([(-5000.0, best.x), (-4980.0, like.start), (70.0, like.start)])
    ]

    def searched(*_, journal, **__):
        journal.ends |= {k: Stop(part.x, part.value, True, "converged", 1) for k, part in enumerate(parts)}
        return Coarse(tuple(parts), 1, Record(), interrupted)

    monkeypatch.setattr(minimum, "coarse_search", searched)
    found = ctpwa.fit(like, 3, start=best.x, progress=False)
    np.testing.assert_allclose([m.nll - best.nll for m in found.minima], [0.0, 20.0, 5070.0], atol=1e-6)
    assert [m.refined for m in found.minima] == [not interrupted, False, False]
    assert minima_lines(found)[1:] == [
        "  another minimum at +20.00 in -ln L, 1 start  (part of the events)",
        "  another minimum at +5070.00 in -ln L, 1 start  (part of the events)",
    ]


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_first_start_is_never_given_up_for_a_worse_point(interrupted, monkeypatch, tmp_path):
    """Whatever the search finds, and if it is interrupted before it finds anything."""
    like = likelihood("fixed")
    best = ctpwa.fit(like, progress=False)
    bad = like.random_couplings(like.start, 1, seed=1)[0]
    assert like.value(bad) > best.nll + 10
    useless = Coarse((Minimum(-1e9, bad, (0, 1, 2)),), 1, Record(), interrupted)
    monkeypatch.setattr(minimum, "coarse_search", lambda *_, **__: useless)
    monkeypatch.setattr(minimum, "newton", lambda x, *_, **__: iter_nothing(x) if np.array_equal(x, bad) else newton(x, *_, **__))
    found = ctpwa.fit(like, 3, start=best.x, progress=False)
    assert found.nll <= best.nll + like.rounding
    assert found.minima[0].nll == found.nll == min(m.nll for m in found.minima)
    assert ("interrupted" in found.verdict.reasons) is interrupted
    assert found.verdict.good is not interrupted
    assert found.minima[0].starts == 0  # none of them found it
    found.save(tmp_path / "fit.result.json")
    assert ctpwa.FitResult.load(tmp_path / "fit.result.json").minima == found.minima


def iter_nothing(x):
    """A minimiser that stays where it is."""
    answer = yield Ask(x, 0)
    return Stop(x, answer.value, True, "converged", 0)


def test_a_point_that_is_known_is_not_given_up_either():
    like = likelihood("fixed")
    best = ctpwa.fit(like, progress=False)
    seen = []
    journal = Journal(known=tuple(best.x.tolist()))
    found = ctpwa.fit(
        like, 2, start=like.random_couplings(like.start, 1, seed=1)[0], journal=journal, watch=lambda x, value: seen.append(value)
    )
    assert seen[0] == pytest.approx(best.nll, abs=1e-9)
    assert found.nll <= best.nll + like.rounding
