"""Density matrices as functions of parameters: what they are, their Cholesky factors with derivatives, and the edge of what is physical."""

import numpy as np
import pytest

from ctpwa.decay.particle import Particle
from ctpwa.spin.density_matrix import DensityMatrix, check_element, element_names, independent_elements

NUDGE = 1e-6


def parent(two_J):
    return Particle("X", two_J, 1, None, 3.0, 0.0, 0, False, "X", 0, frozenset(), "X")


def physical(density, seed, share=0.8):
    """Parameters of a random density matrix, mixed with the one without polarisation."""
    random = np.random.default_rng(seed)
    n = len(density.states)
    V = random.normal(size=(n, n)) + 1j * random.normal(size=(n, n))
    rho = V @ V.conj().T
    unit = np.eye(n) / n
    rho = share * rho / np.trace(rho).real + (1 - share) * unit
    basis = np.array([B.ravel() for B in np.array(density.slopes)]).T
    return np.linalg.lstsq(np.concatenate([basis.real, basis.imag]), _parts(rho - np.array(density.constant)), rcond=None)[0]


def _parts(matrix):
    return np.concatenate([matrix.ravel().real, matrix.ravel().imag])


EVERY = [DensityMatrix.of(parent(two_J), independent_elements(parent(two_J))) for two_J in (1, 2, 3, 4)]
SOME = [
    DensityMatrix.of(parent(1), ["P_z"]),
    DensityMatrix.of(parent(2), ["rho_00"]),
    DensityMatrix.of(parent(2), ["rho_00", "rho_1-1.re"]),
    DensityMatrix.of(parent(4), ["rho_22", "rho_11"], {"rho_-2-2": "rho_22", "rho_-1-1": "rho_11"}),
]


def test_the_vector_is_that_of_the_pauli_matrices():
    density = DensityMatrix.of(parent(1), ["P_x", "P_y", "P_z"])
    P = np.array([0.1, -0.5, 0.3])
    rho = density.rho(P)
    sigma = [np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.array([[1, 0], [0, -1]])]
    np.testing.assert_allclose([np.trace(rho @ s).real for s in sigma], P, atol=1e-15)
    np.testing.assert_allclose(density.room(P), (1 - np.linalg.norm(P)) / 2)


def test_elements_are_where_their_names_say():
    density = DensityMatrix.of(parent(2), ["rho_11", "rho_10.re", "rho_10.im", "rho_1-1.re"])
    rho = density.whole(np.array([0.4, 0.1, 0.2, 0.05]))
    expected = [[0.4, 0.1 + 0.2j, 0.05], [0.1 - 0.2j, 0.3, 0], [0.05, 0, 0.3]]  # the diagonal elements that are left share 0.6
    np.testing.assert_allclose(rho, expected, atol=1e-15)
    rho = DensityMatrix.of(parent(3), ["rho_33", "rho_3-1.im"]).whole(np.array([0.1, 0.15]))
    np.testing.assert_allclose(np.diag(rho), [0.1, 0.3, 0.3, 0.3])
    assert rho[0, 2] == 0.15j


def test_even_matrices_know_that_they_are():
    assert [density.even for density in SOME] == [False, True, False, True]
    np.testing.assert_allclose(np.diag(SOME[1].whole(np.array([0.2]))), [0.4, 0.2, 0.4])
    np.testing.assert_allclose(np.diag(SOME[3].whole(np.array([0.1, 0.25]))), [0.1, 0.25, 0.3, 0.25, 0.1])


def test_what_is_always_zero_is_no_feed():
    assert [density.n_feeds for density in EVERY] == [3, 6, 10, 15]
    assert [density.entries for density in SOME] == [
        ((0, 0), (1, 1)),
        ((0, 0), (1, 1)),
        ((0, 0), (0, 2), (1, 1), (2, 2)),
        ((0, 0), (1, 1), (2, 2)),
    ]


@pytest.mark.parametrize("density", [*EVERY, SOME[2]], ids=lambda density: f"{len(density.names)} of {density.states[0] + 1}")
def test_factors_give_the_matrix(density):
    p = physical(density, 1) if density in EVERY else np.array([0.2, 0.1])
    L = np.zeros((len(density.states), len(density.states)), dtype=complex)
    for (k, m), value in zip(density.entries, density.values(p), strict=True):
        L[m, k] = value
    np.testing.assert_allclose(L @ L.conj().T, density.rho(p), atol=1e-14)


@pytest.mark.parametrize("density", EVERY, ids=lambda density: f"2J = {density.states[0]}")
def test_derivatives_against_differences(density):
    p = physical(density, 2)
    moving = np.ones(len(p), dtype=bool)
    first, second = density.derivatives(p, moving)
    barrier = density.barrier(p)
    for a, step in enumerate(NUDGE * np.eye(len(p))):
        up, down = (density.derivatives(p + sign * step, moving)[0] for sign in (1, -1))
        np.testing.assert_allclose((density.values(p + step) - density.values(p - step)) / (2 * NUDGE), first[:, a], atol=1e-7)
        np.testing.assert_allclose((up - down) / (2 * NUDGE), second[:, :, a], atol=1e-5)
        ends = [density.barrier(p + sign * step) for sign in (1, -1)]
        np.testing.assert_allclose((ends[0][0] - ends[1][0]) / (2 * NUDGE), barrier[1][a], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose((ends[0][1] - ends[1][1]) / (2 * NUDGE), barrier[2][a], rtol=1e-5, atol=1e-4)


def test_outside_there_are_no_factors():
    density = EVERY[0]
    assert np.isnan(density.values(np.array([0.8, 0.0, 0.8]))).all()
    assert np.isnan(density.barrier(np.array([0.8, 0.0, 0.8]))[0])
    assert density.room(np.array([0.8, 0.0, 0.8])) < 0


def test_at_the_edge_there_are_factors_and_slopes_of_what_stands_still_are_zero():
    density = EVERY[0]
    p = np.array([0.6, 0.0, 0.8])
    V = density.values(p)
    np.testing.assert_allclose(V, [np.sqrt(0.9), 0.3 / np.sqrt(0.9), 0], atol=1e-12)
    assert np.isnan(density.derivatives(p, np.array([True, False, False]))[0][:, 0]).all()
    first, second = density.derivatives(p, np.zeros(3, dtype=bool))
    assert not first.any()
    assert not second.any()


def test_a_state_that_is_not_there_does_not_disturb_the_others():
    density = SOME[2]  # ρ_00 = 0, and ρ_1-1 moves
    first, _ = density.derivatives(np.array([0.0, 0.1]), np.array([False, True]))
    two = DensityMatrix.of(parent(1), ["P_x"])  # the same 2×2 matrix of m = ±1
    np.testing.assert_allclose(first[[0, 1, 3], 1], 2 * two.derivatives(np.array([0.2]), np.array([True]))[0][:, 0], atol=1e-14)


def test_names():
    assert element_names(parent(1)) == ("P_x", "P_y", "P_z")
    assert element_names(parent(2))[:5] == ("rho_11", "rho_00", "rho_-1-1", "rho_10.re", "rho_10.im")
    assert "rho_3-1.im" in element_names(parent(3))
    assert [len(independent_elements(parent(two_J))) for two_J in (1, 2, 3, 4)] == [3, 8, 15, 24]
    for two_J in (1, 2, 3, 4):
        for name in element_names(parent(two_J)):
            check_element(name, parent(two_J))
