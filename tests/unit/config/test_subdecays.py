"""Sub-decays in the decay line: states that are held at their mass."""

import numpy as np
import pytest

import ctpwa
from ctpwa.decay.conjugate import conjugate_decay
from ctpwa.decay.symmetry import Conjugation, conjugation_map, exchange_permutations
from unit.config.refusals import refusals

PSI = "decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\n"
LAMBDA_B = "decay: Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-\n"
NR = "resonances: {NR: {in: pi+ pi-, JP: 0++, lineshape: constant}}\n"


def names(model):
    return [wave.name for wave in model.waves]


def test_final_particles_stand_where_their_state_stands(load):
    model = load("decay: psi(2S) -> J/psi pi+ pi-; J/psi -> mu+ mu-\n" + NR)
    assert model.final_names == ("mu+", "mu-", "pi+", "pi-")
    (state,) = model.decay.held
    assert (state.particle.name, state.place, state.label) == ("J/psi(1S)", (0, 1), "J/psi")
    assert str(model.decay) == "psi(2S) -> J/psi(1S) pi+ pi-; J/psi(1S) -> mu+ mu-"
    assert str(model.decay.outer) == "psi(2S) -> J/psi(1S) pi+ pi-"


def test_a_held_state_is_in_every_chain_and_has_no_propagator(load):
    model = load(LAMBDA_B + "resonances:\n  Lambda(1520): {in: p K-}\n  Pc: {in: J/psi(1S) p, JP: 1/2-, mass: 4.31, width: 0.01}\n")
    assert all("J/psi(1S)" in (node.particle.name for node in wave.chain.nodes) for wave in model.waves)
    assert model.resonances["J/psi(1S)"].lineshape == "constant"
    assert {r.name for wave in model.waves for r in wave.shown} == {"Lambda(1520)", "Pc"}


def test_names_of_waves(load):
    model = load(
        LAMBDA_B
        + "resonances:\n  Pc: {in: p J/psi(1S), JP: 1/2-, mass: 4.31, width: 0.01, max_L: 0}\n  Lambda(1600): {in: p K-, max_L: 1}\n"
    )
    assert names(model) == [
        "Pc+[J/psi(1S) p] (0,1/2)(0,1/2)",
        "Lambda(1600)[p K-] (0,1/2)(1,1/2)",
        "Lambda(1600)[p K-] (1,1/2)(1,1/2)",
        "Lambda(1600)[p K-] (1,3/2)(1,1/2)",
    ]
    assert {node.particle.name for wave in model.waves for node in wave.chain.nodes} == {"Lambda(b)0", "J/psi(1S)", "Pc+", "Lambda(1600)"}


def test_the_final_particles_may_be_named_as_well(load):
    by_state, by_members = (
        load(LAMBDA_B + f"resonances: {{Pc: {{in: {text}, JP: 1/2-, mass: 4.31, width: 0.01}}}}\n") for text in ("J/psi(1S) p", "mu+ mu- p")
    )
    assert names(by_state) == names(by_members)


def test_written_chains_know_the_sub_decay(load):
    text = LAMBDA_B + "chains:\n  - {}\n".format("{decay: Lambda(b)0 -> Lambda(1520) J/psi(1S) ; Lambda(1520) -> p K-, max_L: 2}")
    generated = load(LAMBDA_B + "resonances: {Lambda(1520): {in: p K-, max_L: 2}}\n")
    assert sorted(load(text).couplings) == sorted(generated.couplings)
    spelled = text.replace("p K-,", "p K- ; J/psi(1S) -> mu+ mu-,")
    assert load(spelled).couplings == load(text).couplings


def test_two_parts_need_no_resonance(load):
    assert names(load("decay: psi(2S) -> eta J/psi; J/psi -> mu+ mu-\n")) == ["(1,1)"]
    model = load("decay: J/psi -> Lambda Lambda~; Lambda -> p pi-; Lambda~ -> p~ pi+\n")
    assert len(model.waves) == 2 * 2 * 2
    assert names(model)[0] == "(0,1)(0,1/2)(0,1/2)"


