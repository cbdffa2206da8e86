"""A background that is a model: fractions of resonances and phase space in sideband events."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import beta

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.events import concatenate
from ctpwa.data.stream import JoinedStream, Piece
from ctpwa.generate.background_toys import generate_background
from ctpwa.observe.densities import formula_density
from ctpwa.observe.sideband_model import Peak, fit_fractions, fit_sideband
from ctpwa.observe.variable import parse_variable

MODEL = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
SAME = ctpwa.load_model(
    {"decay": "J/psi(1S) -> gamma pi0 pi0", "polarisation": "transverse", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}}}
)
PEAKS = (Peak("phi(1680)", ("K+ K-",), 1.68, 0.15), Peak("K(2)*(1430)", ("K+ eta", "K- eta"), 1.43, 0.1))


def mixture(n, rng, f):
    """Events of a flat density and two beta densities, and the three densities at each."""
    x = np.choose(rng.choice(3, size=n, p=f), [rng.uniform(size=n), rng.beta(2, 8, n), rng.beta(9, 3, n)])
    return np.stack([np.ones(n), beta.pdf(x, 2, 8), beta.pdf(x, 9, 3)])


@pytest.fixture(scope="module")
def flat():
    return ctpwa.generate_phase_space(MODEL, 20_000, seed=7)


@pytest.fixture(scope="module")
def sideband():
    """300 events of phase space, 150 and 250 of the peaks."""
    toys = [
        generate_background(MODEL, formula_density(p.formula, MODEL.decay), n, seed=2, number=n)
        for p, n in zip(PEAKS, (150, 250), strict=True)
    ]
    return concatenate([ctpwa.generate_phase_space(MODEL, 300, seed=1), *toys])


def test_a_peak_is_a_breit_wigner():
    flat = ctpwa.generate_phase_space(MODEL, 50, seed=1)
    s1, s2 = (parse_variable(f"mass2({system})", MODEL.decay)(flat) for system in PEAKS[1].systems)
    found = formula_density(PEAKS[1].formula, MODEL.decay)(Piece([flat[name] for name in MODEL.decay.labels])).numpy()
    expected = sum(np.abs(1.43 * 0.1 / (1.43**2 - s - 1j * 1.43 * 0.1)) ** 2 for s in (s1, s2))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_fractions_are_the_maximum_of_the_likelihood():
    """Compared with a general minimiser, with weights; one component has nothing to explain and ends at 0."""
    rng = np.random.default_rng(3)
    u = np.concatenate([mixture(400, rng, [0.5, 0.2, 0.3]), 1e-3 * np.ones((1, 400))])
    w = rng.uniform(0.5, 2, 400)
    f, errors = fit_fractions(u, w)
    assert f.sum() == pytest.approx(1, rel=1e-12)
    assert (f[3], errors[3]) == (0, 0)

    def value(free):
        p = np.array([1 - free.sum(), *free]) @ u[:3]
        return -(w @ np.log(p)) if (p > 0).all() else np.inf

    best = minimize(value, [0.3, 0.3], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    np.testing.assert_allclose(f[1:3], best.x, atol=1e-6)


def test_errors_are_those_of_pseudo_experiments():
    """The spread of 300 fits; its own error is 4 %."""
    truth = np.array([0.5, 0.2, 0.3])
    fits = [fit_fractions(mixture(300, np.random.default_rng(k), truth), np.ones(300)) for k in range(300)]
    pulls = np.array([(f - truth) / errors for f, errors in fits])
    np.testing.assert_allclose(pulls.std(axis=0), 1, atol=0.15)
    np.testing.assert_allclose(pulls.mean(axis=0), 0, atol=0.2)


def test_weights_scale_the_errors():
    """Every event with weight 2 says as much as it does once; the same event twice says more."""
    u = mixture(300, np.random.default_rng(1), [0.5, 0.2, 0.3])
    (f, errors), (heavy, same), (double, smaller) = (
        fit_fractions(*given) for given in ((u, np.ones(300)), (u, np.full(300, 2.0)), (np.tile(u, 2), np.ones(600)))
    )
    np.testing.assert_allclose(heavy, f, atol=1e-8)
    np.testing.assert_allclose(double, f, atol=1e-8)
    np.testing.assert_allclose(same, errors, rtol=1e-6)
    np.testing.assert_allclose(smaller, errors / np.sqrt(2), rtol=1e-6)


def test_components_are_found(sideband, flat):
    """Fractions of a sample that was made of them; the density is normalised, in one piece and in several."""
    model = fit_sideband(sideband, flat, PEAKS, MODEL.decay, "background 'x'")
    assert model.names == ("phase space", "phi(1680)", "K(2)*(1430)")
    truth = np.array([300, 150, 250]) / 700
    assert (np.abs(model.fractions - truth) < 3 * model.errors).all()
    assert (model.errors > 0.01).all()
    assert (model.errors < 0.06).all()
    values = model(Piece([flat[name] for name in MODEL.decay.labels])).numpy()
    assert values.mean() == pytest.approx(1, rel=1e-12)
    halves = JoinedStream([flat.picked(slice(0, 9000)), flat.picked(slice(9000, None))])
    in_pieces = fit_sideband(sideband, halves, PEAKS, MODEL.decay, "background 'x'")
    np.testing.assert_allclose(in_pieces.fractions, model.fractions, rtol=1e-9)
    assert str(model).startswith(f"phase space {100 * model.fractions[0]:.1f} ± {100 * model.errors[0]:.1f} %, phi(1680) ")


def test_identical_particles_are_in_no_order():
    flat = ctpwa.generate_phase_space(SAME, 2000, seed=1)
    swapped = {"gamma": flat["gamma"]} | dict(zip(SAME.decay.labels[1:], [flat[name] for name in SAME.decay.labels[:0:-1]], strict=True))
    peak = (Peak("omega(782)", ("gamma pi0",), 0.78, 0.1),)
    found = [fit_sideband(flat, own, peak, SAME.decay, "x") for own in (flat, ctpwa.Events(swapped))]
    np.testing.assert_allclose(found[0].fractions, found[1].fractions, rtol=1e-6)
    pieces = [Piece([own[name] for name in SAME.decay.labels]) for own in (flat, ctpwa.Events(swapped))]
    np.testing.assert_allclose(found[0](pieces[0]), found[0](pieces[1]), rtol=1e-10)


def test_what_is_wrong(sideband, flat):
    nothing = ctpwa.Events({name: p[:0] for name, p in sideband.items()})
    with pytest.raises(DataError, match=r"^background 'x': there are no sideband events to fit\n fix: "):
        fit_sideband(nothing, flat, PEAKS, MODEL.decay, "background 'x'")
    weights = torch.ones(700, dtype=torch.float64)
    weights[3] = -1
    with pytest.raises(DataError, match=r"^background 'x': 1 sideband event has negative weights\n fix: "):
        fit_sideband(replace(sideband, weights=weights), flat, PEAKS, MODEL.decay, "background 'x'")
    narrow = (Peak("narrow", ("K+ K-",), 1.5, 1e-5),)
    with pytest.raises(DataError, match=r"^background 'x': only \d+ phase-space events count below narrow\n fix: use more phase space"):
        fit_sideband(sideband, flat, narrow, MODEL.decay, "background 'x'")
