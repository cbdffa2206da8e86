"""Leptons: currents against Dirac spinors written out, neutrinos with one helicity, and what textbooks say about angles."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

import ctpwa
from ctpwa.decay.currents import lepton_current
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.spin import LS
from ctpwa.decay.structure import Structure
from ctpwa.decay.waves import vertex_ls
from ctpwa.kinematics.helicity import helicity_spinor
from ctpwa.spin.evaluate import Evaluator, harmonics_needed
from physics.helpers import assert_close, boosted, density_matrix, gram, reflected, rotated, rotation_operator

table = ParticleTable()
SIGMA = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]], dtype=complex)
ZERO = np.zeros((2, 2))
GAMMA = np.array([np.diag([1, 1, -1, -1]).astype(complex), *(np.block([[ZERO, s], [-s, ZERO]]) for s in SIGMA)])
GAMMA5 = np.block([[ZERO, np.eye(2)], [np.eye(2), ZERO]]).astype(complex)
METRIC = np.diag([1.0, -1.0, -1.0, -1.0])
SPHERICAL = np.array([[-1, -1j, 0], [0, 0, np.sqrt(2)], [1, -1j, 0]]) / np.sqrt(2)  # e_+1, e_0, e_−1
M_TAU = table.get("tau-").mass


def u(p, chi, m):
    """A Dirac spinor, ūu = 2m, of the spin state χ at rest; or of the helicity that χ has, if m = 0."""
    return np.sqrt(p[0] + m) * np.concatenate([chi, np.einsum("i,iab->ab", p[1:], SIGMA) @ chi / (p[0] + m)])


def v(p, chi, m):
    """The spinor of the antiparticle with the same spin: the charge conjugate of u."""
    return 1j * GAMMA[2] @ u(p, chi, m).conj()


def bar(spinor):
    return spinor.conj() @ GAMMA[0]


def polarisations(P):
    """ε^μ of a massive vector, rows m = +1, 0, −1: pure boosts of those at rest."""
    M = np.sqrt(P @ METRIC @ P)
    boost = np.vstack([P[None, 1:] / M, np.eye(3) + np.outer(P[1:], P[1:]) / (M * (P[0] + M))])
    return SPHERICAL @ boost.T


def of_helicity(p, sign):
    """The spin state along or against a momentum, from the eigenvectors of σ·p."""
    values, vectors = np.linalg.eigh(np.einsum("i,iab->ab", p[1:], SIGMA))
    return vectors[:, np.argmax(sign * values)]


UP_DOWN = np.eye(2)


def moving_pairs(masses, seed=3, n=5):
    """Momenta [4, event] of two particles in a frame in which nothing is at rest; the mass of the pair differs from event to event."""
    rng = np.random.default_rng(seed)
    p3 = [rng.normal(size=(3, n)) + np.array([[0.3], [-0.5], [0.8]]) for _ in masses]
    return [torch.tensor(np.vstack([np.sqrt((p**2).sum(axis=0) + np.square(m)), p])) for p, m in zip(p3, masses, strict=True)]


def computed(structure, particles, p4):
    evaluator = Evaluator(particles, p4, harmonics_needed([structure]), rest_frame=False)
    return evaluator.top_amplitude(structure, range(structure.two_J, -structure.two_J - 1, -2)).numpy()


def assert_same_matrices(actual, expected):
    """Σ over nothing: A conj(A) of all rows, so that one phase of each event does not matter; one constant for all events."""
    a, b = (np.einsum("re,se->rse", A, A.conj()) for A in (actual, expected))
    constant = np.vdot(b, a) / np.vdot(b, b)
    assert abs(constant.imag) < 1e-12 * constant.real
    np.testing.assert_allclose(a, constant * b, rtol=0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("order", [("mu-", "mu+"), ("mu+", "mu-")])
@pytest.mark.parametrize("name", ["mu", "e", "tau"])
def test_vector_current_is_that_of_dirac(order, name):
    """ε·ū γ v for all spins, at lepton masses from nothing to everything; one constant for all events."""
    particles = [table.get(text.replace("mu", name)) for text in order]
    p4 = moving_pairs([p.mass for p in particles])
    structure = Structure(2, LS(0, Fraction(1)), (0, 1), 0.0, "vector")
    A = computed(structure, particles, p4).reshape(3, 2, 2, -1)
    minus, m = order.index("mu-"), particles[0].mass
    expected = np.empty_like(A)
    for event in range(A.shape[-1]):
        p = [own.numpy()[:, event] for own in p4]
        current = np.array(
            [[bar(u(p[minus], s, m)) @ GAMMA @ v(p[1 - minus], t, m) for t in UP_DOWN] for s in UP_DOWN]
        )  # [spin of l-, spin of l+, μ]
        contracted = np.einsum("mi,ij,abj->mab", polarisations(p[0] + p[1]), METRIC, current)
        expected[..., event] = contracted if minus == 0 else contracted.swapaxes(1, 2)
    constant = np.vdot(expected, A) / np.vdot(expected, expected)
    np.testing.assert_allclose(A, constant * expected, rtol=0, atol=1e-12 * np.abs(A).max())
    assert abs(constant) > 0.1


@pytest.mark.parametrize(
    ("lepton", "neutrino"),
    [("tau-", "nu(tau)~"), ("tau+", "nu(tau)"), ("e-", "nu(e)~"), ("mu+", "nu(mu)"), ("nu(mu)", "mu+"), ("nu(tau)~", "tau-")],
)
def test_left_handed_current_of_a_lepton_and_its_neutrino(lepton, neutrino):
    particles = [table.get(lepton), table.get(neutrino)]
    assert lepton_current(table.get("rho(770)+"), *particles, weak=True) == "V-A"
    p4 = moving_pairs([0.0 if p.massless else p.mass for p in particles])
    A = computed(Structure(2, LS(0, Fraction(1)), (0, 1), 0.0, "V-A"), particles, p4)
    expected = np.empty_like(A)
    nu = [p.massless for p in particles].index(True)
    anti, m = particles[nu].lepton < 0, particles[1 - nu].mass
    for event in range(A.shape[-1]):
        p = [own.numpy()[:, event] for own in p4]
        k, charged = p[nu], p[1 - nu]
        chi = of_helicity(k, 1 if anti else -1)
        left = GAMMA @ (np.eye(4) - GAMMA5)
        pairs = [(u(charged, s, m), v(k, chi, 0.0)) if anti else (u(k, chi, 0.0), v(charged, s, m)) for s in UP_DOWN]
        current = np.array([bar(a) @ left @ b for a, b in pairs])
        expected[..., event] = np.einsum("mi,ij,aj->ma", polarisations(p[0] + p[1]), METRIC, current)
    assert_same_matrices(A.reshape(-1, A.shape[-1]), expected.reshape(-1, A.shape[-1]))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swapped", [False, True])
def test_left_handed_current_of_a_lepton_that_decays_to_a_vector(sign, swapped):
    """τ → V ν: V is a pair of spinless particles with L = 1, whose mass differs from event to event."""
    nu = table.get("nu(tau)" if sign > 0 else "nu(tau)~")
    pion = table.get("pi0")
    p4 = moving_pairs([pion.mass, pion.mass, 0.0], seed=4)
    vector = Structure(2, LS(1, Fraction(0)), (0, 1), 0.0)
    tau = Structure(1, LS(0, Fraction(1, 2)), (2, vector) if swapped else (vector, 2), 0.0, "V-A")
    A = computed(tau, [pion, pion, nu], p4)[:, 0]
    expected = np.empty_like(A)
    left = GAMMA @ (np.eye(4) - GAMMA5)
    for event in range(A.shape[-1]):
        p1, p2, k = (own.numpy()[:, event] for own in p4)
        P, Q, chi = p1 + p2 + k, p1 + p2, of_helicity(k, -sign)
        r = (p1 - p2) - Q * ((p1 - p2) @ METRIC @ Q) / (Q @ METRIC @ Q)
        M = np.sqrt(P @ METRIC @ P)
        pairs = [(u(k, chi, 0.0), u(P, s, M)) if sign > 0 else (v(P, s, M), v(k, chi, 0.0)) for s in UP_DOWN]
        expected[:, event] = [bar(a) @ left @ b @ METRIC @ r for a, b in pairs]
    assert_same_matrices(A, expected)


@pytest.mark.parametrize("two_lam", [1, -1])
def test_helicity_spinor(two_lam):
    rng = np.random.default_rng(1)
    p3 = np.concatenate([rng.normal(size=(3, 20)), np.eye(3), -np.eye(3)], axis=1)
    chi = helicity_spinor(torch.tensor(p3), two_lam).numpy()
    turned = np.einsum("ie,iab,be->ae", p3 / np.linalg.norm(p3, axis=0), SIGMA, chi)
    np.testing.assert_allclose(turned, two_lam * chi, rtol=0, atol=1e-14)
    np.testing.assert_allclose((np.abs(chi) ** 2).sum(axis=0), 1, rtol=1e-14)


def test_angles_of_a_lepton_pair_from_annihilation():
    """m = ±1: 1 + cos²θ + (1 − β²) sin²θ."""
    model = ctpwa.load_model({"decay": "psi(2S) -> tau+ tau-", "polarisation": "transverse"})
    assert [wave.name for wave in model.waves] == ["(vector)"]
    events = ctpwa.generate_phase_space(model, 50, seed=1)
    p = events["tau+"].numpy()
    beta2 = (p[:, 1:] ** 2).sum(axis=1) / p[:, 0] ** 2
    cos2 = p[:, 3] ** 2 / (p[:, 1:] ** 2).sum(axis=1)
    I = np.asarray(ctpwa.ModelIntensity(model, engine="reference")(events))
    expected = 1 + cos2 + (1 - beta2) * (1 - cos2)
    np.testing.assert_allclose(I / I.mean(), expected / expected.mean(), rtol=1e-12)
    assert 0.05 < beta2.mean() < 0.1  # mass matters


TAU = {"decay": "tau- -> pi- pi0 nu(tau)", "resonances": {"rho(770)": {"in": "pi- pi0", "lineshape": "constant"}}}


def tau_events(Q, cos_psi, cos_theta, phi):
    """τ⁻ at rest → ρ ν with ρ along (θ, φ), ρ → π⁻π⁰ with π⁻ at ψ to the direction of ρ: arrays of equal length."""
    m1, m2 = table.get("pi-").mass, table.get("pi0").mass
    k = (M_TAU**2 - Q**2) / (2 * M_TAU)
    q = np.sqrt((Q**2 - (m1 + m2) ** 2) * (Q**2 - (m1 - m2) ** 2)) / (2 * Q)
    E = np.sqrt(q**2 + m1**2)
    gamma, bg = np.sqrt(k**2 + Q**2) / Q, k / Q
    sin_psi, sin_theta = np.sqrt(1 - cos_psi**2), np.sqrt(1 - cos_theta**2)
    n = np.stack([sin_theta * np.cos(phi), sin_theta * np.sin(phi), cos_theta])
    across = np.stack([cos_theta * np.cos(phi), cos_theta * np.sin(phi), -sin_theta])
    along, side = gamma * q * cos_psi + bg * E, q * sin_psi
    pion = np.vstack([gamma * E + bg * q * cos_psi, along * n + side * across])
    neutrino = np.vstack([k + 0 * cos_theta, -k * n])
    other = np.array([[M_TAU], [0], [0], [0]]) - pion - neutrino
    return {"pi-": torch.tensor(pion.T), "pi0": torch.tensor(other.T), "nu(tau)": torch.tensor(neutrino.T)}


@pytest.mark.parametrize("Q", [0.4, 0.775, 1.5])
def test_tau_to_rho_and_a_neutrino(Q):
    """π⁻ in the rest frame of ρ: (m_τ²/Q²) cos²ψ + sin²ψ; ρ of a polarised τ: 1 + P cosθ (m_τ² − 2Q²)/(m_τ² + 2Q²)."""
    model = ctpwa.load_model(TAU)
    assert [wave.name for wave in model.waves] == ["rho(770)-[pi- pi0] (V-A)(1,0)"]
    cos = np.linspace(-0.95, 0.95, 15)
    events = tau_events(Q, cos, 0.3 + 0 * cos, 1.0 + 0 * cos)
    I = gram(model.spin_amplitudes(events).values)[:, 0, 0].real
    expected = (M_TAU / Q) ** 2 * cos**2 + 1 - cos**2
    np.testing.assert_allclose(I / I.mean(), expected / expected.mean(), rtol=1e-11)
    # summed over ψ at the nodes of Gauss and over the azimuth, evenly
    nodes, weights = np.polynomial.legendre.leggauss(4)
    angle = np.arange(5) * 2 * np.pi / 5
    total = np.zeros_like(cos)
    for psi, w in zip(nodes, weights, strict=True):
        for a in angle:
            events = turned_about_rho(tau_events(Q, psi + 0 * cos, cos, 0.4 + 0 * cos), a)
            total += w * gram(model.spin_amplitudes(events, polarisation=[[1, 0], [0, 0]]).values)[:, 0, 0].real
    slope = (M_TAU**2 - 2 * Q**2) / (M_TAU**2 + 2 * Q**2)
    np.testing.assert_allclose(total / total.mean(), 1 + slope * cos, rtol=1e-11)


def turned_about_rho(events, angle):
    """The pions turned about the direction of the neutrino."""
    n = events["nu(tau)"][:, 1:].numpy()
    rotation = Rotation.from_rotvec(angle * n / np.linalg.norm(n, axis=1, keepdims=True))
    return {name: torch.cat([p[:, :1], torch.tensor(rotation.apply(p[:, 1:].numpy()))], dim=1) for name, p in events.items()}


ONE_HANDED = {
    "tau": TAU | {"resonances": {"rho(770)": {"in": "pi- pi0"}, "S": {"in": "pi- pi0", "JP": "0+", "lineshape": "constant"}}},
    "a1": {
        "decay": "tau- -> pi- pi- pi+ nu(tau)",
        "resonances": {"a(1)(1260)": {"in": "pi- pi- pi+"}, "rho(770)": {"in": "pi- pi+"}},
    },
    "semileptonic": {
        "decay": "D+ -> K- pi+ mu+ nu(mu)",
        "resonances": {
            "K*(892)": {"in": "K- pi+"},
            "K(0)*(1430)": {"in": "K- pi+"},
            "W": {"in": "mu+ nu(mu)", "JP": "1-", "lineshape": "constant"},
            "T": {"in": "mu+ nu(mu)", "JP": "0+", "lineshape": "constant"},
        },
    },
    # the neutrino comes from different states
    "crossed": {
        "decay": "tau- -> pi- pi0 nu(tau)",
        "resonances": {
            "rho(770)": {"in": "pi- pi0"},
            "X": {"in": "pi0 nu(tau)", "JP": "1/2+", "lineshape": "constant"},
            "Y": {"in": "pi- nu(tau)", "JP": "3/2-", "lineshape": "constant"},
        },
    },
}


@pytest.mark.parametrize("name", ONE_HANDED)
@pytest.mark.parametrize("free", [False, True])
def test_neutrinos_in_any_frame_and_direction(name, free):
    """Intensities with polarised parents; with currents, and with a coupling for every independent (L, S)."""
    content = dict(ONE_HANDED[name])
    if free and "W" in content["resonances"]:
        content["resonances"] = content["resonances"] | {"W": content["resonances"]["W"] | {"decay_ls": [[0, 1], [1, 0]]}}
    elif free:
        first = next(iter(content["resonances"]))
        chosen = {"production_ls": [["0", "1/2"], ["1", "1/2"]]}
        content["resonances"] = content["resonances"] | {first: content["resonances"][first] | chosen}
    model = ctpwa.load_model(content)
    two_J = model.decay.parent.two_J
    momenta = dict(ctpwa.generate_phase_space(model, 6, seed=2, weighted=True).momenta)
    rho, D = density_matrix(two_J), rotation_operator(two_J)

    def interference(momenta, rho=rho):
        B = gram(model.spin_amplitudes(momenta, polarisation=rho).values)
        size = np.sqrt(np.einsum("eaa->ea", B).real.mean(axis=0))
        return B / np.outer(size, size)

    B = interference(momenta)
    assert_close(interference(boosted(momenta)), B)
    assert_close(interference(rotated(momenta), D @ rho @ D.conj().T), B)
    if two_J:
        assert np.abs(interference(rotated(momenta)) - B).max() > 0.01


def test_a_neutrino_has_one_row_and_an_electron_two():
    model = ctpwa.load_model(ONE_HANDED["semileptonic"])
    events = ctpwa.generate_phase_space(model, 3, seed=1)
    spin = model.spin_amplitudes(events)
    assert not spin.real  # the other helicity, which would make a real pair, does not exist
    assert spin.polarisations == ("state 0, mu+:+1/2", "state 0, mu+:-1/2")


def test_parity_turns_a_neutrino_into_what_does_not_exist():
    """τ polarised along z: a reflected decay has another intensity, that of τ⁺ with reversed spin has the same."""
    tau = ctpwa.load_model(TAU)
    anti = ctpwa.load_model({"decay": "tau+ -> pi+ pi0 nu(tau)~", "resonances": {"rho(770)": {"in": "pi+ pi0", "lineshape": "constant"}}})
    momenta = dict(ctpwa.generate_phase_space(tau, 8, seed=3, weighted=True).momenta)
    up = [[1, 0], [0, 0]]
    I = gram(tau.spin_amplitudes(momenta, polarisation=up).values)[:, 0, 0].real
    mirrored = reflected(momenta)
    assert np.abs(gram(tau.spin_amplitudes(mirrored, polarisation=up).values)[:, 0, 0].real / I - 1).max() > 0.1
    renamed = dict(zip(anti.final_names, mirrored.values(), strict=True))
    assert_close(gram(anti.spin_amplitudes(renamed, polarisation=up).values)[:, 0, 0].real, I, 1e-12)


def test_massless_leptons_of_both_helicities():
    """A particle of the user's without mass is the limit of one with a small mass, and has its two spin states."""

    def interference(mass):
        particles = {"x": {"JP": "1/2+", "mass": mass, "charge": 0, "antiparticle": "x~"}}
        states = {"N": {"in": "x eta", "JP": "1/2-", "lineshape": "constant"}, "V": {"in": "x x~", "JP": "1--", "lineshape": "constant"}}
        model = ctpwa.load_model({"decay": "J/psi(1S) -> x x~ eta", "particles": particles, "resonances": states})
        assert [p.massless for p in model.decay.final[:2]] == [mass == 0] * 2
        q = torch.tensor([[0.0, 0.3, -0.7, 0.9], [0.0, -0.5, 0.2, 0.4], [0.0, 0.2, 0.5, -1.3]], dtype=torch.float64)
        masses = [mass, mass, 0.547862]
        momenta = {}
        for name, p, m in zip(model.final_names, q, masses, strict=True):
            momenta[name] = torch.cat([(p[1:].square().sum() + m**2).sqrt()[None], p[1:]])[None]
        spin = model.spin_amplitudes(momenta)
        assert spin.real
        return gram(spin.values)

    assert_close(interference(1e-6), interference(0.0), 1e-5)


