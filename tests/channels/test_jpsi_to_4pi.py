"""J/psi -> 2(pi+ pi-) through a1(1260): a three-step cascade and two groups of identical particles."""

import torch

from channels.conjugation import conjugated
from ctpwa import load_model


def test_waves(example):
    model = load_model(example("jpsi_4pi"))
    ls = ["(0,1)(0,1)(1,0)", "(0,1)(2,1)(1,0)", "(2,1)(0,1)(1,0)", "(2,1)(2,1)(1,0)"]
    plus = [f"a(1)(1260)+[pi+_1 pi-_1 pi+_2] rho(770)0[pi+_1 pi-_1] {pairs}" for pairs in ls]
    minus = [f"a(1)(1260)-[pi+_1 pi-_1 pi-_2] rho(770)0[pi+_1 pi-_1] {pairs}" for pairs in ls]
    assert [wave.name for wave in model.waves] == plus + minus
    assert [wave.coupling for wave in model.waves] == plus + plus
    assert {wave.factor for wave in model.waves} == {1}


def test_every_wave_has_four_exchanges_with_their_own_masses(example):
    for wave in load_model(example("jpsi_4pi")).waves:
        assert [r.name for r in wave.resonances] == ["a(1)(1260)", "rho(770)"]
        assert len(wave.terms) == 4
        assert len({term.systems for term in wave.terms}) == 4


def test_rho_rho_is_forbidden_and_noted(example):
    (note,) = load_model(example("jpsi_4pi")).notes
    assert "rho(770)0 rho(770)0" in note
    assert "C parity is not conserved" in note


def test_the_tied_amplitude_is_odd_under_C(example):
    model = load_model(example("jpsi_4pi"))
    assert model.final_names == ("pi+_1", "pi-_1", "pi+_2", "pi-_2")
    psi, swapped = conjugated(model, [1, 0, 3, 2])
    torch.testing.assert_close(swapped, -psi, rtol=0, atol=1e-12 * float(psi.abs().max()))
