"""Value, gradient and Hessian of every engine: against automatic differentiation, and against each other."""

from functools import cache

import numpy as np
import pytest
import torch

from ctpwa.engine.likelihood.collapsed import Collapsed
from engine.cases import (
    CASES,
    CUDA,
    ENGINES,
    FAST_ENGINES,
    GPU,
    assert_close,
    events,
    expansion,
    likelihood,
    make,
    model,
    needs_triton,
    point,
    samples,
)
from engine.oracle import Oracle

each_case = pytest.mark.parametrize("name", CASES)
# one of each kind of kernel; all of them where kernels are compiled
FRESH = CASES if GPU else ["kk_eta fixed", "small polar", "polarised", "own_lineshapes"]
AUTOGRAD, EACH_OTHER = 1e-10, 1e-12


@cache
def oracle(name):
    like = likelihood(name, "reference")
    return Oracle(model(name), like.names, samples(name), **CASES[name].options)


@cache
def exact(name):
    return oracle(name).expand(point(likelihood(name, "reference")))


def size(name):
    """What rounding of the value is relative to."""
    return float(sum(oracle(name).weights(key).abs().sum() for key in samples(name)))


@each_case
@pytest.mark.parametrize("engine", ENGINES)
def test_value_gradient_and_hessian_equal_automatic_differentiation(name, engine):
    value, grad, H = expansion(name, engine)
    exact_value, exact_grad, exact_H = exact(name)
    assert_close(value, exact_value, AUTOGRAD, size(name))
    assert_close(grad, exact_grad, AUTOGRAD)
    assert_close(H, exact_H, AUTOGRAD)


@each_case
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_engines_agree(name, engine):
    value, grad, H = expansion(name, engine)
    reference_value, reference_grad, reference_H = expansion(name, "reference")
    assert_close(value, reference_value, EACH_OTHER, size(name))
    assert_close(grad, reference_grad, EACH_OTHER, size(name))
    assert_close(H, reference_H, EACH_OTHER, size(name))


@pytest.mark.parametrize("name", FRESH)
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_every_method_gives_the_same_numbers(name, engine):
    # on fresh samples: nothing may depend on what was computed before
    like = make(name, engine)
    x = point(like)
    value, grad, H = expansion(name, engine)
    assert_close(like.value(x), value, 1e-13, size(name))
    own_value, own_grad = like.value_and_grad(x)
    assert isinstance(own_value, float)
    assert_close(own_value, value, 1e-13, size(name))
    assert_close(own_grad, grad, 1e-13, size(name))
    assert_close(like.hessian(x), H, 1e-13)


@each_case
@pytest.mark.parametrize("engine", ENGINES)
def test_intensities_are_in_the_order_of_the_input(name, engine):
    like = likelihood(name, engine)
    x = point(like, seed=3)
    for sample, key in (("data", "data"), ("background", "background"), ("phase space", "phase_space")):
        if key not in samples(name) or (key == "phase_space" and isinstance(like.phase_space, Collapsed)):
            continue
        I = like.intensity(x, sample)
        expected = oracle(name).intensity(torch.tensor(x), key)
        assert I.dtype == torch.float64
        np.testing.assert_allclose(I.cpu().numpy(), expected.numpy(), rtol=1e-10)


@pytest.mark.parametrize("name", FRESH)
@pytest.mark.parametrize("engine", ENGINES)
def test_slopes_of_intensities_over_couplings(name, engine):
    like = likelihood(name, engine)
    x = point(like, seed=3)
    own, J = like.coupling_index, like.parameters.jacobian(x)[: 2 * like.plan.n_couplings]
    for sample, key in (("data", "data"), ("phase space", "phase_space")):
        if key == "phase_space" and isinstance(like.phase_space, Collapsed):
            continue
        found = like.intensity_slopes(x, J[:, own], sample)
        expected = torch.autograd.functional.jacobian(lambda y, key=key: oracle(name).intensity(y, key), torch.tensor(x))[:, own]
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-10 * float(expected.abs().max()))