def test_nested_sub_decays(load):
    model = load("decay: J/psi -> Xi- Xi~+; Xi- -> Lambda pi-; Lambda -> p pi-; Xi~+ -> Lambda~ pi+; Lambda~ -> p~ pi+\n")
    assert [state.place for state in model.decay.held] == [(0, 1, 2), (0, 1), (3, 4, 5), (3, 4)]
    assert model.final_names == ("p", "pi-_1", "pi-_2", "p~", "pi+_1", "pi+_2")
    assert len(model.waves) == 2**5
    assert model.decay.identical_groups == ()  # the pions come from different states
    assert exchange_permutations(model.decay) == (((0, 1, 2, 3, 4, 5), 1),)
    assert conjugation_map(model.decay) == (3, 4, 5, 0, 1, 2)


def test_a_state_that_decays_to_three_particles(load):
    text = "decay: J/psi -> gamma eta; eta -> pi+ pi- pi0\nresonances: {F: {in: pi+ pi-, JP: 0+, lineshape: constant}}\n"
    model = load(text)
    assert names(model) == ["F[pi+ pi-] (1,1)(0,0)(0,0)"]
    assert model.decay.mass_range((1, 2)) == pytest.approx((2 * 0.13957039, 0.547862 - 0.1349768))


def test_identical_states_are_exchanged_as_a_whole(load):
    model = load("particles: {X: {JP: 0++, mass: 6.9, charge: 0}}\ndecay: X -> J/psi J/psi; J/psi -> mu+ mu-\n")
    assert model.final_names == ("mu+_1", "mu-_1", "mu+_2", "mu-_2")
    assert [state.label for state in model.decay.held] == ["J/psi_1", "J/psi_2"]
    assert exchange_permutations(model.decay) == (((0, 1, 2, 3), 1), ((2, 3, 0, 1), 1))
    assert names(model) == ["(0,0)", "(2,2)"]
    events = ctpwa.generate_phase_space(model, 20, seed=1)
    swapped = dict(zip(model.final_names, [events[model.final_names[i]] for i in (2, 3, 0, 1)], strict=True))
    I = ctpwa.ModelIntensity(model, engine="reference")
    np.testing.assert_allclose(I(ctpwa.Events(swapped)), I(events), rtol=1e-12)


def test_conjugate_chains_are_tied(load):
    model = load(PSI + "resonances: {Zc: {in: [J/psi pi+, J/psi pi-], JP: 1+, mass: 3.4, width: 0.1, max_L: 0}}\n")
    assert Conjugation.of(model.decay) is not None
    assert [wave.coupling for wave in model.waves] == ["Zc+[J/psi pi+] (0,1)(0,1)"] * 2


def test_two_different_sub_decays_of_one_state(load):
    model = load("particles: {X: {JP: 0++, mass: 6.9, charge: 0}}\ndecay: X -> J/psi J/psi; J/psi -> mu+ mu-; J/psi -> e+ e-\n")
    assert model.final_names == ("mu+", "mu-", "e+", "e-")
    assert len(exchange_permutations(model.decay)) == 1


def test_labels(load):
    model = load(
        "decay: psi(2S) -> pi+ pi- psi:J/psi; psi -> plus:mu+ minus:mu-\nresonances: {Zc: {in: psi pi+, JP: 1+, mass: 3.4, width: 0.1}}\n"
    )
    assert model.final_names == ("pi+", "pi-", "plus", "minus")
    assert model.waves[0].name.startswith("Zc+[psi pi+]")


