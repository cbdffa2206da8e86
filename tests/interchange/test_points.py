"""Amplitudes, fractions and momenta at single points."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import ConfigError, DataError, PhysicsError
from ctpwa.interchange import dalitz_momenta, fractions_at, wave_amplitudes

TEXT = """
decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1020): {in: K+ K-}
  S: {in: K+ K-, JP: 1-, lineshape: step, options: {edges: [0.98, 1.5, 2.6]}}
  K(2)*(1430): {in: [K+ eta, K- eta], float: radius}
couplings:
  phi(1020): [0.3, 0.4]
  S:1: [0.1, -0.2]
"""


@pytest.fixture(scope="module")
def intensity():
    return ctpwa.ModelIntensity(ctpwa.load_model(TEXT.replace("S:1", '"S[K+ K-] (1,1)(1,0):bin_1"')), engine="reference")


@pytest.fixture(scope="module")
def events(intensity):
    return ctpwa.generate_phase_space(intensity.model, 60, seed=1)


def test_amplitudes_add_up_to_the_intensity(intensity, events):
    found = wave_amplitudes(intensity, events)
    assert found.names == (
        "phi(1020)[K+ K-] (1,1)(1,0)",
        "S[K+ K-] (1,1)(1,0):bin_1",
        "S[K+ K-] (1,1)(1,0):bin_2",
        "K(2)*(1430)+[K+ eta] (2,2)(2,0)",
        "K(2)*(1430)-[K- eta] (2,2)(2,0)",
    )
    assert found.values.shape == (5, len(found.rows), 60)
    I = found.values.sum(dim=0).abs().square().sum(dim=0)
    torch.testing.assert_close(I, intensity(events), rtol=1e-12, atol=0)
    for name, values in zip(found.names, found.values, strict=True):
        torch.testing.assert_close(values.abs().square().sum(dim=0), intensity(events, [name]), rtol=1e-12, atol=1e-30)


def test_without_propagators_and_couplings(intensity, events):
    """Then they are the spin amplitudes, with barriers."""
    found = wave_amplitudes(intensity, events, propagators=False, couplings=False)
    spin = intensity.model.spin_amplitudes(events, barrier=True)
    assert found.rows == spin.polarisations
    torch.testing.assert_close(found.values[0], spin.values[0], rtol=1e-12, atol=1e-15)


def test_identical_particles_and_photons():
    text = "decay: J/psi(1S) -> gamma pi0 pi0\nresonances:\n  f(2)(1270): {in: pi0 pi0}\n  omega(782): {in: gamma pi0}\n"
    intensity = ctpwa.ModelIntensity(ctpwa.load_model(text), engine="reference")
    events = ctpwa.generate_phase_space(intensity.model, 30, seed=2)
    I = wave_amplitudes(intensity, events).values.sum(dim=0).abs().square().sum(dim=0)
    torch.testing.assert_close(I, intensity(events), rtol=1e-12, atol=0)


def test_fractions_are_ratios_of_integrals(intensity, events):
    found = fractions_at(intensity, events)
    assert found.names == ("phi(1020)", "S", "K(2)*(1430)")
    total = float(intensity(events).sum())
    names = [wave.name for wave in intensity.model.waves]
    one, two = names[:1], names[:2]
    assert found.values[0] == pytest.approx(float(intensity(events, one).sum()) / total, rel=1e-12)
    both = float(intensity(events, two).sum()) / total
    assert found.interference[0, 1] == pytest.approx(both - found.values[0] - found.values[1], rel=1e-9)
    off = found.interference[np.triu_indices(3, 1)].sum()
    assert found.values.sum() + off == pytest.approx(1, rel=1e-12)


def test_fractions_with_weights(intensity, events):
    weights = torch.linspace(0.5, 2.0, 60, dtype=torch.float64)
    found = fractions_at(intensity, events, "waves", weights)
    expected = (weights * intensity(events, [found.names[0]])).sum() / (weights * intensity(events)).sum()
    assert found.values[0] == pytest.approx(float(expected), rel=1e-12)
    with pytest.raises(DataError, match="one finite weight"):
        fractions_at(intensity, events, weights=weights[:3])


def test_points_of_the_dalitz_plot(intensity):
    s12, s23 = torch.tensor([1.5, 3.0], dtype=torch.float64), torch.tensor([4.0, 4.2], dtype=torch.float64)
    p4 = dalitz_momenta(intensity.model, s12, s23)

    def squared(*names):
        p = sum(p4[name] for name in names)
        return p[:, 0] ** 2 - p[:, 1:].square().sum(dim=1)

    torch.testing.assert_close(squared("K+", "K-"), s12, rtol=1e-12, atol=0)
    torch.testing.assert_close(squared("K-", "eta"), s23, rtol=1e-12, atol=0)
    torch.testing.assert_close(squared("K+", "K-", "eta"), torch.full_like(s12, 3.0969**2), rtol=1e-12, atol=0)
    with pytest.raises(DataError, match=r"point 1, .* outside the Dalitz plot"):
        dalitz_momenta(intensity.model, [1.5, 50.0], 4.0)
    with pytest.raises(PhysicsError, match="no Dalitz plot"):
        dalitz_momenta(ctpwa.load_model({"decay": "J/psi(1S) -> p p~"}), 1.0, 1.0)


def test_models_from_text():
    with pytest.raises(ConfigError, match=r"text:2:1: unknown key 'decays'"):
        ctpwa.load_model("decay: J/psi(1S) -> p p~\ndecays: 1\n")
    with pytest.raises(ConfigError, match="cannot include"):
        ctpwa.load_model("decay: J/psi(1S) -> p p~\ninclude: /etc/passwd\n")
    assert len(ctpwa.load_model("decay: J/psi(1S) -> p p~\n").waves) == 2
