"""A resonance that decays to another one: its running width belongs to the nominal mass of that one and to the smallest L of the vertex.

|F|² is taken from intensities of events, as the ratio to a model whose propagator is constant, and compared with the formula by hand.
"""

import numpy as np
import pytest

import ctpwa
from ctpwa import load_model
from ctpwa.base import ConfigError
from ctpwa.engine.plan.channels import model_channels
from ctpwa.observables.argand import argand

M_PSI, M_PI, M_ZC, G_ZC = 3.0969, 0.13957039, 3.887, 0.028
M_RHO, M_K, M_K1, G_K1 = 0.775, 0.493677, 1.4, 0.17
SPLINE = {"lineshape": "spline", "options": {"knots": [2.9, 3.0, 3.1, 3.2]}}
K_MATRIX = {"lineshape": "k_matrix", "options": {"channels": {"mumu": "own"}, "poles": [{"mass": 3.1, "couplings": [0.3]}]}}
FORMULA = {"lineshape": "1/(a - s)", "parameters": {"a": 20.0}}
WITHOUT_MASS = {"constant": {"lineshape": "constant"}, "spline": SPLINE, "k_matrix": K_MATRIX, "formula": FORMULA}


def zc_model(psi, zc=None):
    """Y → Zc⁺ π⁻, Zc⁺ → ψ π⁺, ψ → μ⁺μ⁻."""
    zc = zc or {"mass": M_ZC, "width": G_ZC}
    return {
        "decay": "Y -> pi+ pi- mu+ mu-",
        "particles": {"Y": {"JP": "1--", "mass": 4.23, "charge": 0}},
        "resonances": {
            "Zc": {"in": "pi+ mu+ mu-", "JP": "1+", "production_ls": [[0, 1]], "decay_ls": [[0, 1]]} | zc,
            "psi": {"in": "mu+ mu-", "JP": "1--", "decay_ls": [[0, 1]]} | psi,
        },
    }


def momentum(m, m1, m2):
    return np.sqrt((m**2 - (m1 + m2) ** 2) * (m**2 - (m1 - m2) ** 2)) / (2 * m)


def mass(*momenta):
    total = sum(np.asarray(p4) for p4 in momenta)
    return np.sqrt(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1))


def ratio(model, reference, events):
    return np.asarray(ctpwa.ModelIntensity(load_model(model))(events) / ctpwa.ModelIntensity(load_model(reference))(events))


@pytest.mark.parametrize("kind", WITHOUT_MASS)
def test_running_width_at_the_mass_of_a_daughter_without_lineshape_mass(kind):
    psi = WITHOUT_MASS[kind] | {"mass": M_PSI}
    events = ctpwa.generate_phase_space(load_model(zc_model(psi)), 20, seed=1)
    m_psi = mass(events["mu+"], events["mu-"])
    m = mass(events["pi+"], events["mu+"], events["mu-"])
    width = G_ZC * momentum(m, m_psi, M_PI) / momentum(M_ZC, M_PSI, M_PI) * M_ZC / m
    expected = 1 / ((M_ZC**2 - m**2) ** 2 + (M_ZC * width) ** 2)
    reference = zc_model({k: v for k, v in psi.items() if k != "mass"}, {"lineshape": "constant"})
    found = ratio(zc_model(psi), reference, events)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_q0_of_the_masses_in_the_event():
    """Γ = Γ0 (q/q0) m0/m with q0 of the event's mass of ψ, where m0 is above its threshold."""
    psi, zc = {"lineshape": "constant", "mass": M_PSI}, {"mass": M_ZC, "width": G_ZC, "options": {"q0": "event"}}
    events = ctpwa.generate_phase_space(load_model(zc_model(psi)), 60, seed=2)
    m_psi, m = mass(events["mu+"], events["mu-"]), mass(events["pi+"], events["mu+"], events["mu-"])
    above = m_psi < M_ZC - M_PI - 0.05
    width = G_ZC * momentum(m, m_psi, M_PI)[above] / momentum(M_ZC, m_psi[above], M_PI) * M_ZC / m[above]
    expected = 1 / ((M_ZC**2 - m[above] ** 2) ** 2 + (M_ZC * width) ** 2)
    found = ratio(zc_model(psi, zc), zc_model({"lineshape": "constant"}, {"lineshape": "constant"}), events)
    assert above.sum() > 20
    np.testing.assert_allclose(found[above], expected, rtol=1e-9)
    with pytest.raises(ConfigError, match="option 'q0' of lineshape 'breit_wigner' is 'mine'"):
        load_model(zc_model(psi, {**zc, "options": {"q0": "mine"}}))


def test_a_nominal_mass_of_the_pdg_holds_for_every_lineshape():
    with_width = model_channels(load_model(zc_model({"particle": "J/psi(1S)"})))
    without = model_channels(load_model(zc_model({"particle": "J/psi(1S)", "lineshape": "constant"})))
    assert with_width.placed[0][0].vertex == without.placed[0][0].vertex
    assert without.placed[0][0].vertex.m1 == pytest.approx(M_PSI, abs=1e-4)


