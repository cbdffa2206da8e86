"""Particles of the PDG: names, spellings, charge states, quantum numbers."""

import pytest

from ctpwa.base.errors import PhysicsError
from ctpwa.config.particles import own_particle
from ctpwa.config.schema import ParticleSpec
from ctpwa.decay.chain import changes_flavour
from ctpwa.decay.pdg import ParticleTable, normalise, pdg_index, split_charge

table = ParticleTable()


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("J/psi(1S)", "J/psi(1S)"), ("J/psi", "J/psi(1S)"), ("Jpsi", "J/psi(1S)"), ("psi(2S)", "psi(2S)"),
        ("f(0)(980)", "f(0)(980)"), ("f0(980)", "f(0)(980)"), ("f_0(980)", "f(0)(980)"), ("f2'(1525)", "f(2)'(1525)"),
        ("p", "p"), ("p+", "p"), ("p~", "p~"), ("pbar", "p~"), ("anti-p-", "p~"), ("nbar", "n~"),
        ("K2*(1430)+", "K(2)*(1430)+"), ("K_2*(1430)+", "K(2)*(1430)+"), ("K(2)*(1430)-", "K(2)*(1430)-"),
        ("Lambda_c+", "Lambda(c)+"), ("Lambdac+", "Lambda(c)+"), ("Lambda0", "Lambda"), ("Lambdabar", "Lambda~"),
        ("eta_c", "eta(c)(1S)"), ("chi_c1", "chi(c1)(1P)"), ("eta'", "eta'(958)"), ("phi", "phi(1020)"), ("rho0", "rho(770)0"),
        ("K*0", "K*(892)0"), ("K_S0", "K(S)0"), ("D_s+", "D(s)+"), ("anti-Xi+", "Xi~+"), ("Delta++", "Delta(1232)++"),
        ("anti-p", "p~"), ("anti-n", "n~"), ("anti-Lambda", "Lambda~"), ("anti-Sigma-", "Sigma~-"),
        ("psi(3686)", "psi(2S)"), ("psi'", "psi(2S)"), ("etap", "eta'(958)"), ("Ks", "K(S)0"), ("X(3872)", "chi(c1)(3872)"), ("p-", "p~"),
        ("Z_c(3900)+", "T(cc1)(3900)+"), ("K0*(800)+", "K(0)*(700)+"), ("π⁺", "pi+"), ("J/ψ", "J/psi(1S)"), ("ρ(770)⁰", "rho(770)0"),
        ("K0S", "K(S)0"), ("KS0", "K(S)0"), ("K(S)0", "K(S)0"), ("K0L", "K(L)0"), ("K0bar", "K~0"), ("D0bar", "D~0"), ("D0~", "D~0"),
        ("K*(892)0bar", "K*(892)~0"), ("anti-K*(892)0", "K*(892)~0"), ("pi1(1600)+", "pi(1)(1600)+"), ("pi_1(1600)0", "pi(1)(1600)0"),
        ("f2p(1525)", "f(2)'(1525)"), ("sigma", "f(0)(500)"), ("kappa+", "K(0)*(700)+"), ("N*(1440)+", "N(1440)+"), ("psi''", "psi(3770)"),
        ("Y(4260)", "psi(4230)"), ("K0s", "K(S)0"), ("K*0bar", "K*(892)~0"), ("D̄0", "D~0"), ("p̄", "p~"), ("Λ̄", "Lambda~"),
        ("ν_τ", "nu(tau)"), ("K̄*(892)⁰", "K*(892)~0"), (r"\bar{D}^0", "D~0"), (r"\pi^+", "pi+"), (r"\bar{\Lambda}_c^-", "Lambda(c)~-"),
        (r"\overline{p}", "p~"),
        ("f'2(1525)", "f(2)'(1525)"), ("f'_2(1525)", "f(2)'(1525)"), ("K*2(1430)+", "K(2)*(1430)+"), ("K*_0(1430)0", "K(0)*(1430)0"),
    ],
)  # fmt: skip
def test_common_spellings_find_the_particle(spelling, name):
    assert table.get(spelling).name == name


