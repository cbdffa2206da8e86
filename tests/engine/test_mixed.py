"""Mixed precision: K in single precision, everything else in double."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.data.events import Events
from ctpwa.engine.backends.cpu.engine import CpuEngine
from ctpwa.engine.backends.reference.engine import ReferenceEngine
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.plan.plan import ChannelSpec
from ctpwa.engine.plan.planner import build_plan
from ctpwa.engine.plan.tables import LOG
from ctpwa.engine.samples.sample import Sample
from ctpwa.engine.samples.stored_sample import StoredSample
from ctpwa.spin.storage import SINGLE, Storage, exponents_near
from engine.cases import ENGINES, assert_close, example, model, point, streamed_in

SIZES = {"data": 33, "phase_space": 40, "background": 9}


def fixed():
    """A few waves of those of K+ K- eta, all with fixed lineshapes: real K in one row, and one matrix for the normalisation."""
    every = example("jpsi_kk_eta")
    chosen = {name: {k: v for k, v in every["resonances"][name].items() if k != "float"} for name in ("phi(1680)", "K*(1410)", "NR1")}
    return ctpwa.load_model(every | {"resonances": chosen})


MODELS = {"fixed": cache(fixed), "two rows": lambda: model("flatte"), "complex": lambda: model("polarised")}
CASES = list(MODELS)


@cache
def samples(name):
    return {key: Events(flat(name, n, seed).momenta, weights(n, seed)) for seed, (key, n) in enumerate(SIZES.items(), start=1)}


def flat(name, n, seed):
    return ctpwa.generate_phase_space(MODELS[name](), n, seed=seed)


def weights(n, seed):
    """Some of them negative."""
    return torch.from_numpy(np.random.default_rng(seed).uniform(-0.2, 1.2, n) * (0.3 if seed == 3 else 1.0))


def build(name, engine, **options):
    """A likelihood; CPU kernels are not compiled, unless all of them are."""
    return build_likelihood(MODELS[name](), **samples(name), engine=engine, **options)


@cache
def mixed(name, engine):
    return build(name, engine, precision="mixed")


@cache
def double(name):
    return build(name, "reference")


def rebuilt(name, engine):
    """In double precision again."""
    return mixed(name, engine).in_double()


@cache
def rounded(name):
    """The reference engine in double precision, with K rounded to single precision wherever mixed precision keeps it."""
    like = double(name)

    def parts(stored):
        samples = [replace(s, K=s.K.to(SINGLE[s.K.dtype]).to(s.K.dtype)) for s in stored.resident]
        return StoredSample.on_device(samples, like.streamer)

    floor = like.samples.floor if like.samples.floor is None else replace(like.samples.floor, source=parts(like.samples.floor.source))
    samples = replace(like.samples, data=parts(like.data), background=parts(like.background), floor=floor)
    norm = like.norm if isinstance(like.phase_space, Collapsed) else replace(like.norm, source=parts(like.phase_space))
    return replace(like, samples=samples, norm=norm)


@cache
def expected(name):
    return rounded(name).value_grad_hessian(point(rounded(name)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_equals_double_precision_with_rounded_amplitudes(name, engine):
    like = mixed(name, engine)
    x = point(like)
    value, grad, H = like.value_grad_hessian(x)
    exact_value, exact_grad, exact_H = expected(name)
    assert {s.K.dtype for s in like.data.resident} == {torch.complex64 if name == "complex" else torch.float32}
    assert abs(value - exact_value) <= 1e-12 * abs(exact_value)
    assert_close(grad, exact_grad, 1e-12, scale=abs(exact_value))
    assert_close(H, exact_H, 1e-12, scale=abs(exact_value))
    I = like.intensity(x).cpu().numpy()
    np.testing.assert_allclose(I, rounded(name).intensity(x), rtol=1e-11)  # of an event in which waves cancel


def test_the_rounding_is_seen():
    for name in CASES:
        assert 1e-10 < abs(expected(name)[0] - double(name).value(point(double(name)))) < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch(engine):
    like = mixed("fixed", engine)
    X = np.stack([point(like, seed) for seed in range(3)])
    values, grads = like.value_and_grad(X)
    for k, x in enumerate(X):
        value, grad = rounded("fixed").value_and_grad(x)
        assert abs(values[k] - value) <= 1e-12 * abs(value)
        assert_close(grads[k], grad, 1e-12, scale=abs(value))


@pytest.mark.parametrize("engine", ENGINES)
def test_samples_in_chunks(engine):
    with streamed_in(14, spill=False):
        whole, streamed = mixed("two rows", engine), build("two rows", engine, precision="mixed")
    assert [chunk.layout.dtype for chunk in streamed.data.chunks] == 3 * [torch.float32]
    x = point(whole)
    assert_close(streamed.value_and_grad(x)[1], whole.value_and_grad(x)[1], 1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_in_double_is_double_precision(name, engine):
    like = rebuilt(name, engine)
    x = point(like)
    value, grad = double(name).value_and_grad(x)
    found, found_grad = like.value_and_grad(x)
    assert abs(found - value) <= 1e-12 * abs(value)
    assert_close(found_grad, grad, 1e-12, scale=abs(value))
    assert double(name).in_double() is double(name)
    assert like.in_double() is like


def test_pieces_of_double_precision_do_not_matter():
    whole = mixed("two rows", "reference").in_double()
    x = point(whole)
    value, grad = whole.value_and_grad(x)
    with streamed_in(14, spill=False):
        pieces = build("two rows", "reference", precision="mixed").in_double()
    assert [(s.n_events, s.K.dtype) for s in pieces.data.passing()] == [(n, torch.float64) for n in (14, 14, 5)]
    assert not pieces.data.resident
    found, found_grad = pieces.value_and_grad(x)
    assert abs(found - value) <= 1e-12 * abs(value)
    assert_close(found_grad, grad, 1e-12, scale=abs(value))


def test_the_sum_of_two_likelihoods_in_double_precision():
    one, other = mixed("two rows", "reference"), double("two rows")
    both = one + other
    assert (one.precision, other.precision, both.precision, (other + other).precision) == ("mixed", "double", "mixed", "double")
    x = point(both)
    assert both.in_double().precision == "double"
    assert_close(both.in_double().value_and_grad(x)[1], 2 * other.value_and_grad(x)[1], 1e-12)


def test_normalisation_and_truth_are_in_double_precision():
    assert_close(mixed("fixed", "reference").phase_space.matrix, double("fixed").phase_space.matrix, 1e-14)
    truth = flat("two rows", 20, 9)
    floating, exact = mixed("two rows", "reference"), double("two rows")
    x = point(exact)
    assert_close(floating.integrals(x, truth).matrix, exact.integrals(x, truth).matrix, 1e-14)
    assert np.abs(floating.integrals(x).matrix - exact.integrals(x).matrix).max() > 1e-10 * np.abs(exact.integrals(x).matrix).max()


def test_memory_is_that_of_what_is_stored():
    for name in ("two rows", "complex"):
        like = mixed(name, "reference")
        for sample, n in ((like.data, SIZES["data"]), (like.phase_space, SIZES["phase_space"])):
            stored = sum(t.numel() * t.element_size() for s in sample.resident for t in (s.K, s.E, s.w))
            assert stored == like.memory().bytes_per_event * n
        assert like.memory().samples["data"] == like.memory().bytes_per_event * SIZES["data"]
        assert like.memory().samples["phase space"] == like.memory().bytes_per_event * SIZES["phase_space"]
    own, exact = mixed("fixed", "reference").memory(), double("fixed").memory()
    assert own.bytes_per_event < exact.bytes_per_event
    assert own.piece_events == exact.piece_events  # of the normalisation, which is in double precision until it has become a matrix
    assert list(own.samples) == ["data", "background", "floor", "phase space"]
    assert own.samples["phase space"] == exact.samples["phase space"]  # kept in double precision


def test_unknown_precision():
    with pytest.raises(CtpwaError, match=r"unknown precision 'mixd'\n fix: did you mean 'mixed'"):
        build("two rows", "reference", precision="mixd")


# the range of single precision


def plan_of(n, real):
    channels = [ChannelSpec(t, 1.0, t, ()) for t in range(n)]
    return build_plan(channels, n_couplings=n, n_structures=n, n_rows=2, real=real, values={}, floating=[])


def random_sample(dtype):
    """Events without an event table, in double precision."""
    K = torch.randn(3, 2, 50, dtype=dtype, generator=torch.Generator().manual_seed(3))
    w = torch.ones(50, dtype=torch.float64)
    return Sample(K, torch.empty(0, 50, dtype=torch.float64), w, 50, None, {})


def test_compiled_kernels():
    """Other cases run as plain Python, see ``engine.cases``: the compiler makes double of single precision just the same."""
    c, p = np.array([0.3 - 1j, 2.0, 0.7j]), np.zeros(0)
    for dtype in (torch.float64, torch.complex128):
        sample = random_sample(dtype)
        single = replace(sample, K=sample.K.to(SINGLE[dtype]))
        sample = replace(sample, K=single.K.to(dtype))
        plan = plan_of(3, dtype == torch.float64)
        engine, reference = CpuEngine(plan), ReferenceEngine(plan, torch.device("cpu"))
        torch.testing.assert_close(engine.intensity(single, c, p), reference.intensity(sample, c, p), rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_structures_of_any_size(dtype):
    """Amplitudes far outside the range of single precision are those of ordinary size times powers of 2."""
    sample = random_sample(dtype)
    K = sample.K
    sizes = torch.tensor([2.0**200, 1.0, 2.0**-170], dtype=torch.float64)
    c = np.array([0.3 - 1j, 2.0, 0.7j])
    plan = plan_of(3, dtype == torch.float64)
    far = K * sizes[:, None, None]
    exponents = exponents_near(far.abs().square().mean(dim=(1, 2)).sqrt().tolist())
    assert np.abs(np.array(exponents) - [200, 0, -170]).max() <= 1
    scaled = plan.in_mixed_precision(exponents)
    stored = Storage(exponents, single=True).stored(far)
    assert stored.dtype == SINGLE[dtype]
    here = torch.device("cpu")
    found = ReferenceEngine(scaled, here).evaluate([(replace(sample, K=stored), LOG)], c / sizes.numpy(), np.zeros(0), 1)[0]
    near = K.to(SINGLE[dtype]).to(dtype)
    wanted = ReferenceEngine(plan, here).evaluate([(replace(sample, K=near), LOG)], c, np.zeros(0), 1)[0]
    assert abs(found.value - wanted.value) <= 1e-12 * abs(wanted.value)
    np.testing.assert_allclose(found.gradient, wanted.gradient * np.tile(sizes.numpy(), 2), rtol=1e-11)
    exact = Storage(exponents, single=False).stored(far)
    assert exact.dtype == dtype
    assert torch.equal(exact * (2.0 ** torch.tensor(exponents, dtype=torch.float64))[:, None, None], far)


@pytest.mark.parametrize("size", [1e39, 1e-35])
def test_an_event_outside_the_range_is_refused(size):
    K = torch.ones(2, 2, 5, dtype=torch.complex128)
    K[..., 3] *= size
    storage = Storage((0, 0), single=True)
    with pytest.raises(DataError) as caught:
        storage.stored(K, first=100)
    assert str(caught.value).startswith(f"event 103: its largest spin amplitude is {size:.1e} of the typical one")
    assert "\n fix: use precision: double" in str(caught.value)
    assert torch.isfinite(Storage((0, 0), single=False).stored(K).abs()).all()


def test_small_amplitudes_beside_large_ones_are_kept_as_well_as_possible():
    K = torch.tensor([[[1.0]], [[1e-42]], [[0.0]]], dtype=torch.float64)
    assert torch.allclose(Storage((0, 0, 0), single=True).stored(K).double(), K, rtol=0, atol=2.0**-149)
    nothing = torch.zeros(2, 1, 3, dtype=torch.float64)  # all amplitudes vanish: as in double precision
    assert torch.equal(Storage((0, 0), single=True).stored(nothing).double(), nothing)
    assert Storage((0, 0), single=True).stored(nothing[..., :0]).shape == (2, 1, 0)


def test_double_precision_is_untouched():
    like = double("two rows")
    assert like.plan.exponents is None
    assert like.data.resident[0].K.dtype == torch.float64
    other = mixed("two rows", "reference").plan
    assert [c.factor for c in like.plan.channels] == [c.factor / 2.0 ** other.exponents[c.structure] for c in other.channels]
    assert any(other.exponents)
