"""Phase space: on shell, conserved, flat, of the right volume, and the same for the same seed."""

from math import factorial, pi

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import chi2

import ctpwa
from ctpwa.base.errors import GenerationError
from ctpwa.generate.phase_space import PhaseSpaceSampler

M, MASSES = 3.0969, (0.493677, 0.493677, 0.547862)
BODIES = {
    2: [3.1, 0.94, 0.94],
    3: [3.0969, 0.493677, 0.493677, 0.547862],
    4: [3.0969, 0.14, 0.14, 0.49, 0.49],
    5: [3.686, 0.938, 0.1396, 0.938, 0.1396, 0.5479],
    6: [3.686, 0.938, 0.1396, 0.938, 0.1396, 0.0, 0.0],
}


def invariant_mass_squared(p4):
    return (p4[:, 0] ** 2 - (p4[:, 1:] ** 2).sum(dim=1)).numpy()


def sampled_weights(parent, masses, n, seed=1):
    return PhaseSpaceSampler(parent, masses, torch.device("cpu"), seed).sample(n)[1].numpy()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", BODIES)
def test_momentum_is_conserved_and_particles_are_on_shell(n, weighted):
    events = ctpwa.generate_phase_space(BODIES[n], 500, seed=n, weighted=weighted)
    assert list(events) == [f"p{i + 1}" for i in range(n)]
    assert events.n_events == 500
    total = sum(events.momenta.values()).numpy()
    np.testing.assert_allclose(total, np.tile([BODIES[n][0], 0, 0, 0], (500, 1)), rtol=0, atol=1e-12)
    for mass, p4 in zip(BODIES[n][1:], events.momenta.values(), strict=True):
        np.testing.assert_allclose(invariant_mass_squared(p4), mass**2, rtol=0, atol=1e-12)
        assert p4.dtype == torch.float64


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_massless_particles_are_exactly_on_the_light_cone(n):
    events = ctpwa.generate_phase_space([2.0] + [0.0] * n, 200, seed=3, weighted=n != 4)
    for p4 in events.momenta.values():
        assert torch.equal(p4[:, 0], p4[:, 1:].square().sum(dim=1).sqrt())
    np.testing.assert_allclose(sum(events.momenta.values()).numpy(), np.tile([2.0, 0, 0, 0], (200, 1)), rtol=0, atol=1e-12)


def test_same_seed_same_events():
    first, again, other = (ctpwa.generate_phase_space(BODIES[3], 50, seed=seed) for seed in (5, 5, 6))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_a_seed_means_the_same_events_in_every_version():
    """Who publishes a seed has published the events; how many are drawn at a time is part of it."""
    third = [0.818860191577824, -0.04386680842947514, 0.6450670249727897, 0.04996248354352195]
    events = ctpwa.generate_phase_space([3.0969, 0.5, 0.5, 0.55], 3, seed=5)
    np.testing.assert_allclose(events["p1"][2].numpy(), third, rtol=1e-12)


def test_fewer_events_are_the_beginning_of_more():
    few, many = (ctpwa.generate_phase_space(BODIES[3], n, seed=5) for n in (10, 100))
    assert all(torch.equal(few[name], many[name][:10]) for name in few)


def test_other_random_numbers_are_left_alone():
    torch.manual_seed(1)
    before = torch.rand(3)
    torch.manual_seed(1)
    ctpwa.generate_phase_space(BODIES[3], 5, seed=5)
    assert torch.equal(torch.rand(3), before)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_volume_of_massless_phase_space(n):
    """∫ Π d³p/2E δ⁴ = (π/2)^(n−1) M^(2n−4) / (n−1)!(n−2)!, here from the mean of the weights Π q."""
    parent = 1.7
    w = sampled_weights(parent, [0.0] * n, 60_000)
    scale = pi ** (n - 1) * 2 ** (n - 2) / parent * parent ** (n - 2) / factorial(n - 2)
    expected = (pi / 2) ** (n - 1) * parent ** (2 * n - 4) / (factorial(n - 1) * factorial(n - 2))
    error = scale * w.std() / np.sqrt(len(w))
    assert abs(scale * w.mean() - expected) < 3.5 * error + 1e-12
    assert error < 0.015 * expected


def test_volume_of_massive_three_body_phase_space():
    m1, m2, m3 = MASSES

    def momentum(s, a, b):
        return np.sqrt(max((s - (a + b) ** 2) * (s - (a - b) ** 2), 0) / (4 * s))

    low, high = m1 + m2, M - m3
    expected = quad(lambda m: momentum(m * m, m1, m2) * momentum(M * M, m, m3), low, high, epsabs=1e-12)[0] / (high - low)
    w = sampled_weights(M, MASSES, 60_000)
    assert abs(w.mean() - expected) < 3.5 * w.std() / np.sqrt(len(w))


