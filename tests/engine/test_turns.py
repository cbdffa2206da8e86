"""Several threads and processes: numbers are those of one thread, a fork is told what is wrong, and likelihoods can be pickled."""

import multiprocessing
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import numpy as np
import pytest
import torch

from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.base.turns import TURN
from ctpwa.engine.likelihood.intensity import ModelIntensity
from engine.cases import CUDA, events, likelihood, make, model, point

THREADS = 4


@pytest.fixture(autouse=True)
def _often():
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(tasks, repeats):
    """What every task gives, each several times, from several threads that start together."""
    together = Barrier(THREADS)

    def work(own):
        together.wait()
        return [(k, tasks[k]()) for _ in range(repeats) for k in own]

    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(work, [range(first, len(tasks), THREADS) for first in range(THREADS)]))
    return [found for part in parts for found in part]


def assert_same(found, expected):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(*(x.cpu() if isinstance(x, torch.Tensor) else np.asarray(x) for x in (found, expected)))


def all_at(like, x):
    """Everything that is computed from events, at one point."""
    return [
        lambda: like.value(x),
        lambda: like.value_and_grad(x),
        lambda: like.value_grad_hessian(x),
        lambda: like.score_products(x),
        lambda: like.intensity(x),
        lambda: like.integrals(x).matrix,
        lambda: like.value_and_grad(np.stack([x, x])),
    ]


@pytest.mark.parametrize(("name", "engine", "repeats"), [("small", "cpu", 4), ("small streamed", "cpu", 2), ("one event", "reference", 1)])
def test_threads_share_a_likelihood(name, engine, repeats):
    like = likelihood(name, engine)
    tasks = [task for seed in range(THREADS) for task in all_at(like, point(like, seed))]
    tasks = [tasks[k] for first in range(7) for k in range(first, len(tasks), 7)]  # every thread has a point of its own
    expected = [task() for task in tasks]
    for k, found in in_threads(tasks, repeats):
        assert_same(found, expected[k])


@pytest.mark.parametrize("engine", [CUDA])
@pytest.mark.parametrize("name", ["one event", "small streamed"])
def test_threads_share_a_likelihood_on_a_gpu(name, engine):
    like = likelihood(name, engine)
    tasks = [partial(like.value_and_grad, point(like, seed)) for seed in range(THREADS)]
    expected = [task() for task in tasks]
    for k, found in in_threads(tasks, 1):
        assert_same(found, expected[k])


def test_threads_share_a_likelihood_whose_lineshapes_are_python():
    """Their values stand in the samples themselves."""
    like = make("own_lineshapes", "reference")
    tasks = [partial(like.value_and_grad, point(like, seed)) for seed in range(THREADS)]
    expected = [task() for task in tasks]
    for k, found in in_threads(tasks, 2):
        assert_same(found, expected[k])


@pytest.mark.parametrize("engine", [CUDA])
def test_threads_share_an_intensity(engine):
    own = ModelIntensity(model("small"), engine=engine)
    flat = events("small", 40, 5)
    groups = {wave.name: [wave.name] for wave in model("small").waves}

    def sums():
        return tuple(torch.cat([part.psi for part in own.sums(flat, groups)], dim=2))

    tasks = [*(lambda waves=waves: own(flat, waves) for waves in list(groups.values())[: THREADS - 1]), sums]
    expected = [task() for task in tasks]
    for k, found in in_threads(tasks, 2):
        assert_same(found, expected[k])


# forks


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_computing_is_told_what_is_wrong():
    like = likelihood("one event", "cpu")
    like.value_and_grad(like.start)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        result = pool.apply_async(like.value_and_grad, (like.start,))
        with pytest.raises(CtpwaError, match=r"forked from one that had already computed.*\n fix: .*get_context\('spawn'\)"):
            result.get(timeout=300)


def test_a_fork_never_waits_for_a_thread_that_is_not_there(monkeypatch):
    monkeypatch.setattr(TURN, "process", os.getpid() + 1)
    like = pickle.loads(pickle.dumps(model("small")))
    own = ModelIntensity(like, engine="reference")
    with pytest.raises(CtpwaError, match="fix: start workers with"):
        own(events("small", 3, 1))
    with pytest.raises(CtpwaError, match="fix: start workers with"):
        make("one event", "reference")


def test_a_turn_is_given_back_after_an_error():
    like = likelihood("one event", "reference")
    with pytest.raises(DataError):
        like.value([1.0])
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(like.value, like.start).result(timeout=300) == like.value(like.start)


# pickling


@pytest.mark.parametrize(
    ("name", "engine"), [("one event", "reference"), ("small streamed", "cpu"), pytest.param("one event", *CUDA.values, marks=CUDA.marks)]
)
def test_a_likelihood_can_be_pickled(name, engine):
    like = make(name, engine)
    x = point(like)
    expected = like.value_and_grad(x)
    other = pickle.loads(pickle.dumps(like))
    assert_same(other.value_and_grad(x), expected)
    assert_same(other.coarse(x, 40).value(x), like.coarse(x, 40).value(x))
    assert other.names == like.names
    numbers = {sample.number for own in (like, other) for source in (own.data, own.phase_space) for sample in source.resident}
    assert len(numbers) == (0 if name == "small streamed" else 4)
    assert_same((other + other).value(x), 2 * expected[0])
    assert_same(pickle.loads(pickle.dumps(like + other)).value(x), 2 * expected[0])


def test_samples_on_disk_stay_where_they_are():
    like = make("small streamed", "reference", spill=True)
    with pytest.raises(DataError, match=r"samples on disk.* cannot be sent to another process\n fix: build the likelihood there"):
        pickle.dumps(like)
