"""Columns that are kept for batches: without what is zero, as long as their sample, and with the same sums as columns computed anew."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.engine.cases import CUDA, assert_close, likelihood, make, point

from ctpwa.engine.backends import batch
from ctpwa.engine.backends.kept_columns import KeptColumns

TOLERANCE = 1e-12


@pytest.mark.parametrize("name", ["kk_eta fixed", "p_pbar_eta", "polarised"])
def test_parts_that_are_left_out_are_zero_in_every_event(name):
    like = likelihood(name, "reference")
    (sample,) = like.data.resident
    values = like.plan.iteration.values(np.array([dict(zip(like.names, like.start, strict=True))[n] for n in like.plan.parameters]))
    n_c = like.plan.n_couplings
    sizes = np.zeros(2 * n_c)
    for _, _, D in like.engine.raw_columns(sample, values, 1):
        whole = D.reshape(2, -1, D.shape[1])[:, :n_c].reshape(2 * n_c, -1)
        sizes = np.maximum(sizes, whole.abs().amax(dim=1).numpy())
    np.testing.assert_array_equal(sizes > 0, like.plan.column_parts)


def test_non_resonant_waves_have_no_imaginary_part():
    plan = likelihood("kk_eta fixed", "reference").plan
    assert 0 < 2 * plan.n_couplings - plan.column_parts.sum() < plan.n_couplings


@pytest.mark.parametrize("engine", [CUDA])
def test_a_batch_with_kept_columns(engine, tuned):
    like = make("kk_eta fixed", engine)
    x = np.stack([point(like, seed) for seed in range(2)])
    values, grads = like.value_and_grad(x)
    assert like.engine._kept._kept
    assert_close(like.value_and_grad(x)[1], grads, TOLERANCE, 300)  # a second time, on a GPU as a graph
    reference = likelihood("kk_eta fixed", "reference")
    for k, row in enumerate(x):
        value, grad = reference.value_and_grad(row)
        assert_close(values[k], value, TOLERANCE, 300)
        assert_close(grads[k], grad, TOLERANCE, 300)
    fresh = make("kk_eta fixed", tuned(kept_bytes=0))
    assert_close(fresh.value_and_grad(x)[1], grads, TOLERANCE, 300)
    assert not fresh.engine._kept._kept


def test_columns_go_with_their_sample_and_there_is_a_limit():
    plan = likelihood("kk_eta fixed", "reference").plan
    (sample,) = make("kk_eta fixed", "reference").data.resident
    n, n_parts = sample.n_events, plan.column_parts.sum() + plan.column_parts.sum() % 2  # an even number
    columns = KeptColumns(plan, torch.device("cpu"), most_bytes=2 * 8 * n_parts * n - 1)
    D = torch.ones(2 * plan.n_couplings, n, dtype=torch.float64)
    found = columns.of(sample, lambda: [(0, n, D)])
    assert found is not None
    assert len(found.parts) == n_parts
    assert set(np.flatnonzero(plan.column_parts)) <= set(found.parts.tolist())
    assert found.chunks[0][2].shape == (len(found.parts), n)
    assert columns.of(sample, lambda: pytest.fail("computed again")) is found
    other = replace(sample)
    assert columns.of(other, lambda: pytest.fail("no room for it")) is None
    del sample, found
    gc.collect()
    assert columns.of(other, lambda: [(0, n, D)]) is not None


@pytest.mark.parametrize("n", [0, 1, batch.PIECE - 1, batch.PIECE, 2 * batch.PIECE, 3 * batch.PIECE + 5])
def test_a_product_in_pieces(n):
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(k, n, dtype=torch.float64, generator=generator) for k in (4, 3))
    assert_close(batch._product(a, b), a @ b.T, 1e-13, 1.0)
