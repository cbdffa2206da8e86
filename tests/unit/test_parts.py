"""Work in parts: all of them are done once, threads share them, and the helpers survive errors, interrupts and forks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from ctpwa.base.parts import in_parts, sum_in_parts

LONG = 60.0  # s; nobody waits so long unless something hangs


class Meeting:
    """The threads of the first parts wait for each other, each part once: it may be done again."""

    def __init__(self, n):
        self._all, self._met = threading.Barrier(n), set()

    def __call__(self, part):
        if part < self._all.parties and part not in self._met:
            self._met.add(part)
            self._all.wait(LONG)


def done_by(n_parts, n_threads):
    """The threads that began each part; the first ``n_threads`` parts wait for each other, so that as many threads must be there."""
    meet = Meeting(min(n_parts, n_threads))
    found = [[] for _ in range(n_parts)]

    def work(part):
        found[part].append(threading.get_ident())  # before they meet: afterwards the caller may be quicker to do it again
        meet(part)

    in_parts(work, n_parts, n_threads)
    assert all(found)
    return [threads[0] for threads in found]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 50])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_part_is_done_by_as_many_threads(n_parts, n_threads):
    by = done_by(n_parts, n_threads)
    assert threading.get_ident() in by
    assert len(set(by)) == min(n_parts, n_threads)


def test_nothing_to_do():
    assert in_parts(lambda part: pytest.fail("there are none"), 0, 4)


def helpers():
    return {thread.ident for thread in threading.enumerate() if thread.name == "ctpwa-helper"}


def test_helpers_are_the_same_every_time():
    done_by(3, 3)
    before = helpers()
    for _ in range(20):
        assert set(done_by(3, 3)) <= before | {threading.get_ident()}
    assert helpers() == before


def test_the_caller_does_not_wait_for_helpers_that_are_busy_elsewhere():
    """Those that come too late find nothing left."""
    done_by(3, 3)
    n, go_on = len(helpers()) + 1, threading.Event()
    all_there = threading.Barrier(n + 1)

    def hold(part):
        if not go_on.is_set():  # then it is done again
            all_there.wait(LONG)
            go_on.wait(LONG)

    other = threading.Thread(target=in_parts, args=(hold, n, n))
    other.start()
    all_there.wait(LONG)
    by = []
    in_parts(lambda part: by.append(threading.get_ident()), 6, 3)
    assert by == [threading.get_ident()] * 6
    go_on.set()
    other.join(LONG)
    done_by(3, 3)
    assert len(by) == 6


def test_parts_inside_parts():
    found = []
    in_parts(lambda outer: in_parts(lambda inner: found.append((outer, inner)), 3, 3), 4, 3)
    assert sorted(found) == [(outer, inner) for outer in range(4) for inner in range(3)]


def test_callers_in_several_threads():
    def total(seed):
        return float(sum_in_parts(lambda part: torch.tensor([float(seed * part)]), 10, 3))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(total, range(200))) == [45.0 * seed for seed in range(200)]


def test_sums_are_in_the_order_of_parts(rng):
    """Bit by bit the same, whichever part is ready first."""
    numbers = torch.from_numpy(rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-8, 9, (40, 1)))
    expected = numbers[0].clone()
    for row in numbers[1:]:
        expected += row
    assert not torch.equal(expected, numbers.flip(0).cumsum(0)[-1])  # another order gives something else
    for n_threads in (1, 2, 3):
        waits = rng.integers(0, 3, 40) * 1e-3

        def work(part, waits=waits):
            time.sleep(waits[part])
            return numbers[part].clone()

        assert torch.equal(sum_in_parts(work, 40, n_threads), expected)


@pytest.mark.parametrize("where", ["caller", "helper"])
def test_the_first_error_ends_it(where):
    caller, meet = threading.get_ident(), Meeting(2)
    done = []

    def work(part):
        meet(part)
        if part < 2 and (threading.get_ident() == caller) is (where == "caller"):
            raise ValueError("this part")
        time.sleep(0.001)  # all parts together leave 10 s for the error to be seen
        done.append(part)

    with pytest.raises(ValueError, match="this part"):
        in_parts(work, 10_000, 2)
    assert len(done) < 10_000
    done_by(3, 3)


def test_ctrl_c_ends_it():
    meet = Meeting(2)
    main = threading.get_ident()
    done = []

    def work(part):
        meet(part)
        if threading.get_ident() == main:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(LONG)
        time.sleep(0.01)
        done.append(part)

    with pytest.raises(KeyboardInterrupt):
        in_parts(work, 10_000, 2)
    assert len(done) < 9_999
    done_by(3, 3)


@pytest.mark.parametrize("error", [False, True])
def test_what_a_helper_does_not_finish_is_done_by_the_caller(error):
    """A core that is taken holds up a helper for as long as it likes; whatever comes of it later is nobody's concern."""
    begun, go_on = threading.Event(), threading.Event()
    main = threading.get_ident()
    numbers = torch.arange(10.0, dtype=torch.float64)
    helper, calls = [], []

    def work(part):
        calls.append(part)
        if threading.get_ident() == main:
            begun.wait(LONG)  # the helper has a part as well
        elif not begun.is_set():
            helper.append(part)
            begun.set()
            go_on.wait(LONG)
            if error:
                raise ValueError("too late")
            return torch.full((1,), torch.nan, dtype=torch.float64)
        return numbers[part : part + 1].clone()

    total = sum_in_parts(work, 10, 2)
    assert float(total) == 45.0
    assert sorted(calls) == sorted([*range(10), *helper])  # each once, and that one again
    go_on.set()
    done_by(len(helpers()) + 1, len(helpers()) + 1)  # all helpers are back
    assert float(total) == 45.0


