"""Spin density matrices and moments of X that photons made: against intensities, numbers of another program, and weighted sums."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.data.events import concatenate
from ctpwa.fitting.event_couplings import EventCouplings
from ctpwa.observables import measured_moments, measured_spin_density, photon_moments, spin_density
from ctpwa.observables.photon_density import photon_states
from ctpwa.observables.produced_angles import produced_angles
from ctpwa.observables.spin_density_matrix import spin_density_of
from studies.produced import flat

PHOTONS = json.loads((Path(__file__).parents[1] / "crosscheck" / "vectors" / "photo_eta_pi.json").read_text())
LINEAR = {"degree": "P", "angle": "alpha"}


def model_of(waves, rank=1, **more):
    production = {"kind": "photoproduction", "polarisation": LINEAR | more, "waves": waves, "rank": rank}
    particles = {"eta": {"mass": 0.547862}, "pi0": {"mass": 0.1349768}}
    return ctpwa.load_model({"decay": "X -> eta pi0", "particles": particles, "production": production})


@pytest.fixture(scope="module")
def events():
    own = flat(3000, 5, 1.2, 1.2 + 1e-9)  # of one mass, at which |q|^l is a number
    circular = 0.5 * torch.linspace(-1, 1, 3000, dtype=torch.float64)
    return replace(own, columns=dict(own.columns) | {"circular": circular})


def couplings_of(model, events=None):
    """Random couplings of Y_lm, and those of the model, whose amplitudes have |q|^l and barriers."""
    rng = np.random.default_rng(1)
    c = rng.normal(size=len(model.waves)) + 1j * rng.normal(size=len(model.waves))
    if events is None:
        return c
    p = (events["eta"][:1], events["pi0"][:1])
    s, a, b = ((own[:, 0] ** 2 - (own[:, 1:] ** 2).sum(dim=1)).item() for own in (p[0] + p[1], *p))
    q = np.sqrt((s - a - b) ** 2 - 4 * a * b) / (2 * np.sqrt(s))
    with_barrier, without = (model.spin_amplitudes(events, barrier=own, progress=False).K.numpy() for own in (True, False))
    size = [
        np.abs(x).max() / np.abs(y).max() * q ** (w.chain.root.particle.two_J // 2)
        for w, x, y in zip(model.waves, with_barrier, without, strict=True)
    ]
    return c, dict(zip(model.couplings, (c / size).tolist(), strict=True))


@pytest.mark.parametrize("more", [{}, {"circular": "circular"}], ids=["linear", "elliptical"])
def test_the_spin_density_makes_the_intensity(events, more):
    model = model_of(["1-"], 2, **more)
    c, own = couplings_of(model, events)
    found = spin_density_of(model, model.couplings, c, np.eye(2 * len(c)))
    assert len(found.names) == (11 if more else 9)
    I = ctpwa.ModelIntensity(model, couplings=own, engine="reference")(events).numpy()
    W = found.W(produced_angles(model, events))
    assert np.abs(W * (np.abs(c) ** 2).sum() - I).max() < 1e-7 * I.max()  # masses of events differ by 1e-9 GeV
    assert 0 < found["rho0_00"][0] < 1


def test_natural_exchange_is_that_of_positive_reflectivity():
    for sign in (1, -1):
        model = model_of({"1-": {"reflectivity": sign}})
        c = couplings_of(model)
        assert spin_density_of(model, model.couplings, c, np.zeros((6, 6))).naturality[0] == pytest.approx(sign, abs=1e-12)


def test_errors_are_those_of_couplings_that_scatter():
    model = model_of(["1-"])
    c, n = couplings_of(model), len(model.waves)
    C = 1e-4 * np.diag(np.arange(1.0, 2 * n + 1)) ** 2 / n**2
    found = spin_density_of(model, model.couplings, c, C)
    rng = np.random.default_rng(2)
    moved = rng.multivariate_normal(np.concatenate([c.real, c.imag]), C, 600)
    values = np.array([spin_density_of(model, model.couplings, z[:n] + 1j * z[n:], C).values for z in moved])
    assert values.std(axis=0) / found.errors == pytest.approx(1, abs=0.15)


def test_moments_are_those_of_another_program():
    model = model_of(["0+", "1-", "2+"], 1)
    total = 0
    for rank in ("k0", "k1"):  # ranks add up
        c = {tuple(wave): complex(*z) for wave, z in zip(PHOTONS["waves"], PHOTONS["couplings"][rank], strict=True)}
        states = photon_states(model)
        values = np.array([c[s.l, s.m, s.reflectivity] / s.sign for s in (states[name] for name in model.couplings)])
        own = photon_moments(EventCouplings(model.couplings, values, np.zeros((2 * len(values),) * 2), {}, 1.0), model)
        total = total + own.values
    expected = [PHOTONS["moments"][f"{L}{M}"][alpha][alpha == 2] for alpha, L, M in own.indices]
    assert np.abs(total - expected).max() < 1e-11 * np.abs(expected).max()


@pytest.fixture(scope="module")
def weighted(events):
    """A model, its couplings, and the events with the weights that they have in it."""
    model = model_of({"0+": None, "1-": {"m": [0, 1]}, "2+": {"m": 1, "reflectivity": 1}})
    c, own = couplings_of(model, events)
    I = ctpwa.ModelIntensity(model, couplings=own, engine="reference")(events)
    found = photon_moments(EventCouplings(model.couplings, c, np.eye(2 * len(c)), {}, 1.0), model)
    return model, found, replace(events, weights=I * (4 * np.pi / events.n_events))


def test_moments_make_the_intensity(events, weighted):
    model, found, data = weighted
    I = data.weights.numpy() * events.n_events / (4 * np.pi)
    assert np.abs(found.intensity(produced_angles(model, events)) - I).max() < 1e-7 * I.max()
    c = couplings_of(model)
    assert found[0, 0, 0][0] == pytest.approx((np.abs(c) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("method", ["sums", "likelihood"])
def test_moments_of_events(events, weighted, method):
    """Events with the weights of a model have its moments, exactly, in whatever acceptance."""
    model, found, data = weighted
    kept = torch.from_numpy(np.flatnonzero(np.random.default_rng(3).random(3000) < 0.5 + 0.4 * np.sin(3 * events["eta"][:, 1].numpy())))
    own = measured_moments(model, data.picked(kept), events.picked(kept), 4, truth=events, method=method)
    assert own.indices == found.indices
    assert np.abs(own.values - found.values).max() < 1e-6 * found.values.max()
    assert (own.errors > 0).all()


@pytest.mark.parametrize("method", ["sums", "likelihood"])
def test_spin_density_of_events(events, method):
    model = model_of(["1-"])
    c, own = couplings_of(model, events)
    weights = ctpwa.ModelIntensity(model, couplings=own, engine="reference")(events)
    expected = spin_density_of(model, model.couplings, c, np.zeros((2 * len(c),) * 2))
    found = measured_spin_density(model, replace(events, weights=weights), events, method=method)
    assert np.abs(found.values - expected.values).max() < 1e-6
    assert found.origin == method
    flat_part = replace(events, weights=torch.full((3000,), 0.3, dtype=torch.float64))
    data = concatenate([replace(events, weights=weights), flat_part])
    subtracted = measured_spin_density(model, data, events, background=flat_part, method="sums")
    assert np.abs(subtracted.values - expected.values).max() < 1e-6


def test_errors_of_measured_elements(events):
    """They are as large as elements scatter from one data set to the next."""
    model = model_of({"1-": {"reflectivity": 1}})
    own = couplings_of(model, events)[1]
    weights = ctpwa.ModelIntensity(model, couplings=own, engine="reference")(events).numpy()
    rng = np.random.default_rng(4)
    found = []
    for _ in range(40):
        kept = np.flatnonzero(rng.random(3000) * weights.max() < weights)
        found.append(measured_spin_density(model, events.picked(torch.from_numpy(kept)), events))
    spread = np.std([own.values for own in found], axis=0, ddof=1)
    kept = (weights / weights.max()).mean()
    quoted = np.sqrt(np.mean([np.diag(own.covariance) for own in found], axis=0))
    # the same simulated events each time, of which a part was measured: quoted² counts N and n alike, the spread only what was not measured
    assert spread / quoted == pytest.approx(np.sqrt((1 - kept) / (1 + kept)), abs=0.3)


def test_from_a_fit(events):
    model = model_of({"1-": {"reflectivity": 1}})
    c, own = couplings_of(model, events)
    weights = ctpwa.ModelIntensity(model, couplings=own, engine="reference")(events).numpy()
    kept = torch.from_numpy(np.flatnonzero(np.random.default_rng(5).random(3000) * weights.max() < weights))
    likelihood = ctpwa.build_likelihood(model, events.picked(kept), events, engine="reference", device="cpu", progress=False)
    result = ctpwa.fit(likelihood, starts=2, seed=1, progress=False)
    found = spin_density(result, model)
    truth = spin_density_of(model, model.couplings, c, np.zeros((6, 6)))
    assert np.abs((found.values - truth.values) / found.errors).max() < 4
    direct = measured_spin_density(model, events.picked(kept), events)
    assert np.abs((found.values - direct.values) / direct.errors).max() < 4
    assert "rho1_1-1" in str(found)
    assert "spin density matrix" in str(direct)


def test_what_has_none():
    decay = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
    with pytest.raises(CtpwaError, match="not made by polarised photons"):
        photon_states(decay)
    model = model_of(["0+"])
    with pytest.raises(CtpwaError, match="no wave 1-"):
        spin_density_of(model, model.couplings, np.ones(2, complex), np.eye(4))
    shaped = {"decay": "X -> eta pi0", "resonances": {"a(2)(1320)": {"in": "eta pi0"}}}
    shaped["production"] = {"kind": "photoproduction", "polarisation": LINEAR, "waves": {"2+": {"m": 1}}}
    resonant = ctpwa.load_model(shaped)
    with pytest.raises(CtpwaError, match="has a lineshape"):
        photon_moments(EventCouplings(resonant.couplings, np.ones(2, complex), np.eye(4), {}, 1.0), resonant)
    events = flat(5, 1, 1.1, 1.2)
    with pytest.raises(DataError, match="5 events for 10 numbers"):
        measured_spin_density(model_of(["1-"]), events, events)
