"""The Zou–Bugg option: wave functions projected, not boosted, so that helicity λ of spin s gains f^s_λ(γ)."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

import ctpwa
from ctpwa.kinematics.rotation import transverse_projection
from physics.helpers import assert_close, boosted, density_matrix, direct_amplitudes, gram, rotated, rotation_operator, split_spins

FACTORS = {
    # λ = s, …, 0 or 1/2
    1: [lambda g: g**0],
    2: [lambda g: g**0, lambda g: g],
    3: [lambda g: g**0, lambda g: (2 * g + 1) / 3],
    4: [lambda g: g**0, lambda g: g, lambda g: (2 * g**2 + 1) / 3],
    5: [lambda g: g**0, lambda g: (4 * g + 1) / 5, lambda g: (2 * g**2 + 2 * g + 1) / 5],
    6: [lambda g: g**0, lambda g: g, lambda g: (4 * g**2 + 1) / 5, lambda g: g * (2 * g**2 + 3) / 5],
}
GAMMAS = np.array([1.0, 1.01, 1.5, 3.0, 10.0])


def momenta_along(direction, gammas=GAMMAS, m=0.7):
    p = m * np.sqrt(gammas**2 - 1)
    return torch.tensor(np.vstack([m * gammas, np.outer(direction, p)])), torch.full((len(gammas),), m, dtype=torch.float64)


@pytest.mark.parametrize("two_s", FACTORS)
def test_projection_along_z_multiplies_each_helicity_by_its_factor(two_s):
    B = transverse_projection(*momenta_along([0, 0, 1]), two_s).numpy()
    half = np.sqrt((GAMMAS + 1) / 2) if two_s % 2 else 1.0
    expected = np.zeros_like(B)
    for k in range(two_s + 1):
        expected[k, k] = FACTORS[two_s][min(k, two_s - k)](GAMMAS) * half
    np.testing.assert_allclose(B, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("two_s", FACTORS)
def test_projection_turns_with_the_momentum(two_s):
    rotation = Rotation.from_rotvec([0.4, 1.2, -0.7])
    along_z = transverse_projection(*momenta_along([0, 0, 1]), two_s).numpy()
    turned = transverse_projection(*momenta_along(rotation.as_matrix() @ [0, 0, 1]), two_s).numpy()
    D = rotation_operator(two_s, rotation)
    expected = np.einsum("ab,bce,dc->ade", D, along_z, D.conj())
    np.testing.assert_allclose(turned, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def both(mapping, n=12):
    canonical, zou_bugg = (ctpwa.load_model(mapping | {"formalism": name}) for name in ("canonical", "zou-bugg"))
    assert [canonical.formalism, zou_bugg.formalism] == ["canonical", "zou-bugg"]
    momenta = dict(ctpwa.generate_phase_space(canonical, n, seed=9, weighted=True).momenta)
    return canonical, zou_bugg, momenta


def gamma_of(momenta, system, parent=None):
    """E/m of a system in the rest frame of its parent."""
    p = sum(momenta[name].numpy() for name in system)
    P = sum(momenta[name].numpy() for name in (parent or momenta))

    def dot(a, b):
        return a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)

    return dot(p, P) / np.sqrt(dot(p, p) * dot(P, P))


@pytest.mark.parametrize(
    ("resonance", "system", "factor"),
    [
        ("phi(1680)", ("K+", "K-"), lambda g: g**0),
        ("K(2)*(1430)", ("K+", "eta"), lambda g: g),
        ("phi(3)(1850)", ("K+", "K-"), lambda g: (4 * g**2 + 1) / 5),
    ],
)
def test_chains_with_one_ls_gain_one_factor_of_the_event(resonance, system, factor):
    """J/ψ → R + pseudoscalar of natural parity has λ = ±1 only."""
    canonical, zou_bugg, momenta = both({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {resonance: {"in": " ".join(system)}}})
    A, A_zou_bugg = (model.spin_amplitudes(momenta).values.numpy() for model in (canonical, zou_bugg))
    g = gamma_of(momenta, system)
    assert g.max() > 1.2
    assert_close(A_zou_bugg, factor(g) * A, 1e-13)


def test_every_spin_one_half_daughter_gains_its_own_factor():
    """J/ψ → N(1535) p̄, N → p η: three spin-1/2 daughters at two vertices, the same factor for all waves and spins."""
    canonical, zou_bugg, momenta = both({"decay": "J/psi(1S) -> p p~ eta", "resonances": {"N(1535)": {"in": "p eta"}}})
    A, A_zou_bugg = (model.spin_amplitudes(momenta).values.numpy() for model in (canonical, zou_bugg))
    gammas = [gamma_of(momenta, ("p", "eta")), gamma_of(momenta, ("p~",)), gamma_of(momenta, ("p",), ("p", "eta"))]
    assert len(canonical.waves) == 2
    assert_close(A_zou_bugg, np.prod([np.sqrt((g + 1) / 2) for g in gammas], axis=0) * A, 1e-13)


def test_two_waves_mix_at_fixed_helicity():
    """1 → 1 0 in S and D wave: H_0 gains γ and H_1 does not, so A' = (1 + (γ−1) Π_0) A in the helicity basis.

    ⟨0 0; 1 0|1 0⟩ = 1, ⟨2 0; 1 0|1 0⟩ = −√(2/5), ⟨2 0; 1 1|1 1⟩ = 1/√10 fix the mixing of S and D/|q|².
    """
    canonical, zou_bugg, momenta = both(
        {"decay": "J/psi(1S) -> K+ K- f(0)(980)", "resonances": {"phi(1020)": {"in": "K+ K-"}}, "particles": {"f(0)(980)": {"mass": 0.98}}}
    )
    A, A_zou_bugg = (model.spin_amplitudes(momenta).values.numpy() for model in (canonical, zou_bugg))
    assert [wave.ls[0].L for wave in canonical.waves] == [0, 2]
    g = gamma_of(momenta, ("K+", "K-"))
    M = canonical.decay.parent.mass
    s = (momenta["K+"] + momenta["K-"]).numpy()
    m2 = s[:, 0] ** 2 - (s[:, 1:] ** 2).sum(axis=1)
    q2 = ((M**2 + m2 - 0.98**2) / (2 * M)) ** 2 - m2
    H = np.array([[1, -np.sqrt(2)], [1, 1 / np.sqrt(2)]]) / np.sqrt(4 * np.pi)  # [λ = 0, 1][L = 0, 2], without |q|^L
    for e in range(len(g)):
        scale = np.diag([1, q2[e]])
        mixing = np.linalg.inv(H @ scale) @ np.diag([g[e], 1]) @ H @ scale  # Zou–Bugg wave = Σ canonical waves
        assert_close(A_zou_bugg[..., e], np.einsum("ba,bp->ap", mixing, A[..., e]), 1e-11)


def test_photons_and_spinless_particles_are_left_alone():
    canonical, zou_bugg, momenta = both(
        {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(0)(1500)": {"in": "pi0 pi0"}}}
    )  # fmt: skip
    assert_close(zou_bugg.spin_amplitudes(momenta).K, canonical.spin_amplitudes(momenta).K, 1e-14)


CASES = {
    "baryons": {"decay": "Lambda(c)+ -> p K- pi+", "resonances": {"Delta(1232)": {"in": "p pi+"}, "K*(892)": {"in": "K- pi+"}}},
    "photon": {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}, "b(1)(1235)": {"in": "gamma pi0"}}},
    "spin 3/2": {"decay": "J/psi(1S) -> p p~ eta", "resonances": {"N(1520)": {"in": ["p eta", "p~ eta"]}}},
    "phi f2": {
        "decay": "J/psi(1S) -> K+ K- pi+ pi-",
        "resonances": {"phi(1020)": {"in": "K+ K-"}, "f(2)(1270)": {"in": "pi+ pi-"}},
    },
}


@pytest.mark.parametrize("name", CASES)
def test_zou_bugg_amplitudes_are_covariant_and_can_be_stored_as_real_numbers(name):
    model = ctpwa.load_model(CASES[name] | {"formalism": "zou-bugg"})
    momenta = dict(ctpwa.generate_phase_space(model, 5, seed=9, weighted=True).momenta)
    two_J = model.decay.parent.two_J
    rho, D = density_matrix(two_J), rotation_operator(two_J)
    B = gram(model.spin_amplitudes(momenta, polarisation=rho).values)
    assert_close(gram(model.spin_amplitudes(boosted(momenta), polarisation=rho).values), B)
    assert_close(gram(model.spin_amplitudes(rotated(momenta), polarisation=D @ rho @ D.conj().T).values), B)
    spin = model.spin_amplitudes(momenta)
    assert spin.real
    assert_close(split_spins(model, spin.values.numpy()), direct_amplitudes(model, momenta, dressed=False), 1e-13)