@pytest.mark.parametrize(
    ("parent", "pair", "weak", "current"),
    [
        ("J/psi(1S)", "mu+ mu-", False, "vector"),
        ("J/psi(1S)", "e- e+", False, "vector"),
        ("J/psi(1S)", "p p~", False, ""),
        ("chi(c1)(1P)", "mu+ mu-", False, ""),
        ("J/psi(1S)", "mu+ mu-", True, ""),
        ("rho(770)+", "mu+ nu(mu)", True, "V-A"),
        ("rho(770)+", "mu+ nu(mu)~", True, ""),
        ("pi+", "mu+ nu(mu)", True, ""),
        ("tau-", "rho(770)- nu(tau)", True, "V-A"),
        ("tau-", "nu(tau) a(1)(1260)-", True, "V-A"),
        ("tau-", "pi- nu(tau)", True, ""),
    ],
)
def test_which_vertices_are_currents(parent, pair, weak, current):
    assert lepton_current(table.get(parent), *(table.get(name) for name in pair.split()), weak=weak) == current


def test_one_coupling_where_a_neutrino_leaves_one_helicity():
    """τ → π ν and π → μ ν: one amplitude of two (L, S)."""
    assert len(ctpwa.load_model({"decay": "tau- -> pi- nu(tau)"}).waves) == 1
    assert len(ctpwa.load_model({"decay": "pi+ -> mu+ nu(mu)"}).waves) == 1


