"""Toy data: distributed like the intensity, exactly; the same for the same seed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import cumulative_trapezoid
from scipy.stats import chi2, kstest

import ctpwa
from ctpwa.generate.accepted import Accepted
from ctpwa.generate.toys import ToyGenerator, ToySettings

NARROW = {"decay": "J/psi(1S) -> K+ K- eta", "polarisation": "transverse", "resonances": {"phi(1020)": {"in": "K+ K-"}}}
PHI, K2 = "phi(1020)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
INTERFERING = NARROW | {
    "resonances": {
        "phi(1020)": {"in": "K+ K-"},
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
    "couplings": {PHI: 0.02, K2: [0.6, -0.9]},
}


@pytest.fixture(scope="module")
def narrow():
    return ToyGenerator(ctpwa.load_model(NARROW), engine="reference")


@pytest.fixture(scope="module")
def interfering():
    return ToyGenerator(ctpwa.load_model(INTERFERING), engine="cpu")


def mass(*p4):
    total = sum(p4)
    return (total[:, 0] ** 2 - total[:, 1:].square().sum(dim=1)).sqrt().numpy()


def test_a_narrow_resonance_has_its_textbook_shape(narrow):
    """J/psi → φη, φ → K⁺K⁻: dN/dm ∝ |F|² · p³/N₁(p d) · q³/N₁(q d), and 1 + cos²θ for the φ."""
    events = narrow.generate(30_000, seed=3).events
    M, mK, m_eta, d = narrow.proposal.parent, *narrow.proposal.masses[1:], 3.0
    m0, width = narrow.intensity.parameters["phi(1020).mass"], narrow.intensity.parameters["phi(1020).width"]
    s = (m0**2 + m0 * width * np.tan(np.linspace(-np.pi / 2, np.pi / 2, 400_002)[1:-1])).clip(4 * mK**2, (M - m_eta) ** 2)
    m = np.sqrt(np.unique(s))

    def momentum(M, a, b):
        return np.sqrt(((M**2 - (a + b) ** 2) * (M**2 - (a - b) ** 2)).clip(min=0)) / (2 * M)

    p, q, q0 = momentum(M, m, m_eta), momentum(m, mK, mK), momentum(np.array(m0), mK, mK)
    running = width * (q / q0) ** 3 * m0 / m * (1 + (q0 * d) ** 2) / (1 + (q * d) ** 2)
    F2 = 1 / ((m0**2 - m**2) ** 2 + (m0 * running) ** 2)
    density = F2 * p**3 / (1 + (p * d) ** 2) * q**3 / (1 + (q * d) ** 2)
    total = cumulative_trapezoid(density, m, initial=0)
    found = mass(events["K+"], events["K-"])
    assert kstest(np.interp(found, m, total / total[-1]), "uniform").pvalue > 1e-3
    assert (np.abs(found - m0) < 0.01).mean() > 0.6  # there is a peak
    cosine = -events["eta"][:, 3].numpy() / events["eta"][:, 1:].norm(dim=1).numpy()
    assert kstest((cosine**3 + 3 * cosine + 4) / 8, "uniform").pvalue > 1e-3


def coordinates(events):
    kp, km, eta = (events[name] for name in ("K+", "K-", "eta"))
    direction = [p[:, 3].numpy() / p[:, 1:].norm(dim=1).numpy() for p in (kp, eta)]
    return {"m(K+K-)": mass(kp, km), "m(K+eta)": mass(kp, eta), "m(K-eta)": mass(km, eta), "cos K+": direction[0], "cos eta": direction[1]}


@pytest.fixture(scope="module")
def compared(interfering):
    """Coordinates of a toy, of flat phase space, and the weights that turn the second into the first."""
    flat = ctpwa.generate_phase_space(interfering.model, 150_000, seed=8)
    return coordinates(interfering.generate(40_000, seed=7).events), coordinates(flat), interfering.intensity(flat).numpy()


@pytest.mark.parametrize("name", ["m(K+K-)", "m(K+eta)", "m(K-eta)", "cos K+", "cos eta"])
def test_projections_are_those_of_weighted_phase_space(compared, name):
    toy, flat, w = compared
    edges = np.quantile(toy[name], np.linspace(0, 1, 41))
    edges[0], edges[-1] = -2, 4
    counts, _ = np.histogram(toy[name], edges)
    sums, _ = np.histogram(flat[name], edges, weights=w)
    squares, _ = np.histogram(flat[name], edges, weights=w**2)
    scale = counts.sum() / sums.sum()
    statistic = ((counts - scale * sums) ** 2 / (counts + scale**2 * squares)).sum()
    assert chi2.sf(statistic, 39) > 1e-3


def test_moments_are_those_of_weighted_phase_space(compared):
    toy, flat, w = compared
    names = list(toy)
    for first in range(len(names)):
        for second in range(first, len(names)):
            x, y = (sample[names[first]] * sample[names[second]] for sample in (toy, flat))
            mean = (w * y).sum() / w.sum()
            error = np.hypot(x.std() / np.sqrt(len(x)), np.sqrt((w**2 * (y - mean) ** 2).sum()) / w.sum())
            assert abs(x.mean() - mean) < 4 * error, (names[first], names[second])


def test_a_narrow_resonance_is_found(narrow):
    """The mixture of chains pays: with phase space alone few of a thousand events would be accepted."""
    I = narrow.intensity(ctpwa.generate_phase_space(narrow.model, 20_000, seed=1))
    toy = narrow.generate(5000, seed=1)
    assert float(I.mean() / I.max()) < 0.01
    assert toy.acceptance > 0.15
    assert toy.acceptance == pytest.approx(narrow.expected_acceptance, rel=0.1)


def test_same_seed_same_events(interfering):
    first, again, other = (interfering.generate(200, seed=seed).events for seed in (5, 5, 6))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)
    fresh = ctpwa.generate_toy(interfering.model, 200, seed=5, engine="cpu")
    assert all(torch.equal(first[name], fresh[name]) for name in first)


def test_fewer_events_are_the_beginning_of_more(interfering):
    few, many = (interfering.generate(n, seed=5) for n in (10, 3000))
    assert many.raised == 0
    assert all(torch.equal(few.events[name], many.events[name][:10]) for name in few.events)


def test_size_of_blocks_is_not_part_of_the_result(interfering):
    pilot = ToySettings(pilot_rounds=1, pilot_events=512, maximum_events=16)  # the largest weight must be raised later
    once, many = (
        ToyGenerator(interfering.model, engine="cpu", settings=settings).generate(3000, seed=9)
        for settings in (pilot, replace(pilot, block=777))
    )
    assert once.raised == many.raised > 0
    assert once.tried == many.tried
    for name in once.events:
        torch.testing.assert_close(once.events[name], many.events[name], rtol=0, atol=1e-13)


def test_other_random_numbers_are_left_alone(interfering):
    torch.manual_seed(1)
    before = torch.rand(3)
    torch.manual_seed(1)
    interfering.generate(5, seed=5)
    assert torch.equal(torch.rand(3), before)


def test_events_are_physical(interfering, double):
    events = interfering.generate(300, seed=2).events
    assert list(events) == ["K+", "K-", "eta"]
    assert events.weights is None
    double(*events.momenta.values())
    np.testing.assert_allclose(sum(events.momenta.values()).numpy(), np.tile([interfering.proposal.parent, 0, 0, 0], (300, 1)), atol=1e-12)


def test_no_events(interfering):
    toy = interfering.generate(0)
    assert toy.events.n_events == 0
    assert toy.acceptance == 0


def accept(w, u, maximum, n, size):
    accepted = Accepted(n, maximum, torch.device("cpu"), 1)
    p4 = torch.arange(len(w), dtype=torch.float64).expand(1, 4, -1)
    for start in range(0, len(w), size):
        accepted.add(p4[..., start : start + size], w[start : start + size], u[start : start + size])
    return accepted


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_a_maximum_that_was_too_low_changes_nothing(size, rng):
    """Events accepted under a low maximum are thinned: the same are left as with the final maximum from the start."""
    w = torch.as_tensor(rng.exponential(size=1000))
    u = torch.as_tensor(rng.uniform(size=1000))
    low = accept(w, u, 0.1, 10_000, size)
    right = accept(w, u, low.maximum, 10_000, size)
    assert low.raised > 1
    assert low.maximum >= float(w.max())
    assert right.raised == 0
    assert torch.equal(low.momenta(), right.momenta())
    assert low.momenta()[0, 0].tolist() == [i for i in range(1000) if u[i] * low.maximum < w[i]]


def test_accepting_stops_in_the_middle_of_a_block(rng):
    w, u = (torch.as_tensor(rng.uniform(size=500)) for _ in range(2))
    accepted = accept(w, u, 1.0, 20, 500)
    last = [i for i in range(500) if u[i] < w[i]][19]
    assert accepted.n == 20
    assert accepted.tried == last + 1
    assert accepted.momenta()[0, 0, -1] == last


def test_efficiency_shapes_the_events(interfering):
    """Half of the events on one side and none below 1.3 GeV, in the ratio that the full toy has."""

    def efficiency(events):
        side = torch.where(events["eta"][:, 3] > 0, 1.0, 0.5)
        return side * torch.as_tensor(mass(events["K+"], events["K-"]) > 1.3)

    events = ctpwa.generate_toy(interfering.model, 8_000, seed=4, efficiency=efficiency)
    assert mass(events["K+"], events["K-"]).min() > 1.3
    forward = (events["eta"][:, 3] > 0).double().mean()
    assert float(forward) == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / 8_000))
    full = mass(*(interfering.generate(15_000, seed=5).events[name] for name in ("K+", "K-")))
    inside = full[full > 1.3]
    cut = mass(events["K+"], events["K-"])
    error = np.hypot(inside.std() / np.sqrt(len(inside)), cut.std() / np.sqrt(len(cut)))
    assert abs(inside.mean() - cut.mean()) < 4 * error


def test_truth_can_be_given(narrow):
    moved = ctpwa.generate_toy(narrow.model, 2000, seed=1, parameters={"phi(1020).mass": 1.5, "phi(1020).width": 0.02}, engine="reference")
    assert np.median(mass(moved["K+"], moved["K-"])) == pytest.approx(1.5, abs=0.01)
    scaled = ctpwa.generate_toy(narrow.model, 2000, seed=1, couplings={PHI: 3j}, engine="reference")
    same = narrow.generate(2000, seed=1).events
    torch.testing.assert_close(scaled["eta"], same["eta"])


def test_a_two_body_decay():
    """J/psi → π⁺π⁻ from m = ±1 goes like sin²θ."""
    model = ctpwa.load_model({"decay": "J/psi(1S) -> pi+ pi-", "polarisation": "transverse", "weak": True})
    events = ctpwa.generate_toy(model, 20_000, seed=1, engine="reference")
    cosine = (events["pi+"][:, 3] / events["pi+"][:, 1:].norm(dim=1)).numpy()
    assert kstest((2 + 3 * cosine - cosine**3) / 4, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("efficiency", "message"),
    [
        (lambda events: 0.5, "has shape a single number\n fix: return one number per event"),
        (lambda events: torch.ones(3), "has shape 3"),
        (lambda events: 2 * torch.ones(len(events["eta"])), "the efficiency is 2 for some event\n fix: return numbers from 0 to 1"),
        (lambda events: torch.full((len(events["eta"]),), float("nan")), "the efficiency is nan"),
        (lambda events: -torch.ones(len(events["eta"])), "the efficiency is -1"),
        (lambda events: torch.zeros(len(events["eta"])), "the intensity times the efficiency is zero for all"),
    ],
)
def test_wrong_efficiencies_are_refused(narrow, efficiency, message):
    with pytest.raises(ctpwa.base.GenerationError) as error:
        ToyGenerator(narrow.model, efficiency=efficiency, engine="reference")
    assert message in str(error.value)


def test_nothing_to_generate_is_refused(narrow):
    with pytest.raises(ctpwa.base.GenerationError, match="the intensity is zero for all of"):
        ToyGenerator(narrow.model, couplings={PHI: 0}, engine="reference")
    with pytest.raises(ctpwa.base.GenerationError, match="cannot generate -1 events"):
        narrow.generate(-1)


def test_an_efficiency_that_lets_almost_nothing_through_is_an_error_not_an_endless_loop(narrow):
    settings = ToySettings(pilot_rounds=1, pilot_events=512, maximum_events=512, max_tries=2000)
    generator = ToyGenerator(narrow.model, engine="reference", settings=settings)
    generator.efficiency = lambda events: torch.zeros(len(events["eta"]))
    with pytest.raises(ctpwa.base.GenerationError, match="only 0 of 2"):
        generator.generate(10)


def test_an_intensity_that_is_not_finite_is_refused(narrow):
    model = ctpwa.load_model(NARROW | {"resonances": {"X": {"in": "K+ K-", "JP": "1-", "lineshape": "exp(s*s*s*s*s)"}}})
    with pytest.raises(ctpwa.base.GenerationError, match="the intensity is not finite at K"):
        ToyGenerator(model, engine="reference")


def test_couplings_for_fractions(interfering):
    names = list(interfering.intensity.couplings)
    wanted, phases = {names[0]: 0.1, names[1]: 0.3, names[2]: 0.6}, {names[1]: 1.0, names[2]: -2.0}
    couplings = ctpwa.generate.couplings_for_fractions(interfering.model, wanted, phases)
    assert {name: pytest.approx(np.angle(c)) for name, c in couplings.items()} == {names[0]: 0} | phases
    flat = ctpwa.generate_phase_space(interfering.model, 50_000, seed=4)
    own = ctpwa.ModelIntensity(interfering.model, couplings=couplings, device="cpu")
    parts = own.components(flat, {name: own.waves_of(name) for name in names})
    sums = {name: float(I.mean()) for name, I in parts.items()}
    errors = {name: float(I.std() / len(I) ** 0.5) / sums[name] + 0.01 for name, I in parts.items()}
    for name in names[1:]:
        assert sums[name] / sums[names[1]] == pytest.approx(wanted[name] / wanted[names[1]], rel=4 * errors[name])
    assert sums[names[0]] / sums[names[1]] == pytest.approx(1 / 3, rel=4 * errors[names[0]])


def test_fractions_that_are_left_out_are_zero(interfering):
    couplings = ctpwa.generate.couplings_for_fractions(interfering.model, {PHI: 1.0}, n=1000)
    assert [name for name, c in couplings.items() if c] == [PHI]


@pytest.mark.parametrize(
    ("fractions", "phases", "message"),
    [
        ({"phi(1020)": 1}, {}, "no coupling is called 'phi(1020)'"),
        ({PHI: 1}, {"phi": 1}, "no coupling is called 'phi'"),
        ({PHI: -1}, {}, "is -1\n fix: give a number that is not negative"),
        ({PHI: float("nan")}, {}, "is nan"),
    ],
)
def test_wrong_fractions_are_refused(interfering, fractions, phases, message):
    with pytest.raises(ctpwa.base.PhysicsError) as error:
        ctpwa.generate.couplings_for_fractions(interfering.model, fractions, phases)
    assert message in str(error.value)
