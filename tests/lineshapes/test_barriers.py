"""Barriers of single vertices: their form, l and radius, normalised or not, against the factors written out."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import ConfigError
from ctpwa.kinematics.two_body import barrier_polynomial

WAVE = ["phi(1680)[K+ K-] (1,1)(1,0)"]
M_K, M_ETA, MASS = 0.493677, 0.547862, 1.68


def intensity(top=None, **resonance):
    model = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "polarisation": "transverse",
        "resonances": {"phi(1680)": {"in": "K+ K-", "mass": MASS, **resonance}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
        **(top or {}),
    }
    return ctpwa.ModelIntensity(ctpwa.load_model(model), engine="reference")


EVENTS = ctpwa.generate_phase_space(intensity().model, 40, seed=3)


def momenta():
    """|q| of J/psi -> phi eta and of phi -> K+ K-, from the masses of the events."""
    kk = EVENTS["K+"] + EVENTS["K-"]
    s = kk[:, 0] ** 2 - kk[:, 1:].square().sum(dim=1)
    total = kk + EVENTS["eta"]
    S = total[:, 0] ** 2 - total[:, 1:].square().sum(dim=1)
    return q_of(S, s.sqrt(), M_ETA), (s / 4 - M_K**2).sqrt()


def q_of(s, m1, m2):
    return ((s - (m1 + m2) ** 2) * (s - (m1 - m2) ** 2) / (4 * s)).sqrt()


def root_n(L, q, d=3.0):
    return barrier_polynomial(L, torch.as_tensor(q, dtype=torch.float64) ** 2 * d**2).sqrt()


CASES = {
    "none": lambda Q, q: root_n(1, q) / q,
    "momentum": lambda Q, q: root_n(1, q),
    "l: 3": lambda Q, q: root_n(1, q) / q * q**3 / root_n(3, q),
    "radius: 5": lambda Q, q: root_n(1, q) / root_n(1, q, 5.0),
    "normalised": lambda Q, q: root_n(1, q0()),
    "all": lambda Q, q: root_n(1, q0()) / q0(),
    "production": lambda Q, q: root_n(1, Q) / Q,
    "exponential": lambda Q, q: root_n(1, q) * (-4.5 * q**2).exp(),
    "exponential, l: 0": lambda Q, q: root_n(1, q) / q * (-4.5 * q**2).exp(),
    "exponential, 1 at q0": lambda Q, q: root_n(1, q) / q0() * (-2.0 * (q**2 - q0() ** 2)).exp(),
}
SPECS = {
    "none": {"barrier": "none"},
    "momentum": {"barrier": {"form": "momentum"}},
    "l: 3": {"barrier": {"l": 3}},
    "radius: 5": {"barrier": {"radius": 5.0}},
    "normalised": {"barrier": {"normalised": "barrier"}},
    "all": {"barrier": {"normalised": "all"}},
    "production": {"production_barrier": "none"},
    "exponential": {"barrier": "exponential"},
    "exponential, l: 0": {"barrier": {"form": "exponential", "l": 0}},
    "exponential, 1 at q0": {"barrier": {"form": "exponential", "radius": 2.0, "normalised": "all"}},
}


def q0():
    return q_of(torch.tensor(MASS**2, dtype=torch.float64), M_K, M_K)


@pytest.mark.parametrize("case", SPECS)
def test_a_barrier_is_the_factor_that_it_says(case):
    Q, q = momenta()
    expected = intensity()(EVENTS, WAVE) * CASES[case](Q, q) ** 2
    torch.testing.assert_close(intensity(**SPECS[case])(EVENTS, WAVE), expected, rtol=1e-11, atol=0)


def test_a_barrier_of_the_model_holds_at_all_vertices():
    Q, q = momenta()
    expected = intensity()(EVENTS, WAVE) * (root_n(1, q) / q * root_n(1, Q) / Q) ** 2
    torch.testing.assert_close(intensity({"barrier": "none"})(EVENTS, WAVE), expected, rtol=1e-11, atol=0)


@pytest.mark.parametrize("value", [3.0, 4.5])
def test_a_radius_that_floats_is_the_radius(value):
    fixed = intensity(radius=value)(EVENTS)
    floating = intensity(float=["radius"], radius=value)
    assert floating.parameters["phi(1680).radius"] == value
    torch.testing.assert_close(floating(EVENTS), fixed, rtol=1e-12, atol=0)
    own = {"parameters": {"R": {"value": value, "float": True}}}
    for barrier in ({}, {"form": "exponential"}, {"form": "exponential", "l": 0}):
        of_vertex = intensity(own, barrier={**barrier, "radius": "R"})(EVENTS)
        torch.testing.assert_close(of_vertex, intensity(barrier={**barrier, "radius": value})(EVENTS), rtol=1e-12, atol=0)


def test_gradient_of_a_radius():
    model = intensity(float=["radius", "mass"], barrier={"normalised": "all"}).model
    likelihood = ctpwa.build_likelihood(model, EVENTS, ctpwa.generate_phase_space(model, 300, seed=4), engine="reference")
    x = likelihood.start
    index = likelihood.names.index("phi(1680).radius")
    gradient, step = likelihood.value_and_grad(x)[1][index], 1e-4
    shift = np.eye(len(x))[index] * step
    difference = (likelihood.value(x + shift) - likelihood.value(x - shift)) / (2 * step)
    assert gradient == pytest.approx(difference, rel=1e-5)


def test_width_l_and_nominal_mass():
    with_l = intensity(width_l=0)(EVENTS, WAVE)
    text = f"1/(mass**2 - s - i*mass**2*width*q/m/{float(q0())!r})"
    torch.testing.assert_close(with_l, intensity(lineshape=text)(EVENTS, WAVE), rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("resonance", "what"),
    [
        ({"width_l": 1, "lineshape": "breit_wigner_constant_width"}, "does not depend on an l"),
        ({"nominal_mass": 1.7}, "nothing uses the nominal mass"),
        ({"barrier": {"radius": "R"}}, "no parameter"),
        ({"barrier": "blatt"}, "'blatt' is not a value of 'barrier'"),
        ({"barrier": {"l": -1}}, "'l'"),
    ],
)
def test_what_makes_no_sense_is_refused(resonance, what):
    with pytest.raises(ConfigError, match=what):
        intensity(**resonance)


def test_barriers_of_chains_and_conflicts():
    spelled = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "chains": [{"decay": "J/psi(1S) -> phi(1680) eta ; phi(1680) -> K+ K-", "barriers": [None, "none"]}],
    }
    model = ctpwa.load_model(spelled)
    assert [node.growth.form for node in model.waves[0].chain.nodes] == ["blatt-weisskopf", "none"]
    with pytest.raises(ConfigError, match="'barriers' has 1 entry for 2 vertices"):
        ctpwa.load_model({**spelled, "chains": [{**spelled["chains"][0], "barriers": ["none"]}]})
