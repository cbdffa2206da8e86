"""A likelihood is the same number whoever holds its events."""

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.base.ranks import HEADER, ONE
from ctpwa.data.events import Events
from ctpwa.data.own_part import OwnPart, join_parts
from ctpwa.engine.samples.subsample import shuffled
from ctpwa.fitting.direct_effect import SampleInfluence
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ranks.cases import N, make, model, pair, part, phase_space, points, samples, toy
from ranks.threads import on_ranks

BUILD = {
    "floating": lambda ranks: make("floating", "weighted", ranks),
    "fixed": lambda ranks: make("fixed", "weighted", ranks, constraints={"phi(3)(1850)[K+ K-] (3,3)(3,0).re": (80.0, 5.0)}),
    "nothing for some": lambda ranks: make("fixed", "nothing for some", ranks),
    "several rows": lambda ranks: make("rows", "rows", ranks),
    "streamed": lambda ranks: make("floating", "weighted", ranks, host_memory=30_000),
    "two data sets": pair,
    "kernels, fixed": lambda ranks: make("fixed", "weighted", ranks, "cpu"),
    "kernels, nothing for some": lambda ranks: make("fixed", "nothing for some", ranks, "cpu"),
}


def everything(like):
    """All that a fit asks for."""
    X = points(like)
    value, grad, H = like.value_grad_hessian(X[0])
    coarse = like.coarse(X[0], 100, seed=2)
    terms = getattr(like, "terms", (like,))
    return {
        "value": like.value(X[0]),
        "same value": value,
        "gradient": grad,
        "value and gradient": np.append(*like.value_and_grad(X[1])),
        "Hessian": H,
        "Hessians": like.hessian(X),
        "values": like.value(X),
        "batch": np.column_stack(like.value_and_grad(X)),
        "score products": like.score_products(X[0]),
        "simulation": like.simulation_scatter(X[0]).products,
        "direct effect on fractions": np.concatenate([_direct(like, X[0], number) for number in range(len(terms))]),
        "effective sizes": np.concatenate(
            [[size.n_events, size.total, *size.waves.values()] for size in like.simulation_scatter(X[0]).sizes]
        ),
        "integrals": np.concatenate([_flat(term.integrals(x)) for term, x in _split(like, X[0])]),
        "truth": np.concatenate([_flat(term.integrals(x, phase_space_of(term))) for term, x in _split(like, X[0])]),
        "coarse batch": np.column_stack(coarse.value_and_grad(X)),
        "coarse Hessians": coarse.value_grad_hessian(X)[2],
        "coarse": np.array([coarse.weight, coarse.weight_variance, coarse.rounding]),
        "random couplings": like.random_couplings(X[0], 3, seed=4),
        "weights": np.array([like.weight, like.weight_variance, like.rounding, like.weighted, like.n_events]),
        "terms": np.array([term.weight for term in terms]),
    }


def phase_space_of(term):
    return phase_space("rows" if "gamma" in str(term.model.decay) else "fixed", 333, 11)


def _split(like, x):
    return [(term, like.part(i, x)) for i, term in enumerate(like.terms)] if hasattr(like, "terms") else [(like, x)]


def _direct(like, x, number):
    """What single events of phase space do to fractions."""
    term, own = _split(like, x)[number]
    influence = like.simulation_scatter(x).influences[number]
    kinds, direct = wave_groups(term.model), SampleInfluence(influence, np.eye(len(own)))
    found = FractionCalculator(term, own).direct_effects(kinds, direct)
    return np.concatenate([np.concatenate([one.products.ravel(), one.squares.ravel(), one.moved.ravel()]) for one in found.values()])


def _flat(integrals):
    return np.concatenate([integrals.matrix.ravel().view(float), integrals.slopes.ravel().view(float)])


@pytest.mark.parametrize(("case", "size"), [*((case, 2) for case in BUILD), ("nothing for some", 4), ("fixed", 3)])
def test_all_ranks_find_what_one_process_finds(case, size):
    expected = everything(BUILD[case](ONE))
    found = on_ranks(size, lambda ranks: everything(BUILD[case](ranks)))
    for name, value in expected.items():
        scale = np.abs(value).max()
        np.testing.assert_allclose(found[0][name], value, rtol=1e-10, atol=1e-11 * scale, err_msg=name)
        for other in found[1:]:
            np.testing.assert_array_equal(other[name], found[0][name], err_msg=name)


