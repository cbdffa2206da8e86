"""Relatives of a likelihood give the numbers of one that is built for the purpose, without computing spin amplitudes again."""

from contextlib import contextmanager
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.relatives import ties_among
from ctpwa.spin.stage import SpinStage
from engine.cases import CONSTRAINTS, assert_close, events, example, likelihood, make, point, samples

MASS, WIDTH = "phi(1680).mass", "phi(1680).width"


def agree(found, expected, x, y=None):
    """The same NLL, gradient and Hessian, at parameters that stand in another order in the second."""
    y = np.array([dict(zip(found.names, x, strict=True))[name] for name in expected.names]) if y is None else y
    order = [expected.names.index(name) for name in found.names]
    assert set(found.names) == set(expected.names)
    value, grad, H = found.value_grad_hessian(x)
    wanted_value, wanted_grad, wanted_H = expected.value_grad_hessian(y)
    scale = abs(wanted_value) + 1
    assert_close(value, wanted_value, 1e-12, scale=scale)
    assert_close(grad, wanted_grad[order], 1e-11)
    assert_close(H, wanted_H[np.ix_(order, order)], 1e-11)


@contextmanager
def nothing_new():
    """No spin amplitudes are computed inside."""

    def refuse(*_, **__):
        raise AssertionError("spin amplitudes are computed again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpinStage, "fill", refuse)
        yield


def test_a_likelihood_cannot_be_changed():
    like = likelihood("small", "reference")
    for name in ("parameters", "samples", "norm", "value"):
        with pytest.raises(FrozenInstanceError):
            setattr(like, name, None)


# fixed parameters


@pytest.mark.parametrize("name", ["small", "small polar", "kk_eta fixed"])
def test_fixed_parameters(name):
    like = likelihood(name, "reference")
    x = point(like)
    held = [1, len(x) - 1]
    kept = [i for i in range(len(x)) if i not in held]
    with nothing_new():
        part = like.fixed({like.names[i]: x[i] for i in held})
    assert part.names == tuple(like.names[i] for i in kept)
    value, grad, H = like.value_grad_hessian(x)
    own_value, own_grad, own_H = part.value_grad_hessian(x[kept])
    assert own_value == value
    np.testing.assert_array_equal(own_grad, grad[kept])
    np.testing.assert_array_equal(own_H, H[np.ix_(kept, kept)])
    np.testing.assert_array_equal(part.bounds, like.bounds[kept])
    assert part.value(np.stack([x[kept]] * 2)).tolist() == [value, value]


def test_a_constraint_on_what_is_fixed_counts_as_before():
    like = make("small", "reference", constraints=CONSTRAINTS)
    x = point(like)
    place = like.names.index(MASS)
    part = like.fixed({MASS: x[place]})
    others = np.delete(x, place)
    assert part.value(others) == like.value(x)
    np.testing.assert_array_equal(part.value_and_grad(others)[1], np.delete(like.value_and_grad(x)[1], place))
    np.testing.assert_allclose(part.score_products(others), np.delete(np.delete(like.score_products(x), place, 0), place, 1), rtol=1e-12)


def test_in_a_sum_of_likelihoods():
    both = likelihood("small", "reference") + likelihood("small", "reference")
    x = point(both)
    part = both.fixed({MASS: x[both.names.index(MASS)]})
    assert part.value(np.delete(x, both.names.index(MASS))) == both.value(x)
    with pytest.raises(ctpwa.base.PhysicsError, match=r"'phi\(1680\).mas' cannot be fixed: it is not a free parameter\n fix: did you mean"):
        both.fixed({"phi(1680).mas": 1.7})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"phi(1680).mas": 1.7},
            r"'phi\(1680\).mas' cannot be fixed: it is not a free parameter\n fix: did you mean",
        ),
        ({MASS: -1.0}, "cannot be fixed at -1.0\n fix: give a number from 0 to inf"),
        ({MASS: np.nan}, "cannot be fixed at nan"),
    ],
)
def test_what_cannot_be_fixed(values, message):
    with pytest.raises(ctpwa.base.PhysicsError, match=message):
        likelihood("small", "reference").fixed(values)


