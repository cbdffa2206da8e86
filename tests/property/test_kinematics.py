"""Boosts, Wigner rotations, D functions and solid harmonics against independent formulas."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from scipy.special import factorial, sph_harm_y

from ctpwa.kinematics.harmonics import solid_harmonics
from ctpwa.kinematics.lorentz import from_rest_frame, mass_squared, minkowski, to_rest_frame
from ctpwa.kinematics.rotation import wigner_d, wigner_rotation
from ctpwa.kinematics.two_body import breakup_momentum_squared
from physics.helpers import boost_matrix, rotation_operator
from property.strategies import masses, on_shell, same_every_time, two_spins, vectors

SIGMA = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


def spinor_boost(p4):
    """h(p) = (E + m + p·σ)/√(2m(E+m))."""
    p = p4.numpy()[:, 0]
    m = np.sqrt(p[0] ** 2 - p[1:] @ p[1:])
    return ((p[0] + m) * np.eye(2) + np.einsum("i,iab->ab", p[1:], SIGMA)) / np.sqrt(2 * m * (p[0] + m))


def su2(rotation):
    """exp(−i θ·σ/2), [2, 2, 1]."""
    half = rotation.as_rotvec() / 2
    angle = np.linalg.norm(half)
    return torch.tensor(np.cos(angle) * np.eye(2) - 1j * np.sinc(angle / np.pi) * np.einsum("i,iab->ab", half, SIGMA))[:, :, None]


@same_every_time
@given(masses, masses, vectors, vectors)
def test_breakup_momentum_is_the_momentum_in_the_rest_frame(m1, m2, a, b):
    p1, p2 = on_shell(m1, a), on_shell(m2, b)
    P = p1 + p2
    s = mass_squared(P)
    q3 = to_rest_frame(p1, P, s.sqrt())[1:]
    other = to_rest_frame(p2, P, s.sqrt())[1:]
    np.testing.assert_allclose(q3 + other, 0, rtol=0, atol=1e-12)
    q2 = (breakup_momentum_squared(s, m1, m2)).item()
    assert q2 == pytest.approx(q3.square().sum().item(), rel=1e-10, abs=1e-12)


@same_every_time
@given(masses, masses, vectors, vectors)
def test_boost_is_pure_and_has_an_inverse(m, M, a, b):
    p, P = on_shell(m, a), on_shell(M, b)
    mass = torch.tensor([M], dtype=torch.float64)
    there = to_rest_frame(p, P, mass)
    E, P3 = P[0, 0].item(), P[1:, 0].numpy()
    if np.linalg.norm(P3) > 1e-6:
        np.testing.assert_allclose(there[:, 0], boost_matrix(-P3 / E) @ p[:, 0].numpy(), rtol=1e-10, atol=1e-9 * E / M)
    np.testing.assert_allclose(from_rest_frame(there, P, mass), p, rtol=1e-10, atol=1e-10 * (E / M) ** 2)
    assert minkowski(there, there).item() == pytest.approx(m * m, rel=0, abs=1e-12 * there[0].item() ** 2)
    np.testing.assert_allclose(to_rest_frame(P, P, mass)[:, 0], [M, 0, 0, 0], rtol=1e-10, atol=1e-10 * (E / M))


@same_every_time
@given(masses, masses, vectors, vectors)
def test_wigner_rotation_is_the_product_of_three_boosts(m1, m2, a, b):
    """W = h(p1)⁻¹ h(P) h(p1*), sign included."""
    p1 = on_shell(m1, a)
    P = p1 + on_shell(m2, b)
    M = mass_squared(P).sqrt()
    W = wigner_rotation(P, M, p1, torch.tensor([m1], dtype=torch.float64))[:, :, 0].numpy()
    expected = np.linalg.inv(spinor_boost(p1)) @ spinor_boost(P) @ spinor_boost(to_rest_frame(p1, P, M))
    np.testing.assert_allclose(W, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(W @ W.conj().T, np.eye(2), rtol=0, atol=1e-14)
    assert np.linalg.det(W) == pytest.approx(1, abs=1e-14)


@same_every_time
@given(masses, vectors)
def test_nothing_turns_if_the_parent_is_at_rest(m, a):
    P = torch.tensor([[7.0], [0.0], [0.0], [0.0]], dtype=torch.float64)
    W = wigner_rotation(P, torch.tensor([7.0], dtype=torch.float64), on_shell(m, a), torch.tensor([m], dtype=torch.float64))
    np.testing.assert_allclose(W[:, :, 0].numpy(), np.eye(2), rtol=0, atol=1e-15)


@same_every_time
@given(two_spins, vectors)
def test_wigner_d_is_the_exponential_of_spin_matrices(two_j, axis):
    rotation = Rotation.from_rotvec(axis)
    np.testing.assert_allclose(wigner_d(su2(rotation), two_j)[:, :, 0].numpy(), rotation_operator(two_j, rotation), rtol=0, atol=1e-12)


@same_every_time
@given(two_spins, vectors, vectors)
def test_wigner_d_is_unitary_and_respects_products(two_j, one, two):
    first, second = su2(Rotation.from_rotvec(one)), su2(Rotation.from_rotvec(two))
    product = torch.einsum("abe,bce->ace", first, second)
    D1, D2, D12 = (wigner_d(W, two_j)[:, :, 0].numpy() for W in (first, second, product))
    np.testing.assert_allclose(D1 @ D1.conj().T, np.eye(two_j + 1), rtol=0, atol=1e-13)
    np.testing.assert_allclose(D1 @ D2, D12, rtol=0, atol=1e-13)


@same_every_time
@given(two_spins, vectors)
def test_full_turn_changes_the_sign_of_half_integer_spins(two_j, axis):
    W = su2(Rotation.from_rotvec(axis))
    np.testing.assert_allclose(wigner_d(-W, two_j), (-1) ** two_j * wigner_d(W, two_j), rtol=0, atol=1e-14)


@pytest.mark.parametrize("two_j", range(11))
def test_wigner_d_about_y_is_the_polynomial_of_textbooks(two_j):
    """d^j_{m'm}(β) by Wigner's sum."""
    beta = 0.83
    j = two_j / 2
    c, s = np.cos(beta / 2), np.sin(beta / 2)
    D = wigner_d(su2(Rotation.from_rotvec([0, beta, 0])), two_j)[:, :, 0].numpy()
    for row in range(two_j + 1):
        for column in range(two_j + 1):
            a, b = j - row, j - column  # m', m
            norm = np.sqrt(factorial(j + a) * factorial(j - a) * factorial(j + b) * factorial(j - b))
            total = 0.0
            for k in range(int(max(0, b - a)), int(min(j + b, j - a)) + 1):
                bottom = factorial(j + b - k) * factorial(k) * factorial(a - b + k) * factorial(j - a - k)
                total += (-1) ** (a - b + k) / bottom * c ** (2 * j + b - a - 2 * k) * s ** (a - b + 2 * k)
            assert D[row, column] == pytest.approx(norm * total, abs=1e-13)


@same_every_time
@given(st.integers(0, 10), vectors)
def test_solid_harmonics_are_those_of_scipy(L, q):
    q3 = np.array(q)
    size = np.linalg.norm(q3)
    result = solid_harmonics(torch.tensor(q3)[:, None], range(L + 1))
    theta, phi = np.arctan2(np.hypot(q3[0], q3[1]), q3[2]), np.arctan2(q3[1], q3[0])
    for l, Y in result.items():
        expected = size**l * np.array([sph_harm_y(l, M, theta, phi) for M in range(l, -l - 1, -1)])
        np.testing.assert_allclose(Y[:, 0].numpy(), expected, rtol=0, atol=1e-12 * max(size, 1e-3) ** l)


def test_solid_harmonics_at_zero_momentum_and_along_the_axes():
    q3 = torch.tensor([[0.0, 0, 0], [0, 0, 2.0], [0, 0, -2.0]], dtype=torch.float64).T.contiguous()
    for L, Y in solid_harmonics(q3, range(9)).items():
        Y = Y.numpy()
        assert np.all(np.isfinite(Y))
        assert np.all(Y[:, 0] == (1 / np.sqrt(4 * np.pi) if L == 0 else 0))
        expected = np.zeros(2 * L + 1)
        expected[L] = np.sqrt((2 * L + 1) / (4 * np.pi)) * 2.0**L
        np.testing.assert_allclose(Y[:, 1], expected, rtol=1e-14, atol=0)
        np.testing.assert_allclose(Y[:, 2], (-1) ** L * expected, rtol=1e-14, atol=0)


@same_every_time
@given(st.integers(0, 10), vectors, vectors)
def test_solid_harmonics_turn_with_D(L, q, axis):
    rotation = Rotation.from_rotvec(axis)
    Y, turned = (solid_harmonics(torch.tensor(v)[:, None], [L])[L][:, 0].numpy() for v in (np.array(q), rotation.apply(q)))
    D = rotation_operator(2 * L, rotation)
    np.testing.assert_allclose(turned, D.conj() @ Y, rtol=0, atol=1e-12 * max(np.linalg.norm(q), 1e-3) ** L)