@pytest.mark.parametrize("n", BODIES)
def test_no_weight_exceeds_the_maximum_and_some_come_near(n):
    parent, *masses = BODIES[n]
    sampler = PhaseSpaceSampler(parent, masses, torch.device("cpu"), 2)
    w = sampler.sample(60_000)[1]
    assert w.max() <= sampler.max_weight
    assert w.max() > (0.97 if n < 5 else 0.7) * sampler.max_weight


def dalitz_coordinates(p4):
    """m², and cos of the angle of particle 1 in the rest frame of (1 2) against particle 3."""
    p1, p2, p3 = (p.numpy() for p in p4)

    def dot(a, b):
        return a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)

    X = p1 + p2
    m = np.sqrt(dot(X, X))
    e1, e3 = dot(p1, X) / m, dot(p3, X) / m
    cosine = (e1 * e3 - dot(p1, p3)) / np.sqrt((e1**2 - dot(p1, p1)) * (e3**2 - dot(p3, p3)))
    return m, cosine


def mass_distribution(m_values):
    """Fraction of flat phase space below each mass of (1 2): ∫ q p dm."""
    m1, m2, m3 = MASSES
    grid = np.linspace(m1 + m2, M - m3, 20_001)
    q = np.sqrt(np.clip((grid**2 - (m1 + m2) ** 2) * (grid**2 - (m1 - m2) ** 2), 0, None)) / (2 * grid)
    p = np.sqrt(np.clip((M**2 - (grid + m3) ** 2) * (M**2 - (grid - m3) ** 2), 0, None)) / (2 * M)
    density = q * p
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(m_values, grid, cumulative / cumulative[-1])


def test_largest_weight_of_three_bodies():
    """That of a fine scan of the one mass that is free."""
    sampler = PhaseSpaceSampler(3.0969, [0.494, 0.938, 0.0], torch.device("cpu"), 1)
    M = torch.linspace(0.494 + 0.938, 3.0969, 200_001, dtype=torch.float64)
    scan = sampler._momenta(torch.stack([torch.full_like(M, 0.494), M, torch.full_like(M, 3.0969)])).prod(dim=0).max()
    assert sampler.max_weight / (1 + 1e-6) == pytest.approx(float(scan), rel=1e-9)


def test_dalitz_plot_is_flat():
    events = ctpwa.generate_phase_space([M, *MASSES], 100_000, seed=21)
    m, cosine = dalitz_coordinates(events.momenta.values())
    counts, _, _ = np.histogram2d(mass_distribution(m), (cosine + 1) / 2, bins=12, range=[[0, 1], [0, 1]])
    expected = 100_000 / 144
    assert counts.sum() == 100_000
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert 0.001 < chi2.sf(statistic, 143) < 0.999


def test_weighted_dalitz_plot_is_flat():
    events = ctpwa.generate_phase_space([M, *MASSES], 100_000, seed=22, weighted=True)
    m, cosine = dalitz_coordinates(events.momenta.values())
    w = events.weights.numpy()
    assert w.mean() == pytest.approx(1, abs=1e-12)
    position = (mass_distribution(m), (cosine + 1) / 2)
    sums, _, _ = np.histogram2d(*position, bins=8, range=[[0, 1], [0, 1]], weights=w)
    squares, _, _ = np.histogram2d(*position, bins=8, range=[[0, 1], [0, 1]], weights=w**2)
    statistic = ((sums - 100_000 / 64) ** 2 / squares).sum()
    assert 0.001 < chi2.sf(statistic, 63) < 0.999


@pytest.mark.parametrize("n", [3, 4, 6])
def test_weighted_and_unweighted_events_have_the_same_moments(n):
    plain = ctpwa.generate_phase_space(BODIES[n], 30_000, seed=31)
    weighted = ctpwa.generate_phase_space(BODIES[n], 30_000, seed=32, weighted=True)
    w = weighted.weights.numpy()
    names = list(plain)
    for i in range(n):
        for j in range(i + 1, n):
            s, s_weighted = (invariant_mass_squared(events[names[i]] + events[names[j]]) for events in (plain, weighted))
            for power in (1, 2):
                x, y = s**power, s_weighted**power
                mean = (w * y).mean()
                error = np.hypot(x.std() / np.sqrt(len(x)), (w * (y - mean)).std() / np.sqrt(len(y)))
                assert abs(x.mean() - mean) < 4 * error


@pytest.mark.parametrize("n", BODIES)
def test_directions_are_isotropic(n):
    events = ctpwa.generate_phase_space(BODIES[n], 20_000, seed=41)
    for p4 in events.momenta.values():
        direction = (p4[:, 1:] / p4[:, 1:].norm(dim=1, keepdim=True)).numpy()
        assert np.abs(direction.mean(axis=0)).max() < 4 / np.sqrt(3 * 20_000)
        second = np.einsum("ei,ej->ij", direction, direction) / 20_000
        np.testing.assert_allclose(second, np.eye(3) / 3, rtol=0, atol=4 * 0.3 / np.sqrt(20_000))