# other weights


def weights(n, negative, seed=7):
    random = np.random.default_rng(seed)
    return random.uniform(0.3, 1.7, n) * np.where(random.random(n) < (0.2 if negative else 0.0), -0.4, 1.0)


@pytest.mark.parametrize(
    ("name", "negative"),
    [
        ("small", False),
        *((n, neg) for n in ("small not streamed", "small streamed", "kk_eta fixed", "own_lineshapes") for neg in (False, True)),
    ],
)
def test_other_weights(name, negative):
    like = likelihood(name, "reference")
    w = weights(like.n_events, negative)
    given = samples(name)
    expected = make(name, "reference", data=Events(given["data"].momenta, torch.from_numpy(w)))
    with nothing_new():
        found = like.with_weights(w)
    x = point(like)
    agree(found, expected, x)
    assert found.weight == pytest.approx(expected.weight, rel=1e-14)
    assert found.weighted
    assert found.rounding == pytest.approx(expected.rounding)
    np.testing.assert_allclose(found.score_products(x), expected.score_products(x), rtol=1e-9, atol=1e-12)
    if name != "small streamed":
        np.testing.assert_allclose(found.intensity(x), like.intensity(x), rtol=1e-14)  # still in the order of the input
    agree(found.with_weights(np.ones(like.n_events)) if name != "small streamed" else like.with_weights(np.ones(like.n_events)),
          make(name, "reference", data=given["data"].momenta), x)  # fmt: skip


@pytest.mark.parametrize(("w", "message"), [([1.0, 2.0], "weights have shape 2 for 129 events"), (np.full(129, np.nan), "not finite")])
def test_weights_that_cannot_be(w, message):
    with pytest.raises(ctpwa.base.DataError, match=message):
        likelihood("small", "reference").with_weights(w)


def test_weights_that_add_up_to_nothing():
    with pytest.raises(ctpwa.base.DataError, match="add up to -129"):
        likelihood("small", "reference").with_weights(-np.ones(129))


# other data


def test_negative_weights_need_a_floor():
    like = make("small", "reference", subtraction="bounded")
    with pytest.raises(
        ctpwa.base.DataError, match="some events count negatively, and the likelihood was built from events none of which do"
    ):
        like.with_weights(weights(like.n_events, True))
    plain = make("small", "reference", subtraction="plain")
    w = weights(like.n_events, True)
    agree(plain.with_weights(w), make("small", "reference", data=Events(samples("small")["data"].momenta, torch.from_numpy(w)),
                                      subtraction="plain"), point(plain))  # fmt: skip


@pytest.mark.parametrize("name", ["small not streamed", "kk_eta fixed"])
def test_the_floor_follows_the_events(name):
    """Other weights and other data, with none that count negatively, and with some."""
    like = make(name, "reference", subtraction="bounded")
    x = point(like)
    for negative in (False, True):
        w = weights(like.n_events, negative)
        data = Events(samples(name)["data"].momenta, torch.from_numpy(w))
        expected = make(name, "reference", data=data, subtraction="bounded")
        found = like.with_weights(w)
        agree(found, expected, x)
        np.testing.assert_allclose(found.score_products(x), expected.score_products(x), rtol=1e-9, atol=1e-12)
        agree(like.with_data(data, samples(name)["background"]), expected, x)
    agree(like.with_data(data), make(name, "reference", data=data, background=None, subtraction="bounded"), x)
    signal = Events(data.momenta, torch.from_numpy(weights(like.n_events, False)))
    agree(like.with_data(signal), make(name, "reference", data=signal, background=None, subtraction="bounded"), x)


@pytest.mark.parametrize("name", ["small not streamed", "small streamed", "kk_eta fixed"])
def test_other_data(name):
    like = likelihood(name, "reference")
    flat, background = (events(name, n, seed) for n, seed in ((40, 21), (20, 22)))
    data = Events(flat.momenta, torch.from_numpy(weights(40, True)))
    background = Events(background.momenta, torch.full((20,), 0.1, dtype=torch.float64))
    agree(like.with_data(data, background), make(name, "reference", data=data, background=background), point(like))
    found = like.with_data(data)
    assert not found.subtracts
    assert found.n_events == 40
    options = {"background": None} if "background" in samples(name) else {}
    agree(found, make(name, "reference", data=data, **options), point(like))
    assert found.phase_space is like.phase_space
    assert found.memory().placed["data"].device == 40
    assert found.memory().placed.get("phase space") == like.memory().placed.get("phase space")


