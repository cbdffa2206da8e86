"""Amplitudes, fractions and momenta at single points."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import ConfigError, CtpwaError, DataError, PhysicsError
from ctpwa.interchange import dalitz_momenta, decay_momenta, fractions_at, wave_amplitudes
from ctpwa.kinematics.decay_angles import angles_at

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


def mass_of(*p4):
    total = sum(p4)
    return (total[:, 0] ** 2 - total[:, 1:].square().sum(dim=1)).sqrt()


def test_momenta_from_masses_and_angles():
    """Four pions: masses are those given, the first pair flies along its angles, and all angles are found again."""
    resonances = {"a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"], "mass": 1.23, "width": 0.42}, "rho(770)": {"in": "pi+ pi-"}}
    model = ctpwa.load_model({"decay": "J/psi(1S) -> pi+ pi- pi+ pi-", "resonances": resonances})
    chain = "((pi+_1 pi-_1) pi+_2) pi-_2"
    masses = {"pi+_1 pi-_1": [0.7, 0.9], "(pi+_1 pi-_1) pi+_2": 1.3}
    angles = {"pi+_1 pi-_1": (0.2, [1.0, -2.0]), "(pi+_1 pi-_1) pi+_2": (-0.4, 0.5), chain: (0.6, 0.3)}
    p = decay_momenta(model, chain, masses, angles)
    torch.testing.assert_close(mass_of(p["pi+_1"], p["pi-_1"]), torch.tensor([0.7, 0.9], dtype=torch.float64), rtol=1e-12, atol=0)
    torch.testing.assert_close(mass_of(p["pi+_1"], p["pi-_1"], p["pi+_2"]), torch.full((2,), 1.3, dtype=torch.float64), rtol=1e-12, atol=0)
    total = sum(p.values())
    assert float(total[:, 1:].abs().max()) < 1e-12
    torch.testing.assert_close(total[:, 0], torch.full((2,), model.decay.parent.mass, dtype=torch.float64), rtol=1e-12, atol=0)
    names = list(model.decay.labels)
    topology = ((("pi+_1", "pi-_1"), "pi+_2"), "pi-_2")
    _, found = angles_at(topology, {name: p[name] for name in names})
    for pair, name in ((topology, chain), (topology[0], "(pi+_1 pi-_1) pi+_2"), (topology[0][0], "pi+_1 pi-_1")):
        for own, given in zip(found[pair], angles[name], strict=True):
            torch.testing.assert_close(own, torch.as_tensor(given, dtype=torch.float64).expand(2), rtol=1e-10, atol=1e-12)
    assert bool(ctpwa.ModelIntensity(model, engine="reference")(p).isfinite().all())


def test_a_dalitz_point_is_one_with_angles():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
    p = decay_momenta(model, "(K+ K-) eta", {"K+ K-": 1.5}, {"K+ K-": (0.3, 0.0)})
    again = dalitz_momenta(model, mass_of(p["K+"], p["K-"]) ** 2, mass_of(p["K-"], p["eta"]) ** 2)
    for name, own in p.items():
        torch.testing.assert_close(again[name], own, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("chain", "masses", "angles", "what"),
    [
        ("(K+ K-) pi0", {}, {}, "'pi0' of .* is not a final particle"),
        ("K+ K- eta", {}, {}, "does not hold all final particles in pairs"),
        ("(K+ K-", {}, {}, "does not hold all final particles in pairs"),
        ("(K+ K- eta)", {}, {}, "is not made of pairs"),
        ("(K+ K-) eta", {}, {}, "mass or angles of 'K[+] K-' are not given"),
        ("(K+ K-) eta", {"K+ eta": 1.0}, {}, "'K[+] eta' is not a pair"),
        ("(K+ K-) eta", {"K+ K-": 0.5}, {"K+ K-": (0, 0)}, "less than its parts"),
        ("(K+ K-) eta", {"K+ K-": 2.9}, {"K+ K-": (0, 0)}, "less than its parts"),
        ("(K+ K-) eta", {"K+ K-": 1.5}, {"K+ K-": (2, 0)}, "a cosine is at most 1"),
        ("(K+ K-) eta", {"K+ K-": 1.5}, {"K+ K-": 3}, "give .cos"),
        ("(K+ K-) eta", {"K+ K-": float("nan")}, {"K+ K-": (0, 0)}, "is not finite"),
    ],
)
def test_momenta_that_cannot_be_made(chain, masses, angles, what):
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
    with pytest.raises(CtpwaError, match=what):
        decay_momenta(model, chain, masses, angles)


def test_chains_of_resonances_add_up():
    model = ctpwa.load_model({"decay": "D0 -> K- pi+ pi+ pi-", "resonances": {"K*(892)": {"in": "K- pi+"}, "rho(770)": {"in": "pi+ pi-"}}})
    found = fractions_at(ctpwa.ModelIntensity(model, engine="reference"), ctpwa.generate_phase_space(model, 20, seed=1), "chains")
    assert len(found.names) == 1
    assert found.values == pytest.approx([1.0])
