"""A fit of X made by polarised photons: engines agree, couplings come back, and conjugate ones are as good."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.generate import sample_phase_space
from studies.produced import M_ETA, M_PI, isotropic

PRODUCTION = {"kind": "photoproduction", "polarisation": {"degree": "P", "angle": "alpha"}}
WAVES = {"0+": {"reflectivity": [1, -1]}, "2+": {"m": [0, 1], "reflectivity": 1}}
TRUTH = {"0+ (0,0) m=0 e=+": 1.0, "0+ (0,0) m=0 e=-": 0.7, "2+ (2,0) m=0 e=+": 12 + 9j, "2+ (2,0) m=+1 e=+": -6 + 15j}


def events(n, seed):
    """Photons of 8 to 9 GeV, X of 1.2 to 1.4 GeV, all angles alike."""
    rng = torch.Generator().manual_seed(seed)
    E, M, P, turn = (torch.rand(n, generator=rng, dtype=torch.float64) for _ in range(4))
    E, M = 8 + E, 1.2 + 0.2 * M
    return isotropic(E, M, 0.3 + 0.4 * P, turn, rng)


def model_of(**polarisation):
    production = PRODUCTION | {"waves": WAVES, "polarisation": PRODUCTION["polarisation"] | polarisation}
    particles = {"eta": {"mass": M_ETA}, "pi0": {"mass": M_PI}}
    return ctpwa.load_model({"decay": "X -> eta pi0", "particles": particles, "production": production})


@pytest.fixture(scope="module")
def model():
    return model_of()


@pytest.fixture(scope="module")
def samples(model):
    proposed = events(16000, 1)
    weight = ctpwa.ModelIntensity(model, couplings=TRUTH)(proposed)
    kept = torch.rand(len(weight), generator=torch.Generator().manual_seed(2), dtype=torch.float64) * weight.max() < weight
    return proposed.picked(kept.nonzero()[:, 0]), events(12000, 3)


def at(likelihood, couplings):
    parts = {
        f"{name}.{part}": getattr(complex(value), key)
        for name, value in couplings.items()
        for part, key in (("re", "real"), ("im", "imag"))
    }
    return np.array([parts[name] for name in likelihood.names])


@pytest.mark.parametrize("polarisation", [{}, {"circular": 0.3}], ids=["real", "complex"])
def test_engines_agree(samples, polarisation):
    values = []
    for engine in ("reference", "cpu"):
        likelihood = ctpwa.build_likelihood(model_of(**polarisation), *samples, engine=engine, device="cpu", progress=False)
        values.append(likelihood.value_and_grad(1.5 * at(likelihood, TRUTH)))
    (a, da), (b, db) = values
    assert abs(a - b) < 1e-12 * abs(a)
    assert np.abs(da - db).max() < 1e-12 * np.abs(da).max() * len(samples[0]["eta"]) ** 0.5


def test_fit(model, samples):
    likelihood = ctpwa.build_likelihood(model, *samples, engine="reference", device="cpu", progress=False)
    assert "0+ (0,0) m=0 e=-.im" not in likelihood.names  # the reference of its sector
    x, mirror = at(likelihood, TRUTH), at(likelihood, {name: np.conj(value) for name, value in TRUTH.items()})
    assert abs(likelihood.value(x) - likelihood.value(mirror)) < 1e-12 * abs(likelihood.value(x))
    result = ctpwa.fit(likelihood, starts=2, seed=1, progress=False)
    assert result.verdict.good
    assert "common sign of all phases of reflectivity + is open" in str(result)
    found = {p.name: (p.value, p.error) for p in result.parameters}
    sign = np.sign(found["2+ (2,0) m=0 e=+.im"][0])
    pulls = [
        (value * (sign if name.endswith(".im") else 1) - true) / error
        for (name, (value, error)), true in zip(found.items(), x, strict=True)
    ]
    assert np.abs(pulls).max() < 4


def test_masses_and_widths_come_back():
    """A mass-dependent fit of generated events: toys, phase space along the resonances, masses and widths."""
    production = PRODUCTION | {
        "waves": {"0+": {"reflectivity": 1}, "2+": {"m": [0, 1], "reflectivity": 1}},
        "generate": {"energy": [8.2, 8.8], "mass": [0.75, 1.9], "slope": 4, "degree": 0.4, "angle": [0.0, 0.785, 1.571]},
    }
    truth = {"a(0)(980).mass": 0.98, "a(0)(980).width": 0.08, "a(2)(1320).mass": 1.318, "a(2)(1320).width": 0.107}
    resonances = {
        name: {"in": "eta pi0", "mass": truth[f"{name}.mass"], "width": truth[f"{name}.width"], "float": ["mass", "width"]}
        for name in ("a(0)(980)", "a(2)(1320)")
    }
    particles = {"eta": {"mass": M_ETA}, "pi0": {"mass": M_PI}}
    model = ctpwa.load_model({"decay": "X -> eta pi0", "particles": particles, "production": production, "resonances": resonances})
    couplings = {"a(0)(980)0 (0,0) m=0 e=+": 1.0, "a(2)(1320)0 (2,0) m=0 e=+": 14 + 9j, "a(2)(1320)0 (2,0) m=+1 e=+": -9 + 16j}
    data = ctpwa.generate_toy(model, 1500, seed=3, couplings=couplings, engine="reference")
    simulated = sample_phase_space(model, 5000, seed=4)
    likelihood = ctpwa.build_likelihood(model, data, simulated, engine="reference", device="cpu", progress=False)
    expected = truth | {
        f"{name}.{part}": getattr(complex(c), key) for name, c in couplings.items() for part, key in (("re", "real"), ("im", "imag"))
    }
    x = np.array([expected[name] for name in likelihood.names])
    conjugate = np.where([name.endswith(".im") for name in likelihood.names], -x, x)
    assert likelihood.value(conjugate) > likelihood.value(x) + 10  # lineshapes fix the sign of all phases
    result = ctpwa.fit(likelihood, starts=1, start=x, progress=False)
    assert result.verdict.good
    assert "common sign" not in str(result)
    pulls = {p.name: (p.value - expected[p.name]) / p.error for p in result.parameters}
    assert max(map(abs, pulls.values())) < 4, pulls
    assert {p.name: p.error for p in result.parameters}["a(2)(1320).mass"] < 0.005
