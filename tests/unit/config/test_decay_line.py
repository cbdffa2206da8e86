"""The decay line, the names of final particles and the ``particles`` section."""

import pytest

from ctpwa import load_model
from unit.config.refusals import refusals

PHI = "resonances: {phi(1020): {in: K+ K-}}\n"


test_bad_decay = refusals(
    lambda decay: f"decay: {decay}\n",
    """
    J/psi -> K+ K- etta | 23 | unknown particle 'etta' | did you mean 'eta'?
    Jpsii -> K+ K- eta | 8 | unknown particle 'Jpsii' | 'J/psi(1S)'
    J/psi -> x:K+ y:K_ eta | 24 | unknown particle 'K_' | PDG
    J/psi => K+ K- eta | 8 | cannot read 'J/psi => K+ K- eta' as a decay | parent -> particle
    J/psi → K+ K- eta | 8 | as a decay | parent -> particle
    J/psi eta -> K+ K- | 8 | as a decay | parent -> particle
    J/psi -> | 8 | as a decay | parent -> particle
    J/psi -> K+ K+ eta | 8 | charge is not conserved in J/psi(1S) | correct the decay
    phi(1020) -> K+ K- eta | 8 | below threshold: the final particles weigh 1.53522 GeV, phi(1020) only 1.01946 GeV | correct
    J/psi -> a:K+ a:K- eta | 8 | duplicated name 'a' in the final state | a name of its own
    J/psi -> eta | 8 | has 1 final particle | 2 to 6
    J/psi -> pi+ pi- pi+ pi- pi+ pi- pi0 | 8 | has 7 final particles | 2 to 6
    J/psi -> eta phi; phi -> K+ K-; omega -> pi+ pi- | 40 | the sub-decay of 'omega' is never reached | or remove it
    """,
    line=1,
)


def test_commas_between_names(problems):
    first, second = problems("decay: J/psi -> K+, K-, eta\n")
    assert (first.location, first.fix) == ("model.yml:1:17", "separate names by spaces only")
    assert second.location == "model.yml:1:21"


def test_every_unknown_name_is_reported(problems):
    assert [p.what for p in problems("decay: Jpsii -> K+ K- etaa\n")] == ["unknown particle 'Jpsii'", "unknown particle 'etaa'"]


@pytest.mark.parametrize("parent", ["J/psi(1S)", "J/psi", "Jpsi"])
def test_spellings(load, parent):
    assert load(f"decay: {parent} -> K+ K- eta\n" + PHI).decay.parent.name == "J/psi(1S)"


def test_repeated_particles_are_numbered(load):
    model = load("decay: J/psi -> pi+ pi- pi+ pi-\nresonances: {a(1)(1260)+: {in: pi+ pi- pi+}, rho(770): {in: pi+ pi-}}\n")
    assert model.final_names == ("pi+_1", "pi-_1", "pi+_2", "pi-_2")


def test_own_labels(load):
    model = load("decay: J/psi -> gamma fast:pi0 slow:pi0\nresonances: {f(2)(1270): {in: fast slow}}\n")
    assert model.final_names == ("gamma", "fast", "slow")
    assert model.decay.final[1].name == "pi0"
    assert model.waves[0].name.startswith("f(2)(1270)[fast slow]")


def test_own_particle(load):
    model = load("particles: {Y(4230): {JP: 1--, mass: 4.222, charge: 0}}\ndecay: Y(4230) -> K+ K- eta\n" + PHI)
    parent = model.decay.parent
    assert (parent.two_J, parent.P, parent.C, parent.mass, parent.self_conjugate) == (2, -1, -1, 4.222, True)


def test_changed_particle(load):
    model = load("particles: {eta: {mass: 0.6}}\ndecay: J/psi -> K+ K- eta\n" + PHI)
    eta = model.decay.final[2]
    assert (eta.mass, eta.two_J, eta.P) == (0.6, 0, -1)


def test_a_photon_with_a_mass_has_three_helicities_and_more_waves(load):
    text = "decay: J/psi -> gamma pi0 pi0\nresonances: {f(2)(1270): {in: pi0 pi0}}\n"
    assert len(load(text).waves) == 3
    assert len(load("particles: {gamma: {mass: 0.1}}\n" + text).waves) == 5


def test_a_new_particle_needs_its_quantum_numbers_and_is_not_reported_twice(refused):
    refused("particles: {Y: {mass: 4.2}}\ndecay: Y -> K+ K- eta\n", "1:13", "'Y' is not in the PDG and lacks JP, charge", "add JP, charge")


def test_bad_quantum_numbers_of_a_particle(refused):
    text = "decay: J/psi -> K+ K- eta\nparticles: {eta: {JP: zero}}\n"
    refused(text, "2:23", "cannot read 'zero' as J^P or J^PC", "1-, 2++ or 3/2+")


def test_a_two_body_decay_is_one_vertex():
    model = load_model({"decay": "J/psi(1S) -> p p~"})
    assert [wave.name for wave in model.waves] == ["(0,1)", "(2,1)"]


def test_a_forbidden_two_body_decay(problems):
    (problem,) = problems("decay: J/psi(1S) -> pi0 pi0\n")
    assert "C parity is not conserved" in problem.what
    assert problem.location == "model.yml:1:8"
    assert "weak: true" in problem.fix


def test_hyperons_that_are_held_decay_in_one_ratio():
    """Eight couplings of waves would be products of four numbers; who fits these is not told so."""
    hyperons = {"decay": "J/psi(1S) -> Lambda Lambda~; Lambda -> p pi-; Lambda~ -> p~ pi+"}
    (note,) = load_model(hyperons).notes
    assert note.startswith("Lambda and Lambda~ decay weakly with several (L,S), in the same ratio in all waves")
    assert "couplings: vertex" in note
    assert load_model(hyperons | {"fit": {"couplings": "vertex"}}).notes == ()
    strong = {"decay": "psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-", "resonances": {"f(0)(500)": {"in": "pi+ pi-"}}}
    assert load_model(strong).notes == ()
