"""Couplings of charge states by isospin, against Bose symmetry of pions, charge conjugation and sums by hand."""

from math import sqrt

import pytest
import torch

import ctpwa
from ctpwa.config.propose.ties import isospin_ties
from ctpwa.decay.isospin_ties import charge_states

THREE_PIONS = {
    "decay": "omega(782) -> pi+ pi- pi0",
    "particles": {"pi0": {"mass": 0.13957039}},
    "resonances": {"rho(770)": {"in": ["pi+ pi-", "pi+ pi0", "pi- pi0"], "mass": 0.775, "width": 0.149}},
}


def test_three_pions_of_isospin_zero_are_totally_symmetric():
    """With equal masses, |A|² of ω → 3π is the same for every exchange of momenta; with the opposite sign it is not."""
    model = ctpwa.load_model(THREE_PIONS)
    ties = isospin_ties(model, conserved=True)
    ((tied, (first, factor)),) = ties.items()
    events = ctpwa.generate_phase_space(model, 50, seed=1)
    cycled = {"pi+": events["pi-"], "pi-": events["pi0"], "pi0": events["pi+"]}
    right = ctpwa.ModelIntensity(model, couplings={first: 1.0, tied: factor}, engine="reference")
    torch.testing.assert_close(right(cycled), right(dict(events)), rtol=1e-9, atol=0)
    wrong = ctpwa.ModelIntensity(model, couplings={first: 1.0, tied: -factor}, engine="reference")
    assert ((wrong(cycled) / wrong(dict(events)) - 1).abs() > 0.1).any()


def test_ties_agree_with_those_of_charge_conjugation():
    """J/psi -> a2 rho: waves that C ties have the ratio that isospin gives them."""
    resonances = {
        "rho(770)": {"in": ["pi+ pi-", "pi+ pi0", "pi- pi0"]},
        "a(2)(1320)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-", "pi+ pi- pi0"], "production_ls": [[0, 1]]},
    }
    model = ctpwa.load_model({"decay": "J/psi -> pi+ pi- pi+ pi- pi0", "resonances": resonances})
    ratios = {}
    for wave in model.waves:
        found = charge_states(wave.chain, conserved=True)
        ratios.setdefault(wave.coupling, set()).add(round(found.factor / wave.factor, 12))
    assert all(len(of_one) == 1 for of_one in ratios.values())
    assert len(ratios) == 2
    assert len(isospin_ties(model, conserved=True)) == 1


def factors(decay, conserved, **resonances):
    model = ctpwa.load_model({"decay": decay, "resonances": resonances})
    return {wave.name: charge_states(wave.chain, conserved) for wave in model.waves}


def test_clebsch_gordan_coefficients_by_hand():
    """K1(1270)+ -> K* pi -> K0 pi+ pi0 has |⟨½ ½; 1 0|½ ½⟩| = 1/√3 and |⟨½ −½; 1 1|½ ½⟩| = √(2/3), in either order."""
    own = {"K*(892)": {"in": ["K0 pi+", "K0 pi0"]}, "K(1)(1270)": {"in": "K0 pi+ pi0", "max_L": 1}}
    found = factors("B+ -> J/psi K0 pi+ pi0", False, **own)
    by_state = {name.partition(" K*(892)")[2][0]: states.factor for name, states in found.items() if "K(1)" in name}
    assert abs(by_state["+"]) == pytest.approx(1 / sqrt(3) * sqrt(2 / 3))
    assert abs(by_state["0"]) == pytest.approx(sqrt(2 / 3) * 1 / sqrt(3))


def test_two_orders_of_different_pions_count_twice():
    """f0 -> pi+ pi- has both orders in one wave, f0 -> pi0 pi0 both by symmetrisation: ⟨1 1; 1 −1|0 0⟩ = −⟨1 0; 1 0|0 0⟩ = 1/√3."""
    found = factors("J/psi -> omega pi+ pi-", True, **{"f(0)(980)": {"in": "pi+ pi-"}})
    assert next(iter(found.values())).factor == pytest.approx(2 / sqrt(3))
    found = factors("J/psi -> omega pi0 pi0", True, **{"f(0)(980)": {"in": "pi0 pi0"}})
    assert next(iter(found.values())).factor == pytest.approx(-1 / sqrt(3))


def test_a_weak_decay_ties_nothing_at_its_own_vertex():
    found = factors("D0 -> K- pi+ pi0", False, **{"K*(892)": {"in": ["K- pi+", "K- pi0"]}})
    assert len({states.key for states in found.values()}) == 2


@pytest.mark.parametrize("decay", ["J/psi -> gamma pi+ pi-", "D+ -> K0S pi+ pi0"])
def test_photons_and_mixed_kaons_have_no_isospin(decay):
    found = factors(decay, True, **{"f(0)(980)": {"in": "pi+ pi-"}} if "gamma" in decay else {"K*(892)": {"in": "K0S pi+"}})
    assert set(found.values()) == {None}