def test_two_bodies_have_one_momentum():
    parent, m1, m2 = BODIES[2]
    q = np.sqrt((parent**2 - (m1 + m2) ** 2) * (parent**2 - (m1 - m2) ** 2)) / (2 * parent)
    events = ctpwa.generate_phase_space(BODIES[2], 100, seed=1)
    np.testing.assert_allclose(events["p1"][:, 1:].norm(dim=1), q, rtol=1e-14)
    np.testing.assert_array_equal(events["p1"][:, 1:], -events["p2"][:, 1:])
    weighted = ctpwa.generate_phase_space(BODIES[2], 100, seed=1, weighted=True)
    np.testing.assert_allclose(weighted.weights, 1, rtol=1e-14)


def test_models_mappings_and_lists_are_the_same():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(0)(980)": {"in": "pi0 pi0"}}})
    by_model = ctpwa.generate_phase_space(model, 5, seed=1)
    masses = {"J/psi": model.decay.parent.mass, "a": 0.0, "b": model.decay.final[1].mass, "c": model.decay.final[2].mass}
    by_name = ctpwa.generate_phase_space(masses, 5, seed=1)
    by_list = ctpwa.generate_phase_space(list(masses.values()), 5, seed=1)
    assert list(by_model) == ["gamma", "pi0_1", "pi0_2"]
    assert list(by_name) == ["a", "b", "c"]
    for names in zip(by_model, by_name, by_list, strict=True):
        first, second, third = (events[name] for events, name in zip((by_model, by_name, by_list), names, strict=True))
        assert torch.equal(first, second)
        assert torch.equal(first, third)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_events(weighted):
    events = ctpwa.generate_phase_space(BODIES[4], 0, weighted=weighted)
    assert events.n_events == 0
    assert all(p4.shape == (0, 4) for p4 in events.momenta.values())
    assert (events.weights is None) != weighted
    assert not weighted or events.weights.shape == (0,)


@pytest.mark.parametrize(
    ("masses", "n", "message"),
    [
        ([1.0, 0.5, 0.6], 5, r"below threshold: the final particles weigh 1.1 GeV, the parent 1 GeV"),
        ([1.0, 0.5, 0.5], 5, r"below threshold"),
        ([5.0] + [0.1] * 7, 5, r"phase space has 7 final particles\n fix: give 2 to 6"),
        ([5.0, 0.1], 5, r"phase space has 1 final particle"),
        ([5.0], 5, r"phase space has 0 final particles"),
        ([], 5, r"the mass of the parent is None"),
        ([1.0, -0.1, 0.2], 5, r"the mass of p1 is -0.1\n fix: give a mass in GeV, 0 or more"),
        ([-1.0, 0.1, 0.2], 5, r"the mass of the parent is -1.0"),
        ([1.0, float("nan"), 0.2], 5, r"the mass of p1 is nan"),
        ([float("inf"), 0.1, 0.2], 5, r"the mass of the parent is inf"),
        ({"X": 1.0, "a": 0.1, "b": -0.2}, 5, r"the mass of b is -0.2"),
        ([1.0, 0.1, 0.2], -1, r"cannot generate -1 events"),
    ],
)
def test_what_cannot_be_generated_is_refused(masses, n, message):
    with pytest.raises(GenerationError, match=message):
        ctpwa.generate_phase_space(masses, n)


def test_phase_space_just_above_threshold():
    """All momenta are small, and nothing is lost: q is a difference of nearly equal masses."""
    events = ctpwa.generate_phase_space([1.0 + 1e-6, 0.3, 0.3, 0.4], 100, seed=2)
    total = sum(events.momenta.values()).numpy()
    np.testing.assert_allclose(total, np.tile([1.0 + 1e-6, 0, 0, 0], (100, 1)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("digits", [11, 15, 30, 5000])
@pytest.mark.parametrize("weighted", [False, True])
def test_more_events_than_there_is_memory_are_refused_at_once(digits, weighted):
    with pytest.raises(GenerationError, match=r"events of 3 particles need .*TB to generate, but cpu has .* left\n fix: generate at most"):
        ctpwa.generate_phase_space([1.0, 0.1, 0.2, 0.3], 10**digits, weighted=weighted)


@pytest.mark.parametrize("n", [True, 1.5, "5", None])
def test_what_is_no_number_of_events(n):
    with pytest.raises(GenerationError, match=r"cannot generate .* events\n fix: give a whole number"):
        ctpwa.generate_phase_space([1.0, 0.1, 0.2], n)


@pytest.mark.parametrize("seed", [-1, 2**64, 10**30, 1.5, None])
def test_what_is_no_seed(seed):
    with pytest.raises(GenerationError, match=r"the seed is .*\n fix: give a whole number from 0 to"):
        ctpwa.generate_phase_space([1.0, 0.1, 0.2], 5, seed)
