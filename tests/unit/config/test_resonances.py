"""The ``resonances`` section: names, quantum numbers, masses, systems."""

import pytest

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"


def resonance(name, value):
    return DECAY + f"resonances:\n  {name}: {{{value}}}\n"


@pytest.mark.parametrize(
    ("name", "value", "column", "what", "fix"),
    [
        # names
        ("phi(1O20)", "in: K+ K-", 3, "unknown particle 'phi(1O20)'", "did you mean 'phi(1020)'"),
        ("R", "in: K+ K-, particle: phi(102)", 28, "unknown particle 'phi(102)'", "'phi(1020)'"),
        ("phi(1020)", "in: K+ eta", 19, "cannot decay to K+ eta: charge +1", "phi(1020) (charge +0)"),
        ("B", "in: K+ eta, JP: 1-, lineshape: constant", 3, "'B' is B+ of the PDG, which could only", "a name that no particle has"),
        ("omega(1420)", "{}".strip("{}"), 3, "resonance 'omega(1420)' is in no chain", "in: …"),
        # quantum numbers: angular momentum, parity, C
        ("X", "in: K+ K-, JP: 1/2+, mass: 1.5, width: 0.1", 22, "spin 1 cannot come from spins 1/2 and 0", "1-, 3- could be here"),
        ("X", "in: K+ K-, JP: 1+, mass: 1.5, width: 0.1", 22, "parity needs P·P1·P2 = +1 = (-1)^L, so even L", "1-, 3- could be here"),
        ("X", "in: K+ K-, JP: 2+, mass: 1.5, width: 0.1", 22, "violates C parity", "1-, 3- could be here"),
        ("X", "in: K+ K-, JP: 1-+, mass: 1.5, width: 0.1", 22, "C parity is not conserved: C = -1 of J/psi(1S)", "1-, 3- could be here"),
        ("f(0)(980)", "in: K+ K-, width: 0.05", 19, "parity needs", "1-, 3- could be here"),
        ("X", "in: K+ K-, JP: '-1', mass: 1.5, width: 0.1", 22, "cannot read '-1' as J^P or J^PC", "write it like 1-"),
        ("X", "in: K+ K-, JP: 4/2+, mass: 1.5, width: 0.1", 22, "not a half-integer", "write J = 2"),
        ("X", "in: K+ K-, JP: 1/2++, mass: 1.5, width: 0.1", 22, "has no C parity", "leave the second sign out"),
        ("X", "in: K+ K-, JP: '1', mass: 1.5, width: 0.1", 11, "the parity of X", "give JP of X"),
        ("phi(1020)", "in: K+ K-, max_L: 0", 19, "L is limited to 0", "raise max_L (it is 0 here)"),
        # masses
        ("omega(782)", "in: K+ K-", 3, "below threshold everywhere in K+ K-, whose mass runs from 0.9874 to 2.549 GeV", "off_shell: true"),
        ("X", "in: K+ K-, JP: 1-, mass: 4.0, width: 0.01", 32, "above the kinematic limit everywhere", "correct mass and width"),
        ("phi(1020)", "in: K+ K-, mass: 1019.5, width: 4.2", 32, "above the kinematic limit", "divide by 1000 if these are MeV"),
        ("X", "in: K+ K-, JP: 1-, mass: 1.5", 3, "'X' has no width, and the PDG gives none", "add width: … (GeV)"),
        ("X", "in: K+ K-, JP: 1-, width: 0.1", 3, "'X' has no mass, and the PDG gives none", "add mass: … (GeV)"),
        ("X", "in: K+ K-, JP: 1-, mass: 1.5, lineshape: constant", 32, "lineshape 'constant' of 'X' has no parameter", "remove"),
        ("X", "in: K+ K-, JP: 1-, lineshape: constant, float: width", 54, "lineshape 'constant' of 'X' has no parameter", "remove"),
        # systems
        ("phi(1020)", "in: K+ pi-", 22, "'pi-' is not a final particle of J/psi(1S) -> K+ K- eta", "known: K+, K-, eta"),
        ("phi(1020)", "in: 'K+, K-'", 20, "'K+,' is not a final particle", "separate names by spaces only"),
        ("phi(1020)", "in: K+", 19, "'K+' is not a part of", "write them in one text, such as  in: K+ K-"),
        ("phi(1020)", "in: K+ K- eta", 19, "'K+ K- eta' is not a part of", "name two of K+ K- eta"),
        ("phi(1020)", "in: K+ K+", 19, "'K+ K+' is not a part of", "as often as it occurs"),
        ("phi(1020)", "in: [K+ K-, K- K+]", 27, "declared twice in the same system: K+ K- and K- K+", "keep one"),
    ],
)  # fmt: skip
def test_bad_resonance(refused, name, value, column, what, fix):
    refused(resonance(name, value), f"3:{column}", what, fix)


def test_only_the_forbidden_system_is_reported(refused):
    text = resonance("phi(1020)", "in: [K+ K-, K+ eta]")
    refused(text, "3:27", "'phi(1020)' cannot decay to K+ eta: charge +1", "its states are")


def test_a_list_of_single_particles(problems):
    assert [p.location for p in problems(resonance("phi(1020)", "in: [K+, K-]"))] == ["model.yml:3:20", "model.yml:3:24"]


def test_nothing_declared_for_the_rest(refused):
    text = "decay: J/psi -> K+ K- pi+ pi-\nresonances:\n  phi(1020): {in: K+ K-}\n"
    refused(text, "3:19", "nothing is declared for the rest, pi+ pi-", "in: pi+ pi-, or a larger system")


def test_nothing_declared_inside(refused):
    text = "decay: J/psi -> K+ K- pi+ pi-\nresonances:\n  K(1)(1270): {in: K+ pi+ pi-}\n"
    refused(text, "3:20", "nothing is declared for steps inside K+ pi+ pi-", "in: K+ pi+")