@pytest.mark.parametrize(
    ("name", "label", "charge", "baryon"),
    [
        ("J/psi(1S)", "J/psi(1S) (1⁻⁻)", 0, 0), ("eta", "eta (0⁻⁺)", 0, 0), ("gamma", "gamma (1⁻⁻)", 0, 0), ("K+", "K+ (0⁻)", 1, 0),
        ("f(2)(1270)", "f(2)(1270) (2⁺⁺)", 0, 0), ("b(1)(1235)0", "b(1)(1235)0 (1⁺⁻)", 0, 0), ("Omega-", "Omega- (3/2⁺)", -1, 1),
        ("Delta(1232)++", "Delta(1232)++ (3/2⁺)", 2, 1), ("N(1680)+", "N(1680)+ (5/2⁺)", 1, 1), ("e-", "e- (1/2⁺)", -1, 0),
    ],
)  # fmt: skip
def test_quantum_numbers(name, label, charge, baryon):
    particle = table.get(name)
    assert (particle.label, particle.charge, particle.baryon) == (label, charge, baryon)


@pytest.mark.parametrize(
    ("name", "two_J", "P"),
    [("Lambda(c)(2595)+", 1, -1), ("Lambda(c)(2625)+", 3, -1), ("Xi(c)(2790)0", 1, -1), ("Xi(c)(2815)+", 3, -1), ("D(s)*+", 2, -1),
     ("D(s2)*(2573)+", 4, 1), ("a(2)(1700)+", 4, 1)],
)  # fmt: skip
def test_spins_and_parities_that_the_tables_have_wrong_or_not_at_all(name, two_J, P):
    """Those of the listings of the PDG, of both charge conjugates."""
    particle = table.get(name)
    anti = particle.conjugate()
    assert (particle.two_J, particle.P, anti.two_J, anti.P) == (two_J, P, two_J, -P if two_J % 2 else P)
    assert table.get(particle.antiparticle).two_J == two_J


@pytest.mark.parametrize("name", ["p", "n", "Lambda", "Sigma+", "Xi0", "Omega-", "N(1535)+", "Delta(1232)++", "Lambda(c)+", "e-", "mu-"])
def test_antifermions_have_the_opposite_parity_and_charges(name):
    particle = table.get(name)
    anti = table.get(particle.antiparticle)
    assert anti.P == -particle.P
    assert (anti.charge, anti.baryon) == (-particle.charge, -particle.baryon)
    assert anti.flavours == {(-s, -c, -b) for s, c, b in particle.flavours}
    assert (anti.two_J, anti.mass, anti.antiparticle) == (particle.two_J, particle.mass, particle.name)


@pytest.mark.parametrize("name", ["K+", "K*(892)0", "D0", "D(s)+", "B0", "rho(770)+", "a(1)(1260)+"])
def test_antimesons_have_the_same_parity(name):
    particle = table.get(name)
    anti = table.get(particle.antiparticle)
    assert anti.P == particle.P
    assert anti.charge == -particle.charge
    assert anti.name != particle.name


@pytest.mark.parametrize("name", ["p", "Lambda", "K+", "K*(892)0", "Delta(1232)++", "Xi-", "D0", "pi+", "N(1535)+"])
def test_conjugate_is_the_antiparticle_of_the_table(name):
    particle = table.get(name)
    conjugate, expected = particle.conjugate(), table.get(particle.antiparticle)
    for key in ("name", "two_J", "P", "C", "mass", "charge", "baryon", "antiparticle", "flavours", "massless"):
        assert getattr(conjugate, key) == getattr(expected, key)
    assert conjugate.conjugate().name == particle.name


def test_self_conjugate_particles_are_their_own_conjugates():
    for name in ("pi0", "eta", "gamma", "J/psi(1S)", "phi(1020)", "K(S)0"):
        assert table.get(name).self_conjugate
        assert table.get(name).conjugate() == table.get(name)