# fewer waves


def smaller_model(description, names):
    resonances = {name: own for name, own in description["resonances"].items() if name not in names}
    return ctpwa.load_model(description | {"resonances": resonances})


SMALL = ("phi(1020)", "phi(1680)", "K*(1410)", "NR1")


@pytest.mark.parametrize("left_out", [["K*(1410)"], ["phi(1680)"], ["phi(1020)"], ["phi(1020)", "K*(1410)"]])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_without_resonances(engine, left_out):
    """Those that float, those that do not, and the reference wave."""
    like = likelihood("small", engine)
    every = example("jpsi_kk_eta")
    description = every | {"resonances": {name: every["resonances"][name] for name in SMALL}}
    expected = ctpwa.build_likelihood(smaller_model(description, left_out), **samples("small"), engine="reference")
    with nothing_new():
        found = like.without(left_out)
    agree(found, expected, point(found))
    assert len(found.model.waves) == len(expected.model.waves)


def test_without_waves_on_one_matrix():
    like = likelihood("kk_eta fixed", "reference")
    names = [wave.name for wave in like.model.waves[3:6]]
    with nothing_new():
        found = like.without(names)
    zero = [i for i, name in enumerate(like.names) if name.rpartition(".")[0] not in {w.coupling for w in found.model.waves}]
    x = point(like)
    x[zero] = 0.0
    assert found.value(np.delete(x, zero)) == pytest.approx(like.value(x), rel=1e-13)
    np.testing.assert_allclose(
        found.value_and_grad(np.delete(x, zero))[1], np.delete(like.value_and_grad(x)[1], zero), rtol=1e-9, atol=1e-9
    )


def test_without_what_others_are_tied_to():
    """Two couplings tied to a third one stay tied to each other when that is gone."""
    ties = {"b": ("a", 2.0), "c": ("b", 4j)}
    assert ties_among(["a", "b", "c"], ties) == {"b": ("a", 2.0), "c": ("a", 8j)}
    assert ties_among(["b", "c"], ties) == {"c": ("b", 4j)}
    assert ties_among(["a", "c"], ties) == {"c": ("a", 8j)}


def test_what_cannot_be_left_out():
    like = likelihood("small", "reference")
    with pytest.raises(ctpwa.base.PhysicsError, match=r"the reference wave changes, and 'phi.*' is fixed relative to it"):
        like.fixed({like.names[0]: 0.3}).without(["phi(1020)"])
    with pytest.raises(ctpwa.base.PhysicsError, match="no wave or resonance is called 'phi\\(1690\\)'\n fix: did you mean 'phi\\(1680\\)'"):
        like.without(["phi(1690)"])
    with pytest.raises(ctpwa.base.PhysicsError, match="is one text, not a list of names"):
        like.without("phi(1680)")
    with pytest.raises(ctpwa.base.PhysicsError, match="no wave is left"):
        like.without(SMALL)


# relatives of relatives


def test_they_go_together():
    like = likelihood("small not streamed", "reference")
    w = weights(like.n_events, False)
    with nothing_new():
        one = like.with_weights(w).without(["K*(1410)"]).fixed({MASS: 1.7, like.names[0]: 0.3})
        other = like.fixed({MASS: 1.7, like.names[0]: 0.3}).without(["K*(1410)"]).with_weights(w)
        part = like.subsample(60, seed=3)
    agree(one, other, point(one))
    assert part.n_events == like.n_events
    assert sum(sample.n_events for sample in part.data.resident) == 60
    still = part.with_still_lineshapes(point(like))
    assert still.value(point(like)) == pytest.approx(part.value(point(like)), rel=1e-13)
    assert replace(still, norm=part.norm).value(point(like)) == part.value(point(like))
