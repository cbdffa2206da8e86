"""Eigenvalues of many matrices in threads: the same as one by one, whatever the number of threads; errors and Ctrl-C arrive."""

import signal
import threading

import numpy as np
import pytest

from ctpwa.minimise import decompose as module
from ctpwa.minimise.decompose import Decomposer, decompose
from ctpwa.minimise.drive import drive, drive_many, one_thread
from ctpwa.minimise.newton import newton
from ctpwa.minimise.steps import HESSIAN, VALUE, Ask, Decompose, Stop
from minimise.functions import Function, rosenbrock, saddle


def symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return A + A.T


def wells(n):
    """Σ (x_i² − 1)² + ¼ (Σ x)²: many saddle points, and coupled parameters."""
    return Function(
        lambda x: float(np.sum((x**2 - 1) ** 2) + x.sum() ** 2 / 4),
        lambda x: 4 * x * (x**2 - 1) + x.sum() / 2,
        lambda x: np.diag(12 * x**2 - 4) + 0.5,
        n,
    )


@pytest.mark.parametrize("sizes", [[], [5], [6] * 11, [3, 6, 6, 1, 4, 6, 2], [30] * 3])
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_as_one_by_one(sizes, threads, rng):
    matrices = [symmetric(rng, n) for n in sizes]
    with one_thread(), Decomposer(threads) as decomposer:
        found = decomposer(matrices)
        again = decomposer(matrices)
        alone = [decompose(matrix) for matrix in matrices]
    assert len(found) == len(sizes)
    for matrix, one, two, (values, vectors) in zip(matrices, found, again, alone, strict=True):
        np.testing.assert_array_equal(one[0], values)
        np.testing.assert_array_equal(one[1], vectors)
        np.testing.assert_array_equal(two[1], vectors)
        np.testing.assert_allclose((one[1] * one[0]) @ one[1].T, matrix, atol=1e-12)


def test_threads_are_used_and_end(rng, monkeypatch):
    inside, meeting = set(), threading.Barrier(3, timeout=10)
    inner = module._decompose_all

    def noted(matrices):
        inside.add(threading.current_thread())
        meeting.wait()  # only if three of them are here at the same time
        return inner(matrices)

    monkeypatch.setattr(module, "_decompose_all", noted)
    with Decomposer(3) as decomposer:
        assert len(decomposer([symmetric(rng, 4) for _ in range(8)])) == 8
    assert len(inside) == 3
    assert [thread for thread in inside if thread.is_alive()] == [threading.current_thread()]


def test_one_matrix_wakes_nobody(rng):
    before = threading.active_count()
    with Decomposer(8) as decomposer:
        decomposer([symmetric(rng, 4)])
        assert threading.active_count() == before


@pytest.mark.parametrize("bad", [0, 7])
def test_an_error_in_a_thread_surfaces(bad, rng):
    matrices = [symmetric(rng, 4) for _ in range(8)]
    matrices[bad] = np.full((4, 4), np.nan)
    with pytest.raises(np.linalg.LinAlgError), Decomposer(4) as decomposer:
        decomposer(matrices)


@pytest.mark.parametrize("bounds", [None, [-1.5, 0.8]], ids=["free", "limits"])
def test_minimisers_end_where_they_do_alone(bounds, rng):
    function = wells(6)
    if bounds is not None:
        function.bounds[:] = bounds
    starts = rng.uniform(-0.3, 0.3, size=(9, 6))
    alone = [drive(function, newton(x, function.bounds))[0] for x in starts]
    for threads in (1, 3):
        together, _ = drive_many(function, [newton(x, function.bounds) for x in starts], threads=threads)
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_array_equal(one.x, other.x)
            assert (one.value, one.reason, one.iterations) == (other.value, other.reason, other.iterations)
    assert all(stop.converged for stop in alone)


def test_starts_share_their_decompositions(rng, monkeypatch):
    sizes, inner = [], Decomposer.__call__

    def counted(self, matrices):
        sizes.append(len(matrices))
        return inner(self, matrices)

    monkeypatch.setattr(Decomposer, "__call__", counted)
    function = wells(4)
    drive_many(function, [newton(x, function.bounds) for x in rng.uniform(-0.3, 0.3, size=(9, 4))])
    assert sizes[0] == 9  # every start is near the top, where all curvatures are negative


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_an_interruption_while_decomposing(error, n, rng, monkeypatch):
    """Ctrl-C ends with the best point of every start; other errors are not swallowed."""
    left, inner = [n], module._decompose_all

    def interrupted(matrices):
        left[0] -= 1
        if left[0] < 0:
            raise error
        return inner(matrices)

    monkeypatch.setattr(module, "_decompose_all", interrupted)
    function = wells(5)
    starts = rng.uniform(-0.3, 0.3, size=(6, 5))
    minimisers = [newton(x, function.bounds) for x in starts]
    if error is not KeyboardInterrupt:
        with pytest.raises(error):
            drive_many(function, minimisers, threads=2)
        return
    stops, record = drive_many(function, minimisers, threads=2)
    for stop, start in zip(stops, starts, strict=True):
        assert stop.reason == "interrupted"
        assert function.value(stop.x) == stop.value <= function.value(start)
    assert record.history[-1] == min(stop.value for stop in stops)


def test_a_signal_while_decomposing(rng, monkeypatch):
    """Ctrl-C arrives in this thread, whichever one is at work."""
    inner = module._decompose_all

    def interrupted(matrices):
        if threading.current_thread() is not threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        return inner(matrices)

    monkeypatch.setattr(module, "_decompose_all", interrupted)
    function = wells(5)
    stops, _ = drive_many(function, [newton(x, function.bounds) for x in rng.uniform(-0.3, 0.3, size=(6, 5))], threads=2)
    assert [stop.reason for stop in stops] == ["interrupted"] * 6
    assert all(function.value(stop.x) == stop.value for stop in stops)


def test_one_minimiser_is_interrupted_while_decomposing(monkeypatch):
    function = saddle()
    asked = []

    def interrupted(matrix):
        asked.append(matrix)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return decompose(matrix)

    monkeypatch.setattr("ctpwa.minimise.drive.decompose", interrupted)
    stop, _ = drive(function, newton(np.array([0.1, 0.2]), function.bounds))
    assert stop.reason == "interrupted"
    assert stop.value == min(function.value(x) for x in list(function.asked))


def test_ends_while_decomposing_make_room_for_later_starts():
    """Minimisers that end with an answer about a matrix, all of a round at once, and one that begins with such a question."""

    def ends_with_a_matrix(k):
        answer = yield Ask(np.full(2, float(k)), HESSIAN)
        values, _ = yield Decompose(answer.hessian)
        return Stop(values, answer.value, True, "converged", k)

    def begins_with_a_matrix(k):
        values, _ = yield Decompose(np.diag([float(k), 2.0 * k]))
        answer = yield Ask(values, VALUE)
        return Stop(values, answer.value, True, "converged", k)

    function, ended = rosenbrock(2), []
    minimisers = [(ends_with_a_matrix if k % 3 else begins_with_a_matrix)(k) for k in range(7)]
    stops, record = drive_many(function, minimisers, ended=ended.append, at_once=2)
    assert [stop.iterations for stop in stops] == list(range(7))
    assert len(ended) == 7
    assert (record.values, record.hessians) == (3, 4)
    np.testing.assert_array_equal(stops[6].x, [6.0, 12.0])