@pytest.mark.parametrize(
    ("name", "flavour"),
    [
        ("K+", (1, 0, 0)), ("K-", (-1, 0, 0)), ("K0", (1, 0, 0)), ("K~0", (-1, 0, 0)), ("Lambda", (-1, 0, 0)), ("Xi-", (-2, 0, 0)),
        ("Omega-", (-3, 0, 0)), ("D+", (0, 1, 0)), ("D~0", (0, -1, 0)), ("D(s)+", (1, 1, 0)), ("B+", (0, 0, 1)), ("B~0", (0, 0, -1)),
        ("B(s)0", (-1, 0, 1)), ("Lambda(c)+", (0, 1, 0)), ("Lambda(b)0", (0, 0, -1)), ("phi(1020)", (0, 0, 0)), ("J/psi(1S)", (0, 0, 0)),
        ("K(2)*(1430)+", (1, 0, 0)), ("p", (0, 0, 0)), ("gamma", (0, 0, 0)), ("Upsilon(1S)", (0, 0, 0)), ("B(c)+", (0, 1, 1)),
    ],
)  # fmt: skip
def test_net_flavours(name, flavour):
    assert table.get(name).flavours == {flavour}


def test_neutral_kaons_have_both_strangeness_values():
    assert table.get("K(S)0").flavours == table.get("K(L)0").flavours == {(1, 0, 0), (-1, 0, 0)}


@pytest.mark.parametrize(
    ("parent", "daughters", "weak"),
    [
        ("Lambda", "p pi-", True), ("Sigma0", "Lambda gamma", False), ("Lambda(c)+", "p K*(892)~0", True), ("D0", "K*(892)- pi+", True),
        ("phi(1020)", "K+ K-", False), ("phi(1020)", "K(S)0 K(L)0", False), ("K(S)0", "pi+ pi-", True), ("K*(892)+", "K+ pi0", False),
        ("K*(892)+", "K(S)0 pi+", False), ("Omega-", "Lambda K-", True), ("B0", "J/psi(1S) K*(892)0", True), ("D*(2010)+", "D0 pi+", False),
        ("Lambda(1520)", "p K-", False), ("J/psi(1S)", "Lambda Lambda~", False), ("D(s)+", "phi(1020) pi+", True),
    ],
)  # fmt: skip
def test_flavour_change_makes_a_vertex_weak(parent, daughters, weak):
    assert changes_flavour(table.get(parent), tuple(table.get(name) for name in daughters.split())) == weak


@pytest.mark.parametrize(
    ("name", "system", "state"),
    [
        ("K(2)*(1430)", "K+ eta", "K(2)*(1430)+"), ("K(2)*(1430)", "K- eta", "K(2)*(1430)-"), ("K*(892)", "K- pi+", "K*(892)~0"),
        ("K*(892)", "K+ pi-", "K*(892)0"), ("N(1535)", "p eta", "N(1535)+"), ("N(1535)", "p~ eta", "N(1535)~-"),
        ("Delta(1232)", "p pi+", "Delta(1232)++"), ("Delta(1232)", "p pi-", "Delta(1232)0"), ("Delta(1232)", "p~ pi-", "Delta(1232)~--"),
        ("rho(770)", "pi+ pi-", "rho(770)0"), ("rho(770)", "pi+ pi0", "rho(770)+"), ("a(1)(1260)", "pi- pi- pi+", "a(1)(1260)-"),
        ("Lambda(1520)", "p K-", "Lambda(1520)"), ("Lambda(1520)", "p~ K+", "Lambda(1520)~"), ("phi(1020)", "K+ K-", "phi(1020)"),
        ("Lambda", "p pi-", "Lambda"), ("Lambda", "p~ pi+", "Lambda~"), ("Lambda~", "p~ pi+", "Lambda~"),
    ],
)  # fmt: skip
def test_charge_state_follows_from_the_decay(name, system, state):
    assert table.get_state(name, tuple(table.get(part) for part in system.split())).name == state


def test_multiplet_without_the_needed_charge_is_refused():
    with pytest.raises(PhysicsError, match=r"'phi\(1020\)' cannot decay to K\+ K\+: charge \+2 .* fit none of its states") as caught:
        table.get_state("phi(1020)", (table.get("K+"), table.get("K+")))
    assert "phi(1020) (charge +0)" in caught.value.fix


def test_two_possible_states_need_a_full_name():
    with pytest.raises(PhysicsError, match="could be any of K") as caught:
        table.get_state("K*(892)", (table.get("K(S)0"), table.get("pi0")))
    assert caught.value.fix == "name the charge state in full"


