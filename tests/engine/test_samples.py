"""What the likelihood makes of its samples: weights, order, backgrounds, several data sets, chunks, batches."""

import numpy as np
import pytest
import torch

from ctpwa.data.events import Events
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.samples.sample import Sample
from engine.cases import CONSTRAINTS, CUDA, FAST_ENGINES, assert_close, events, expansion, likelihood, make, point, samples

TOLERANCE = 1e-12


def pick(sample, order, weights=None):
    """Events in another order, or some of them more than once."""
    momenta = {name: p[order] for name, p in sample.momenta.items()}
    own = torch.ones(sample.n_events, dtype=torch.float64) if sample.weights is None else sample.weights
    return Events(momenta, own[order] if weights is None else weights)


def weighted(sample, factor):
    own = torch.ones(sample.n_events, dtype=torch.float64) if sample.weights is None else sample.weights
    return Events(sample.momenta, own * factor)


def assert_same(like, expected, tolerance=TOLERANCE, scale=0.0, factor=1.0):
    x = point(like)
    for found, other in zip(like.value_grad_hessian(x), expected.value_grad_hessian(x), strict=True):
        assert_close(found, factor * np.asarray(other), tolerance, scale)


MIXED = "small not streamed"


@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_order_of_events_does_not_matter(engine):
    random = np.random.default_rng(5)
    shuffled = {key: pick(sample, torch.from_numpy(random.permutation(sample.n_events))) for key, sample in samples(MIXED).items()}
    assert_same(make(MIXED, engine, **shuffled), likelihood(MIXED, engine), scale=300)


@pytest.mark.parametrize("engine", ["cpu"])
def test_intensities_follow_their_events(engine):
    sample = samples(MIXED)["data"]
    order = torch.from_numpy(np.random.default_rng(6).permutation(sample.n_events))
    like = make(MIXED, engine, data=pick(sample, order))
    x = point(like)
    np.testing.assert_allclose(like.intensity(x), likelihood(MIXED, engine).intensity(x)[order], rtol=1e-13)


def test_an_event_twice_is_an_event_of_weight_two():
    data = events("small", 65, 1)
    twice = pick(data, torch.arange(65).repeat(2))
    one, two = make("small", "cpu", data=weighted(data, 2.0)), make("small", "cpu", data=twice)
    assert_same(two, one, scale=130)


def test_copies_with_weights_that_add_up_to_one_are_the_original():
    data = samples(MIXED)["data"]
    parts = torch.arange(1, 11, dtype=torch.float64) / 55
    order = torch.arange(data.n_events).repeat(10)
    copies = pick(data, order, data.weights[order] * parts.repeat_interleave(data.n_events))
    assert_same(make(MIXED, "cpu", data=copies), likelihood(MIXED, "cpu"), scale=300)


def test_ten_likelihoods_add_up():
    single = likelihood("small", "cpu")
    total = single
    for _ in range(9):
        total = total + single
    x = point(single)
    assert isinstance(total, LikelihoodSum)
    assert len(total.terms) == 10
    value, grad, H = expansion("small", "cpu")
    assert_close(total.value(x), 10 * value, 1e-14)
    assert_close(total.value_and_grad(x)[1], 10 * grad, 1e-14)
    assert_close(total.hessian(x), 10 * H, 1e-14)


