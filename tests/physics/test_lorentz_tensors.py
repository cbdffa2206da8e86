"""The little-group code against explicit Lorentz tensors and Dirac spinors: one constant for each (L, S), whatever the event.

Everything happens in a frame in which the parent moves, with masses that differ from event to event.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch

from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import LS
from ctpwa.decay.structure import Structure
from ctpwa.kinematics.photon import linear_polarisations
from ctpwa.spin.evaluate import Evaluator, harmonics_needed, on_light_cone
from physics import tensors as lorentz

N_EVENTS = 4


def particle(two_J, massless=False):
    return Particle(f"s{two_J}", two_J, 1, None, None, None, 0, massless, f"s{two_J}", 0, frozenset({(0, 0, 0)}), "")


def random_momenta(number, seed, massless=()):
    """[particle][4, event] in a common frame, all masses different in every event."""
    rng = np.random.default_rng(seed)
    result = []
    for index in range(number):
        p3 = rng.normal(size=(3, N_EVENTS)) + np.array([[0.3], [-0.5], [0.8]])
        m = 0.0 if index in massless else rng.uniform(0.3, 1.5, size=N_EVENTS)
        result.append(torch.tensor(np.vstack([np.sqrt((p3**2).sum(axis=0) + m**2), p3])))
    return [on_light_cone(p) if index in massless else p for index, p in enumerate(result)]


def computed(structure, particles, p4, formalism="canonical"):
    """[m, spin 1, spin 2, …, event] without going to the rest frame."""
    evaluator = Evaluator(particles, p4, harmonics_needed([structure]), rest_frame=False, formalism=formalism)
    A = evaluator.top_amplitude(structure, range(structure.two_J, -structure.two_J - 1, -2)).numpy()
    states = [2 if p.massless else p.two_J + 1 for p in particles]
    return A.reshape(structure.two_J + 1, *states, N_EVENTS)


def written_out(function, p4):
    return np.stack([function(*(p.numpy()[:, e] for p in p4)) for e in range(N_EVENTS)], axis=-1)


def assert_proportional(actual, expected, tolerance=1e-11):
    """One complex constant for all spins and events."""
    constant = np.vdot(expected, actual) / np.vdot(expected, expected)
    assert abs(constant) > 1e-3
    np.testing.assert_allclose(actual, constant * expected, rtol=0, atol=tolerance * np.abs(actual).max())
    return constant


def integer_spins(J, s1, s2, L, S):
    def amplitude(p1, p2):
        P = p1 + p2
        first, second = (lorentz.apply(lorentz.transport(p, P), lorentz.polarisation(p, s).conj(), s) for p, s in ((p1, s1), (p2, s2)))
        spin = lorentz.couple(P, first, s1, second, s2, S)
        return lorentz.amplitude(P, J, lorentz.couple(P, spin, S, lorentz.orbital(P, p1, p2, L), L, J))

    return amplitude


@pytest.mark.parametrize(
    ("J", "s1", "s2", "L", "S"),
    [
        (1, 0, 0, 1, 0), (2, 0, 0, 2, 0), (3, 0, 0, 3, 0),
        (1, 1, 0, 0, 1), (1, 1, 0, 1, 1), (1, 1, 0, 2, 1),
        (0, 1, 1, 0, 0), (0, 1, 1, 1, 1), (0, 1, 1, 2, 2),
        (1, 2, 0, 1, 2), (1, 2, 0, 2, 2), (1, 2, 0, 3, 2), (2, 1, 0, 1, 1), (2, 1, 0, 2, 1), (2, 1, 0, 3, 1),
        (1, 1, 1, 1, 0), (1, 1, 1, 1, 1), (1, 1, 1, 1, 2), (1, 1, 1, 2, 1), (1, 1, 1, 2, 2), (2, 1, 1, 0, 2),
        (1, 1, 2, 2, 1), (1, 1, 2, 2, 2), (1, 1, 2, 2, 3), (2, 2, 1, 1, 2),
    ],
)  # fmt: skip
def test_integer_spins(J, s1, s2, L, S):
    p4 = random_momenta(2, seed=J + 10 * s1 + 100 * s2 + 1000 * L)
    structure = Structure(2 * J, LS(L, Fraction(S)), (0, 1), 0.0)
    A = computed(structure, [particle(2 * s1), particle(2 * s2)], p4)
    assert_proportional(A, written_out(integer_spins(J, s1, s2, L, S), p4))


@pytest.mark.parametrize("L", range(5))
def test_constant_of_a_spinless_vertex_is_that_of_the_solid_harmonic(L):
    """r = p1 − p2 = 2q in the rest frame: the constant is √((2L+1)/4π) √((2L−1)!!/L!) / (±2)^L."""
    p4 = random_momenta(2, seed=L)
    A = computed(Structure(2 * L, LS(L, Fraction(0)), (0, 1), 0.0), [particle(0), particle(0)], p4)
    constant = assert_proportional(A, written_out(integer_spins(L, 0, 0, L, 0), p4))
    assert constant == pytest.approx((-1) ** L * lorentz.harmonic_scale(L) / 2**L, rel=1e-11)


@pytest.mark.parametrize(("s2", "L", "S"), [(0, 0, 1), (0, 1, 1), (0, 2, 1), (2, 0, 1), (2, 2, 2), (2, 2, 3), (2, 4, 3), (1, 2, 2)])
def test_photons(s2, L, S):
    p4 = random_momenta(2, seed=20 + L, massless=(0,))
    e = linear_polarisations(p4[0]).numpy()
    vectors = iter(np.moveaxis(e, -1, 0))

    def amplitude(k, p2):
        P = k + p2
        first = lorentz.photon_vectors(k, next(vectors), P).conj()
        second = lorentz.apply(lorentz.transport(p2, P), lorentz.polarisation(p2, s2).conj(), s2)
        spin = lorentz.couple(P, first, 1, second, s2, S)
        return lorentz.amplitude(P, 1, lorentz.couple(P, spin, S, lorentz.orbital(P, k, p2, L), L, 1))

    A = computed(Structure(2, LS(L, Fraction(S)), (0, 1), 0.0), [particle(2, massless=True), particle(2 * s2)], p4)
    assert_proportional(A, written_out(amplitude, p4))


def baryon_vertex(two_J, L):
    """½ or 3/2 → ½ + 0 with the transported Dirac spinor."""

    def amplitude(p1, p2):
        P = p1 + p2
        row = lorentz.bar((lorentz.spinor_transport(p1, P) @ lorentz.spinor(p1).T).T)
        t = lorentz.orbital(P, p1, p2, L)
        return contract(row, t, P)

    def contract(row, t, P):
        lower = lorentz.apply(lorentz.METRIC, t, L)
        if two_J == 1:
            u = lorentz.spinor(P)
            middle = np.eye(4) if L == 0 else lorentz.GAMMA5 @ np.einsum("m,mab->ab", lower, lorentz.GAMMA)
            return np.einsum("sa,ab,mb->ms", row, middle, u)
        u = lorentz.spinor_vector(P)
        if L == 1:
            return np.einsum("sa,i,mia->ms", row, lower, u)
        gamma = np.einsum("ij,iab->jab", lower, lorentz.GAMMA)
        return np.einsum("sa,ac,jcb,mjb->ms", row, lorentz.GAMMA5, gamma, u)

    return amplitude


def three_half_to_half(L):
    """½ → 3/2 + 0 with the transported Rarita–Schwinger spinor."""

    def amplitude(p1, p2):
        P = p1 + p2
        moved = lorentz.apply(lorentz.transport(p1, P), np.moveaxis(lorentz.spinor_vector(p1), 1, 2), 1)  # [σ, spinor, μ]
        rows = np.einsum("ab,sbi->sia", lorentz.spinor_transport(p1, P), moved).conj() @ lorentz.GAMMA[0]
        lower = lorentz.apply(lorentz.METRIC, lorentz.orbital(P, p1, p2, L), L)
        u = lorentz.spinor(P)
        if L == 1:
            return np.einsum("sia,i,ma->ms", rows, lower, u)
        gamma = np.einsum("ij,jab->iab", lower, lorentz.GAMMA)
        return np.einsum("sia,ac,icb,mb->ms", rows, lorentz.GAMMA5, gamma, u)

    return amplitude


@pytest.mark.parametrize(
    ("two_J", "L", "two_j", "amplitude"),
    [(two_J, L, 1, baryon_vertex(two_J, L)) for two_J, L in ((1, 0), (1, 1), (3, 1), (3, 2))]
    + [(1, L, 3, three_half_to_half(L)) for L in (1, 2)],
)
def test_a_fermion_and_a_scalar(two_J, L, two_j, amplitude):
    p4 = random_momenta(2, seed=40 + 5 * (two_j - 1) + L)
    A = computed(Structure(two_J, LS(L, Fraction(two_j, 2)), (0, 1), 0.0), [particle(two_j), particle(0)], p4)
    assert_proportional(A[:, :, 0], written_out(amplitude, p4))


@pytest.mark.parametrize(("L", "S"), [(0, 1), (2, 1), (1, 0), (1, 1)])
def test_baryon_and_antibaryon(L, S):
    """1 → ½ ½: ψ̄γ^μχ for S = 1, ψ̄γ5χ for S = 0."""

    def amplitude(p1, p2):
        P = p1 + p2
        row = lorentz.bar((lorentz.spinor_transport(p1, P) @ lorentz.spinor(p1).T).T)
        column = (lorentz.spinor_transport(p2, P) @ lorentz.spinor(p2, antiparticle=True).T).T
        scalar, vector = (
            np.einsum(f"sa,{i}ab,tb->st{i}", row, matrix, column) for i, matrix in (("", lorentz.GAMMA5), ("i", lorentz.GAMMA))
        )
        spin = scalar if S == 0 else vector
        return lorentz.amplitude(P, 1, lorentz.couple(P, spin, S, lorentz.orbital(P, p1, p2, L), L, 1))

    p4 = random_momenta(2, seed=60 + L)
    A = computed(Structure(2, LS(L, Fraction(S)), (0, 1), 0.0), [particle(1), particle(1)], p4)
    assert_proportional(A, written_out(amplitude, p4))


@pytest.mark.parametrize(("L_top", "L_inner"), [(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)])
def test_cascade_is_a_nested_contraction(L_top, L_inner):
    """1 → X(1) + 0, X → 1 + 0: the tensor of X is handed on as it is, and no spin of X is ever summed."""

    def amplitude(p1, p2, p3):
        X, P = p1 + p2, p1 + p2 + p3
        final = lorentz.apply(lorentz.transport(p1, X), lorentz.polarisation(p1, 1).conj(), 1)
        inner = lorentz.couple(X, final, 1, lorentz.orbital(X, p1, p2, L_inner), L_inner, 1)
        moved = lorentz.apply(lorentz.transport(X, P), inner, 1)
        return lorentz.amplitude(P, 1, lorentz.couple(P, moved, 1, lorentz.orbital(P, X, p3, L_top), L_top, 1))

    p4 = random_momenta(3, seed=70 + L_top + 3 * L_inner)
    inner = Structure(2, LS(L_inner, Fraction(1)), (0, 1), 0.0)
    A = computed(Structure(2, LS(L_top, Fraction(1)), (inner, 2), 0.0), [particle(2), particle(0), particle(0)], p4)
    assert_proportional(A[:, :, 0, 0], written_out(amplitude, p4))


@pytest.mark.parametrize("L", [1, 2])
def test_baryon_cascade_is_a_nested_contraction(L):
    """½ → X(3/2) + 0 in P or D wave, X → ½ + 0 in P wave: two Wigner rotations of spin 3/2 and 1/2, signs included."""

    def amplitude(p1, p2, p3):
        inner = baryon_vertex(3, 1)(p1, p2)  # [σ_X, s]
        outer = three_half_to_half(L)(p1 + p2, p3)  # [m, σ_X]
        return outer @ inner

    p4 = random_momenta(3, seed=80 + L)
    inner = Structure(3, LS(1, Fraction(1, 2)), (0, 1), 0.0)
    A = computed(Structure(1, LS(L, Fraction(3, 2)), (inner, 2), 0.0), [particle(1), particle(0), particle(0)], p4)
    assert_proportional(A[:, :, 0, 0], written_out(amplitude, p4))


@pytest.mark.parametrize(
    ("J", "s1", "s2", "L", "S"),
    [(1, 1, 0, 0, 1), (1, 1, 0, 2, 1), (1, 1, 0, 1, 1), (1, 2, 0, 2, 2), (2, 2, 0, 0, 2), (2, 2, 0, 2, 2), (1, 1, 1, 1, 2),
     (0, 1, 1, 0, 0)],
)  # fmt: skip
def test_zou_bugg_wave_functions_are_only_projected(J, s1, s2, L, S):
    """The same couplings with g̃(P) on every index instead of the transport."""

    def amplitude(p1, p2):
        P = p1 + p2
        first, second = (lorentz.project(P, lorentz.polarisation(p, s).conj(), s) for p, s in ((p1, s1), (p2, s2)))
        spin = lorentz.couple(P, first, s1, second, s2, S)
        return lorentz.amplitude(P, J, lorentz.couple(P, spin, S, lorentz.orbital(P, p1, p2, L), L, J))

    p4 = random_momenta(2, seed=90 + J + 3 * L)
    structure = Structure(2 * J, LS(L, Fraction(S)), (0, 1), 0.0)
    particles = [particle(2 * s1), particle(2 * s2)]
    expected = written_out(amplitude, p4)
    assert_proportional(computed(structure, particles, p4, formalism="zou-bugg"), expected)
    canonical = computed(structure, particles, p4)
    constant = np.vdot(expected, canonical) / np.vdot(expected, expected)
    differs = np.abs(canonical - constant * expected).max() > 0.01 * np.abs(canonical).max()
    assert differs == ((J, s1, L) != (1, 1, 1) or s2 == 1)  # 1 → 1 0 in P wave has λ = ±1 only, where both agree


def test_zou_bugg_spin_one_half_is_the_spinor_itself():
    """ū(p1) u(P) and ū(p1) γ5 t̸ u(P), without transport."""
    for L in (0, 1):

        def amplitude(p1, p2, L=L):
            P = p1 + p2
            lower = lorentz.apply(lorentz.METRIC, lorentz.orbital(P, p1, p2, L), L)
            middle = np.eye(4) if L == 0 else lorentz.GAMMA5 @ np.einsum("m,mab->ab", lower, lorentz.GAMMA)
            return np.einsum("sa,ab,mb->ms", lorentz.bar(lorentz.spinor(p1)), middle, lorentz.spinor(P))

        p4 = random_momenta(2, seed=95 + L)
        structure = Structure(1, LS(L, Fraction(1, 2)), (0, 1), 0.0)
        A = computed(structure, [particle(1), particle(0)], p4, formalism="zou-bugg")
        assert_proportional(A[:, :, 0], written_out(amplitude, p4))
