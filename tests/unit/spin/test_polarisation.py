"""The parent's density matrix: what is accepted, and the pure states it is made of."""

import numpy as np
import pytest

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.pdg import ParticleTable
from ctpwa.spin.polarisation import Polarisation

table = ParticleTable()
JPSI, LAMBDA, ETA = table.get("J/psi(1S)"), table.get("Lambda"), table.get("eta")


def density(two_J, rank, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(two_J + 1, rank)) + 1j * rng.normal(size=(two_J + 1, rank))
    return root @ root.conj().T


@pytest.mark.parametrize(("size", "rank"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2), (5, 4)])
def test_pure_states_add_up_to_the_density_matrix(size, rank):
    """ρ_mm' = Σ V_m conj(V_m'), with no more rows than ρ has rank."""
    rho = density(size - 1, rank)
    V = Polarisation("density matrix", tuple(map(tuple, rho))).states
    assert V.shape == (rank, size)
    np.testing.assert_allclose(np.einsum("km,kn->mn", V, V.conj()), rho, rtol=0, atol=1e-13 * np.abs(rho).max())


def test_named_polarisations():
    np.testing.assert_array_equal(Polarisation.of("unpolarised", JPSI).rho, np.eye(3))
    np.testing.assert_array_equal(Polarisation.of("transverse", JPSI).rho, np.diag([1, 0, 1]))
    np.testing.assert_array_equal(Polarisation.of("transverse", table.get("f(2)(1270)")).rho, np.diag([0, 1, 0, 1, 0]))
    np.testing.assert_array_equal(Polarisation.of("unpolarised", ETA).rho, [[1]])


def test_density_matrices_may_be_text_numbers_or_arrays():
    expected = np.array([[0.6, 0.1 + 0.2j], [0.1 - 0.2j, 0.4]])
    for value in (expected, expected.tolist(), [["0.6", "0.1+0.2j"], ["0.1 - 0.2j", 0.4]]):
        np.testing.assert_allclose(Polarisation.of(value, LAMBDA).rho, expected, rtol=0, atol=1e-16)


@pytest.mark.parametrize(
    ("parent", "value", "weights"),
    [
        (JPSI, "unpolarised", [1, 1, 1]),
        (JPSI, "transverse", [1, 0, 1]),
        (JPSI, np.diag([0.2, 0.6, 0.2]), [0.2, 0.6, 0.2]),
        (LAMBDA, np.diag([0.5, 0.5]), [0.5, 0.5]),
        (LAMBDA, np.diag([0.5, 0.4]), None),
        (JPSI, np.diag([0.2, 0.2, 0.6]), None),
        (LAMBDA, [[0.5, 0.1], [0.1, 0.5]], None),
        (JPSI, [[0.5, 0, 0.1j], [0, 0, 0], [-0.1j, 0, 0.5]], None),
    ],
)
def test_weights_exist_for_even_diagonal_matrices_only(parent, value, weights):
    found = Polarisation.of(value, parent).weights
    assert (found is None) == (weights is None)
    if weights is not None:
        np.testing.assert_array_equal(found, weights)


def test_eigenvalue_that_is_negative_by_rounding_is_zero():
    V = Polarisation.of(np.diag([1.0, -1e-12]), LAMBDA).states
    np.testing.assert_array_equal(V, [[1, 0]])


@pytest.mark.parametrize(
    ("parent", "value", "message"),
    [
        (LAMBDA, "transverse", "has no states m = ±1"),
        (ETA, "transverse", "has no states m = ±1"),
        (JPSI, "longitudinal", "unknown polarisation 'longitudinal'"),
        (JPSI, np.eye(2), "the density matrix has shape 2×2"),
        (LAMBDA, [[1, 0], [0, "x"]], "is not a matrix of numbers"),
        (LAMBDA, [[1, 0], [0]], "is not a matrix of numbers"),
        (LAMBDA, [[1, 0.5], [0.2, 1]], "is not Hermitian"),
        (LAMBDA, [[1, 0.5j], [0.5j, 1]], "is not Hermitian"),
        (LAMBDA, [[1, float("nan")], [0, 1]], "is not Hermitian"),
        (LAMBDA, [[1, 0], [0, -0.1]], "is not positive: its lowest eigenvalue is -0.1"),
        (LAMBDA, [[0, 0], [0, 0]], "is not positive"),
        (LAMBDA, [[0.5, 1], [1, 0.5]], "is not positive"),
    ],
)
def test_matrices_that_are_no_density_matrices_are_refused(parent, value, message):
    with pytest.raises(PhysicsError, match=message):
        Polarisation.of(value, parent)
