"""All weights times a number are the same measurement: a fit ends at the same place with the same errors, by every method."""

from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from fitting.cases import ONE_MASS as MODEL

SCALES = (1e-9, 1e9)
NEAR = 1e-6  # of a standard deviation
START = {"phi(1680).mass": 1.72, "K(2)*(1430)+[K+ eta] (2,2)(2,0).re": 8.0, "K(2)*(1430)+[K+ eta] (2,2)(2,0).im": -3.0}
TIGHT = 1e-15  # of −ln L: a fit that ends within 1e-6 standard deviations is within 5e-13


@cache
def samples():
    model = ctpwa.load_model(MODEL)
    flat = ctpwa.generate_phase_space(model, 3000, seed=1)
    I = np.asarray(ctpwa.ModelIntensity(model, couplings={"K(2)*(1430)+[K+ eta] (2,2)(2,0)": 12 - 6j}, engine="reference")(flat))
    rng = np.random.default_rng(5)
    keep = torch.as_tensor(rng.random(len(I)) * I.max() < I)
    data = {name: p[keep] for name, p in flat.items()}
    weights = torch.as_tensor(rng.uniform(0.2, 1.5, int(keep.sum())))
    return model, data, weights, ctpwa.generate_phase_space(model, 300, seed=2)


def likelihood(scale, kind="weights"):
    model, momenta, weights, flat = samples()
    if kind == "weights":
        return ctpwa.build_likelihood(model, ctpwa.Events(momenta, scale * weights), flat, engine="reference", device="cpu")
    if kind == "phase space":
        flat = ctpwa.Events(flat.momenta, torch.full((300,), scale, dtype=torch.float64))
        return ctpwa.build_likelihood(model, ctpwa.Events(momenta, weights), flat, engine="reference", device="cpu")
    side = ctpwa.Events({name: p[:20] for name, p in flat.items()}, torch.full((20,), 0.1 * scale, dtype=torch.float64))
    ones = torch.full_like(weights, scale)
    return ctpwa.build_likelihood(model, ctpwa.Events(momenta, ones), flat, side, engine="reference", device="cpu")


@cache
def fitted(scale, method="newton", kind="weights", starts=1):
    return ctpwa.fit(likelihood(scale, kind), starts, method, start=START, tolerance=TIGHT)


def same(found, expected):
    for one, other in zip(found.parameters, expected.parameters, strict=True):
        assert abs(one.value - other.value) < NEAR * other.error, one.name
        assert one.error == pytest.approx(other.error, rel=NEAR), one.name
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=0, atol=NEAR * np.abs(expected.covariance).max())


@pytest.mark.parametrize(
    ("method", "kind"),
    [("newton", "weights"), ("newton", "background"), ("newton", "phase space"), ("lbfgs", "weights"), ("minuit", "weights")],
)
@pytest.mark.parametrize("scale", SCALES)
def test_parameters_and_errors_do_not_depend_on_the_scale(scale, method, kind):
    found, expected = fitted(scale, method, kind), fitted(1.0, method, kind)
    assert found.verdict.good
    assert expected.verdict.good
    same(found, expected)
    nll = expected.nll if kind == "phase space" else scale * expected.nll
    assert found.nll == pytest.approx(nll, rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_a_search_from_many_starts_does_not_depend_on_the_scale(scale):
    found, expected = fitted(scale, starts=4), fitted(1.0, starts=4)
    same(found, expected)
    assert [(m.starts, m.refined) for m in found.minima] == [(m.starts, m.refined) for m in expected.minima]
    assert [m.nll / scale for m in found.minima] == pytest.approx([m.nll for m in expected.minima], rel=1e-6)


@cache
def asymmetric(scale):
    start = {p.name: p.value for p in fitted(1.0).parameters}
    minos = ctpwa.fit(likelihood(scale), start=start, minos=["phi(1680).mass"])["phi(1680).mass"].minos
    assert minos.valid
    return [minos.lower, minos.upper]


@pytest.mark.parametrize("scale", SCALES)
def test_asymmetric_errors_do_not_depend_on_the_scale(scale):
    """They are where −ln L has risen by ½ Σw²/Σw: ½ without weights."""
    assert asymmetric(scale) == pytest.approx(asymmetric(1.0), rel=1e-5)
    error = fitted(1.0)["phi(1680).mass"].error
    assert asymmetric(1.0) == pytest.approx([-error, error], rel=0.35)


@cache
def after_one_step(scale):
    return ctpwa.fit(likelihood(scale), start=START, max_iterations=1).verdict


@pytest.mark.parametrize("scale", [1.0, *SCALES])
def test_a_point_that_is_no_minimum_is_not_good(scale):
    """One standard deviation off is one standard deviation off, whatever the weights are."""
    assert not after_one_step(scale).good
    assert after_one_step(scale).edm == pytest.approx(after_one_step(1.0).edm, rel=1e-6)


def test_the_unit_is_1_without_weights():
    model, momenta, weights, flat = samples()
    plain = ctpwa.build_likelihood(model, momenta, flat, engine="reference", device="cpu")
    assert plain.unit == 1
    assert likelihood(1.0).unit == pytest.approx(float(weights.square().sum() / weights.sum()), rel=1e-12)
    assert (plain + plain).unit == 1
