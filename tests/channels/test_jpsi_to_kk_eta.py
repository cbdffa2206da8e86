"""J/psi -> K+ K- eta: 16 resonances and 7 non-resonant structures."""

import torch

from channels.conjugation import conjugated
from ctpwa import load_model

KK = ["phi(1020)", "omega(1420)", "phi(1680)", "X(1750)", "rho(1900)", "rho(2150)", "omega(3)(1670)", "phi(3)(1850)", "rho(3)(2250)"]
KK_NR = ["NR1", "NR3", "NR5", "NR7"]
K_ETA = ["K*(1410)", "K*(1680)", "K(2)*(1430)", "K(2)*(1980)", "K(3)*(1780)", "K(4)*(2045)", "K(5)*(2380)", "NR2K", "NR3K", "NR4K"]


def test_counts(example):
    model = load_model(example("jpsi_kk_eta"))
    assert len(model.waves) == 33
    assert len(model.couplings) == 23
    assert list(model.resonances) == [*KK, *K_ETA[:7], *KK_NR, *K_ETA[7:]]
    assert not model.notes


def test_every_wave_has_L_equal_to_the_spin_of_its_resonance_at_both_vertices(example):
    for wave in load_model(example("jpsi_kk_eta")).waves:
        J = wave.chain.nodes[1].particle.two_J // 2
        assert wave.ls == ((J, J), (J, 0))


def test_names(example):
    names = [wave.name for wave in load_model(example("jpsi_kk_eta")).waves]
    assert names[0] == "phi(1020)[K+ K-] (1,1)(1,0)"
    assert "K(2)*(1430)+[K+ eta] (2,2)(2,0)" in names
    assert "K(2)*(1430)-[K- eta] (2,2)(2,0)" in names
    assert len(set(names)) == 33


def test_conjugate_chains_are_tied_with_minus_one(example):
    tied = {w.name: w for w in load_model(example("jpsi_kk_eta")).waves if w.coupling != w.name}
    assert len(tied) == len(K_ETA)
    for name, wave in tied.items():
        assert "[K- eta]" in name
        assert wave.coupling == name.replace("-[K- eta]", "+[K+ eta]").replace("[K- eta]", "[K+ eta]")
        assert wave.factor == -1


def test_the_tied_amplitude_is_odd_under_C(example):
    psi, swapped = conjugated(load_model(example("jpsi_kk_eta")), [1, 0, 2])
    torch.testing.assert_close(swapped, -psi, rtol=0, atol=1e-12 * float(psi.abs().max()))


def test_untied_there_are_33_couplings(example):
    import yaml

    data = yaml.safe_load(example("jpsi_kk_eta").read_text(encoding="utf-8"))
    assert len(load_model(data | {"tie_conjugates": False}).couplings) == 33


def test_floating_parameters(example):
    resonances = load_model(example("jpsi_kk_eta")).resonances
    floating = {name for name, r in resonances.items() if r.floating}
    assert floating == {"phi(1680)", "X(1750)", "phi(3)(1850)", "K*(1410)", "K(2)*(1430)"}
    assert all(resonances[name].floating == ("mass", "width") for name in floating)
    assert (resonances["K(3)*(1780)"].mass, resonances["K(3)*(1780)"].width) == (1.711, 0.333)
