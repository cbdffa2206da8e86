"""Fits of the parent's spin density matrix: toys fitted back, and truths at the edge of what is physical."""

from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.fitting.physical import AT_EDGE, PhysicalEdge
from ctpwa.generate import ToyGenerator, ToySettings
from ctpwa.minimise.steps import Stop
from ctpwa.minimise.verdict import judge, without_what_is_flat

LAMBDAC = {
    "decay": "Lambda(c)+ -> p K- pi+",
    "resonances": {"Lambda(1520)": {"in": "p K-", "mass": 1.5185, "width": 0.0152}, "K*(892)": {"in": "K- pi+"}},
    "couplings": {
        "Lambda(1520)[p K-] (1,3/2)(2,1/2)": {"abs": 6.0, "phase": -0.8},
        "Lambda(1520)[p K-] (2,3/2)(2,1/2)": {"abs": 25.0, "phase": 2.4},
        "K*(892)~0[K- pi+] (0,1/2)(1,0)": {"abs": 0.1551, "phase": 2.2},
        "K*(892)~0[K- pi+] (1,1/2)(1,0)": {"abs": 0.6493, "phase": -0.4},
        "K*(892)~0[K- pi+] (1,3/2)(1,0)": {"abs": 0.6008, "phase": 1.8},
        "K*(892)~0[K- pi+] (2,3/2)(1,0)": {"abs": 1.993, "phase": -2.6},
    },
}
JPSI = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "resonances": {"phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
}
VECTOR = ("P_x", "P_y", "P_z")


@cache
def model(polarisation, of="lambdac", **more):
    given = list(polarisation) if isinstance(polarisation, tuple) else polarisation
    return ctpwa.load_model((LAMBDAC if of == "lambdac" else JPSI) | {"polarisation": given} | more)


@cache
def flat(of):
    return ctpwa.generate_phase_space(model("unpolarised", of), 2000, seed=3)


def likelihood(own, data, of="lambdac", **options):
    return build_likelihood(own, data, flat(of), engine="reference", **options)


@cache
def generator(of, polarisation, truth):
    quick = ToySettings(pilot_rounds=4, pilot_events=1 << 10, maximum_events=1 << 12, block=1 << 12)
    return ToyGenerator(model(polarisation, of), parameters=dict(truth), engine="reference", settings=quick)


def toy(truth, seed, n=400):
    return generator("lambdac", VECTOR, tuple(truth.items())).generate(n, seed=seed).events


def annihilation(polarisation, seed, n=500):
    return generator("jpsi", polarisation, ()).generate(n, seed=seed).events


def test_toys_have_the_slope_of_their_truth_and_are_fitted_back():
    """At the truth −ln L has slopes that scatter around 0 with a known covariance, however few events there are."""
    truth = dict(zip(VECTOR, (0.3, -0.2, 0.4), strict=True))
    own = model(VECTOR)
    phase_space = ctpwa.generate.sample_phase_space(own, 10_000, seed=4)
    like = build_likelihood(own, toy(truth, 1, 4000), phase_space, engine="reference")
    x = like.start
    x[[like.names.index(name) for name in VECTOR]] = list(truth.values())
    _, gradient = like.value_and_grad(x)
    scatter = like.score_products(x) + like.simulation_scatter(x).products
    # χ² of 13 is above 35 in 0.1 % of cases, and below 2.6 in 0.1 %
    assert 2.6 < gradient @ np.linalg.solve(scatter, gradient) < 35
    result = ctpwa.fit(like, starts=1)
    assert result.verdict.good
    assert {c.name for c in result.couplings} == set(own.couplings)
    assert not result.derived
    index = [result.names.index(name) for name in VECTOR]
    off = np.array([result.value(name) - value for name, value in truth.items()])
    # χ² of 3 is above 16.3 in 0.1 % of cases
    assert off @ np.linalg.solve(result.covariance[np.ix_(index, index)], off) < 16.3
    assert np.sqrt(np.diag(result.covariance)[index]).max() < 0.1


