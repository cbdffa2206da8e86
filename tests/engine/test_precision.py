"""Sums stay exact to rounding over many events."""

import math

import numpy as np
import pytest
import torch

from ctpwa.data.events import Events
from engine.cases import FAST_ENGINES, events, likelihood, make, point

SMALL = 3.7e-4


@pytest.mark.parametrize("n", [1_000_000])
def test_a_million_identical_terms(n):
    one = events("small", 1, 1)
    momenta = {name: p.expand(n, 4) for name, p in one.items()}
    like = make("small", "cpu", data=Events(momenta, torch.full((n,), SMALL, dtype=torch.float64)), phase_space=events("small", 65, 2))
    single = make("small", "cpu", data=one, phase_space=events("small", 65, 2))
    x = point(like)
    value, grad = like.value_and_grad(x)
    one_value, one_grad = single.value_and_grad(x)
    total = n * SMALL
    assert abs(value - total * one_value) <= 1e-12 * total * abs(one_value)
    assert np.abs(grad - total * one_grad).max() <= 1e-12 * total * np.abs(one_grad).max()
    del like


def test_nll_of_many_events_equals_an_exact_sum():
    data = events("small", 200_000, 4, "none")
    weights = torch.from_numpy(np.random.default_rng(8).normal(1.0, 0.8, 200_000))
    like = make("small", "cpu", data=Events(data.momenta, weights), phase_space=events("small", 100_001, 5), subtraction="plain")
    x = point(like)
    I, J = like.intensity(x).numpy(), like.intensity(x, "phase space").numpy()
    w = weights.numpy()
    nll = -math.fsum(w * np.log(I)) + math.fsum(w) * math.log(math.fsum(J) / len(J))
    assert abs(like.value(x) - nll) <= 1e-12 * math.fsum(abs(w * np.log(I)))
    del like


@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_tiny_and_huge_intensities(engine):
    # couplings over many orders of magnitude: the scale of all of them drops out
    like = likelihood("small", engine)
    reference = likelihood("small", "reference")
    x = point(like)
    couplings = np.array([name.endswith((".re", ".im")) for name in like.names])
    for factor in (1e-80, 1e80):
        y = np.where(couplings, factor * x, x)
        value, grad = like.value_and_grad(y)
        expected, expected_grad = reference.value_and_grad(y)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(grad, expected_grad, rtol=1e-9, atol=1e-9 * np.abs(expected_grad[~couplings]).max())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_many_events_on_the_gpu_equal_an_exact_sum():
    data = events("kk_eta", 2_000_000, 4)
    like = make("kk_eta", "cuda", data=data, phase_space=events("kk_eta", 100_001, 5), background=None, constraints=None)
    x = point(like)
    I, J = like.intensity(x).cpu().numpy(), like.intensity(x, "phase space").cpu().numpy()
    nll = -math.fsum(np.log(I)) + len(I) * math.log(math.fsum(J) / len(J))
    assert abs(like.value(x) - nll) <= 1e-12 * math.fsum(abs(np.log(I)))
