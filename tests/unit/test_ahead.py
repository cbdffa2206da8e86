"""Items that a thread makes one step ahead."""

import threading

import pytest

from ctpwa.base.ahead import ahead


def numbers(made, closed, bad=None):
    try:
        for k in range(5):
            if k == bad:
                raise ValueError(f"item {k}")
            made.append((k, threading.current_thread().name))
            yield k
    finally:
        closed.append(True)


def test_all_items_in_order_by_another_thread():
    made, closed = [], []
    assert list(ahead(numbers(made, closed))) == [0, 1, 2, 3, 4]
    assert {name for _, name in made} == {"ctpwa-ahead_0"}
    assert closed == [True]
    assert list(ahead([])) == []


def test_the_next_item_is_made_while_one_is_used():
    made = threading.Event()

    def items():
        yield 0
        made.set()
        yield 1

    following = ahead(items())
    assert next(following) == 0
    assert made.wait(60)
    assert list(following) == [1]


@pytest.mark.parametrize("bad", [0, 3])
def test_errors_come_when_the_turn_of_their_item_does(bad):
    closed = []
    following = ahead(numbers([], closed, bad))
    assert [next(following) for _ in range(bad)] == list(range(bad))
    with pytest.raises(ValueError, match=f"item {bad}"):
        next(following)
    assert closed == [True]


def test_whoever_stops_early_leaves_nothing_running():
    made, closed = [], []
    following = ahead(numbers(made, closed))
    assert next(following) == 0
    following.close()
    assert closed == [True]
    assert len(made) <= 2
