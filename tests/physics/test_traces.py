"""Amplitudes of Zou–Bugg type against explicit tensors whose indices are only made orthogonal to P: traces are kept, or removed by name."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.decay.spin import LS
from ctpwa.decay.structure import Structure
from ctpwa.kinematics.photon import linear_polarisations
from ctpwa.spin.traces import components, has_traces, projection_with_traces, trace_factor
from physics import tensors as lorentz
from physics.test_lorentz_tensors import assert_proportional, computed, particle, random_momenta, written_out

KEPT, REMOVED = "zou-bugg", "zou-bugg-traceless"


def integer_spins(J, s1, s2, L, S, made_orthogonal, vectors=None):
    def amplitude(p1, p2):
        P = p1 + p2
        first = made_orthogonal(P, lorentz.polarisation(p1, s1).conj(), s1) if vectors is None else photon(p1, P)
        second = made_orthogonal(P, lorentz.polarisation(p2, s2).conj(), s2)
        spin = lorentz.couple(P, first, s1, second, s2, S)
        return lorentz.amplitude(P, J, lorentz.couple(P, spin, S, lorentz.orbital(P, p1, p2, L), L, J))

    def photon(k, P):
        return lorentz.photon_vectors(k, next(vectors), P).conj()

    return amplitude


@pytest.mark.parametrize(
    ("J", "s1", "s2", "L", "S"),
    [
        (1, 1, 2, 0, 1), (1, 1, 2, 2, 1), (1, 1, 2, 2, 2), (1, 1, 2, 2, 3), (1, 1, 2, 4, 3),
        (1, 2, 1, 0, 1), (2, 1, 3, 0, 2), (2, 3, 1, 1, 3),
        (0, 2, 2, 0, 0), (1, 2, 2, 0, 1), (2, 2, 2, 0, 2), (2, 2, 2, 2, 2), (1, 2, 2, 2, 3), (1, 2, 3, 1, 1), (1, 2, 3, 1, 2),
    ],
)  # fmt: skip
def test_integer_spins(J, s1, s2, L, S):
    p4 = random_momenta(2, seed=300 + J + 10 * s1 + 100 * s2 + 7 * L)
    structure, particles = Structure(2 * J, LS(L, Fraction(S)), (0, 1), 0.0), [particle(2 * s1), particle(2 * s2)]
    kept, removed = (computed(structure, particles, p4, formalism) for formalism in (KEPT, REMOVED))
    constant = assert_proportional(kept, written_out(integer_spins(J, s1, s2, L, S, lorentz.transverse), p4), 1e-12)
    # both are the same where daughters are at rest, so that the constant is one
    without = written_out(integer_spins(J, s1, s2, L, S, lorentz.project), p4)
    assert assert_proportional(removed, without, 1e-12) == pytest.approx(constant, rel=1e-11)
    if has_traces(2 * s1, 2 * s2, 2 * S):
        assert np.abs(kept - removed).max() > 1e-3 * np.abs(kept).max()
    else:
        np.testing.assert_array_equal(kept, removed)


@pytest.mark.parametrize(("L", "S"), [(0, 1), (2, 1), (2, 2), (2, 3), (4, 3)])
def test_photon_and_a_tensor(L, S):
    p4 = random_momenta(2, seed=320 + L, massless=(0,))
    structure, particles = Structure(2, LS(L, Fraction(S)), (0, 1), 0.0), [particle(2, massless=True), particle(4)]
    for formalism, made_orthogonal in ((KEPT, lorentz.transverse), (REMOVED, lorentz.project)):
        vectors = iter(np.moveaxis(linear_polarisations(p4[0]).numpy(), -1, 0))
        expected = written_out(integer_spins(1, 1, 2, L, S, made_orthogonal, vectors), p4)
        assert_proportional(computed(structure, particles, p4, formalism), expected, 1e-12)


def baryons(s1, s2, L, S):
    """1 → N* N̄*: ψ̄^μ… γ5 χ^ν… or ψ̄^μ… γ^α χ^ν… of spinors that are at rest with P, S without traces."""

    def amplitude(p1, p2):
        P = p1 + p2
        row, column = wave_function(p1, s1, False), wave_function(p2, s2, True)  # [σ, 4] or [σ, μ, 4]
        rest = (np.eye(4) + lorentz.slash(P) / lorentz.mass(P)) / 2
        n1, n2 = row.ndim - 2, column.ndim - 2
        upper = lorentz.bar(row) @ rest
        matrices = lorentz.GAMMA5 if (n1 + n2 - S) % 2 == 0 else lorentz.GAMMA
        extra = "" if matrices is lorentz.GAMMA5 else "k"
        indices = "i" * n1, "j" * n2
        tensor = np.einsum(f"s{indices[0]}a,{extra}ab,t{indices[1]}b->st{indices[0]}{indices[1]}{extra}", upper, matrices, column)
        tensor = lorentz.transverse(P, tensor, tensor.ndim - 2)
        if tensor.ndim - 2 > S:
            tensor = np.einsum("stij...,ij->st...", tensor, lorentz.METRIC)
        return lorentz.amplitude(P, 1, lorentz.couple(P, lorentz.project(P, tensor, S), S, lorentz.orbital(P, p1, p2, L), L, 1))

    def wave_function(p, two_s, antiparticle):
        return (lorentz.spinor_vector if two_s == 3 else lorentz.spinor)(p, antiparticle)

    return amplitude


@pytest.mark.parametrize(
    ("s1", "s2", "L", "S"),
    [
        (3, 1, 0, 1), (3, 1, 2, 1), (3, 1, 1, 1), (3, 1, 2, 2), (1, 3, 0, 1),
        (3, 3, 1, 0), (3, 3, 0, 1), (3, 3, 2, 1), (3, 3, 1, 2), (3, 3, 2, 3),
    ],
)  # fmt: skip
def test_spin_three_half_and_an_antibaryon(s1, s2, L, S):
    p4 = random_momenta(2, seed=340 + s1 + 2 * L)
    structure = Structure(2, LS(L, Fraction(S)), (0, 1), 0.0)
    A = computed(structure, [particle(s1), particle(s2)], p4, KEPT)
    assert_proportional(A, written_out(baryons(s1, s2, L, S), p4), 1e-12)


@pytest.mark.parametrize("two_J", [1, 3])
def test_spin_three_half_and_a_vector(two_J):
    """J = S = 1/2: ψ̄_μ e^μ u(P); J = S = 3/2: the part of ψ̄^μ e^ν without traces with γ_ν γ5 u_μ(P)."""

    def amplitude(p1, p2):
        P = p1 + p2
        spinors = lorentz.transverse(P, np.moveaxis(lorentz.bar(lorentz.spinor_vector(p1)), 1, 2), 1)  # [σ, spinor, μ]
        vectors = lorentz.transverse(P, lorentz.polarisation(p2, 1).conj(), 1)
        if two_J == 1:
            return np.einsum("sai,ij,tj,ma->mst", spinors, lorentz.METRIC, vectors, lorentz.spinor(P))
        tensor = lorentz.apply(lorentz.METRIC, lorentz.project(P, np.einsum("sai,tj->staij", spinors, vectors), 2), 2)
        return np.einsum("staij,jab,bc,mic->mst", tensor, lorentz.GAMMA, lorentz.GAMMA5, lorentz.spinor_vector(P))

    p4 = random_momenta(2, seed=360 + two_J)
    A = computed(Structure(two_J, LS(0, Fraction(two_J, 2)), (0, 1), 0.0), [particle(3), particle(2)], p4, KEPT)
    assert_proportional(A, written_out(amplitude, p4), 1e-12)


def test_first_amplitude_of_a_photon_and_f2_is_the_tensor_of_its_decay():
    """J/ψ → γ f2, f2 → π0 π0 in the lowest wave is ψ_μ e_ν t^{μν}, as published; without its trace it is another function of the event."""
    mapping = {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}}}
    models = [ctpwa.load_model(mapping | {"formalism": formalism}) for formalism in (KEPT, REMOVED)]
    events = ctpwa.generate_phase_space(models[0], 8, seed=3)
    k, p1, p2 = (p.numpy() for p in events.momenta.values())
    expected = []
    for event in range(8):
        P = k[event] + p1[event] + p2[event]
        t = lorentz.orbital(p1[event] + p2[event], p1[event], p2[event], 2)
        e = lorentz.photon_vectors(k[event], linear_polarisations(torch.tensor(k[event])[:, None]).numpy()[..., 0], P)
        U = np.einsum("mi,nj,ij->mn", lorentz.polarisation(P, 1) @ lorentz.METRIC, e @ lorentz.METRIC, t)
        expected.append((np.abs(U) ** 2).sum())
    assert models[0].waves[0].name.endswith("(0,1)(2,0)")
    kept, removed = ((model.spin_amplitudes(events).values[0].abs() ** 2).sum(dim=0).numpy() / expected for model in models)
    np.testing.assert_allclose(kept, kept[0], rtol=1e-11)
    assert removed.max() > 1.2 * removed.min()


@pytest.mark.parametrize("two_s", [3, 4, 5, 6])
def test_a_daughter_at_rest_has_no_traces(two_s):
    p4 = torch.tensor([[0.7], [0.0], [0.0], [0.0]], dtype=torch.float64)
    found = projection_with_traces(p4, p4[0], two_s)[..., 0].numpy()
    assert found.shape[1] == sum(part.two_j + 1 for part in components(two_s))
    np.testing.assert_allclose(found, np.eye(*found.shape), rtol=0, atol=1e-14)


def test_parts_of_a_tensor_are_as_many_as_its_components():
    """(n+1)(n+2)/2 of a symmetric tensor, twice as many with a spinor."""
    for n in range(1, 6):
        for half in (0, 1):
            assert sum(part.two_j + 1 for part in components(2 * n + half)) == (n + 1) * (n + 2) // 2 * (1 + half)


def test_exchange_of_daughters_changes_the_sign_of_a_vertex_only():
    for two_s1, two_s2 in ((2, 4), (3, 1), (3, 3), (3, 2), (5, 3), (6, 4), (4, 5)):
        for two_S in range(abs(two_s1 - two_s2), two_s1 + two_s2 + 1, 2):
            for first in components(two_s1):
                for second in components(two_s2):
                    # of Clebsch-Gordan coefficients, relative to those of s1 and s2
                    sign = (-1) ** ((two_s1 + two_s2 - first.two_j - second.two_j) // 2)
                    swapped = sign * trace_factor(two_s2, two_s1, two_S, second, first)
                    assert trace_factor(two_s1, two_s2, two_S, first, second) == pytest.approx(swapped, abs=1e-12)
