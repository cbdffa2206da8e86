"""Lambda_c+ -> p K- pi+: a weak decay in three topologies."""

from collections import Counter

from ctpwa import load_model


def test_counts_and_charge_states(example):
    model = load_model(example("lambdac_p_k_pi"))
    count = Counter(wave.chain.nodes[1].particle.name for wave in model.waves)
    assert count == {"Lambda(1405)": 2, "Lambda(1520)": 2, "Lambda(1670)": 2, "Delta(1232)++": 2, "K*(892)~0": 4}
    assert len(model.couplings) == 12


def test_parity_is_violated_at_the_first_vertex_only(example):
    for wave in load_model(example("lambdac_p_k_pi")).waves:
        top, inner = wave.chain.nodes
        assert top.weak
        assert not inner.weak
    even = {w.ls[0].L % 2 for w in load_model(example("lambdac_p_k_pi")).waves if w.resonances[0].name == "Lambda(1520)"}
    assert even == {0, 1}


def test_a_strong_first_vertex_would_halve_the_waves(example):
    import yaml

    data = yaml.safe_load(example("lambdac_p_k_pi").read_text(encoding="utf-8"))
    assert len(load_model(data | {"weak": False, "couplings": {}}).waves) == 6


def test_a_polarised_parent_has_one_row_for_each_of_its_states(example):
    model = load_model(example("lambdac_p_k_pi"))
    assert model.production.kind == "density matrix"
    assert model.production.rho[0, 0] == 0.65
    assert model.production.states.shape == (2, 2)
