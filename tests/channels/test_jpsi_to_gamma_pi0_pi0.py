"""J/psi -> gamma pi0 pi0: a photon and two identical bosons."""

from collections import Counter

import torch

from ctpwa import generate_phase_space, load_model


def test_a_photon_leaves_one_f0_three_f2_and_three_f4_couplings(example):
    model = load_model(example("jpsi_gamma_pi0_pi0"))
    count = Counter(wave.resonances[0].name for wave in model.waves)
    assert count == {
        "f(0)(500)": 1, "f(0)(980)": 1, "f(0)(1370)": 1, "f(0)(1500)": 1, "f(0)(1710)": 1,
        "f(2)(1270)": 3, "f(2)'(1525)": 3, "f(4)(2050)": 3,
    }  # fmt: skip
    assert len(model.couplings) == len(model.waves) == 14


def test_independent_ls_subsets(example):
    model = load_model(example("jpsi_gamma_pi0_pi0"))
    production = {}
    for wave in model.waves:
        production.setdefault(wave.resonances[0].name, []).append(tuple(wave.ls[0]))
    assert production["f(0)(980)"] == [(0, 1)]
    assert production["f(2)(1270)"] == [(0, 1), (2, 1), (2, 2)]
    assert production["f(4)(2050)"] == [(2, 3), (4, 3), (4, 4)]


def test_names_of_identical_particles(example):
    model = load_model(example("jpsi_gamma_pi0_pi0"))
    assert model.final_names == ("gamma", "pi0_1", "pi0_2")
    assert model.waves[0].name == "f(0)(500)[pi0_1 pi0_2] (0,1)(0,0)"


def test_the_pions_can_be_exchanged(example):
    model = load_model(example("jpsi_gamma_pi0_pi0"))
    events = generate_phase_space(model, 10, seed=3)
    swapped = {"gamma": events["gamma"], "pi0_1": events["pi0_2"], "pi0_2": events["pi0_1"]}
    K, K_swapped = (model.spin_amplitudes(p).values for p in (events, swapped))
    torch.testing.assert_close(K, K_swapped, rtol=0, atol=1e-12 * float(K.abs().max()))


def test_odd_spins_are_refused():
    import pytest

    from ctpwa.base import ConfigError

    with pytest.raises(ConfigError, match=r"two identical particles need even L\+S"):
        load_model({"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"X": {"in": "pi0 pi0", "JP": "1-", "mass": 1.0, "width": 0.1}}})