def test_unknown_names_are_none_or_an_error_with_near_names():
    assert table.find("nonsense") is None
    assert table.get_state("nonsense", (table.get("K+"), table.get("K-"))) is None
    with pytest.raises(PhysicsError, match="unknown particle 'f0\\(981\\)'"):
        table.get("f0(981)")


def test_masslessness_is_a_property_of_the_particle():
    assert table.get("gamma").massless
    assert table.get("nu(e)").massless
    assert not table.get("e-").massless
    assert not table.get("pi0").massless


def test_masses_are_in_gev():
    assert table.get("p").mass == pytest.approx(0.938272, abs=1e-6)
    assert table.get("J/psi(1S)").mass == pytest.approx(3.0969, abs=1e-4)
    assert table.get("phi(1020)").width == pytest.approx(0.00425, abs=1e-4)


@pytest.mark.parametrize("spelling", ["J/psi", "J/psi(1S)", "Jpsi"])
@pytest.mark.parametrize("wanted", ["J/psi", "J/psi(1S)", "Jpsi"])
def test_own_changes_hold_for_every_spelling(spelling, wanted):
    changed = ParticleTable({spelling: own_particle(spelling, ParticleSpec.model_validate({"mass": 3.2}))})
    assert changed.get(wanted).mass == 3.2


def test_own_changes_hold_for_the_antiparticle():
    changed = ParticleTable({"p": own_particle("p", ParticleSpec.model_validate({"mass": 0.9}))})
    assert changed.get("p~").mass == changed.get("pbar").mass == 0.9
    assert changed.get("p~").P == -1
    assert changed.get("n").mass == table.get("n").mass


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a(1)(1260)+", ("a(1)(1260)", 1)),
        ("Delta(1232)++", ("Delta(1232)", 2)),
        ("p~", ("p~", None)),
        ("K*(892)0", ("K*(892)", 0)),
        ("f(0)(980)", ("f(0)(980)", None)),
        ("+", ("+", None)),
        ("N10", ("N10", None)),
    ],
)
def test_charge_is_split_from_a_name(name, parts):
    assert split_charge(name) == parts


@pytest.mark.parametrize("spelling", ["pi1(1600)", "pi(1)(1600)", "pi_1(1600)"])
def test_a_multiplet_has_the_same_spellings(spelling):
    assert table.get_state(spelling, (table.get("eta"), table.get("pi-"))).name == "pi(1)(1600)-"


def test_a_star_may_stand_before_the_subscript_of_a_multiplet():
    assert table.get_state("K*2(1430)", (table.get("K-"), table.get("eta"))).name == "K(2)*(1430)-"


def test_an_antibaryon_of_unclear_charge_is_not_guessed():
    """Is Sigma-bar the antiparticle of Sigma-, or that of Sigma+ with its charge -?"""
    assert table.find("Sigma-bar") is None


def test_a_charmonium_like_state_has_no_net_charm():
    """J/psi pi+ can come from it strongly."""
    assert table.get("T(cc1)(3900)+").flavours == {(0, 0, 0)}
    assert table.get_state("T(cc1)(3900)", (table.get("J/psi"), table.get("pi-"))).charge == -1


def test_a_state_without_an_antiparticle_in_the_tables_has_one():
    pions = tuple(table.get(name) for name in ("pi-", "pi+", "pi-"))
    assert table.get("pi(2)(1880)+").antiparticle == "pi(2)(1880)-"
    assert table.get_state("pi(2)(1880)", pions).name == "pi(2)(1880)-"


def test_the_members_of_a_multiplet_have_one_spin_and_parity():
    for name, entries in pdg_index().multiplets.items():
        particles = [table.get(entry.name) for entry in entries if int(entry.pdgid) > 0]
        assert len({(particle.two_J, particle.P) for particle in particles}) == 1, name


def test_of_a_state_that_is_listed_twice_the_one_with_a_mass_is_taken():
    assert table.get("psi(4160)").mass == pytest.approx(4.19, abs=0.01)


def test_normalised_names_do_not_care_for_brackets_and_underscores():
    assert normalise("f(0)(980)") == normalise("f_0(980)") == normalise("f0(980)") == normalise("f_{0}(980)")
    assert normalise("f(0)(980)") != normalise("f(0)(1370)")
