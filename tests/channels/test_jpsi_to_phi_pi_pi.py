"""J/psi -> phi f0, phi f2: two resonances side by side."""

from collections import Counter

from ctpwa import load_model


def test_every_combination_is_a_chain(example):
    model = load_model(example("jpsi_phi_pi_pi"))
    count = Counter(tuple(r.name for r in wave.resonances) for wave in model.waves)
    assert count == {("phi(1020)", "f(0)(980)"): 2, ("phi(1020)", "f(0)(1370)"): 2, ("phi(1020)", "f(2)(1270)"): 4}
    assert len(model.couplings) == 8


def test_max_L_removes_the_G_wave_of_f2(example):
    import yaml

    data = yaml.safe_load(example("jpsi_phi_pi_pi").read_text(encoding="utf-8"))
    del data["resonances"]["f(2)(1270)"]["max_L"]
    waves = [w for w in load_model(data).waves if w.resonances[1].name == "f(2)(1270)"]
    assert [tuple(w.ls[0]) for w in waves] == [(0, 1), (2, 1), (2, 2), (2, 3), (4, 3)]


def test_names(example):
    assert load_model(example("jpsi_phi_pi_pi")).waves[0].name == "phi(1020)[K+ K-] f(0)(980)[pi+ pi-] (0,1)(1,0)(0,0)"