def test_a_coarse_sum_has_its_share_of_every_data_set():
    few, many = likelihood("small", "reference"), make("small", "reference", data=events("small", 381, 1))
    total, x = few + many, point(few)
    assert total.coarse(x, total.n_events).value(x) == pytest.approx(total.value(x), rel=1e-12)
    part = total.coarse(x, total.n_events // 2, seed=5)
    assert [term.data.n_events for term in part.terms] == pytest.approx([few.n_events / 2, many.n_events / 2], abs=1)
    expected = few.coarse(x, part.terms[0].data.n_events, 5).value(x) + many.coarse(x, part.terms[1].data.n_events, 6).value(x)
    assert part.value(x) == pytest.approx(expected, rel=1e-12)  # other events of each: the seeds differ


@pytest.mark.parametrize("factor", [1e-6, 7.0, 1e6])
def test_scale_of_weights(factor):
    data, phase_space = samples("small")["data"], samples("small")["phase_space"]
    # phase-space weights are relative; data weights multiply the likelihood
    assert_same(make("small", "cpu", phase_space=weighted(phase_space, factor)), likelihood("small", "cpu"), scale=129)
    assert_same(make("small", "cpu", data=weighted(data, factor)), likelihood("small", "cpu"), scale=129 * factor, factor=factor)


def test_a_background_is_data_of_negative_weight():
    data, background = samples(MIXED)["data"], samples(MIXED)["background"]
    momenta = {name: torch.cat([data[name], background[name]]) for name in data}
    joined = Events(momenta, torch.cat([data.weights, -background.weights]))
    assert_same(make(MIXED, "cpu", data=joined, background=None), likelihood(MIXED, "cpu"), scale=300)


def test_weights_of_zero_change_nothing():
    data = samples("small")["data"]
    extra = events("small", 40, 7)
    momenta = {name: torch.cat([extra[name], data[name]]) for name in data}
    weights = torch.cat([torch.zeros(40), torch.ones(data.n_events)]).double()
    assert_same(make("small", "cpu", data=Events(momenta, weights)), likelihood("small", "cpu"), scale=129)


def test_weights_may_be_numpy_arrays():
    data = samples(MIXED)["data"]
    plain = Events(data.momenta, data.weights.numpy())
    assert make(MIXED, "cpu", data=plain).value(point(likelihood(MIXED, "cpu"))) == likelihood(MIXED, "cpu").value(
        point(likelihood(MIXED, "cpu"))
    )


@pytest.mark.parametrize("engine", ["reference", *FAST_ENGINES])
def test_streaming_gives_the_same_numbers(engine):
    streamed, whole = likelihood("small streamed", engine), likelihood(MIXED, engine)
    assert streamed.memory().streamed
    assert not whole.memory().streamed
    assert [chunk.layout.n_events for chunk in streamed.data.chunks] == [50, 50, 29]
    assert str(streamed.memory()).endswith("in main memory, streamed in chunks of 50 events")
    for found, expected in zip(expansion("small streamed", engine), expansion(MIXED, engine), strict=True):
        assert_close(found, expected, TOLERANCE, 300)


def test_a_streamed_normalisation_collapses_too():
    x = point(likelihood("kk_eta fixed", "reference"))
    streamed = make("kk_eta fixed", "reference", chunk=50)
    for found, expected in zip(streamed.value_grad_hessian(x), expansion("kk_eta fixed", "reference"), strict=True):
        assert_close(found, expected, TOLERANCE, 300)


def test_constraints_add_half_a_squared_pull():
    with_them, without = make("small", "cpu", constraints=CONSTRAINTS), likelihood("small", "cpu")
    x = point(without)
    value, grad, H = (np.array(a) - b for a, b in zip(with_them.value_grad_hessian(x), without.value_grad_hessian(x), strict=True))
    expected_grad, expected_H = np.zeros(len(x)), np.zeros(len(x))
    expected = 0.0
    for name, (mean, sigma) in CONSTRAINTS.items():
        index = without.names.index(name)
        expected += ((x[index] - mean) / sigma) ** 2 / 2
        expected_grad[index] = (x[index] - mean) / sigma**2
        expected_H[index] = 1 / sigma**2
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(grad, expected_grad, atol=1e-9)
    np.testing.assert_allclose(H, np.diag(expected_H), atol=1e-8)
    assert_close(with_them.value(x), with_them.value_and_grad(x)[0], 1e-14)


# batches


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("small", "cpu"),
        ("small polar", "cpu"),
        ("kk_eta fixed", "reference"),
        ("kk_eta fixed", "cpu"),
        pytest.param("small", *CUDA.values, marks=CUDA.marks),
    ],
)
def test_a_batch_equals_single_vectors(name, engine):
    like = likelihood(name, engine)
    x = np.stack([point(like, seed) for seed in range(3)])
    values, grads = like.value_and_grad(x)
    assert values.shape == (3,)
    assert grads.shape == x.shape
    singles = [like.value_and_grad(row) for row in x]
    assert_close(values, [value for value, _ in singles], TOLERANCE, 300)
    assert_close(grads, [grad for _, grad in singles], TOLERANCE, 300)
    assert_close(like.value(x), values, TOLERANCE, 300)


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("small", "cpu"),
        ("small polar", "cpu"),
        ("small", "reference"),
        ("kk_eta fixed", "cpu"),
        ("p_pbar_eta", "cpu"),
        ("polarised", "cpu"),
        pytest.param("small", *CUDA.values, marks=CUDA.marks),
        pytest.param("p_pbar_eta", *CUDA.values, marks=CUDA.marks),
    ],
)
def test_hessians_of_many_couplings_equal_single_ones(name, engine):
    """With lineshapes that stand still they share their passes over the events, in one row or several, whatever the weights."""
    like = likelihood(name, engine)
    quick = like.coarse(like.start, like.n_events)
    X = like.random_couplings(like.start, 3, seed=2)
    values, grads, hessians = quick.value_grad_hessian(X)
    index = like.coupling_index
    for k, x in enumerate(X):
        value, grad, H = quick.value_grad_hessian(x)
        assert_close(values[k], value, TOLERANCE, 300)
        assert_close(grads[k][index], grad[index], TOLERANCE, 300)
        assert_close(hessians[k][np.ix_(index, index)], H[np.ix_(index, index)], TOLERANCE, 300)
        np.testing.assert_array_equal(hessians[k], hessians[k].T)


