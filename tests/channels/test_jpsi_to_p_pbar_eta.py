"""J/psi -> p p~ eta: two spinful final particles and three topologies."""

from collections import Counter

import torch

from channels.conjugation import conjugated
from ctpwa import load_model


def test_counts(example):
    model = load_model(example("jpsi_p_pbar_eta"))
    count = Counter((wave.resonances[0].name, wave.chain.nodes[1].particle.name) for wave in model.waves)
    assert count == {
        ("N(1535)", "N(1535)+"): 2, ("N(1535)", "N(1535)~-"): 2,
        ("N(1650)", "N(1650)+"): 2, ("N(1650)", "N(1650)~-"): 2,
        ("N(1710)", "N(1710)+"): 2, ("N(1710)", "N(1710)~-"): 2,
        ("N(1520)", "N(1520)+"): 3, ("N(1520)", "N(1520)~-"): 3,
        ("N(1680)", "N(1680)+"): 3, ("N(1680)", "N(1680)~-"): 3,
        ("X(2100)", "X(2100)"): 2,
    }  # fmt: skip
    assert len(model.couplings) == 14


def test_conjugate_chains_are_tied_with_plus_one(example):
    tied = [wave for wave in load_model(example("jpsi_p_pbar_eta")).waves if wave.coupling != wave.name]
    assert len(tied) == 12
    for wave in tied:
        assert wave.coupling == wave.name.replace("~-[p~ eta]", "+[p eta]")
        assert wave.factor == 1


def test_the_tied_amplitude_is_even_under_C(example):
    psi, swapped = conjugated(load_model(example("jpsi_p_pbar_eta")), [1, 0, 2])
    torch.testing.assert_close(swapped, psi, rtol=0, atol=1e-12 * float(psi.abs().max()))


def test_the_vector_in_p_pbar_has_S_and_D_wave_of_spin_one(example):
    waves = [w for w in load_model(example("jpsi_p_pbar_eta")).waves if w.resonances[0].name == "X(2100)"]
    assert [tuple(w.ls[1]) for w in waves] == [(0, 1), (2, 1)]


def test_an_antibaryon_has_the_opposite_parity(example):
    nodes = {w.chain.nodes[1].particle.name: w.chain.nodes[1].particle for w in load_model(example("jpsi_p_pbar_eta")).waves}
    assert nodes["N(1535)+"].P == -1
    assert nodes["N(1535)~-"].P == +1
    assert nodes["N(1680)~-"].two_J == 5
