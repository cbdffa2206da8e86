"""Break-up momentum and barrier polynomials."""

import numpy as np
import pytest
import torch
from scipy.special import spherical_jn, spherical_yn

from ctpwa.kinematics.two_body import barrier_coefficients, barrier_polynomial, breakup_momentum_squared


def test_breakup_momentum_at_and_below_threshold():
    s = torch.tensor([1.0, 0.81, 4.0], dtype=torch.float64)
    q2 = breakup_momentum_squared(s, 0.4, 0.6)
    assert q2[0].item() == pytest.approx(0, abs=1e-16)
    assert q2[1] < 0
    assert q2[2].item() == pytest.approx((4 - 1) * (4 - 0.04) / 16)


def test_breakup_momentum_of_massless_and_equal_daughters():
    s = torch.tensor([9.0], dtype=torch.float64)
    assert breakup_momentum_squared(s, 0.0, 0.0).item() == pytest.approx(9 / 4)
    assert breakup_momentum_squared(s, 1.0, 1.0).item() == pytest.approx(9 / 4 - 1)


@pytest.mark.parametrize(
    ("L", "coefficients"),
    [
        (0, [1]),
        (1, [1, 1]),
        (2, [9, 3, 1]),
        (3, [225, 45, 6, 1]),
        (4, [11025, 1575, 135, 10, 1]),
        (5, [893025, 99225, 6300, 315, 15, 1]),
        (6, [108056025, 9823275, 496125, 18900, 630, 21, 1]),
    ],
)
def test_barrier_coefficients(L, coefficients):
    assert barrier_coefficients(L) == coefficients


@pytest.mark.parametrize("L", range(11))
def test_barrier_polynomial_is_the_squared_hankel_function(L):
    """N_L(z) = z^(2L+2) |h_L(z)|²."""
    z = np.array([0.3, 1.0, 2.5, 7.0])
    expected = z ** (2 * L + 2) * (spherical_jn(L, z) ** 2 + spherical_yn(L, z) ** 2)
    np.testing.assert_allclose(barrier_polynomial(L, torch.tensor(z**2)).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("L", range(7))
def test_barrier_polynomial_at_threshold_is_finite_and_not_zero(L):
    at_zero = barrier_polynomial(L, torch.zeros(1, dtype=torch.float64)).item()
    double_factorial = np.prod(np.arange(1, 2 * L, 2.0))
    assert at_zero == pytest.approx(double_factorial**2)
