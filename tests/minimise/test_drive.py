"""Running minimisers: Ctrl-C keeps the best point, many at once end as one by one, everything is counted."""

import numpy as np
import pytest

from ctpwa.minimise.drive import drive, drive_many
from ctpwa.minimise.lbfgs import lbfgs
from ctpwa.minimise.minuit import migrad
from ctpwa.minimise.newton import newton
from ctpwa.minimise.objective import Restricted
from minimise.functions import METHODS, Function, quadratic, rosenbrock, run, saddle

START = [-1.2, 1.0, -1.2, 1.0]


class Interrupted:
    """An objective that is interrupted at the n-th question, by Ctrl-C or by something worse."""

    def __init__(self, inner, n, error=KeyboardInterrupt):
        self.inner, self.left, self.error = inner, n, error
        self.names, self.bounds, self.rounding = inner.names, inner.bounds, inner.rounding

    def _count(self):
        self.left -= 1
        if self.left < 0:
            raise self.error

    def value(self, p):
        self._count()
        return self.inner.value(p)

    def value_and_grad(self, p):
        self._count()
        return self.inner.value_and_grad(p)

    def value_grad_hessian(self, p):
        self._count()
        return self.inner.value_grad_hessian(p)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 6, 15])
def test_ctrl_c_keeps_the_best_point(method, n):
    inner = rosenbrock(4)
    stop, record = run(method, Interrupted(inner, n), START)
    assert not stop.converged
    assert stop.reason == "interrupted"
    values = [inner.value(x) for x in list(inner.asked)]
    assert stop.value == min(values)
    assert inner.value(stop.x) == stop.value
    assert record.history[-1] == stop.value
    assert record.seconds > 0


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_before_anything_is_known(method):
    with pytest.raises(KeyboardInterrupt):
        run(method, Interrupted(rosenbrock(4), 0), START)


@pytest.mark.parametrize("method", METHODS)
def test_other_errors_are_not_swallowed(method):
    with pytest.raises(ZeroDivisionError):
        run(method, Interrupted(rosenbrock(4), 5, ZeroDivisionError), START)


