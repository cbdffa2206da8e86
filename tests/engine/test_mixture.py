"""Backgrounds as densities, yields, and bounded subtraction: −ln L against sums by hand, derivatives against automatic ones."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.data.density import Flat
from ctpwa.data.events import Events
from ctpwa.engine.backends.reference import definition
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.subtraction import FLOOR
from ctpwa.kinematics.lorentz import mass_squared
from engine.cases import CUDA, FAST_ENGINES, assert_close, events, model, point, streamed_in

TWO = ("data", "phase_space")


def slope(piece):
    """A density that is not flat."""
    return 1 + mass_squared((piece.p4[0] + piece.p4[1]).T)


def of_one_sign(piece):
    return piece.p4[0][:, 1].clamp(min=0)


def wrong(value):
    def density(piece):
        values = slope(piece)
        values[min(7, len(values) - 1)] = value
        return values

    return density


def estimated(density):
    density.estimated = True
    return density


SLOPE, FLAT = Background("sideband", slope, 0.2, floating=True), Background("flat", Flat(), 0.1, floating=True)
OPTIONS = {
    "one": {"backgrounds": [SLOPE]},
    "two": {"backgrounds": [SLOPE, FLAT]},
    "fixed": {"backgrounds": [Background("sideband", slope, 0.2)]},
    "extended": {"backgrounds": [SLOPE, FLAT], "extended": True},
    "signal only": {"extended": True},
}


def samples(name="small", n=(65, 130, 30), weights="positive"):
    data, phase_space = events(name, n[0], 1, weights), events(name, n[1], 2, "positive")
    return data, phase_space, (events(name, n[2], 3, "positive") if n[2] else None)


def likelihood(engine, name="small", background=False, weights="positive", **options):
    data, phase_space, subtracted = samples(name, weights=weights)
    return build_likelihood(model(name), data, phase_space, subtracted if background else None, engine, progress=False, **options)


def weights_of(sample):
    return np.ones(sample.n_events) if sample.weights is None else np.asarray(sample.weights)


def pieces_of(sample, labels):
    from ctpwa.data.stream import Piece

    return Piece([sample[label] for label in labels], None, {})


def by_hand(like, x, given, backgrounds=(), extended=False, ratio=0.0, data_set=""):
    """−ln L from intensities of every event."""
    data, phase_space, subtracted = given
    labels = like.model.decay.labels
    values = dict(zip((p.name for p in like.parameters.all), like.parameters.full(x), strict=True))
    v, I_phsp = weights_of(phase_space), like.intensity(x, "phase space").cpu().numpy()
    sigma = (v * I_phsp).sum() / v.sum()
    kind, start = "yield" if extended else "fraction", f"{data_set}." if data_set else ""
    amounts = [values[f"{start}{own.name}.{kind}"] for own in backgrounds]
    signal = values[f"{start}signal.yield"] if extended else 1 - sum(amounts)

    def log_density(sample, I):
        p = signal * I / sigma
        for own, amount in zip(backgrounds, amounts, strict=True):
            mean = (v * own.density(pieces_of(phase_space, labels)).numpy()).sum() / v.sum()
            p = p + amount * own.density(pieces_of(sample, labels)).numpy() / mean
        return np.log(p + ratio * (W if extended else 1.0))

    w = weights_of(data)
    W = w.sum() - (0 if subtracted is None else weights_of(subtracted).sum())
    nll = -(w * log_density(data, like.intensity(x).cpu().numpy())).sum()
    if subtracted is not None:
        nll += (weights_of(subtracted) * log_density(subtracted, like.intensity(x, "background").cpu().numpy())).sum()
    if ratio:
        nll -= ratio * W / v.sum() * (v * log_density(phase_space, I_phsp)).sum()
    return nll + (signal + sum(amounts) + ratio * W if extended else 0.0)


@pytest.mark.parametrize("engine", ["reference", *FAST_ENGINES])
@pytest.mark.parametrize("kind", OPTIONS)
def test_value(kind, engine):
    like = likelihood(engine, **OPTIONS[kind])
    x = point(like)
    given = (*samples()[:2], None)
    assert like.value(x) == pytest.approx(by_hand(like, x, given, **OPTIONS[kind]), rel=1e-12)


@pytest.mark.parametrize("kind", ["two", "fixed", "extended", "signal only"])
def test_without_a_resonance_fractions_and_yields_float_as_before(kind):
    like = likelihood("reference", **OPTIONS[kind])
    found = like.without(["K*(1410)"])
    amounts = [name for name in like.names if name.endswith((".fraction", ".yield"))]
    assert [name for name in found.names if name.endswith((".fraction", ".yield"))] == amounts
    x = point(found)
    assert found.value(x) == pytest.approx(by_hand(found, x, (*samples()[:2], None), **OPTIONS[kind]), rel=1e-12)


@pytest.mark.parametrize("kind", ["one", "extended"])
@pytest.mark.parametrize("engine", ["reference", *FAST_ENGINES])
def test_bounded_subtraction(engine, kind):
    """Also beside densities; the floor is all of phase space here."""
    like = likelihood(engine, background=True, **OPTIONS[kind])
    x, given = point(like), samples()
    plus, minus = weights_of(given[0]).sum(), weights_of(given[2]).sum()
    assert like.samples.floor.ratio == pytest.approx(minus / (plus - minus), rel=1e-14)
    assert like.value(x) == pytest.approx(by_hand(like, x, given, ratio=like.samples.floor.ratio, **OPTIONS[kind]), rel=1e-12)


def test_negative_weights_have_a_floor():
    like = likelihood("reference", weights="mixed")
    w = weights_of(samples(weights="mixed")[0])
    assert like.samples.floor.ratio == pytest.approx(-w[w < 0].sum() / w.sum(), rel=1e-14)
    x = point(like)
    given = (*samples(weights="mixed")[:2], None)
    assert like.value(x) == pytest.approx(by_hand(like, x, given, ratio=like.samples.floor.ratio), rel=1e-12)


def test_plain_subtraction():
    like = likelihood("reference", background=True, subtraction="plain")
    assert like.samples.floor is None
    assert like.mixture is None
    x = point(like)
    assert like.value(x) == pytest.approx(by_hand(like, x, samples()), rel=1e-12)


def test_nothing_is_added_where_nothing_is_subtracted():
    assert likelihood("reference").mixture is None


# derivatives


def automatic(like, x):
    """−ln L by torch, from the definition of the intensity: value, gradient and Hessian; lineshapes are fixed."""
    plan, parameters, mixture, factors = like.plan, like.parameters, like.mixture, like.samples.summed
    J, at = torch.from_numpy(parameters.jacobian(x)), torch.from_numpy(x)
    c0, theta0 = parameters.native(x)
    native0 = torch.from_numpy(np.concatenate([c0.real, c0.imag, theta0]))
    p, n = torch.from_numpy(plan.iteration.values(np.zeros(0))), plan.n_couplings
    M, order = torch.from_numpy(like.norm.source.matrix), torch.from_numpy(like.evaluation.mixed_order)

    def nll(x):
        native = native0 + J @ (x - at)  # the map is linear
        c, m = torch.complex(native[:n], native[n : 2 * n]), native[2 * n :][order]
        sigma = (c.conj() @ (M @ c)).real / like.norm.weight
        constants, slopes = map(torch.from_numpy, mixture._linear)
        s, *a = constants + slopes @ m
        result = s + sum(a) if mixture.extended else 0.0
        for factor, source in factors:
            sample = source.resident[0].to(torch.device("cpu"))
            density = s * definition.intensity(plan, c, p, sample) / sigma
            for b, amount in enumerate(a):
                density = density + amount * sample.E[plan.added_row + b] / float(mixture.means[b])
            result = result - factor * (sample.w * density.log()).sum()
        return result

    with torch.enable_grad():
        gradient = torch.func.grad(nll)(at)
        return float(nll(at)), gradient.numpy(), torch.func.hessian(nll)(at).numpy()


@pytest.mark.parametrize(
    ("kind", "engine"),
    [*((kind, engine) for kind in OPTIONS for engine in ("reference", "cpu")), pytest.param("two", "cuda", marks=CUDA.marks)],
)
def test_derivatives_are_automatic_ones(kind, engine):
    like = likelihood(engine, "kk_eta fixed", background=kind != "fixed", **OPTIONS[kind])
    x = point(like)
    value, gradient, H = automatic(like, x)
    found = like.value_grad_hessian(x)
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert_close(found[1], gradient, 1e-10)
    assert_close(found[2], H, 1e-10)
    assert_close(like.value_and_grad(x)[1], gradient, 1e-10)


@pytest.mark.parametrize(("name", "engine"), [("small", "cpu"), ("polarised", "cpu"), pytest.param("small", "cuda", marks=CUDA.marks)])
def test_floating_lineshapes(name, engine):
    like, reference = (likelihood(own, name, background=True, **OPTIONS["two"]) for own in (engine, "reference"))
    x = point(like)
    for one, other in zip(like.value_grad_hessian(x), reference.value_grad_hessian(x), strict=True):
        assert_close(one, other, 1e-11)


def test_derivatives_over_lineshapes_and_fractions():
    """Those of the value."""
    like = likelihood("reference", background=True, **OPTIONS["two"])
    x = point(like)
    gradient, H = like.value_grad_hessian(x)[1:]
    for i in (0, len(x) - 3, len(x) - 1):
        step = np.eye(len(x))[i] * 1e-5
        assert gradient[i] == pytest.approx((like.value(x + step) - like.value(x - step)) / 2e-5, rel=1e-6, abs=1e-5)
        slope_of_gradient = (like.value_and_grad(x + step)[1] - like.value_and_grad(x - step)[1]) / 2e-5
        assert_close(H[i], slope_of_gradient, 1e-6, np.abs(H).max() * 1e-3)


@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_a_batch_is_its_points(engine):
    like = likelihood(engine, "kk_eta fixed", **OPTIONS["two"])
    x = np.stack([point(like, seed) for seed in range(2)])
    values, gradients, hessians = like.value_grad_hessian(x)
    for k, row in enumerate(x):
        for one, other in zip((values[k], gradients[k], hessians[k]), like.value_grad_hessian(row), strict=True):
            assert_close(one, other, 1e-11)


@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_streamed_samples(engine):
    whole = likelihood(engine, background=True, **OPTIONS["two"])
    with streamed_in(50, False):
        streamed = likelihood(engine, background=True, **OPTIONS["two"])
    x = point(whole)
    for one, other in zip(streamed.value_grad_hessian(x), whole.value_grad_hessian(x), strict=True):
        assert_close(one, other, 1e-11)


# yields of several data sets

RUNS = {
    "run1": {"backgrounds": [SLOPE, FLAT], "extended": True, "data_set": "run1"},
    "run2": {"backgrounds": [Background("sideband", Flat(), 0.35)], "extended": True, "data_set": "run2", "background": True},
}


@pytest.mark.parametrize("engine", ["reference", *FAST_ENGINES])
def test_every_data_set_has_its_yields(engine):
    """The sum of two data sets with other backgrounds, one of which is subtracted from besides, against numpy."""
    one, two = (likelihood(engine, **options) for options in RUNS.values())
    both = one + two
    assert both.names[-5:] == tuple(f"run{n}.yield" for n in ("1.signal", "1.sideband", "1.flat", "2.signal", "2.sideband"))
    x = point(both)
    expected = 0.0
    for like, (name, options), index in zip((one, two), RUNS.items(), both._index, strict=True):
        given = samples() if "background" in options else (*samples()[:2], None)
        ratio = 0.0 if like.samples.floor is None else like.samples.floor.ratio
        expected += by_hand(like, x[index], given, options["backgrounds"], True, ratio, name)
    assert both.value(x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_derivatives_over_the_yields_of_every_data_set(engine):
    """Automatic ones of each, at the places of their parameters in the sum."""
    both = likelihood(engine, "kk_eta fixed", **RUNS["run1"]) + likelihood(engine, "kk_eta fixed", **RUNS["run2"])
    x = point(both)
    value, gradient, H = 0.0, np.zeros(len(x)), np.zeros((len(x), len(x)))
    for term in both.terms:
        index = np.array([both.names.index(name) for name in term.names])
        own = automatic(term, x[index])
        value, gradient[index], H[np.ix_(index, index)] = value + own[0], gradient[index] + own[1], H[np.ix_(index, index)] + own[2]
    found = both.value_grad_hessian(x)
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert_close(found[1], gradient, 1e-10)
    assert_close(found[2], H, 1e-10)


def test_one_yield_of_two_data_sets():
    like = likelihood("reference", **OPTIONS["extended"])
    with pytest.raises(PhysicsError, match=r"'signal\.yield' would be the same in several data sets\n fix: build each .* data_set="):
        like + like


# scatter of the gradient


@pytest.mark.parametrize("kind", ["two", "extended"])
def test_scores(kind):
    """Σ w² ∂ln p ∂ln p of data and background, event by event; what counts negatively brings an average event of the floor along."""
    like = likelihood("reference", "kk_eta fixed", background=True, weights="mixed", **OPTIONS[kind])
    x = point(like)
    (flat,) = like.samples.floor.source.resident
    mean = sum(float(v) * score for v, score in zip(flat.w, _scores(like, x, flat), strict=True)) / float(flat.w.sum())
    S = np.zeros((len(x), len(x)))
    for factor, source in like.samples.measured:
        (sample,) = source.resident
        for w, score in zip((factor * sample.w).tolist(), _scores(like, x, sample), strict=True):
            own = score if w > 0 else score - mean
            S += w**2 * np.outer(own, own)
    assert_close(like.score_products(x), S, 1e-10)


def _scores(like, x, sample):
    """∂ ln p of single events: −∂(−ln L) of likelihoods of one event with weight 1, without the Poisson term."""
    one = torch.ones(1, dtype=torch.float64)
    return [_score(like, x, type(sample)(sample.K[..., [i]], sample.E[:, [i]], one, 1, None, {})) for i in range(sample.n_events)]


def _score(like, x, single):
    evaluation = like.evaluation
    native = like.parameters.native(x)
    norm = evaluation.norm_task(native, 1, lambda norm: norm)
    norm = norm.finish(norm.local())
    numbers, J, d = evaluation.score_chain(x, native, norm)
    return like.engine.evaluate([(single, 0)], native[0], numbers, 1)[0].gradient @ J - d


# names and limits


def test_parameters():
    like = likelihood("reference", **OPTIONS["two"])
    assert like.names[-2:] == ("sideband.fraction", "flat.fraction")
    assert like.bounds[-2:].tolist() == [[0, 1], [0, 1]]
    assert likelihood("reference", **OPTIONS["fixed"]).names == like.names[:-2]
    extended = likelihood("reference", **OPTIONS["extended"])
    assert extended.names[-3:] == ("signal.yield", "sideband.yield", "flat.yield")
    assert extended.start[-3:] == pytest.approx(np.array([0.7, 0.2, 0.1]) * extended.weight)
    held = like.fixed({"flat.fraction": 0.15})
    assert held.value(point(like)[:-1]) == pytest.approx(like.value(np.append(point(like)[:-1], 0.15)), rel=1e-13)


def test_a_constraint():
    like = likelihood("reference", **OPTIONS["one"])
    constrained = likelihood("reference", constraints={"sideband.fraction": (0.25, 0.01)}, **OPTIONS["one"])
    x = point(like)
    assert constrained.value(x) - like.value(x) == pytest.approx(((x[-1] - 0.25) / 0.01) ** 2 / 2, rel=1e-8)


@pytest.mark.parametrize(
    ("backgrounds", "message"),
    [
        ([Background("b", slope, -0.1)], "the fraction of background 'b' is -0.1"),
        ([Background("b", slope, 1.2)], "the fraction of background 'b' is 1.2"),
        ([Background("a", slope, 0.5), Background("b", Flat(), 0.5)], "add up to 1"),
        ([Background("b", slope, 0.1), Background("b", Flat(), 0.1)], "'b' is no name"),
        ([Background("signal", slope, 0.1)], "'signal' is no name"),
    ],
)
def test_fractions_that_make_no_sense(backgrounds, message):
    with pytest.raises(PhysicsError, match=message):
        likelihood("reference", backgrounds=backgrounds)


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (wrong(np.nan), "data: the density of background 'b' is nan at event 7"),
        (wrong(-0.5), "data: the density of background 'b' is -0.5 at event 7"),
        (estimated(wrong(0.0)), "data: the density of background 'b' is 0 at event 7\n fix: it was made of too few events"),
    ],
)
def test_densities_that_are_wrong(density, message):
    with pytest.raises(DataError, match=message):
        likelihood("reference", backgrounds=[Background("b", density, 0.1)])


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_a_density_that_is_zero_at_some_events(engine, streamed):
    """Signal explains them: −ln L is the sum by hand, and the events are counted."""
    backgrounds = [Background("b", of_one_sign, 0.1), FLAT]
    with streamed_in(20, False) if streamed else nullcontext():
        like = likelihood(engine, backgrounds=backgrounds)
    data, phase_space, _ = samples()
    x, f = point(like), point(like)[-1]
    zeros = int((data["K+"][:, 1] <= 0).sum())
    assert 10 < zeros < 55
    assert like.events_without_background() == {"b": zeros, "flat": 0}
    w, v = weights_of(data), weights_of(phase_space)
    b, b_norm = (np.clip(np.asarray(own["K+"][:, 1]), 0, None) for own in (data, phase_space))
    alone = likelihood("reference")
    I, I_norm = (np.asarray(alone.intensity(x[:-1], own)) for own in ("data", "phase space"))
    p = (0.9 - f) * I * v.sum() / (v @ I_norm) + 0.1 * b * v.sum() / (v @ b_norm) + f
    assert like.value(x) == pytest.approx(-(w @ np.log(p)), rel=1e-12)


def test_an_unknown_subtraction():
    with pytest.raises(PhysicsError, match="unknown subtraction 'bound'"):
        likelihood("reference", subtraction="bound")


def test_the_floor_has_some_events_of_a_large_phase_space():
    name = "small"
    few = Events(events(name, 30, 1).momenta, torch.linspace(-0.2, 1.2, 30, dtype=torch.float64))
    like = build_likelihood(model(name), few, events(name, 900, 2), None, "reference", progress=False)
    assert like.samples.floor.source.n_events == 300
    assert like.samples.summed_weight == pytest.approx(like.weight * (1 + like.samples.floor.ratio))
    assert FLOOR not in like.samples.own


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(("name", "options"), [("one", {}), ("two", {"extended": True})])
def test_without_any_signal_it_is_not_a_number(name, options):
    """At a limit: all of it is background, or the yield of the signal is 0."""
    like = likelihood("reference", **(OPTIONS[name] | options))
    amount, value = ("signal.yield", 0.0) if options else ("sideband.fraction", 1.0)
    x = point(like)
    x[like.names.index(amount)] = value
    assert np.isnan([like.value(x), like.value_and_grad(x)[0], like.value_grad_hessian(x)[0]]).all()


def test_shares_follow_the_parameters():
    """They are kept until others are asked for."""
    mixture = likelihood("reference", backgrounds=[SLOPE, FLAT]).evaluation.mixture
    one, other = np.array([0.2, 0.1]), np.array([0.3, 0.05])
    expected = [np.array([1 - m.sum(), *m]) for m in (one, other, one)]
    for m, values in zip((one, other, one), expected, strict=True):
        assert_close(mixture.at(m.copy()).values, values, 1e-14)
    assert mixture.at(one) is mixture.at(one.copy())
    one[0] = 0.5
    assert_close(mixture.at(one).values, np.array([0.4, 0.5, 0.1]), 1e-14)