def test_follow_ups_of_a_broken_entry_are_not_reported(refused):
    text = "decay: J/psi -> K+ K- pi+ pi-\nresonances:\n  phi(1020): {in: K+ K-}\n  f(0)(98O): {in: pi+ pi-}\n"
    refused(text, "4:3", "unknown particle 'f(0)(98O)'", "did you mean")


def test_a_forbidden_vertex_is_reported_once_for_all_resonances_of_its_chain(refused):
    text = (
        "decay: J/psi -> gamma pi+ pi- pi0\nresonances:\n  omega(782): {in: pi+ pi- pi0}\n  rho(770): {in: [pi+ pi-, pi+ pi0, pi- pi0]}\n"
    )
    refused(text, "3:20", "C parity is not conserved: C = -1 of J/psi(1S)", "remove it")


def test_an_ambiguous_charge_state(refused):
    text = "decay: J/psi -> K(S)0 pi0 K(L)0\nresonances: {K*(892): {in: K(S)0 pi0}}\n"
    refused(text, "2:28", "'K*(892)' could be any of K*(892)0, K*(892)~0", "name the charge state in full")


def test_naming_the_charge_state_resolves_it(load):
    model = load("decay: D0 -> K(S)0 pi0 pi0\nresonances: {K*(892)~0: {in: K(S)0 pi0}}\n")
    assert {wave.chain.nodes[1].particle.name for wave in model.waves} == {"K*(892)~0"}


@pytest.mark.parametrize(
    ("decay", "name", "system", "state"),
    [
        ("J/psi(1S) -> K+ K- eta", "K(2)*(1430)", "K+ eta", "K(2)*(1430)+"),
        ("J/psi(1S) -> K+ K- eta", "K(2)*(1430)", "K- eta", "K(2)*(1430)-"),
        ("J/psi(1S) -> p p~ eta", "N(1535)", "p~ eta", "N(1535)~-"),
        ("Lambda(c)+ -> p K- pi+", "Delta(1232)", "p pi+", "Delta(1232)++"),
        ("Lambda(c)+ -> p K- pi+", "K*(892)", "K- pi+", "K*(892)~0"),
        ("Lambda(c)~- -> p~ K+ pi-", "K*(892)", "K+ pi-", "K*(892)0"),
    ],
)
def test_charge_states_follow_from_the_system(load, decay, name, system, state):
    model = load(f"decay: {decay}\nresonances: {{{name}: {{in: {system}}}}}\n")
    assert {wave.chain.nodes[1].particle.name for wave in model.waves} == {state}


def test_off_shell_accepts_a_tail(load):
    assert len(load(resonance("omega(782)", "in: K+ K-, off_shell: true")).waves) == 1


def test_masses_and_widths_come_from_the_pdg_unless_given(load):
    known = load(resonance("phi(1020)", "in: K+ K-")).resonances["phi(1020)"]
    assert known.mass == pytest.approx(1.01946, abs=1e-4)
    assert known.width == pytest.approx(0.00425, abs=1e-4)
    given = load(resonance("phi(1020)", "in: K+ K-, mass: 1.02, width: 0.01, float: [mass, mass], radius: 5")).resonances["phi(1020)"]
    assert (given.mass, given.width, given.floating, given.radius) == (1.02, 0.01, ("mass",), 5.0)


def test_two_resonances_of_one_particle_have_couplings_of_their_own(load):
    text = DECAY + "resonances:\n  phi(1020): {in: K+ K-}\n  tail: {particle: phi(1020), in: K+ K-, mass: 1.4, width: 0.3}\n"
    model = load(text)
    assert [wave.name for wave in model.waves] == ["phi(1020)[K+ K-] (1,1)(1,0)", "tail[K+ K-] (1,1)(1,0)"]
    assert len(model.couplings) == 2


def test_the_missing_conjugate_is_noted(load):
    (note,) = load(resonance("K*(1410)", "in: K+ eta")).notes
    assert note == "the charge-conjugate chain of J/psi(1S) -> K*(1410)+ K- ; K*(1410)+ -> K+ eta is not in the model"


@pytest.mark.parametrize(
    "resonances",
    [
        "  Kp: {particle: K*(1410), in: K+ eta}\n  Km: {particle: K*(1410), in: K- eta}\n",  # under a key of its own
        "  NRa: {in: K+ eta, JP: 1-, lineshape: constant}\n  NRb: {in: K- eta, JP: 1-, lineshape: constant}\n",  # states of the user
        "  K*(1410): {in: K+ eta, tie: false}\n",
    ],
)
def test_a_conjugate_that_is_there_or_not_wanted_is_not_missed(load, resonances):
    assert load(DECAY + "resonances:\n" + resonances).notes == ()


def test_no_conjugate_is_missed_where_nothing_is_tied(load):
    assert load(DECAY + "tie_conjugates: false\nresonances: {K*(1410): {in: K+ eta}}\n").notes == ()


def test_another_resonance_is_no_conjugate(load):
    text = DECAY + "resonances:\n  K*(1410): {in: K+ eta}\n  K*(1680): {in: K- eta}\n  NR: {in: K+ eta, JP: 3-, lineshape: constant}\n"
    assert len(load(text).notes) == 3


def test_ties_can_be_cut_for_one_resonance(load):
    text = DECAY + "resonances:\n  K*(1410): {in: [K+ eta, K- eta], tie: false}\n  K*(1680): {in: [K+ eta, K- eta]}\n"
    assert len(load(text).couplings) == 3


def test_no_waves(refused):
    refused(DECAY, "1:1", "the model has no waves", "add resonances with 'in', or chains")
