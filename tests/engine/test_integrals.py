"""What fits need of a likelihood besides its value: integrals of waves, scatter of the gradient, a quick version, random starts."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.samples.stored_sample import StoredSample
from engine.cases import events, likelihood, make, model, point, samples

CASES = ["small", "rho_rho", "own_lineshapes", "kk_eta fixed"]


def member_couplings(like, x, integrals):
    return like.parameters.native(x)[0][integrals.coupling]


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_integrals_add_up_to_the_normalisation(name, engine):
    like = likelihood(name, engine)
    x = point(like)
    found = like.integrals(x)
    c, theta = like.parameters.native(x)
    norm = like.evaluation.local_sums((c, theta), 1)[1]
    own = member_couplings(like, x, found)
    assert (own.conj() @ found.matrix @ own).real * like.norm.weight == pytest.approx(norm.value, rel=1e-12)
    slopes = np.einsum("j,tjk,k->t", own.conj(), found.slopes, own).real * like.norm.weight
    expected = norm.gradient[2 * like.plan.n_couplings :] @ like.plan.iteration.jacobian(theta[like.floating_order])
    np.testing.assert_allclose(slopes, expected, rtol=1e-10, atol=1e-10 * abs(norm.value))


@pytest.mark.parametrize("name", ["small", "rho_rho"])
def test_slopes_of_every_pair_of_waves(name):
    """Normalisation with random couplings for every member, against the reference engine's automatic differentiation."""
    fast, slow = (likelihood(name, engine) for engine in ("cpu", "reference"))
    x = point(fast)
    one, other = fast.integrals(x), slow.integrals(x)
    np.testing.assert_allclose(one.matrix, other.matrix, rtol=1e-11, atol=1e-11 * np.abs(other.matrix).max())
    np.testing.assert_allclose(one.slopes, other.slopes, rtol=1e-10, atol=1e-10 * np.abs(other.slopes).max())
    np.testing.assert_allclose(one.matrix, one.matrix.conj().T, atol=1e-13 * np.abs(one.matrix).max())


def test_integrals_are_those_of_intensities():
    like = likelihood("small", "cpu")
    x = point(like)
    values = ctpwa.engine.model_values(like, x)
    found = like.integrals(x)
    own = member_couplings(like, x, found)
    sample = samples("small")["phase_space"]
    intensity = ctpwa.ModelIntensity(model("small"), couplings=values.couplings, parameters=values.parameters)
    for j, wave in enumerate(found.wave):
        name = model("small").waves[wave].name
        expected = float(intensity(sample, waves=[name]).mean())
        assert abs(own[j]) ** 2 * found.matrix[j, j].real == pytest.approx(expected, rel=1e-12)


def test_integrals_over_another_sample():
    like = likelihood("small", "cpu")
    x = point(like)
    np.testing.assert_allclose(like.integrals(x, samples("small")["phase_space"]).matrix, like.integrals(x).matrix, rtol=1e-12, atol=1e-13)
    other = events("small", 77, 5)
    assert not np.allclose(like.integrals(x, other).matrix, like.integrals(x).matrix)


@cache
def scores_of_single_events():
    """Σ w² (∂ NLL)(∂ NLL) of likelihoods with one event each."""
    every = likelihood("small not streamed", "reference")
    x = point(every)
    total = np.zeros((len(x), len(x)))
    for sample in (*every.data.resident, *every.background.resident):
        for i in range(sample.n_events):
            w = torch.ones(1, dtype=torch.float64)
            single = replace(sample, K=sample.K[..., [i]], E=sample.E[:, [i]], w=w, n_positive=1)
            data, nothing = (StoredSample.on_device(own, every.streamer) for own in ([single], []))
            totals = replace(every.samples.totals, data=1.0, background=0.0)
            own = {"data": every.samples.own["data"]}
            one = replace(every, samples=replace(every.samples, data=data, background=nothing, totals=totals, own=own))
            score = one.value_and_grad(x)[1]
            total += float(sample.w[i]) ** 2 * np.outer(score, score)
    return total


@pytest.mark.parametrize("engine", ["reference", "cpu", "cuda"])
def test_score_products_are_those_of_single_events(engine):
    like = likelihood("small not streamed", engine)
    expected = scores_of_single_events()
    np.testing.assert_allclose(like.score_products(point(like)), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_score_products_of_unweighted_data_are_about_the_hessian():
    like = likelihood("small", "cpu")
    assert not like.weighted
    assert likelihood("small not streamed", "cpu").weighted


def test_a_coarse_likelihood_with_all_events_is_the_likelihood_with_lineshapes_that_stand_still():
    like = likelihood("kk_eta", "cpu")
    x = point(like)
    coarse = like.coarse(x, like.n_events)
    value, grad, H = like.value_grad_hessian(x)
    quick_value, quick_grad, quick_H = coarse.value_grad_hessian(x)
    couplings = [i for i, name in enumerate(like.names) if name.endswith((".re", ".im"))]
    assert 0 < len(couplings) < len(x)
    assert quick_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(quick_grad[couplings], grad[couplings], rtol=1e-9, atol=1e-9 * np.abs(grad).max())
    pick = np.ix_(couplings, couplings)
    np.testing.assert_allclose(quick_H[pick], H[pick], rtol=1e-9, atol=1e-9 * np.abs(H).max())


def test_a_coarse_batch_equals_its_single_vectors():
    like = likelihood("small not streamed", "cpu")
    coarse = like.coarse(point(like), 40, seed=3)
    X = like.random_couplings(point(like), 3, seed=1)
    couplings = [i for i, name in enumerate(like.names) if name.endswith((".re", ".im"))]
    values, grads = coarse.value_and_grad(X)
    for k, x in enumerate(X):
        value, grad = coarse.value_and_grad(x)
        assert values[k] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(grads[k, couplings], grad[couplings], rtol=1e-10, atol=1e-10 * np.abs(grad).max())


def test_a_coarse_likelihood_keeps_the_weight_on_average():
    like = make("small", "cpu", data=events("small", 3000, 1))
    coarse = like.coarse(like.start, 300)
    assert sum(sample.n_events for sample in coarse.data.resident) == 300
    assert coarse.weight == pytest.approx(3000)
    assert like.data.n_events == 3000


@pytest.mark.parametrize("name", ["small", "small polar", "four_pions"])
def test_random_couplings(name):
    like = likelihood(name, "cpu")
    X = like.random_couplings(like.start, 200, seed=2)
    again = like.random_couplings(like.start, 200, seed=2)
    np.testing.assert_array_equal(X, again)
    lineshapes = [i for i, n in enumerate(like.names) if not n.endswith((".re", ".im", ".abs", ".phase"))]
    np.testing.assert_array_equal(X[:, lineshapes], np.tile(like.start[lineshapes], (200, 1)))
    found = like.integrals(like.start)
    strengths = np.array([np.abs(member_couplings(like, x, found)) ** 2 * np.diag(found.matrix).real for x in X])
    typical = np.exp(np.log(strengths).mean(axis=0))
    assert typical.max() / typical.min() < 3  # waves are about equally strong
    assert np.abs(np.exp(1j * np.angle(like.parameters.couplings_of(X)[:, -1])).mean()) < 0.25  # any phase