def test_hessians_of_large_samples_are_computed_one_by_one_where_that_is_quicker(monkeypatch):
    like = likelihood("kk_eta fixed", "cpu")
    X = like.random_couplings(like.start, 2, seed=2)
    expected = like.hessian(X)
    asked = []
    monkeypatch.setattr(like.engine, "begin_batch", lambda *_: asked.append(1))
    monkeypatch.setattr(like.engine, "most_together", like.n_events - 1, raising=False)
    assert_close(like.hessian(X), expected, TOLERANCE, 300)
    assert not asked
    assert like.coarse(like.start, like.n_events // 2).evaluation.shares_passes(2)  # fewer events


def test_a_batch_of_hessians_and_a_batch_of_one():
    like = likelihood("small", "cpu")
    x = np.stack([point(like, seed) for seed in range(2)])
    H = like.hessian(x)
    assert H.shape == (2, len(like.names), len(like.names))
    for k in range(2):
        np.testing.assert_array_equal(H[k], like.hessian(x[k]))
    value, grad = like.value_and_grad(x[:1])
    assert value.shape == (1,)
    assert grad.shape == (1, len(like.names))


def test_a_batch_of_a_sum():
    total = likelihood("small", "cpu") + likelihood("own_lineshapes", "reference")
    x = np.stack([point(total, seed) for seed in range(2)])
    values, grads = total.value_and_grad(x)
    for k in range(2):
        value, grad = total.value_and_grad(x[k])
        assert_close(values[k], value, 1e-13)
        assert_close(grads[k], grad, 1e-13)
        assert_close(total.value(x)[k], value, 1e-13)
        assert_close(total.hessian(x)[k], total.hessian(x[k]), 1e-13)


# sums


def test_a_sum_shares_parameters_by_name():
    first, second = likelihood("small", "cpu"), likelihood("own_lineshapes", "reference")
    total = first + second
    shared = set(first.names) & set(second.names)
    assert "phi(1680).mass" in shared
    assert len(total.names) == len(set(total.names)) == len(first.names) + len(second.names) - len(shared)
    x = point(total, seed=2)
    by_name = dict(zip(total.names, x, strict=True))
    parts = [(like, np.array([by_name[name] for name in like.names])) for like in (first, second)]
    assert_close(total.value(x), sum(like.value(y) for like, y in parts), 1e-14)
    grad, H = np.zeros(len(x)), np.zeros((len(x), len(x)))
    for like, y in parts:
        own_grad, own_H = like.value_and_grad(y)[1], like.hessian(y)
        for i, name in enumerate(like.names):
            grad[total.names.index(name)] += own_grad[i]
            for j, other in enumerate(like.names):
                H[total.names.index(name), total.names.index(other)] += own_H[i, j]
    assert_close(total.value_and_grad(x)[1], grad, 1e-13)
    assert_close(total.hessian(x), H, 1e-13)


def test_start_and_grouping_of_a_sum():
    a, b, c = likelihood("small", "cpu"), likelihood("own_lineshapes", "reference"), likelihood("kk_eta", "reference")
    left, right = (a + b) + c, a + (b + c)
    assert left.names == right.names
    x = point(left)
    assert_close(left.value(x), right.value(x), 1e-14)
    values = dict(zip(left.names, left.start, strict=True))
    for like in (a, b, c):
        assert {name: values[name] for name in like.names} == dict(zip(like.names, like.start, strict=True))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("size", [1, 40, 64, 99, 100])
def test_pieces_of_a_sample(k, size):
    random = torch.Generator().manual_seed(2)
    n, n_positive = 100, 70
    K, E, s = (torch.rand((*shape, k * n), generator=random, dtype=torch.float64) for shape in ((3, 2), (4,), ()))
    w = torch.rand(n, generator=random, dtype=torch.float64)
    w[n_positive:] *= -1
    v = None if k == 1 else torch.rand(n, k, generator=random, dtype=torch.float64)
    whole = Sample(K, E, w, n_positive, None, {"place": (s, 2 * s)}, v)
    pieces = list(whole.in_pieces(size))
    assert [piece.n_events for piece in pieces] == [min(size, n - start) for start in range(0, n, size)]
    for name in ("K", "E"):
        torch.testing.assert_close(torch.cat([getattr(piece, name) for piece in pieces], dim=-1), getattr(whole, name), rtol=0, atol=0)
    for name in ("w",) if k == 1 else ("w", "v"):
        torch.testing.assert_close(torch.cat([getattr(piece, name) for piece in pieces]), getattr(whole, name), rtol=0, atol=0)
    torch.testing.assert_close(torch.cat([piece.inputs["place"][1] for piece in pieces]), 2 * s, rtol=0, atol=0)
    for piece in pieces:
        assert piece.K.is_contiguous()
        assert piece.n_positive == int((piece.w >= 0).sum())
