"""The mixture of decay chains: events are physical, and its density is what it says."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import kstest

import ctpwa
from ctpwa.generate.proposal import EdgeMass, EventProposal, FlatMass, PeakMass

MODELS = {
    2: {"decay": "J/psi(1S) -> p p~"},
    3: {
        "decay": "J/psi(1S) -> K+ K- eta",
        "resonances": {"phi(1020)": {"in": "K+ K-"}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
    },
    "photon": {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}}},
    4: {
        "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
        "resonances": {"a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"], "mass": 1.23, "width": 0.42}, "rho(770)": {"in": "pi+ pi-"}},
    },
    5: {
        "decay": "psi(2S) -> K+ K- pi+ pi- eta",
        "max_L": 1,
        "resonances": {
            "phi(1020)": {"in": "K+ K-"},
            "f(0)(980)": {"in": "pi+ pi-", "mass": 0.99, "width": 0.06},
            "X": {"in": "pi+ pi- eta", "JP": "0-", "mass": 1.4, "width": 0.05},
        },
    },
    6: {
        "decay": "psi(2S) -> K+ K- pi+ pi- pi+ pi-",
        "max_L": 1,
        "resonances": {
            "phi(1020)": {"in": "K+ K-"},
            "rho(770)": {"in": "pi+ pi-"},
            "X": {"in": "pi+ pi- pi+ pi-", "JP": "0+", "mass": 1.4, "width": 0.3},
        },
    },
}


def make(name, **options):
    model = ctpwa.load_model(MODELS[name])
    parameters = {f"{r.name}.{key}": value for r in model.resonances.values() for key, value in r.parameters.items()}
    return model, EventProposal(model, parameters, torch.device("cpu"), **options)


def draw(proposal, n, seed=1):
    uniform = torch.rand(proposal.n_uniform, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return proposal.draw(uniform)


@pytest.mark.parametrize("name", MODELS)
def test_momentum_is_conserved_and_particles_are_on_shell(name):
    model, proposal = make(name)
    p4 = draw(proposal, 2000)
    total = p4.sum(dim=0).T.numpy()
    np.testing.assert_allclose(total, np.tile([model.decay.parent.mass, 0, 0, 0], (2000, 1)), rtol=0, atol=1e-12)
    for momentum, particle in zip(p4, model.decay.final, strict=True):
        mass = 0.0 if particle.massless else particle.mass
        np.testing.assert_allclose((momentum[0] ** 2 - (momentum[1:] ** 2).sum(dim=0)).numpy(), mass**2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_every_density_has_the_same_integral(name):
    """⟨g_channel/g⟩ over events of the mixture is ∫ g_channel dΦ: one number for all channels, whatever their chain."""
    _, proposal = make(name)
    g = proposal.densities(draw(proposal, 40_000))
    ratio = (g / proposal.density(g)).numpy()
    mean, error = ratio.mean(axis=1), ratio.std(axis=1) / np.sqrt(ratio.shape[1])
    assert np.all(np.abs(mean - 1) < 4.5 * error + 1e-12), (mean - 1) / error
    assert error.max() < 0.05


@pytest.mark.parametrize("name", [3, "photon", 4, 5])
def test_weighted_with_its_inverse_density_the_mixture_is_phase_space(name):
    model, proposal = make(name)
    p4 = draw(proposal, 30_000, seed=5)
    w = 1 / proposal.density(proposal.densities(p4)).numpy()
    flat = ctpwa.generate_phase_space(model, 30_000, seed=6)
    for i, label in enumerate(model.final_names):
        for value in (lambda p: p[0], lambda p: p[0] ** 2, lambda p: p[3] ** 2, lambda p: p[0] * p[3]):
            x, y = value(p4[i].numpy()), value(flat[label].numpy().T)
            mean = (w * x).sum() / w.sum()
            error = np.hypot(np.sqrt((w**2 * (x - mean) ** 2).sum()) / w.sum(), y.std() / np.sqrt(len(y)))
            assert abs(mean - y.mean()) < 4 * error


def test_improving_moves_events_to_where_weights_are_large():
    """A weight that is the density of one channel makes it win over all others, but none is ever given up."""
    _, proposal = make(3)
    wanted = next(i for i, channel in enumerate(proposal.channels) if getattr(channel.densities[0][1], "mass", 9) < 1.1)
    for seed in range(12):
        g = proposal.densities(draw(proposal, 4000, seed))
        proposal.improve(g[wanted] / proposal.density(g), g)
    assert proposal.shares[wanted] > 0.8
    assert proposal.shares.min() > 0.001
    assert float(proposal.shares.sum()) == pytest.approx(1, abs=1e-14)


def test_channels_of_a_model():
    """Flat and peaked in each of three systems, with tails for what is narrow; exchanged identical particles are chains of their own."""
    _, proposal = make(3)
    assert len(proposal.channels) == 2 + 2 + 2 + 2
    _, proposal = make(4)
    assert {channel.tree[0][1:] for channel in proposal.channels} == {
        ((0,), (1, 2, 3)),
        ((0, 1, 2), (3,)),
        ((0, 1, 3), (2,)),
        ((0, 2, 3), (1,)),
    }
    assert len({channel.tree for channel in proposal.channels}) == 8


def test_a_lineshape_without_a_width_is_tried_with_several():
    content = MODELS[3] | {"resonances": {"X": {"in": "K+ K-", "JP": "1-", "mass": 1.5, "lineshape": "1/(mass**2 - s - 0.01*i)"}}}
    proposal = EventProposal(ctpwa.load_model(content), {"X.mass": 1.5}, torch.device("cpu"))
    assert [channel.densities[0][1] for channel in proposal.channels] == [FlatMass(), PeakMass(1.5, 0.03), PeakMass(1.5, 0.15)]


def test_too_many_combinations_are_not_made():
    _, proposal = make(4, most=20)
    assert len(proposal.channels) == 16  # all flat, or all peaked, in eight chains
    g = proposal.densities(draw(proposal, 20_000))
    ratio = (g / proposal.density(g)).mean(dim=1)
    np.testing.assert_allclose(ratio.numpy(), 1, atol=0.1)


@pytest.mark.parametrize(
    "density", [FlatMass(), EdgeMass(), PeakMass(1.02, 0.004), PeakMass(1.5, 0.3), PeakMass(0.8, 0.02), PeakMass(3.0, 0.05)]
)
def test_mass_densities_are_normalised_and_drawn(density):
    low, high = torch.tensor(0.99, dtype=torch.float64), torch.tensor(2.5, dtype=torch.float64)

    def h(m):
        return float(density.density(torch.tensor(m, dtype=torch.float64), low, high))

    def cumulative(m):
        breaks = [x for x in (1.0, 1.01, 1.02, 1.03, 1.1, 1.5, 2.499) if x < m]
        edges = [0.99, *breaks, m]
        return sum(quad(h, a, b, limit=200)[0] for a, b in pairwise(edges))

    assert cumulative(2.5) == pytest.approx(1, abs=1e-6)
    u = torch.linspace(0.001, 0.999, 41, dtype=torch.float64)
    drawn = density.draw(u, low, high)
    assert ((drawn >= 0.99) & (drawn <= 2.5)).all()
    found = np.array([cumulative(float(m)) for m in drawn])
    expected = 1 - u.numpy() if isinstance(density, EdgeMass) else u.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_angles_are_isotropic():
    _, proposal = make(2)
    p4 = draw(proposal, 20_000)
    cosine = (p4[0, 3] / p4[0, 1:].norm(dim=0)).numpy()
    phi = torch.atan2(p4[0, 2], p4[0, 1]).numpy()
    assert kstest((cosine + 1) / 2, "uniform").pvalue > 1e-3
    assert kstest((phi / np.pi + 1) / 2, "uniform").pvalue > 1e-3
