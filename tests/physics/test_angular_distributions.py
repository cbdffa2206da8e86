"""Textbook angular distributions, compared as functions of the angle and not as histograms."""

import numpy as np
import pytest
import torch

import ctpwa
from physics.helpers import assert_close

ANGLES = np.linspace(0.05, np.pi - 0.05, 15)


def two_body_events(model, phi=0.4):
    """First daughter at polar angles ANGLES."""
    M = model.decay.parent.mass
    m1, m2 = (p.mass for p in model.decay.final)
    q = np.sqrt((M**2 - (m1 + m2) ** 2) * (M**2 - (m1 - m2) ** 2)) / (2 * M)
    p3 = q * np.stack([np.sin(ANGLES) * np.cos(phi), np.sin(ANGLES) * np.sin(phi), np.cos(ANGLES)], axis=1)
    first, second = (torch.tensor(np.column_stack([np.full(len(ANGLES), np.sqrt(q**2 + m**2)), s * p3])) for m, s in ((m1, 1), (m2, -1)))
    return dict(zip(model.final_names, (first, second), strict=True)), q


def intensity(model, momenta, c=(1,), **options):
    psi = np.tensordot(np.array(c), model.spin_amplitudes(momenta, **options).values.numpy(), axes=1)
    return (np.abs(psi) ** 2).sum(axis=0)


TRANSVERSE = {
    # J/ψ from e+e− annihilation: m = ±1
    "pi+ pi-": ("J/psi(1S) -> pi+ pi-", {}, (1, 0), 1, lambda c: 3 / (4 * np.pi) * (1 - c**2)),
    "gamma eta": ("J/psi(1S) -> gamma eta", {}, (1, 1), 1, lambda c: 3 / (8 * np.pi) * (1 + c**2)),
    "gamma f0": ("J/psi(1S) -> gamma f(0)(980)", {}, (0, 1), 0, lambda c: (1 + c**2) / (4 * np.pi)),
    "omega eta": ("J/psi(1S) -> omega(782) eta", {}, (1, 1), 1, lambda c: 3 / (8 * np.pi) * (1 + c**2)),
    "p p~ in S wave": ("J/psi(1S) -> p p~", {}, (0, 1), 0, lambda c: 2 / (4 * np.pi) + 0 * c),
    # helicities from the D wave: |H++|² : |H+-|² = 4 : 2, so 1 + α cos²θ with α = −3/5
    "p p~ in D wave": ("J/psi(1S) -> p p~", {}, (2, 1), 2, lambda c: 5 / (8 * np.pi) * (1 - 3 / 5 * c**2)),
}  # fmt: skip


@pytest.mark.parametrize("case", TRANSVERSE)
def test_transverse_vector_has_its_textbook_distribution(case):
    decay, more, (L, S), power, expected = TRANSVERSE[case]
    model = ctpwa.load_model({"decay": decay, "polarisation": "transverse", **more})
    momenta, q = two_body_events(model)
    index = [(wave.ls[0].L, wave.ls[0].S) for wave in model.waves].index((L, S))
    chosen = np.eye(len(model.waves))[index]
    assert_close(intensity(model, momenta, chosen) / q ** (2 * power), expected(np.cos(ANGLES)), 1e-12)


def test_longitudinal_vector_has_the_complement_of_the_transverse_one():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> pi+ pi-"})
    momenta, q = two_body_events(model)
    assert_close(intensity(model, momenta, polarisation=np.diag([0, 1, 0])) / q**2, 3 / (4 * np.pi) * np.cos(ANGLES) ** 2, 1e-12)
    assert_close(intensity(model, momenta) / q**2, np.full(len(ANGLES), 3 / (4 * np.pi)), 1e-12)