def test_value_gradient_and_hessian_travel_together():
    def count(ranks):
        like = pair(ranks, subtraction="plain")
        X = points(like)
        counts = []
        for ask in (like.value, like.value_and_grad, like.value_grad_hessian):
            ranks.sums.clear()
            ask(X[0])
            counts.append(list(ranks.sums))
        ranks.sums.clear()
        like.value_and_grad(X)
        n = 2 * like.terms[0].plan.n_couplings + like.terms[0].plan.n_floating
        return [*counts, list(ranks.sums)], n

    (counts, n), _ = on_ranks(2, count)
    sizes = [1, 1 + n, 1 + n + n * (n + 1) // 2]
    assert counts == [[HEADER + 4 * size] for size in sizes] + [[HEADER + 2 * 4 * (1 + n)]]


def test_a_batch_of_couplings_is_one_sum():
    def count(ranks):
        like = make("fixed", "weighted", ranks, "cpu", subtraction="plain")
        ranks.sums.clear()
        like.value_and_grad(points(like, 5))
        like.value_grad_hessian(points(like, 5))
        return list(ranks.sums), 2 * like.plan.n_couplings

    (counts, n), _ = on_ranks(2, count)
    assert counts == [HEADER + 5 * (1 + n), HEADER + 5 * (1 + n + n * n)]


def test_intensities_are_those_of_the_own_events():
    like = make("floating", "weighted")
    whole = {name: like.intensity(like.start, name) for name in ("data", "background", "phase space")}
    found = on_ranks(3, lambda ranks: {name: make("floating", "weighted", ranks).intensity(like.start, name) for name in whole})
    for name, expected in whole.items():
        np.testing.assert_allclose(np.concatenate([part[name] for part in found]), expected, rtol=1e-13)


def test_memory_is_that_of_each_rank():
    whole = make("floating").memory().samples
    shares = on_ranks(3, lambda ranks: make("floating", ranks=ranks).memory().samples)
    for name, size in whole.items():
        assert sum(share[name] for share in shares) == size
        assert max(share[name] for share in shares) < 0.35 * size


# what goes wrong goes wrong on all of them


def test_ranks_with_different_models():
    with pytest.raises(CtpwaError, match="rank 1 has another model than rank 0"):
        on_ranks(2, lambda ranks: make("fixed" if ranks.first else "floating", "plain", ranks))


def test_ranks_with_different_samples():
    def build(ranks):
        data = part(toy(N), range(ranks.rank, N))
        return ctpwa.build_likelihood(model("fixed"), data, samples("plain")["phase_space"], engine="reference", ranks=ranks)

    with pytest.raises(CtpwaError, match="rank 1 has another sample 'data' than rank 0\n fix: give every rank the whole sample"):
        on_ranks(3, build)


def test_ranks_at_different_points():
    def evaluate(ranks):
        like = make("fixed", ranks=ranks)
        return like.value(like.start + 1e-12 * ranks.rank)

    with pytest.raises(CtpwaError, match="do not compute at the same point"):
        on_ranks(3, evaluate)


def test_an_error_on_one_rank_ends_all_of_them():
    def evaluate(ranks):
        like = make("fixed", ranks=ranks)
        if ranks.rank == 1:
            like.engine.begin = lambda *_, **__: 1 / 0
        try:
            like.value(like.start)
        except Exception as error:
            return f"{type(error).__name__} {error}"

    messages = on_ranks(3, evaluate)
    assert messages == ["CtpwaError ZeroDivisionError: division by zero", "ZeroDivisionError division by zero", messages[0]]


def test_a_bad_weight_is_reported_by_all():
    weights = np.ones(N)
    weights[-1] = np.nan
    bad = part(toy(N), range(N), weights)

    def build(ranks):
        with pytest.raises(DataError, match="is not finite"):
            ctpwa.build_likelihood(model("fixed"), bad, samples("plain")["phase_space"], engine="reference", ranks=ranks)
        return True

    assert on_ranks(3, build) == [True] * 3


def test_a_share_of_which_events_were_lost():
    events = toy(N)

    def build(ranks):
        first, last = ranks.share(N)
        own = part(events, range(first, last - 1))
        data = Events(own.momenta, part=OwnPart(((first, last),), N))
        return ctpwa.build_likelihood(model("fixed"), data, samples("plain")["phase_space"], engine="reference", ranks=ranks)

    with pytest.raises(DataError, match=f"data: {N - 2} events are left of a sample of {N}"):
        on_ranks(2, build)


def test_a_share_alone_is_not_the_sample():
    data = Events(toy(N).momenta, part=OwnPart(((N, 2 * N),), 2 * N))
    with pytest.raises(DataError, match=f"data: {N} events are left of a sample of {2 * N}"):
        ctpwa.build_likelihood(model("fixed"), data, samples("plain")["phase_space"], engine="reference")


# which rows, and which of them a coarse likelihood takes


def test_rows():
    rows = join_parts([OwnPart(((2, 5),), 10), OwnPart(((0, 4),), 20)])
    assert (rows.total, rows.count) == (30, 7)
    np.testing.assert_array_equal(rows.numbers(), [2, 3, 4, 10, 11, 12, 13])
    np.testing.assert_array_equal(rows.numbers(1, 5), [3, 4, 10, 11])


@pytest.mark.parametrize("total", [1, 2, 3, 16, 17, 1000])
def test_a_shuffle_hits_every_place_once(total):
    places = shuffled(np.arange(total), total, seed=3)
    assert sorted(places) == list(range(total))
    np.testing.assert_array_equal(shuffled(np.arange(total // 2, total), total, seed=3), places[total // 2 :])
    if total == 1000:
        assert np.abs(np.corrcoef(np.arange(total), places)[0, 1]) < 0.1
        assert (shuffled(np.arange(total), total, seed=4) == places).sum() < 10


def test_a_coarse_part_does_not_depend_on_chunks():
    whole, chunked = make("floating", "weighted"), make("floating", "weighted", host_memory="8 kB")
    x = whole.start
    assert chunked.coarse(x, 100).value(x) == pytest.approx(whole.coarse(x, 100).value(x), rel=1e-12)
    assert sum(sample.n_events for sample in whole.coarse(x, 100).data.resident) == 100