def test_hessian_is_symmetric_and_does_not_depend_on_the_point_before():
    like = likelihood("small", "cpu")
    x, y = point(like), point(like, seed=1)
    H = like.hessian(x)
    np.testing.assert_array_equal(H, H.T)
    like.hessian(y)
    np.testing.assert_array_equal(like.hessian(x), H)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 300, 700])
@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_any_number_of_events(n, engine):
    data = events("small", n, 1)
    like, reference = (make("small", e, data=data, phase_space=events("small", 65, 2)) for e in (engine, "reference"))
    x = point(like)
    for found, expected in zip(like.value_grad_hessian(x), reference.value_grad_hessian(x), strict=True):
        assert_close(found, expected, EACH_OTHER, n)


@pytest.mark.parametrize("engine", ENGINES)
def test_normalisation_without_floating_resonances_is_one_matrix(engine):
    like = likelihood("kk_eta fixed", engine)
    assert isinstance(like.phase_space, Collapsed)
    M = like.phase_space.matrix
    np.testing.assert_allclose(M, M.conj().T, rtol=0, atol=1e-12 * np.abs(M).max())
    c, _ = like.parameters.native(point(like))
    expected = (
        oracle("kk_eta fixed").weights("phase_space") * oracle("kk_eta fixed").intensity(torch.tensor(point(like)), "phase_space")
    ).sum()
    np.testing.assert_allclose((c.conj() @ M @ c).real, float(expected), rtol=1e-12)


@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_gradient_and_hessian_equal_finite_differences(engine):
    # no torch involved: central differences of the value and of the gradient along a few directions
    like = likelihood("own_lineshapes", engine)
    x = point(like)
    _, grad, H = expansion("own_lineshapes", engine)
    for seed in range(2):
        direction = np.random.default_rng(seed).normal(size=len(x))
        direction /= np.linalg.norm(direction)
        h = 1e-5
        values = [like.value_and_grad(x + k * h * direction) for k in (-2, -1, 1, 2)]
        weights = np.array([1, -8, 8, -1]) / (12 * h)
        np.testing.assert_allclose(sum(w * v for w, (v, _) in zip(weights, values, strict=True)), grad @ direction, rtol=1e-6, atol=1e-6)
        slope = sum(w * g for w, (_, g) in zip(weights, values, strict=True))
        assert_close(slope, H @ direction, 1e-6, np.abs(H).max())


def assert_large_samples_agree(name, n, device):
    data, phase_space = events(name, n, 1, "mixed"), events(name, n + 77, 2, "positive")
    arguments = {"data": data, "phase_space": phase_space}
    cuda, reference = make(name, "cuda", **arguments), make(name, "reference", device=device, **arguments)
    x = point(cuda)
    for found, expected in zip(cuda.value_grad_hessian(x), reference.value_grad_hessian(x), strict=True):
        assert_close(found, expected, EACH_OTHER, n)
    np.testing.assert_allclose(cuda.intensity(x).cpu().numpy(), reference.intensity(x).cpu().numpy(), rtol=1e-10)


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="needs a CUDA device")
@pytest.mark.parametrize("n", [1000, 20_001])
@pytest.mark.parametrize("name", [name for name in CASES if name != "one event"])
def test_large_samples_on_the_gpu(name, n):
    assert_large_samples_agree(name, n, "cuda")


@needs_triton
def test_the_same_without_a_gpu():
    assert_large_samples_agree("small", 200, "cuda" if GPU else "cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="needs a CUDA device")
def test_streaming_through_the_gpu():
    data = events("small", 30_000, 1, "mixed")
    whole, streamed = (make("small", "cuda", data=data, phase_space=data, chunk=n) for n in (None, 7_001))
    assert streamed.memory().streamed
    assert streamed.data.chunks[0].block.is_pinned()
    x = point(whole)
    for found, expected in zip(streamed.value_grad_hessian(x), whole.value_grad_hessian(x), strict=True):
        assert_close(found, expected, EACH_OTHER, 30_000)


@pytest.mark.parametrize("engine", [CUDA])
def test_the_gpu_engine_is_where_it_says(engine):
    like = likelihood("small", engine)
    assert like.engine.name == "cuda"
    assert like.engine.device.type == ("cuda" if torch.cuda.is_available() else "cpu")
