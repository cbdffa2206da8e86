"""Phase space sampled along the resonances: its weights are exact, and integrals of narrow states are precise."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad, quad

import ctpwa
from ctpwa.generate import sample_phase_space
from ctpwa.generate.importance import FLAT_SHARE, PhaseSpaceMixture, phase_space_volume
from ctpwa.generate.phase_space import PhaseSpaceSampler
from ctpwa.generate.proposal import EdgeMass, FlatMass, Mixed, PeakMass
from kk_eta import kk_eta
from ranks.threads import on_ranks

CPU = torch.device("cpu")
PHI = kk_eta(
    {
        "phi(1020)": {"in": "K+ K-"},
        "phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
        "NR": {"in": "K+ K-", "JP": "1-", "lineshape": "constant"},
    }
)
JPSI = {
    "decay": "psi(2S) -> pi+ pi- mu+ mu-",
    "polarisation": "transverse",
    "max_L": 0,
    "resonances": {"J/psi(1S)": {"in": "mu+ mu-"}, "f(0)(500)": {"in": "pi+ pi-", "mass": 0.5, "width": 0.5}},
}
FIVE = {
    "decay": "psi(2S) -> K+ K- pi+ pi- eta",
    "max_L": 1,
    "resonances": {
        "phi(1020)": {"in": "K+ K-", "float": "mass"},
        "f(0)(980)": {"in": "pi+ pi-", "mass": 0.99, "width": 0.06},
        "X": {"in": "pi+ pi- eta", "JP": "0-", "mass": 1.4, "width": 0.05},
    },
}
IDENTICAL = {
    "decay": "J/psi(1S) -> gamma pi0 pi0",
    "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}, "omega(782)": {"in": "gamma pi0"}},
}
MODELS = {"phi": PHI, "J/psi": JPSI, "five": FIVE, "identical": IDENTICAL}


def momentum(M, m1, m2):
    return np.sqrt(max((M**2 - (m1 + m2) ** 2) * (M**2 - (m1 - m2) ** 2), 0)) / (2 * M)


def effective(values):
    return float(values.sum() ** 2 / values.square().sum())


@pytest.mark.parametrize(("n", "expected"), [(2, 1 / 2), (3, 1 / 16), (4, 1 / 384), (5, 1 / 18432), (6, 1 / 1474560)])
def test_volume_of_massless_particles(n, expected):
    """V_2 = M/2, and V_n = ∫ V_(n−1)(m) (M² − m²)/2M dm by hand."""
    assert phase_space_volume(3.0, [0.0] * n) == pytest.approx(expected * 3.0 ** (2 * n - 3), rel=1e-12)


def test_volume_of_massive_particles():
    M, a, b, c, d = 3.1, 0.49, 0.14, 0.55, 0.000511
    three, _ = quad(lambda m: momentum(M, m, c) * momentum(m, a, b), a + b, M - c, epsabs=0, epsrel=1e-11)
    assert phase_space_volume(M, [a, b, c]) == pytest.approx(three, rel=1e-9)

    def inner(m, x):
        return momentum(M, x, d) * momentum(x, m, c) * momentum(m, a, b)

    four, _ = dblquad(inner, a + b + c, M - d, a + b, lambda x: x - c, epsabs=0, epsrel=1e-7)
    assert phase_space_volume(M, [a, b, c, d]) == pytest.approx(four, rel=1e-6)


def test_volume_is_that_of_the_generator():
    """Also with six particles: the mean weight of events whose masses are sorted uniform numbers, times the volume of these masses."""
    masses = [0.14, 0.000511, 0.49, 0.14, 0.0, 0.000511]
    w = PhaseSpaceSampler(3.7, masses, CPU, seed=1).sample(200_000)[1]
    simplex = (3.7 - sum(masses)) ** 4 / 24
    error = float(w.std()) / np.sqrt(len(w)) * simplex
    assert error < 0.004 * simplex * float(w.mean())
    assert abs(float(w.mean()) * simplex - phase_space_volume(3.7, masses)) < 4 * error


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_one_on_average_and_bounded(name):
    """⟨v⟩ = ∫ dΦ / V: right only if the density g and the volume are, for all chains together."""
    model = ctpwa.load_model(MODELS[name])
    events = sample_phase_space(model, 60_000, seed=3)
    v = events.weights.numpy()
    error = v.std() / np.sqrt(len(v))
    assert abs(v.mean() - 1) < 4 * error
    assert error < 0.008
    assert v.min() > 0
    assert v.max() <= 1 / FLAT_SHARE + 1e-12
    total = sum(events.values()).numpy()
    np.testing.assert_allclose(total, np.tile([model.decay.parent.mass, 0, 0, 0], (len(v), 1)), rtol=0, atol=1e-12)


def test_weighted_masses_are_those_of_flat_phase_space():
    """dΦ/dm = q(M; m, m_eta) q(m; m_K, m_K), from the threshold over the φ, where events crowd, to the end."""
    model = ctpwa.load_model(PHI)
    events = sample_phase_space(model, 200_000, seed=4)
    pair = events["K+"] + events["K-"]
    m = (pair[:, 0].square() - pair[:, 1:].square().sum(dim=1)).sqrt().numpy()
    M, K, eta = model.decay.parent.mass, model.decay.final[0].mass, model.decay.final[2].mass
    edges = np.array([2 * K, 1.0, 1.01, 1.015, 1.018, 1.0195, 1.021, 1.024, 1.03, 1.06, 1.2, 1.5, 1.6, 1.7, 1.8, 2.0, 2.3, M - eta])
    volume = phase_space_volume(M, [K, K, eta])
    expected = [quad(lambda x: momentum(M, x, eta) * momentum(x, K, K), a, b)[0] / volume for a, b in pairwise(edges)]
    v = events.weights.numpy() / len(m)
    found, variance = (np.histogram(m, edges, weights=weights)[0] for weights in (v, v**2))
    pulls = (found - expected) / np.sqrt(variance)
    assert np.abs(pulls).max() < 4, pulls
    assert (pulls**2).sum() < 40  # 17 bins
    counts = np.histogram(m, edges)[0]
    flat = len(m) * np.array(expected)
    assert counts[5] > 50 * flat[5]  # at the φ


def test_an_integral_that_is_known():
    """∫ |F|² dΦ of a spinless state 1 MeV wide, by quadrature over its mass."""
    model = ctpwa.load_model(
        {
            "decay": "P -> A A B",
            "particles": {
                name: {"JP": JP, "mass": m, "charge": 0} for name, JP, m in (("P", "0+", 3.0), ("A", "0-", 0.2), ("B", "0+", 0.5))
            },
            "resonances": {"R": {"in": "A A", "JP": "0+", "mass": 1.1, "width": 0.001, "lineshape": "1/(mass**2 - s - i*mass*width)"}},
        }
    )
    events = sample_phase_space(model, 50_000, seed=5)
    I = ctpwa.ModelIntensity(model, engine="reference", device="cpu")
    values = events.weights * I(events)
    pair = events["A_1"] + events["A_2"]
    F2 = 1 / ((1.1**2 - (pair[:, 0].square() - pair[:, 1:].square().sum(dim=1))).square() + 0.0011**2)
    constant = float((I(events) / F2).mean())  # what spin and symmetry put in front of |F|²
    assert float((I(events) / F2).std()) < 1e-9 * constant

    def mass_density(m):
        return momentum(3.0, m, 0.5) * momentum(m, 0.2, 0.2) / ((1.1**2 - m**2) ** 2 + 0.0011**2)

    pieces = [0.4, 1.09, 1.099, 1.1, 1.101, 1.11, 2.5]
    exact = sum(quad(mass_density, a, b, epsrel=1e-10)[0] for a, b in pairwise(pieces))
    expected = constant * exact / phase_space_volume(3.0, [0.2, 0.2, 0.5])
    error = float(values.std()) / np.sqrt(50_000)
    assert error < 0.008 * expected
    assert abs(float(values.mean()) - expected) < 4 * error


def test_products_of_waves_are_those_of_flat_phase_space():
    """Alone, and every two of them together with their interference."""
    model = ctpwa.load_model(PHI)
    I = ctpwa.ModelIntensity(model, engine="reference", device="cpu")
    names = list(I.couplings)
    groups = {(a, b): sorted({*I.waves_of(a), *I.waves_of(b)}) for i, a in enumerate(names) for b in names[: i + 1]}
    flat, sampled = ctpwa.generate_phase_space(model, 100_000, seed=6), sample_phase_space(model, 50_000, seed=7)
    there, here = I.components(flat, groups), I.components(sampled, groups)
    for pair in groups:
        x, y = there[pair], sampled.weights * here[pair]
        error = np.hypot(float(x.std()) / np.sqrt(len(x)), float(y.std()) / np.sqrt(len(y)))
        assert abs(float(x.mean() - y.mean())) < 4 * error, pair


@pytest.mark.parametrize(
    ("content", "wave", "flat_at_most", "at_least"), [(PHI, "phi(1020)", 0.004, 0.13), (JPSI, "J/psi(1S)", 0.001, 0.09)]
)
def test_effective_number_of_a_narrow_state(content, wave, flat_at_most, at_least):
    """N_eff = (Σ v I)² / Σ (v I)² of 40 000 events."""
    n, model = 40_000, ctpwa.load_model(content)
    I = ctpwa.ModelIntensity(model, engine="reference", device="cpu")
    flat, sampled = ctpwa.generate_phase_space(model, n, seed=8), sample_phase_space(model, n, seed=8)
    groups = {name: I.waves_of(name) for name in I.couplings}
    before = {name: effective(values) / n for name, values in I.components(flat, groups).items()}
    after = {name: effective(sampled.weights * values) / n for name, values in I.components(sampled, groups).items()}
    for name in groups:
        assert after[name] > FLAT_SHARE * before[name]  # whatever it is
        if wave in name:
            assert before[name] < flat_at_most
        assert after[name] > at_least


def test_the_same_seed_gives_the_same_events_on_any_number_of_ranks():
    model, n = ctpwa.load_model(PHI), 33_001
    whole, again, other = (sample_phase_space(model, n, seed) for seed in (9, 9, 10))
    assert torch.equal(whole.weights, again.weights)
    assert not torch.equal(whole.weights, other.weights)
    for size in (2, 3):
        parts = on_ranks(size, lambda ranks: sample_phase_space(model, n, 9, ranks=ranks))
        assert [part.part.count for part in parts] == [part.n_events for part in parts]
        assert torch.equal(torch.cat([part.weights for part in parts]), whole.weights)
        for name in whole:
            assert torch.equal(torch.cat([part[name] for part in parts]), whole[name])


def test_couplings_do_not_matter():
    wave = "phi(1020)[K+ K-] (1,1)(1,0)"
    one, other = (sample_phase_space(ctpwa.load_model(PHI | {"couplings": {wave: c}}), 100, seed=1) for c in (1, 50))
    assert torch.equal(one["K+"], other["K+"])


def test_narrow_states_get_events_of_their_own():
    """Broad ones share theirs; a narrow one is covered wider."""
    mixture = PhaseSpaceMixture(ctpwa.load_model(PHI), CPU)
    pairs = zip(mixture.chains.channels, mixture.chains.shares, strict=True)
    masses = {h.parts[0][1].mass: float(share) for channel, share in pairs for _, h in channel.densities}
    assert max(masses, key=masses.get) == pytest.approx(1.0195, abs=1e-3)
    assert mixture.flat_share >= FLAT_SHARE
    assert float(mixture.chains.shares.sum()) == pytest.approx(1, abs=1e-14)

    model = ctpwa.load_model(PHI | {"resonances": {"phi(1020)": {"in": "K+ K-", "width": 0.004}}})
    ((_, h),) = PhaseSpaceMixture(model, CPU).chains.channels[0].densities
    assert isinstance(h, Mixed)
    assert h.parts[-1][1] == FlatMass()
    assert [part.width for _, part in h.parts[:-1]] == pytest.approx([0.006, 0.024, 0.096])


def test_events_do_not_depend_on_what_floats():
    fixed, floating = (
        ctpwa.load_model(PHI | {"resonances": {"phi(1020)": {"in": "K+ K-", **options}}}) for options in ({}, {"float": ["mass", "width"]})
    )
    one, other = (sample_phase_space(model, 500, seed=3) for model in (fixed, floating))
    assert torch.equal(one["K+"], other["K+"])
    assert torch.equal(one.weights, other.weights)


def test_a_resonance_inside_another_one_reaches_the_edge():
    model = ctpwa.load_model(FIVE)
    inner = {h for c in PhaseSpaceMixture(model, CPU).chains.channels for system, h in c.densities if len(system) == 2 and 2 in system}
    assert any(h.parts[-1][1] == EdgeMass() and h.parts[0][1] == PeakMass(0.99, pytest.approx(0.09)) for h in inner)


@pytest.mark.parametrize("lineshape", ["constant", "s/(1 + s)"])
def test_without_a_mass_it_is_flat(lineshape):
    """No chain has a peak: no weights, and what generate_phase_space gives in distribution."""
    model = ctpwa.load_model(PHI | {"resonances": {"X": {"in": "K+ K-", "JP": "1-", "lineshape": lineshape}}})
    events = sample_phase_space(model, 3000, seed=1)
    assert events.weights is None
    assert events.n_events == 3000
    assert PhaseSpaceMixture(model, CPU).flat_share == 1


def test_two_particles_and_no_events():
    assert sample_phase_space(ctpwa.load_model({"decay": "J/psi(1S) -> p p~"}), 10, seed=1).weights is None
    assert sample_phase_space(ctpwa.load_model(PHI), 0, seed=1).n_events == 0


@pytest.mark.parametrize(
    "parts", [((0.3, FlatMass()), (0.7, PeakMass(1.02, 0.004))), ((0.5, PeakMass(1.5, 0.3)), (0.25, EdgeMass()), (0.25, FlatMass()))]
)
def test_mixed_densities_are_normalised_and_drawn(parts):
    density = Mixed(parts)
    low, high = torch.tensor(0.99, dtype=torch.float64), torch.tensor(2.5, dtype=torch.float64)
    u = torch.linspace(0, 1, 40_001, dtype=torch.float64)[:-1] + 1 / 80_000
    m = density.draw(u, low.expand_as(u), high.expand_as(u)).sort().values.numpy()

    def h(x):
        return float(density.density(torch.tensor(x, dtype=torch.float64), low, high))

    for edge in (1.0, 1.02, 1.3, 2.4):
        pieces = [0.99, *(x for x in (1.01, 1.02, 1.03) if x < edge), edge]
        expected = sum(quad(h, a, b)[0] for a, b in pairwise(pieces))
        assert np.searchsorted(m, edge) / len(m) == pytest.approx(expected, abs=2e-4)
    at = torch.tensor([1.0, 1.02, 2.0], dtype=torch.float64)
    torch.testing.assert_close(density.density(at, low, high), sum(share * h.density(at, low, high) for share, h in parts))