def test_along_a_curved_edge():
    """|P| = 1, fitted as it is and as a point on the sphere by its angles."""
    data = toy({"P_x": 0.6, "P_y": 0.0, "P_z": 0.8}, 5)
    result = ctpwa.fit(likelihood(model(VECTOR), data), starts=1)
    assert result.verdict.good
    assert any("at the edge of what is physical" in reason for reason in result.verdict.reasons)
    P = np.array([result.value(name) for name in VECTOR])
    assert 1 - 1e-3 < np.linalg.norm(P) < 1
    angles = {"P_x": "r*sin(t)*cos(f)", "P_y": "r*sin(t)*sin(f)", "P_z": "r*cos(t)"}
    start = {"r": 0.999999, "t": {"value": 0.6, "float": True}, "f": {"value": 0.1, "float": True}}
    sphere = ctpwa.load_model(LAMBDAC | {"polarisation": dict.fromkeys(VECTOR, 0.0), "parameters": start, "fit": {"relations": angles}})
    other = ctpwa.fit(likelihood(sphere, data), starts=1)
    assert other.verdict.good
    assert result.nll == pytest.approx(other.nll, abs=1e-3)
    derived = {p.name: p for p in other.derived}
    errors = dict(zip(result.names, result.errors, strict=True))
    for name in VECTOR:
        assert result.value(name) == pytest.approx(derived[name].value, abs=1e-3)
        assert errors[name] == pytest.approx(derived[name].error, rel=0.03)
    values = {name: result.value(name) for name in result.names}
    again = ctpwa.fit(likelihood(model(VECTOR), data), start=values, starts=1)
    assert again.verdict.good
    assert again.nll == pytest.approx(result.nll, abs=1e-4)


@pytest.mark.parametrize("method", ["newton", "lbfgs"])
def test_transverse_events_have_no_longitudinal_part(method):
    """The truth ρ_00 = 0 is at the edge: half of all fits end there."""
    at_limit = []
    for seed in range(4):
        data = annihilation("transverse", seed, 500)
        result = ctpwa.fit(likelihood(model("rho_00", "jpsi"), data, "jpsi"), starts=1, method=method)
        transverse = ctpwa.fit(likelihood(model("transverse", "jpsi"), data, "jpsi"), starts=1)
        assert result.verdict.good
        assert result.nll < transverse.nll + 1e-3
        at_limit.append("rho_00" in result.verdict.at_limits)
        said = any("at the edge of what is physical" in reason for reason in result.verdict.reasons)
        assert said == at_limit[-1]
        assert result.value("rho_00") < 0.05
    assert any(at_limit)
    assert not all(at_limit)


def test_what_parity_hides_is_not_determined():
    """Three spinless particles show the symmetric part of ρ alone: not ρ_11 − ρ_-1-1."""
    data = annihilation("unpolarised", 1, 500)
    result = ctpwa.fit(likelihood(model(("rho_11", "rho_00"), "jpsi"), data, "jpsi"), starts=1)
    assert not result.verdict.good
    assert any("does not determine" in reason and "rho_11" in reason for reason in result.verdict.reasons)


def test_what_is_not_determined_is_seen_at_the_edge_as_well():
    data = annihilation("unpolarised", 1, 300)
    like = likelihood(model(("rho_11", "rho_00"), "jpsi"), data, "jpsi")
    x = like.start.copy()
    x[like.names.index("rho_11")] = 0.6666
    edge = PhysicalEdge.of(like)
    stop = Stop(x, like.value(x), True, AT_EDGE, 0)
    found = edge.undetermined(like, stop, like.start)
    assert found.undetermined == ("rho_11",)
    judged = judge(like.names, stop, 0 * x, np.eye(len(x)), like.bounds)
    assert judged.verdict.good
    both = without_what_is_flat(judged, found)
    assert not both.verdict.good
    assert "rho_11" in both.verdict.reasons[0]
    assert both.undetermined == ("rho_11",)
    assert edge.undetermined(like, Stop(x, 0.0, True, "converged", 0), like.start) is None
    assert without_what_is_flat(judged, None) is judged


def test_the_barrier_has_exact_derivatives():
    """With a formula between elements and what floats."""
    start = {"t": {"value": 0.6, "float": True}}
    relations = {"relations": {"P_x": "0.9*sin(t)", "P_z": "0.8*cos(t)"}}
    own = ctpwa.load_model(LAMBDAC | {"polarisation": {"P_x": 0.0, "P_y": "float", "P_z": 0.0}, "parameters": start, "fit": relations})
    like = likelihood(own, toy(dict.fromkeys(VECTOR, 0.0), 1, 20))
    edge, x, h = PhysicalEdge.of(like), like.start, 1e-5
    value, grad, H = edge.barrier(x)
    assert value == pytest.approx(-np.log((1 - (0.9 * np.sin(0.6)) ** 2 - (0.8 * np.cos(0.6)) ** 2) / 4), rel=1e-12)
    ends = [[edge.barrier(x + sign * step) for sign in (1, -1)] for step in h * np.eye(len(x))]
    np.testing.assert_allclose([(up[0] - down[0]) / (2 * h) for up, down in ends], grad, atol=1e-7)
    np.testing.assert_allclose([(up[1] - down[1]) / (2 * h) for up, down in ends], H, atol=1e-6)
    assert PhysicalEdge.of(likelihood(model("unpolarised"), toy(dict.fromkeys(VECTOR, 0.0), 1, 20))) is None