@pytest.mark.parametrize("P", [1.0, 0.6, -0.3])
def test_hyperon_decay_has_its_asymmetry(P):
    """Λ → p π⁻: T = s + p σ·q̂ gives 1 + α P cos θ, α = 2 Re(s* p) / (|s|² + |p|²); here A = (c_S − c_P |q| σ·q̂)/√4π."""
    model = ctpwa.load_model({"decay": "Lambda -> p pi-"})
    assert [wave.ls[0].L for wave in model.waves] == [0, 1]
    momenta, q = two_body_events(model)
    c_S, c_P = 0.8 + 0.3j, 2.0 - 5.0j
    s, p = c_S, -c_P * q
    alpha = 2 * (np.conj(s) * p).real / (abs(s) ** 2 + abs(p) ** 2)
    rho = np.diag([(1 + P) / 2, (1 - P) / 2])
    expected = (abs(s) ** 2 + abs(p) ** 2) / (4 * np.pi) * (1 + alpha * P * np.cos(ANGLES))
    assert_close(intensity(model, momenta, (c_S, c_P), polarisation=rho), expected, 1e-12)


def test_transverse_polarisation_of_a_hyperon_shows_in_the_azimuth():
    """ρ = (1 + P σx)/2: 1 + α P sin θ cos φ. The conjugate convention would see no difference, P σy does."""
    model = ctpwa.load_model({"decay": "Lambda -> p pi-"})
    phi = 1.1
    momenta, q = two_body_events(model, phi)
    c = np.array([0.8 + 0.3j, 2.0 - 5.0j])
    s, p = c[0], -c[1] * q
    size, alpha = abs(s) ** 2 + abs(p) ** 2, 2 * (np.conj(s) * p).real / (abs(s) ** 2 + abs(p) ** 2)
    for sigma, direction in (([[0, 1], [1, 0]], np.cos(phi)), ([[0, -1j], [1j, 0]], np.sin(phi))):
        rho = (np.eye(2) + 0.7 * np.array(sigma)) / 2
        expected = size / (4 * np.pi) * (1 + 0.7 * alpha * np.sin(ANGLES) * direction)
        assert_close(intensity(model, momenta, c, polarisation=rho), expected, 1e-12)


def test_spin_three_half_state_with_m_one_half_decays_as_one_plus_three_cos_squared():
    """A 3/2 state with |m| = 1/2 to 1/2 and 0 by one L: 1 + 3 cos²θ; with |m| = 3/2: 3 sin²θ (Adair)."""
    model = ctpwa.load_model({"decay": "Omega- -> Lambda K-"})
    momenta, q = two_body_events(model)
    for wave, single in zip(model.waves, np.eye(len(model.waves)), strict=True):
        scale = q ** (2 * wave.ls[0].L) / (8 * np.pi)
        half = intensity(model, momenta, single, polarisation=np.diag([0, 1, 0, 0]))
        three_half = intensity(model, momenta, single, polarisation=np.diag([1, 0, 0, 0]))
        assert_close(half, scale * (1 + 3 * np.cos(ANGLES) ** 2), 1e-12)
        assert_close(three_half, scale * 3 * np.sin(ANGLES) ** 2, 1e-12)


def helicity_cosine(momenta, system, particle):
    """cos of the angle between a particle and the direction opposite to the rest, in the rest frame of a system, from invariants."""

    def dot(a, b):
        return a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)

    p4 = {name: p.numpy() for name, p in momenta.items()}
    P = sum(p4.values())
    X = sum(p4[name] for name in system)
    p, bachelor = p4[particle], P - X
    m2 = dot(X, X)
    e, e_b = dot(p, X) / np.sqrt(m2), dot(bachelor, X) / np.sqrt(m2)
    size = np.sqrt((e**2 - dot(p, p)) * (e_b**2 - dot(bachelor, bachelor)))
    return (dot(p, bachelor) - e * e_b) / size, np.sqrt(e**2 - dot(p, p)), np.sqrt((dot(P, X) / np.sqrt(dot(P, P))) ** 2 - m2)


