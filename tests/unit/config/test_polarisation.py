"""The spin state of the parent in a model file."""

import pytest

PHI = "resonances: {phi(1020): {in: K+ K-}}\n"
DECAY = "decay: J/psi(1S) -> K+ K- eta\n"


@pytest.mark.parametrize(
    ("value", "what", "fix"),
    [
        ("[[1, 0], [0, 1]]", "the density matrix has shape 2×2", "spin 1 needs 3×3"),
        ("[[1, 1, 0], [0, 0, 0], [0, 0, 1]]", "not Hermitian", "complex conjugate"),
        ("[[1, 0, 0.1j], [0, 0, 0], [0.1j, 0, 1]]", "not Hermitian", "complex conjugate"),
        ("[[1, 0, 0], [0, -1, 0], [0, 0, 1]]", "not positive: its lowest eigenvalue is -1", "negative"),
        ("[[1, 0, 0], [0, 0], [0, 0, 1]]", "not a matrix of numbers", "3 rows of 3 numbers"),
        ("[[1, 0, a], [0, 0, 0], [a, 0, 1]]", "not a matrix of numbers", "0.1+0.2j"),
        ("transvers", "'transvers' is not a polarisation", "did you mean 'transverse'?"),
        ("unpolarized", "'unpolarized' is not a polarisation", "did you mean 'unpolarised'?"),
        ("longitudinal", "'longitudinal' is not a polarisation", "or a density matrix"),
        ("1", "1 is not a polarisation", "or a density matrix"),
        ("[1, 0, 1]", "is not a polarisation", "or a density matrix"),
    ],
)
def test_bad_polarisation(refused, value, what, fix):
    refused(DECAY + f"polarisation: {value}\n" + PHI, "2:15", what, fix)


def test_transverse_needs_spin_one(refused):
    text = "decay: D0 -> K- pi+ pi0\npolarisation: transverse\nresonances: {rho(770): {in: pi+ pi0}}\n"
    refused(text, "2:15", "D0 (0⁻) has no states m = ±1", "write unpolarised")


def test_default_is_unpolarised(load):
    assert load(DECAY + PHI).production.kind == "unpolarised"


def test_density_matrix_with_complex_entries(load):
    rho = load(DECAY + "polarisation: [[0.5, 0, 0.1+0.2j], [0, 0, 0], [0.1-0.2j, 0, 0.5]]\n" + PHI).production.rho
    assert rho[0, 2] == 0.1 + 0.2j
    assert rho[2, 0] == 0.1 - 0.2j