def test_it_says_whether_somebody_may_still_write():
    begun, go_on = threading.Event(), threading.Event()
    main = threading.get_ident()

    def work(part):
        if threading.get_ident() == main:
            begun.wait(LONG)
        elif not begun.is_set():
            begun.set()
            go_on.wait(LONG)

    assert not in_parts(work, 4, 2)
    go_on.set()
    assert in_parts(lambda part: None, 1, 2)


def test_torch_has_one_thread_inside_and_as_many_as_before_outside():
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            meet, found = Meeting(2), []

            def work(part, meet=meet, found=found):
                meet(part)
                found.append(torch.get_num_threads())
                if part == 2:
                    raise ZeroDivisionError
                return torch.zeros(1)

            sum_in_parts(work, 2, 2)
            assert torch.get_num_threads() == threads
            with pytest.raises(ZeroDivisionError):
                sum_in_parts(work, 3, 1)
            assert set(found) == {1}
            assert torch.get_num_threads() == threads
            with ThreadPoolExecutor(1) as pool:  # a thread that was not there before
                assert pool.submit(torch.get_num_threads).result(LONG) == threads
    finally:
        torch.set_num_threads(before)


def test_what_a_job_held_is_given_back():
    """Helpers that sleep hold nothing."""

    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)
    meet = Meeting(2)
    in_parts(lambda part, held=held: meet(part), 2, 2)
    del held
    end = time.monotonic() + LONG
    while gone() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.001)  # a helper may be on its way back to sleep
    assert gone() is None


FORK = """
import os, threading, time
from ctpwa.base.parts import in_parts

def threads():
    both, by = threading.Barrier(2), []
    in_parts(lambda part: (by.append(threading.get_ident()), len(by) < 3 and both.wait(60)), 2, 2)
    return len(set(by))

assert threads() == 2
child = os.fork()
if not child:
    os._exit(7 if threads() == 2 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert threads() == 2
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_has_helpers_of_its_own_and_a_process_ends_while_they_sleep():
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=600, check=True)
    assert (run.stdout, run.stderr) == ("done\n", "")
