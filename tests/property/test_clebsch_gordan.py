"""Clebsch–Gordan coefficients: orthogonality for random spins, and exact values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Rational
from sympy.physics.quantum.cg import CG

from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.spin import couplings, projections
from property.strategies import same_every_time, two_spins


def matrix(two_j1, two_j2):
    """⟨m1 m2|J M⟩ with all products as rows and all (J, M) as columns."""
    columns = [(two_J, two_M) for two_J in couplings(two_j1, two_j2) for two_M in projections(two_J)]
    rows = [(m1, m2) for m1 in projections(two_j1) for m2 in projections(two_j2)]
    return np.array([[clebsch_gordan(two_j1, m1, two_j2, m2, J, M) for J, M in columns] for m1, m2 in rows])


@same_every_time
@given(two_spins, two_spins)
def test_clebsch_gordan_coefficients_are_orthogonal_both_ways(two_j1, two_j2):
    C = matrix(two_j1, two_j2)
    assert C.shape == ((two_j1 + 1) * (two_j2 + 1),) * 2
    np.testing.assert_allclose(C.T @ C, np.eye(len(C)), rtol=0, atol=1e-13)
    np.testing.assert_allclose(C @ C.T, np.eye(len(C)), rtol=0, atol=1e-13)


@same_every_time
@given(two_spins, two_spins, st.data())
def test_exchange_and_mirror_symmetries(two_j1, two_j2, data):
    two_J = data.draw(st.sampled_from(list(couplings(two_j1, two_j2))))
    sign = (-1) ** ((two_j1 + two_j2 - two_J) // 2)
    for m1 in projections(two_j1):
        for m2 in projections(two_j2):
            value = clebsch_gordan(two_j1, m1, two_j2, m2, two_J, m1 + m2)
            assert clebsch_gordan(two_j2, m2, two_j1, m1, two_J, m1 + m2) == sign * value
            assert clebsch_gordan(two_j1, -m1, two_j2, -m2, two_J, -m1 - m2) == sign * value


@same_every_time
@given(two_spins, two_spins, st.data())
def test_condon_shortley_sign(two_j1, two_j2, data):
    """⟨j1 j1; j2 J−j1|J J⟩ > 0."""
    two_J = data.draw(st.sampled_from(list(couplings(two_j1, two_j2))))
    assert clebsch_gordan(two_j1, two_j1, two_j2, two_J - two_j1, two_J, two_J) > 0


@pytest.mark.parametrize(
    ("two_j1", "two_m1", "two_j2", "two_m2", "two_J"),
    [
        (1, 1, 1, -1, 0), (1, -1, 1, 1, 2), (2, 0, 1, 1, 1), (2, 2, 1, -1, 3), (2, 0, 2, 0, 4), (3, 1, 2, -2, 5), (4, 2, 4, -2, 4),
        (5, 3, 3, -1, 4), (6, 0, 4, 0, 2), (9, 5, 4, -2, 7), (10, 4, 10, -6, 12), (10, 0, 10, 0, 20), (9, 9, 9, -9, 0), (8, 0, 6, 0, 3),
    ],
)  # fmt: skip
def test_clebsch_gordan_coefficients_are_exact(two_j1, two_m1, two_j2, two_m2, two_J):
    arguments = (two_j1, two_m1, two_j2, two_m2, two_J, two_m1 + two_m2)
    exact = float(CG(*(Rational(x, 2) for x in arguments)).doit()) if (two_j1 + two_j2 + two_J) % 2 == 0 else 0.0
    assert clebsch_gordan(*arguments) == pytest.approx(exact, rel=1e-15, abs=1e-16)


@pytest.mark.parametrize(
    "arguments",
    [(2, 0, 2, 0, 2, 2), (2, 0, 2, 0, 6, 0), (2, 0, 1, 1, 2, 1), (2, 4, 2, -2, 4, 2), (2, 1, 2, 1, 4, 2), (2, 2, 2, 2, 2, 4)],
    ids=["m not conserved", "J too large", "half-integer sum", "m1 too large", "m1 of the wrong kind", "M too large"],
)
def test_impossible_couplings_are_zero(arguments):
    assert clebsch_gordan(*arguments) == 0.0
