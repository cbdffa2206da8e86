"""The map from free parameters to couplings and lineshape parameters, and its derivatives."""

import numpy as np
import pytest
import torch

from ctpwa.base.errors import PhysicsError
from ctpwa.model.make_parameters import make_parameters
from ctpwa.model.parameter import Parameter
from ctpwa.model.parameters import Product

THETA = (
    Parameter("R.mass", 1.2, lower=0.0),
    Parameter("R.width", 0.1, fixed=True, lower=0.0),
    Parameter("R.a", -0.3, lower=-1.0, upper=1.0),
)
COUPLINGS = (
    Product((0,)),
    Product((1,), -1.0),
    Product((1, 2), 0.5j),
    Product((2, 3, 0), 1 + 2j),
    Product((3, 3)),
    Product((1, 1, 2), -2.0),
    Product((), 3.0),
)
SINGLE = (Product((0,)), Product((2,), -1.0), Product((2,), 1j), Product((1,)), Product((3,)))


def parameters(couplings, representation, fixed=("z0.re", "z0.im")):
    polar = {"re": "abs", "im": "phase"}
    names = [f"{n}.{polar[p]}" if representation == "polar" else f"{n}.{p}" for n, p in (f.split(".") for f in fixed)]
    return make_parameters([f"z{i}" for i in range(4)], couplings, THETA, representation=representation, fixed=names)


def torch_native(own, x):
    """(Re c, Im c, θ) in torch."""
    every = torch.tensor([p.value for p in own.all], dtype=torch.float64)
    free = torch.tensor([not p.fixed for p in own.all])
    every = torch.zeros_like(every).masked_scatter(free, x) + torch.where(free, 0.0, every)
    a, b = every[0:8:2], every[1:8:2]
    z = torch.polar(a, b) if own.representation == "polar" else torch.complex(a, b)
    c = []
    for product in own.couplings:
        value = torch.tensor(complex(product.factor), dtype=torch.complex128)
        for k in product.numbers:
            value = value * z[k]
        c.append(value)
    c = torch.stack(c)
    return torch.cat([c.real, c.imag, every[8:]])


each = pytest.mark.parametrize(
    "own",
    [
        parameters(couplings, representation, fixed)
        for couplings in (COUPLINGS, SINGLE)
        for representation in ("cartesian", "polar")
        for fixed in (("z0.re", "z0.im"), (), ("z2.im",))
    ],
    ids=lambda own: f"{own.representation}-{len(own.couplings)}-{len(own.names)}",
)


def some_point(own, seed=1):
    return own.start + np.random.default_rng(seed).normal(size=len(own.names))


@each
def test_couplings_are_products_of_numbers(own):
    x = some_point(own)
    c, theta = own.native(x)
    expected = torch_native(own, torch.tensor(x)).numpy()
    n = len(own.couplings)
    np.testing.assert_allclose(c, expected[:n] + 1j * expected[n : 2 * n], rtol=1e-14)
    np.testing.assert_array_equal(theta, expected[2 * n :])


@each
def test_jacobian_and_second_derivatives_are_exact(own):
    x = some_point(own)
    J = torch.autograd.functional.jacobian(lambda y: torch_native(own, y), torch.tensor(x)).numpy()
    np.testing.assert_allclose(own.jacobian(x), J, rtol=1e-13, atol=1e-14)
    weights = np.random.default_rng(2).normal(size=J.shape[0])
    H = torch.autograd.functional.hessian(lambda y: torch.tensor(weights) @ torch_native(own, y), torch.tensor(x)).numpy()
    np.testing.assert_allclose(own.second(x, weights), H, rtol=1e-12, atol=1e-13)


@each
def test_jacobian_equals_finite_differences(own):
    x, h = some_point(own, seed=3), 1e-5

    def native(y):
        c, theta = own.native(y)
        return np.concatenate([c.real, c.imag, theta])

    for k in range(len(x)):
        step = h * np.eye(len(x))[k]
        slope = (native(x + step) - native(x - step)) / (2 * h)
        np.testing.assert_allclose(own.jacobian(x)[:, k], slope, rtol=1e-7, atol=1e-7)


@each
def test_linear_maps_have_a_constant_jacobian_and_no_second_derivatives(own):
    one, two = some_point(own), some_point(own, seed=4)
    expected = own.representation == "cartesian" and len(own.couplings) == len(SINGLE)
    assert own.linear == expected
    if expected:
        np.testing.assert_array_equal(own.jacobian(one), own.jacobian(two))
        assert not own.second(one, np.ones(2 * len(own.couplings) + own.n_theta)).any()


def test_fixed_parameters_keep_their_value():
    own = parameters(SINGLE, "cartesian")
    assert own.names == ("z1.re", "z1.im", "z2.re", "z2.im", "z3.re", "z3.im", "R.mass", "R.a")
    full = own.full(np.arange(8.0))
    np.testing.assert_array_equal(full, [1, 0, 0, 1, 2, 3, 4, 5, 6, 0.1, 7])
    assert own.native(np.arange(8.0))[0][0] == 1
    np.testing.assert_array_equal(own.native(np.arange(8.0))[1], [6, 0.1, 7])


def test_limits_are_those_of_the_free_parameters():
    own = parameters(SINGLE, "polar")
    assert own.bounds.shape == (8, 2)
    np.testing.assert_array_equal(own.bounds[-2:], [[0, np.inf], [-1, 1]])
    assert np.isinf(own.bounds[:-2]).all()


def test_start_is_a_copy():
    own = parameters(SINGLE, "cartesian")
    own.start[:] = 7
    assert own.start[0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"representation": "polr"}, "unknown representation 'polr' of couplings\n fix: did you mean 'polar'"),
        ({"fixed": ["z1.ree"]}, "unknown parameter 'z1.ree'\n fix: did you mean 'z1.re'"),
        ({"values": {"R.mas": 1.0}}, "unknown parameter 'R.mas'\n fix: did you mean 'R.mass'"),
        ({"representation": "polar", "fixed": ["z1.re"]}, "unknown parameter 'z1.re'"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(PhysicsError) as error:
        make_parameters(["z0", "z1"], [Product((0,)), Product((1,))], THETA, **arguments)
    assert message in str(error.value)