test_mistakes = refusals(
    lambda text: text,
    r"""
    decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\nresonances: {X: {in: mu+ mu-, JP: 1--, mass: 2, width: 1}}\n
        | 2:22 | a state on its mass shell is in every chain, or in none | remove 'X'
    decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\nresonances: {X: {in: pi+ mu+, JP: 1--, mass: 2, width: 1}}\n
        | 2:22 | takes J/psi apart | write J/psi for mu+ mu-
    decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\nresonances: {J/psi: {width: 0.1}, NR: {in: pi+ pi-, JP: 0++, lineshape: constant}}\n
        | 2:29 | 'width' does not apply to it | remove it
    decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\nchains: ['psi(2S) -> X Y; X -> pi+ mu+; Y -> pi- mu-']\n
        | 2:36 | 'mu+' comes from J/psi: a state on its mass shell is in | produce J/psi
    decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\nchains: ['psi(2S) -> chi(c1)(1P) Y; chi(c1)(1P) -> mu+ mu-; Y -> pi+ pi-']\n
        | 2:52 | 'mu+' comes from J/psi | produce J/psi
    decay: psi(2S) -> pi+ pi- J/psi; J/psi -> mu+ mu-\n
        | 1:8 | no chain leads to 'J/psi(1S)' in mu+ mu-: nothing is declared for the rest, pi+ pi- | add a resonance
    decay: J/psi -> rho(770)0 eta; rho(770)0 -> pi+ pi-\n | 1:17 | too wide to be held at its mass | give it under 'resonances'
    decay: J/psi -> gamma eta; gamma -> e+ e-\n | 1:17 | has no mass | remove its sub-decay
    decay: J/psi -> eta phi; phi -> K+ K+\n | 1:8 | charge is not conserved in phi(1020) | correct
    decay: J/psi -> eta phi; phi -> eta eta\n | 1:8 | phi(1020) -> eta eta is below threshold | correct
    decay: J/psi -> eta phi; phi -> K+\n | 1:8 | has one daughter | two particles or more
    decay: J/psi -> eta phi; phi\n | 1:8 | cannot read 'phi' as a decay | both sides of ;
    decay: J/psi -> eta phi; phi -> phi eta\n | 1:21 | decays into itself | lighter
    decay: J/psi -> pi0 psi(2S); psi(2S) -> mu+ mu-\n | 1:8 | below threshold | correct
    decay: eta(c)(1S) -> pi0 phi; phi -> K+ K-\n | 1:8 | cannot exist | weak: true
    """,
)


def test_final_particles_cannot_multiply_without_end(problems):
    steps = "; ".join(f"A{i} -> A{i + 1} A{i + 1}" for i in range(200))
    (problem,) = problems(f"decay: {steps}\n")
    assert problem.what == "there are more than 24 final particles"


def test_the_conjugate_decay(load):
    model = load("decay: B+ -> J/psi K+ eta; J/psi -> mu+ mu-\nresonances: {K(2)*(1430): {in: K+ eta}}\n")
    conjugate = conjugate_decay(model.decay)
    assert str(conjugate) == "B- -> J/psi(1S) K- eta; J/psi(1S) -> mu- mu+"
    assert conjugate.labels == ("mu-", "mu+", "K-", "eta")
    lambda_b = load("decay: J/psi -> K- Lambda Xi~+; Lambda -> p pi-\nresonances: {X: {in: K- Lambda, JP: 1/2-, lineshape: constant}}\n")
    (state,) = conjugate_decay(lambda_b.decay).held
    assert (state.label, state.particle.name, state.place) == ("Lambda~", "Lambda~", (1, 2))


@pytest.mark.parametrize("pair", ["mu+ mu-", "J/psi pi+"])
def test_resolution_of_a_held_state(problems, pair):
    samples = f"samples: {{data: data.root, phase_space: {{generate: 10}}, resolution: {{masses: {{{pair}: 0.001}}}}}}\n"
    (problem,) = problems(PSI + NR + samples)
    assert "J/psi in" in problem.what
    assert "is held at its mass" in problem.what


def test_tied_chains_are_symmetric_in_the_pions(load):
    """C of J/psi is conserved where it decays: the pions alone may be exchanged, with whatever other waves there are."""
    model = load(
        PSI
        + "resonances: {Zc: {in: [J/psi pi+, J/psi pi-], JP: 1+, mass: 3.4, width: 0.1}, NR: {in: pi+ pi-, JP: 0++, lineshape: constant}}\n"
    )
    c = {name: complex(1, k) for k, name in enumerate(model.couplings)}
    I = ctpwa.ModelIntensity(model, couplings=c, engine="reference")
    events = ctpwa.generate_phase_space(model, 20, seed=3)
    swapped = dict(events.momenta) | {"pi+": events["pi-"], "pi-": events["pi+"]}
    np.testing.assert_allclose(I(ctpwa.Events(swapped)), I(events), rtol=1e-11)
