"""Cascades that ctpwa puts together from resonances in two- and three-particle systems."""

from ctpwa import load_model


def chains(data):
    model = load_model(data)
    return list(dict.fromkeys(str(wave.chain) for wave in model.waves))


def test_a_resonance_in_three_particles_needs_and_finds_its_own_daughters():
    found = chains(
        {
            "decay": "J/psi(1S) -> K+ K- pi+ pi-",
            "resonances": {
                "K(1)(1270)": {"in": ["K+ pi+ pi-", "K- pi+ pi-"]},
                "rho(770)": {"in": "pi+ pi-"},
                "K*(892)": {"in": ["K+ pi-", "K- pi+"]},
            },
        }
    )
    assert set(found) == {
        "J/psi(1S) -> K(1)(1270)+ K- ; K(1)(1270)+ -> rho(770)0 K+ ; rho(770)0 -> pi+ pi-",
        "J/psi(1S) -> K(1)(1270)+ K- ; K(1)(1270)+ -> K*(892)0 pi+ ; K*(892)0 -> K+ pi-",
        "J/psi(1S) -> K(1)(1270)- K+ ; K(1)(1270)- -> rho(770)0 K- ; rho(770)0 -> pi+ pi-",
        "J/psi(1S) -> K(1)(1270)- K+ ; K(1)(1270)- -> K*(892)~0 pi- ; K*(892)~0 -> K- pi+",
        "J/psi(1S) -> K*(892)0 K*(892)~0 ; K*(892)0 -> K+ pi- ; K*(892)~0 -> K- pi+",
    }


def test_conjugate_cascades_are_tied():
    model = load_model(
        {
            "decay": "J/psi(1S) -> K+ K- pi+ pi-",
            "resonances": {"K(1)(1270)": {"in": ["K+ pi+ pi-", "K- pi+ pi-"]}, "rho(770)": {"in": "pi+ pi-"}},
        }
    )
    assert len(model.waves) == 8
    assert len(model.couplings) == 4


def test_five_particles_in_four_steps():
    found = chains(
        {
            "decay": "J/psi(1S) -> p p~ pi+ pi- eta",
            "resonances": {
                "Y1": {"in": "p pi+ pi- eta", "JP": "3/2+", "lineshape": "constant", "max_L": 1},
                "Y2": {"in": "p pi+ pi-", "JP": "1/2+", "lineshape": "constant", "max_L": 1},
                "rho(770)": {"in": "pi+ pi-", "max_L": 1},
            },
        }
    )
    assert found == ["J/psi(1S) -> Y1+ p~ ; Y1+ -> Y2+ eta ; Y2+ -> rho(770)0 p ; rho(770)0 -> pi+ pi-"]


def test_a_chain_can_be_written_out_and_gives_the_same_waves():
    written = load_model(
        {
            "decay": "J/psi(1S) -> K+ K- pi+ pi-",
            "chains": ["J/psi(1S) -> phi(1020) f(2)(1270) ; phi(1020) -> K+ K- ; f(2)(1270) -> pi+ pi-"],
        }
    )
    generated = load_model(
        {"decay": "J/psi(1S) -> K+ K- pi+ pi-", "resonances": {"phi(1020)": {"in": "K+ K-"}, "f(2)(1270)": {"in": "pi+ pi-"}}}
    )
    assert [w.name for w in written.waves] == [w.name for w in generated.waves]