@pytest.mark.parametrize(
    ("resonance", "J", "legendre"),
    [("rho(770)", 1, lambda c: c), ("f(2)(1270)", 2, lambda c: (3 * c**2 - 1) / 2), ("rho(3)(1690)", 3, lambda c: (5 * c**3 - 3 * c) / 2)],
)  # fmt: skip
def test_spinless_decay_through_spin_J_follows_the_legendre_polynomial(resonance, J, legendre):
    """D⁺ → R π⁺, R → K⁺ K⁻: |A| = √(2J+1)/4π |q|^J |p|^J |P_J(cos θ)|, with p in the rest frame of D."""
    model = ctpwa.load_model({"decay": "D+ -> K+ K- pi+", "resonances": {resonance: {"in": "K+ K-", "off_shell": True}}})
    momenta = dict(ctpwa.generate_phase_space(model, 30, seed=3, weighted=True).momenta)
    cosine, q, p = helicity_cosine(momenta, ("K+", "K-"), "K+")
    expected = np.sqrt(2 * J + 1) / (4 * np.pi) * (q * p) ** J * legendre(cosine)
    assert_close(np.sqrt(intensity(model, momenta)), np.abs(expected), 1e-11)


def test_two_vectors_from_a_pseudoscalar_prefer_orthogonal_planes():
    """0⁻ → V V in P wave gives sin²θ₁ sin²θ₂ sin²χ, i.e. the squared triple product of momenta."""
    model = ctpwa.load_model(
        {"decay": "eta(c)(1S) -> K+ K- pi+ pi-", "chains": ["eta(c)(1S) -> phi(1020) V ; phi(1020) -> K+ K- ; V -> pi+ pi-"],
         "resonances": {"V": {"JP": "1--", "lineshape": "constant"}}}
    )  # fmt: skip
    assert [wave.ls[0].L for wave in model.waves] == [1]
    momenta = dict(ctpwa.generate_phase_space(model, 30, seed=3, weighted=True).momenta)
    p3 = {name: p[:, 1:].numpy() for name, p in momenta.items()}
    P = sum(p.numpy() for p in momenta.values())
    s1, s2 = (
        ((momenta[a] + momenta[b])[:, 0] ** 2 - ((momenta[a] + momenta[b])[:, 1:] ** 2).sum(dim=1)).numpy()
        for a, b in (("K+", "K-"), ("pi+", "pi-"))
    )
    assert np.abs(P[:, 1:]).max() < 1e-12
    # ε(P, φ, K+−K−, π+−π−) / M = φ⃗·(r⃗_K × r⃗_π) in the rest frame; transverse components do not change under the boosts
    triple = np.einsum("ei,ei->e", p3["K+"] + p3["K-"], np.cross(p3["K+"] - p3["K-"], p3["pi+"] - p3["pi-"]))
    I = intensity(model, momenta)
    ratio = I / triple**2
    assert s1.std() > 0.1
    assert s2.std() > 0.1
    assert_close(ratio, np.full(30, ratio.mean()), 1e-11)


def test_vector_to_vector_pseudoscalar_to_pseudoscalars_is_the_normal_of_the_decay_plane():
    """J/ψ → φ η, φ → K⁺K⁻: A ∝ ε_m·(p⃗ × q⃗), so that Σ_m |A|² ∝ |p⃗_K+ × p⃗_K−|² in the rest frame."""
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    momenta = dict(ctpwa.generate_phase_space(model, 30, seed=3, weighted=True).momenta)
    normal = np.cross(momenta["K+"][:, 1:].numpy(), momenta["K-"][:, 1:].numpy())
    ratio = intensity(model, momenta) / (normal**2).sum(axis=1)
    assert_close(ratio, np.full(30, ratio.mean()), 1e-11)
    transverse = intensity(model, momenta, polarisation="transverse")
    assert_close(transverse, ratio.mean() * (normal[:, :2] ** 2).sum(axis=1), 1e-11)