def test_pion_decay_makes_the_muon_left_handed():
    """π⁺ → μ⁺ ν: the neutrino is left-handed, so must be μ⁺, the antiparticle."""
    model = ctpwa.load_model({"decay": "pi+ -> mu+ nu(mu)"})
    events = ctpwa.generate_phase_space(model, 10, seed=1)
    A = model.spin_amplitudes(events).values.numpy()[0]  # [spin of μ⁺, event]
    chi = helicity_spinor(events["mu+"][:, 1:].T, -1).numpy()
    overlap = np.abs((chi.conj() * A).sum(axis=0))
    np.testing.assert_allclose(overlap, np.sqrt((np.abs(A) ** 2).sum(axis=0)), rtol=1e-12)


def test_choosing_ls_turns_the_current_off():
    content = {"decay": "psi(2S) -> eta J/psi(1S); J/psi(1S) -> mu+ mu-"}
    model = ctpwa.load_model(content | {"resonances": {"J/psi(1S)": {"decay_ls": [[0, 1], [2, 1]]}}})
    assert [wave.name for wave in model.waves] == ["(1,1)(0,1)", "(1,1)(2,1)"]
    (wave,) = ctpwa.load_model(content).waves
    assert wave.name == "(1,1)"
    vertex = wave.chain.nodes[1]
    assert vertex_ls(wave.chain, vertex) == [LS(0, Fraction(1))]
    with pytest.raises(ctpwa.CtpwaError, match="its vector current fixes them"):
        vertex_ls(wave.chain, vertex, only=[LS(0, Fraction(1))])


@pytest.mark.parametrize("content", [{"decay": "psi(2S) -> tau+ tau-", "polarisation": "transverse"}, TAU])
def test_currents_are_the_same_in_both_formalisms(content):
    """They are what they are: the projection of Zou and Bugg is not applied to them."""
    canonical, other = (ctpwa.load_model(content | {"formalism": formalism}) for formalism in ("canonical", "zou-bugg"))
    events = ctpwa.generate_phase_space(canonical, 10, seed=1)
    first, second = (gram(model.spin_amplitudes(events).values)[:, 0, 0].real for model in (canonical, other))
    np.testing.assert_allclose(second, first, rtol=1e-12)
