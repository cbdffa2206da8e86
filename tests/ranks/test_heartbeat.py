"""Who is given up, and who is waited for however long it takes."""

import threading

from torch.distributed import HashStore

from ctpwa.base import heartbeat
from ctpwa.base.heartbeat import LEFT, STORE_SILENT, WAITS, WORKS, Heard, Heartbeat, Word


def heard(*rounds):
    """What rank 0 has heard in rounds one second apart: what each rank does and its CPU time, or None if it says nothing new."""
    words = [Word(1, doing, worked) for doing, worked in rounds[0]]
    found = Heard(0, words)
    for number, said in enumerate(rounds[1:], 2):
        words = [old if new is None else Word(number, *new) for old, new in zip(words, said, strict=True)]
        found.hear(words, 1.0)
    return found


def test_a_rank_that_works_may_take_as_long_as_it_likes():
    found = heard(*([(WAITS, 3), (WORKS, second)] for second in range(100)))
    assert found.trouble(silent=2, idle=2) == ""


def test_a_rank_that_says_nothing_is_named():
    found = heard([(WAITS, 3), (WORKS, 1), (WORKS, 1)], *([(WAITS, 3), None, (WORKS, second)] for second in range(5)))
    assert found.trouble(silent=6, idle=6) == ""
    assert found.trouble(silent=5, idle=6).startswith("rank 1 does not answer any more: stopped, killed")
    assert heard([(WAITS, 3)] * 3, [(WAITS, 4), None, None]).trouble(1, 9).startswith("ranks 1, 2 do not answer any more")


def test_one_that_has_said_that_it_leaves_may_be_silent():
    found = heard([(WAITS, 3), (LEFT, 1)], [(WAITS, 3), None])
    assert found.trouble(silent=1, idle=2) == ""
    assert found.all_left()
    assert not heard([(LEFT, 3), (WORKS, 1)]).all_left()


def test_nobody_works():
    """One that is there but does nothing is named; of those that wait nobody is."""
    idle = heard(*[[(WAITS, 3), (WORKS, 1), (WAITS, 5)]] * 4)
    assert idle.trouble(silent=2, idle=4) == ""
    assert idle.trouble(silent=2, idle=3) == "rank 1 does not make progress: no work was done for 3 s"
    assert heard(*[[(WAITS, 3), (WAITS, 1)]] * 4).trouble(silent=2, idle=3) == "all processes wait for each other"


def test_own_work_counts():
    """Others may wait for this one as long as it works, and it does not give them up for that in its next wait."""
    assert heard(*([(WORKS, second), (WAITS, 1)] for second in range(9))).trouble(silent=2, idle=2) == ""


def pair(store, silent=1e9, idle=1e9):
    """Two ranks of this process, which say something when they are told to."""
    return [Heartbeat(store, rank, 2, silent, idle, beat=0.01) for rank in range(2)]


def test_what_one_does_is_heard_by_the_other():
    """Its work, that it waits, and that it leaves."""
    first, second = pair(HashStore())
    assert first.trouble() == ""
    with second.waits():
        second._say()
        first._listen(1.0)
    assert [word.doing for word in first._heard.words] == [WORKS, WAITS]
    second.start()
    assert second.leave(together=False) == ""
    first._listen(1.0)
    assert first._heard.words[1].doing == LEFT
    first.start()
    assert first.leave(together=True) == ""  # the other one has left
    assert not first.is_alive()
    assert not second.is_alive()


def test_work_is_counted_while_this_process_does_not_wait():
    first, _ = pair(HashStore())
    first.start()
    before = first._worked
    while first._worked < before + 2:
        sum(range(10_000))
    with first.waits():
        said = first._count
        while first._count < said + 2:  # one word may have been on its way
            pass
        before, said = first._worked, first._count
        while first._count < said + 3:
            sum(range(10_000))
        assert first._worked == before
    first.leave(together=False)


def test_one_that_never_leaves_is_named():
    """The second one has said something once, and never again."""
    first, _ = pair(HashStore(), silent=0.3)
    first.start()
    assert first.leave(together=True).startswith("rank 1 does not answer any more")
    assert not first.is_alive()


class Silent:
    """A store whose process is stopped once it is told so."""

    def __init__(self):
        self.real, self.goes_on = HashStore(), threading.Event()

    def set(self, key, value):
        self.real.set(key, value)

    def check(self, keys):
        self.goes_on.wait()
        return self.real.check(keys)


def test_a_store_that_does_not_answer():
    """Only seconds in which this process looks are counted: after a pause of its own, however long, it goes on to wait."""
    store = Silent()
    first = Heartbeat(store, 0, 2, silent=0.05, idle=1e9, beat=0.01)
    first.start()
    with first.waits():
        first._looked -= 1e6  # the whole job was suspended
        assert first.trouble() == ""
        while not (trouble := first.trouble()):
            pass
    assert trouble == STORE_SILENT
    first.end()
    store.goes_on.set()
    first.join()


def test_after_a_signal_nobody_waits_long():
    first, _ = pair(HashStore(), 60.0, 600.0)
    assert (first.silent_limit, first.idle_limit) == (60.0, 600.0)
    first.be_quick()
    assert (first.silent_limit, first.idle_limit) == (heartbeat.AFTER_A_SIGNAL,) * 2
    first.be_patient()
    assert (first.silent_limit, first.idle_limit) == (60.0, 600.0)
    impatient, _ = pair(HashStore(), 2.0, 600.0)
    impatient.be_quick()
    assert impatient.silent_limit == 2.0


def test_an_old_word_does_not_tell_what_its_process_does_now():
    """It may work again, and say so in its next word."""
    found = heard([(WAITS, 3), (WAITS, 1)], *[[(WAITS, 3), None]] * 3)
    assert found.trouble(silent=4, idle=1) == ""
    found.hear([Word(9, WAITS, 3), Word(9, WORKS, 2)], 1.0)
    found.hear([Word(10, WAITS, 3), Word(10, WORKS, 2)], 1.0)
    assert found.trouble(silent=4, idle=1) == "rank 1 does not make progress: no work was done for 1 s"