def test_the_argand_curve_is_that_of_the_events():
    model = load_model(zc_model({"lineshape": "constant", "mass": M_PSI}))
    (curve,) = [curve for curve in argand(None, model) if curve.resonances == ("Zc",)]
    m = curve.mass
    width = G_ZC * momentum(m, M_PSI, M_PI) / momentum(M_ZC, M_PSI, M_PI) * M_ZC / m
    np.testing.assert_allclose(curve.amplitude, 1 / (M_ZC**2 - m**2 - 1j * M_ZC * width), rtol=1e-9)


@pytest.mark.parametrize("kind", WITHOUT_MASS)
@pytest.mark.parametrize(
    "zc",
    [
        {"mass": M_ZC, "width": G_ZC},
        {"lineshape": "1/(mass**2 - s - i*mass*width*q)", "mass": M_ZC, "width": G_ZC},
        {"lineshape": "exp(-s/(m1 + m2)**2)"},
        {"lineshape": "k_matrix", "options": {"channels": {"psipi": "own"}, "poles": [{"mass": 3.9, "couplings": [0.3]}]}},
        {"lineshape": "exponential", "parameters": {"alpha": 0.1}},
    ],
)
def test_a_daughter_without_a_mass_is_refused_where_it_is_needed(kind, zc):
    with pytest.raises(ConfigError) as caught:
        load_model(zc_model(WITHOUT_MASS[kind], zc))
    (problem,) = caught.value.problems
    assert problem.path == ("resonances", "psi")
    assert "Zc+ -> psi pi+, uses the mass of 'psi', which has none" in problem.what
    assert "add  mass: …  (GeV) to 'psi'" in problem.fix
    load_model(zc_model(WITHOUT_MASS[kind] | {"mass": M_PSI}, zc))


@pytest.mark.parametrize(
    "zc",
    [
        {"lineshape": "constant"},
        {"lineshape": "breit_wigner_constant_width", "mass": M_ZC, "width": G_ZC},
        {"lineshape": "step", "options": {"edges": [3.3, 3.7, 4.0]}},
    ],
)
def test_a_mass_that_nothing_needs_is_not_asked_for_and_not_accepted(zc):
    load_model(zc_model({"lineshape": "constant"}, zc))
    with pytest.raises(ConfigError, match="lineshape 'constant' of 'psi' has no parameter 'mass'") as caught:
        load_model(zc_model({"lineshape": "constant", "mass": M_PSI}, zc))
    assert caught.value.problems[0].path == ("resonances", "psi", "mass")


def test_a_mass_in_mev_is_recognised():
    with pytest.raises(ConfigError, match="divide by 1000"):
        load_model(zc_model({"lineshape": "constant", "mass": 3096.9}))


def test_a_lineshape_that_does_not_fit_its_vertex_is_a_problem_of_the_model():
    zc = {"lineshape": "pipi_s_wave", "JP": "1-", "decay_ls": [[1, 1]], "production_ls": [[1, 1]]}
    with pytest.raises(ConfigError, match="is an S wave, but this vertex has L = 1") as caught:
        load_model(zc_model({"lineshape": "constant", "mass": M_PSI}, zc))
    assert caught.value.problems[0].path == ("resonances", "Zc", "lineshape")


def k1_model(k1):
    """J/ψ → K1⁺ K⁻, K1⁺ → ρ⁰ K⁺ in a D wave, which could also be an S wave."""
    return {
        "decay": "J/psi(1S) -> K+ K- pi+ pi-",
        "resonances": {
            "K(1)(1400)": {"in": "K+ pi+ pi-", "production_ls": [[0, 1]]} | k1,
            "rho(770)": {"in": "pi+ pi-", "mass": M_RHO, "width": 0.149},
        },
    }


@pytest.mark.parametrize("decay_ls", [[[2, 1]], [[0, 1]], [[0, 1], [2, 1]]])
def test_the_running_width_has_the_smallest_l_that_is_allowed_not_that_is_chosen(decay_ls):
    k1 = {"mass": M_K1, "width": G_K1, "decay_ls": decay_ls}
    events = ctpwa.generate_phase_space(load_model(k1_model(k1)), 20, seed=2)
    m_rho, m = mass(events["pi+"], events["pi-"]), mass(events["pi+"], events["pi-"], events["K+"])
    width = G_K1 * momentum(m, m_rho, M_K) / momentum(M_K1, M_RHO, M_K) * M_K1 / m
    found = ratio(k1_model(k1), k1_model({"lineshape": "constant", "decay_ls": decay_ls}), events)
    np.testing.assert_allclose(found, 1 / ((M_K1**2 - m**2) ** 2 + (M_K1 * width) ** 2), rtol=1e-9)
