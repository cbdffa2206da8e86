"""Compiled CPU kernels in several threads: what they give does not depend on how many there are, and a call may end in the middle."""

import os
import signal
from collections import deque
from dataclasses import replace
from functools import cache
from itertools import count
from threading import Timer

import numpy as np
import pytest
import torch

from ctpwa.base.parts import get_num_threads, set_num_threads
from ctpwa.engine.backends.cpu.engine import GRAM_CHUNK
from engine.cases import assert_close, events, make, point

N = 3 * GRAM_CHUNK + 100  # events; several parts of every kind of work


@pytest.fixture
def threads():
    """Sets how many threads kernels use; also more than there are cores."""
    before = get_num_threads()
    yield set_num_threads
    set_num_threads(before)


@cache
def likelihood(engine):
    weighted = {name: events("small", n, seed, "mixed") for seed, (name, n) in enumerate((("data", N), ("phase_space", N)), start=1)}
    return make("small", engine, data=weighted["data"], phase_space=replace(weighted["phase_space"], weights=None))


def everything(like):
    """All that is computed from events, at one point."""
    x = point(like)
    still, c = like.with_still_lineshapes(x), like.coupling_index
    some = np.stack([x] * 3)
    some[1:, c] *= [[0.9], [1.1]]
    values, gradients, hessians = still.value_grad_hessian(some)
    return [
        like.value(x),
        *like.value_and_grad(x),
        *like.value_grad_hessian(x),
        *like.score_products(x),
        like.intensity(x),
        like.integrals(x).matrix,
        still.value_and_grad(some)[1][:, c],
        values,
        gradients[:, c],
        hessians[:, c][:, :, c],
    ]


def test_any_number_of_threads_gives_the_same_bits(threads):
    like = likelihood("cpu")
    found = {}
    for n in (1, 2, 3, 8):
        threads(n)
        found[n] = everything(like)
    for n in (2, 3, 8):
        for one, several in zip(found[1], found[n], strict=True):
            np.testing.assert_array_equal(*(np.asarray(x) for x in (one, several)), strict=True)


def test_threads_of_torch_change_nothing(threads):
    """Products of matrices are those of one thread each."""
    like = likelihood("cpu")
    threads(2)
    before, x = torch.get_num_threads(), point(like)
    found = []
    try:
        for n in (1, 3):
            torch.set_num_threads(n)
            found.append(like.value_grad_hessian(x))
    finally:
        torch.set_num_threads(before)
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)


def test_parts_add_up_to_the_whole(threads):
    threads(3)
    for ours, reference in zip(everything(likelihood("cpu")), everything(likelihood("reference")), strict=True):
        assert_close(ours, reference, 1e-11, N)


def test_ctrl_c_in_the_middle_of_an_evaluation(threads):
    """The next one is as if nothing had happened."""
    like = likelihood("cpu")
    threads(3)
    x = point(like)
    expected = like.value_grad_hessian(x)
    Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        deque((like.value_grad_hessian(x) for _ in count()), maxlen=0)
    for found, own in zip(like.value_grad_hessian(x), expected, strict=True):
        np.testing.assert_array_equal(found, own)