@pytest.mark.parametrize("method", METHODS)
def test_watch_is_told_of_every_better_point(method):
    function, told = rosenbrock(4), []

    def watch(x, value):
        assert function.value(x) == value
        told.append(value)

    start = np.array(START)
    if method == "minuit":
        stop, record = migrad(function, start, tolerance=1e-8, watch=watch)
    else:
        stop, record = drive(function, {"newton": newton, "lbfgs": lbfgs}[method](start, function.bounds), watch)
    assert told == record.history
    assert told == sorted(told, reverse=True)
    assert len(set(told)) == len(told)
    assert told[0] == function.value(start)
    assert told[-1] == pytest.approx(stop.value, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_what_watch_keeps_is_not_changed_afterwards(method):
    function, kept = rosenbrock(2), []
    start = np.array([-1.2, 1.0])

    def watch(x, value):
        kept.append((x, x.copy()))

    if method == "minuit":
        migrad(function, start, tolerance=1e-8, watch=watch)
    else:
        drive(function, {"newton": newton, "lbfgs": lbfgs}[method](start, function.bounds), watch)
    for x, copy in kept:
        np.testing.assert_array_equal(x, copy)
    np.testing.assert_array_equal(start, [-1.2, 1.0])


def test_evaluations_are_counted():
    function = rosenbrock(2)
    counts = {"value": 0, "value_and_grad": 0, "value_grad_hessian": 0}

    class Counting(Interrupted):
        def value(self, p):
            counts["value"] += 1
            return self.inner.value(p)

        def value_and_grad(self, p):
            counts["value_and_grad"] += 1
            return self.inner.value_and_grad(p)

        def value_grad_hessian(self, p):
            counts["value_grad_hessian"] += 1
            return self.inner.value_grad_hessian(p)

    counting = Counting(function, 0)
    for steps in (newton, lbfgs):
        counts.update(dict.fromkeys(counts, 0))
        _, record = drive(counting, steps(np.array([-1.2, 1.0]), function.bounds))
        assert counts == {"value": record.values, "value_and_grad": record.gradients, "value_grad_hessian": record.hessians}
    counts.update(dict.fromkeys(counts, 0))
    _, record = migrad(counting, np.array([-1.2, 1.0]), tolerance=1e-8)
    assert counts == {"value": record.values, "value_and_grad": record.gradients, "value_grad_hessian": record.hessians}


def minimisers(kind, function, starts):
    return [kind(x, function.bounds, tolerance=1e-9) for x in starts]


@pytest.mark.parametrize("kind", [newton, lbfgs])
@pytest.mark.parametrize("function", [rosenbrock(3), saddle([[-3, 3], [-2, 0.5]])], ids=["rosenbrock", "saddle with limits"])
def test_many_at_once_end_as_one_by_one(kind, function, rng):
    starts = rng.uniform(-2, 2, size=(7, len(function.names)))
    together, record = drive_many(function, minimisers(kind, function, starts))
    alone = [drive(function, steps) for steps in minimisers(kind, function, starts)]
    for one, (other, _) in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        assert (one.value, one.converged, one.reason, one.iterations) == (other.value, other.converged, other.reason, other.iterations)
    for kind_of_count in ("values", "gradients", "hessians"):
        assert getattr(record, kind_of_count) == sum(getattr(own, kind_of_count) for _, own in alone)


def test_many_at_once_share_batches(rng):
    """Gradients and values of all minimisers come in as few calls as the longest of them needs."""
    function, calls = rosenbrock(2), []

    class Batches(Interrupted):
        def value(self, p):
            calls.append(1)
            return self.inner.value(p)

        def value_and_grad(self, p):
            calls.append(len(np.atleast_2d(p)))
            return self.inner.value_and_grad(p)

    starts = rng.uniform(-2, 2, size=(9, 2))
    longest = max(drive(function, steps)[1].gradients for steps in minimisers(lbfgs, function, starts))
    drive_many(Batches(function, 0), minimisers(lbfgs, function, starts))
    assert calls[0] == 9
    assert len(calls) == longest


def test_hessians_of_many_share_batches(rng):
    function, sizes = rosenbrock(2), []

    class Batches(Interrupted):
        def value(self, p):
            return self.inner.value(p)

        def value_grad_hessian(self, p):
            sizes.append(len(p) if np.ndim(p) == 2 else 1)
            return self.inner.value_grad_hessian(p)

    _, record = drive_many(Batches(function, 0), minimisers(newton, function, rng.uniform(-2, 2, size=(9, 2))))
    assert sizes[0] == 9
    assert sum(sizes) == record.hessians


def test_later_ones_begin_when_earlier_ones_have_ended(rng):
    function, running, ends = rosenbrock(2), [], []
    starts = rng.uniform(-2, 2, size=(9, 2))

    def begun():
        for k, steps in enumerate(minimisers(newton, function, starts)):
            while k >= 5 and len(ends) < 4:  # the sixth waits for four ends
                yield None
            running.append(k + 1 - len(ends))
            yield steps

    stops, _ = drive_many(function, begun(), ended=lambda _, stop: ends.append(stop), at_once=3)
    assert running[2] == max(running) == 3
    assert running[5] <= 2
    for stop, steps in zip(stops, minimisers(newton, function, starts), strict=True):
        np.testing.assert_array_equal(stop.x, drive(function, steps)[0].x)


def test_many_are_told_how_many_have_ended(rng):
    function, ended = rosenbrock(2), []
    drive_many(
        function, minimisers(newton, function, rng.uniform(-2, 2, size=(5, 2))), ended=lambda number, stop: ended.append((number, stop))
    )
    assert sorted(number for number, _ in ended) == list(range(5))
    assert all(stop.converged for _, stop in ended)


@pytest.mark.parametrize("n", [8, 20, 35])
def test_ctrl_c_keeps_the_best_of_every_minimiser(n, rng):
    inner = rosenbrock(3)
    starts = rng.uniform(-2, 2, size=(4, 3))
    stops, record = drive_many(Interrupted(inner, n), minimisers(newton, inner, starts))
    assert len(stops) == 4
    for stop, start in zip(stops, starts, strict=True):
        assert stop is not None
        assert stop.converged or stop.reason == "interrupted"
        assert stop.value <= inner.value(start)
        assert inner.value(stop.x) == pytest.approx(stop.value, abs=1e-12)
    assert any(stop.reason == "interrupted" for stop in stops)
    assert record.history[-1] == min(stop.value for stop in stops)


def test_one_start_without_a_value_does_not_disturb_the_others():
    function = Function(
        lambda x: x[0] - 4 * np.log(x[0]) if x[0] > 0 else np.nan,
        lambda x: [1 - 4 / x[0]] if x[0] > 0 else [np.nan],
        lambda x: [[4 / x[0] ** 2]],
        1,
    )
    stops, _ = drive_many(function, minimisers(newton, function, [[-1.0], [2.0], [30.0]]))
    assert [stop.converged for stop in stops] == [False, True, True]
    np.testing.assert_allclose([stops[1].x[0], stops[2].x[0]], 4.0, rtol=1e-4)


def test_no_minimisers():
    stops, record = drive_many(rosenbrock(2), [])
    assert stops == []
    assert record.values == record.gradients == record.hessians == 0


class TestRestricted:
    """Some parameters stand still."""

    H = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])

    def restricted(self):
        whole = quadratic(self.H, [1.0, 2.0, 3.0], bounds=[[-9, 9], [-8, 8], [-7, 7]], rounding=1e-9)
        return whole, Restricted(whole, np.array([10.0, 20.0, 30.0]) / 10, np.array([2, 0]))

    def test_values_and_derivatives(self):
        whole, part = self.restricted()
        assert part.names == ("x2", "x0")
        assert part.rounding == whole.rounding
        np.testing.assert_array_equal(part.bounds, [[-7, 7], [-9, 9]])
        y, x = np.array([0.5, -0.5]), np.array([-0.5, 2.0, 0.5])
        np.testing.assert_array_equal(part.full(y), x)
        value, grad, H = part.value_grad_hessian(y)
        expected = whole.value_grad_hessian(x)
        assert value == expected[0] == part.value(y)
        np.testing.assert_array_equal(grad, expected[1][[2, 0]])
        np.testing.assert_array_equal(H, expected[2][np.ix_([2, 0], [2, 0])])

    @pytest.mark.parametrize("index", [[0, 1, 2], [2, 0, 1]])
    def test_all_parameters_move(self, index):
        whole, _ = self.restricted()
        part = Restricted(whole, np.zeros(3), np.array(index))
        x = np.array([[0.5, -0.5, 2.0], [1.0, 2.0, 3.0]])
        values, grads, H = part.value_grad_hessian(x[:, index])
        expected = whole.value_grad_hessian(x)
        np.testing.assert_array_equal(values, expected[0])
        np.testing.assert_array_equal(grads, expected[1][:, index])
        np.testing.assert_array_equal(H, expected[2][:, index][:, :, index])

    def test_batches(self):
        _, part = self.restricted()
        Y = np.array([[0.5, -0.5], [1.0, 2.0], [3.0, 0.0]])
        values, grads = part.value_and_grad(Y)
        for k, y in enumerate(Y):
            value, grad = part.value_and_grad(y)
            assert values[k] == value
            np.testing.assert_array_equal(grads[k], grad)

    def test_the_point_where_they_stand_is_not_touched(self):
        _, part = self.restricted()
        drive(part, newton(np.zeros(2), part.bounds))
        np.testing.assert_array_equal(part.full(np.array([3.0, 1.0])), [1.0, 2.0, 3.0])

    def test_its_minimum_is_that_of_the_rest(self):
        _, part = self.restricted()
        stop, _ = drive(part, newton(np.zeros(2), part.bounds))
        np.testing.assert_allclose(stop.x, [3.0, 1.0], atol=1e-6)
