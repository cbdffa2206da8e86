"""Properties of single vertices and random chains of any spins."""

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.spatial.transform import Rotation

from ctpwa.decay.rules import angular_momentum_couplings
from ctpwa.decay.spin import projections
from ctpwa.decay.structure import Structure, leaves_of, put_in_order
from ctpwa.spin.evaluate import Evaluator, harmonics_needed
from physics.helpers import boost_matrix, rotation_operator
from property.strategies import particle, random_momenta, same_every_time, seeds, three_body_chains, vectors, vertices


def amplitude(structure, finals, p4, **options):
    """[m, final spins, event]."""
    evaluator = Evaluator([particle(two_s) for two_s in finals], p4, harmonics_needed([structure]), **options)
    return evaluator.top_amplitude(structure, projections(structure.two_J)).numpy()


def q2_of(p1, p2):
    """|q|² of a pair from invariants, [event]."""

    def dot(a, b):
        return (a[0] * b[0] - (a[1:] * b[1:]).sum(dim=0)).numpy()

    s, m1, m2 = dot(p1 + p2, p1 + p2), dot(p1, p1), dot(p2, p2)
    return ((s - m1 - m2) ** 2 - 4 * m1 * m2) / (4 * s)


def products(A):
    """conj(A_m) A_m' summed over final spins, [m, m', event]."""
    return np.einsum("mse,nse->mne", A.conj(), A)


def assert_equal_up_to_rounding(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@same_every_time
@given(vertices(), seeds)
def test_vertex_sum_rule(vertex, seed):
    """Σ |V|² = (2J+1)/4π |q|^2L, in any direction and in any frame."""
    two_J, two_s1, two_s2, ls = vertex
    p4 = random_momenta(seed, 2)
    for rest_frame in (True, False):
        A = amplitude(Structure(two_J, ls, (0, 1), 0.0), (two_s1, two_s2), p4, rest_frame=rest_frame)
        expected = (two_J + 1) / (4 * np.pi) * q2_of(*p4) ** ls.L
        np.testing.assert_allclose((np.abs(A) ** 2).sum(axis=(0, 1)), expected, rtol=1e-10)


@same_every_time
@given(vertices(), seeds)
def test_different_couplings_of_a_vertex_are_orthogonal(vertex, seed):
    """Σ_mσ conj(V^LS) V^L'S' = 0 for any direction: the helicity couplings of different (L, S) are orthogonal."""
    two_J, two_s1, two_s2, ls = vertex
    p4 = random_momenta(seed, 2, n_events=1)
    A = amplitude(Structure(two_J, ls, (0, 1), 0.0), (two_s1, two_s2), p4)
    for other in angular_momentum_couplings(two_J, two_s1, two_s2):
        B = amplitude(Structure(two_J, other, (0, 1), 0.0), (two_s1, two_s2), p4)
        overlap = np.vdot(A, B) / (np.linalg.norm(A) * np.linalg.norm(B))
        assert overlap == pytest.approx(float(other == ls), abs=1e-11)


@same_every_time
@given(three_body_chains(), seeds, vectors)
def test_chains_do_not_depend_on_the_frame(chain, seed, direction):
    """For every pair of parent states: a pure boost changes nothing once final spins are summed."""
    structure, finals = chain
    p4 = random_momenta(seed, 3)
    beta = np.array(direction) / 6 + np.array([0.1, 0.0, 0.0])
    boost = torch.tensor(boost_matrix(beta))
    at_rest = Evaluator([particle(s) for s in finals], p4, harmonics_needed([structure])).p4
    expected = products(amplitude(structure, finals, at_rest, rest_frame=False))
    moving = [boost @ p for p in at_rest]
    assert_equal_up_to_rounding(products(amplitude(structure, finals, moving, rest_frame=False)), expected)
    assert_equal_up_to_rounding(products(amplitude(structure, finals, moving, rest_frame=True)), expected)


@same_every_time
@given(three_body_chains(), seeds, vectors)
def test_chains_turn_like_their_parent(chain, seed, axis):
    """Products of amplitudes conj(A_m) A_m' transform with D^J and conj D^J."""
    structure, finals = chain
    p4 = random_momenta(seed, 3)
    rotation = Rotation.from_rotvec(axis)
    R = torch.tensor(rotation.as_matrix())
    turned = [torch.cat([p[:1], R @ p[1:]]) for p in p4]
    D = rotation_operator(structure.two_J, rotation)
    rotated = products(amplitude(structure, finals, turned))
    expected = np.einsum("am,mne,bn->abe", D, products(amplitude(structure, finals, p4)), D.conj())
    assert_equal_up_to_rounding(rotated, expected)


@same_every_time
@given(three_body_chains(), seeds)
def test_reflection_gives_the_parity_of_all_L(chain, seed):
    structure, finals = chain
    p4 = random_momenta(seed, 3)
    mirrored = [torch.cat([p[:1], -p[1:]]) for p in p4]
    expected = (-1) ** structure.total_L * amplitude(structure, finals, p4)
    assert_equal_up_to_rounding(amplitude(structure, finals, mirrored), expected, 1e-12)


@same_every_time
@given(three_body_chains(), seeds)
def test_ordered_structures_have_the_sign_they_cost(chain, seed):
    structure, finals = chain
    p4 = random_momenta(seed, 3)
    ordered, sign = put_in_order(structure, finals)
    assert all(min(leaves_of(vertex.daughters[0])) == min(vertex.leaves) for vertex in ordered.walk())
    assert_equal_up_to_rounding(sign * amplitude(ordered, finals, p4), amplitude(structure, finals, p4), 1e-12)


@same_every_time
@given(three_body_chains(), seeds)
def test_chain_is_no_larger_than_the_sum_rules_of_its_vertices_allow(chain, seed):
    """Σ|A|² ≤ Σ|V_top|² Σ|V_R|², with equality for a spinless resonance."""
    structure, finals = chain
    p4 = random_momenta(seed, 3)
    A = amplitude(structure, finals, p4)
    inner = next(d for d in structure.daughters if isinstance(d, Structure))
    i, j = inner.daughters
    bound = (structure.two_J + 1) * (inner.two_J + 1) / (4 * np.pi) ** 2
    bound = bound * q2_of(p4[0] + p4[1], p4[2]) ** structure.ls.L * q2_of(p4[i], p4[j]) ** inner.ls.L
    total = (np.abs(A) ** 2).sum(axis=(0, 1))
    assert np.all(total <= bound * (1 + 1e-10))
    if inner.two_J == 0:
        np.testing.assert_allclose(total, bound, rtol=1e-10)
