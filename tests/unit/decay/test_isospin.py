"""Isospin and G parity of strong two-body decays, against what is known of them."""

import pytest

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.catalogue import hadron, has_heavy_quark, multiplets
from ctpwa.decay.isospin import conjugate_pair, isospin_conserving, isospin_couples, pair_g_parity, two_I3
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.rules import allowed_ls
from ctpwa.decay.spin import LS

table = ParticleTable()


def strong(text):
    """The (L, S) of a decay such as ``rho(770)0 -> pi+ pi-`` that isospin leaves; None if other laws leave none."""
    parent, _, first, second = text.split()
    particles = [table.get(name) for name in (parent, first, second)]
    try:
        pairs = allowed_ls(*particles)
    except PhysicsError:
        return None
    return isospin_conserving(*map(hadron, particles), pairs)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pi+", {2}), ("pi0", {0}), ("K+", {1}), ("K0", {-1}), ("K~0", {1}), ("K(S)0", {-1, 1}), ("p", {1}), ("n", {-1}), ("p~", {-1}),
        ("Delta(1232)++", {3}), ("Lambda", {0}), ("Sigma-", {-2}), ("Xi0", {1}), ("Omega-", {0}), ("D+", {1}), ("D0", {-1}), ("D(s)+", {0}),
        ("B+", {1}), ("B0", {-1}), ("B(s)0", {0}), ("Lambda(c)+", {0}), ("J/psi", {0}),
    ],
)  # fmt: skip
def test_the_third_component_follows_from_charge_and_flavour(name, expected):
    assert two_I3(table.get(name)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "rho(770)0 -> pi+ pi-", "rho(770)+ -> pi+ pi0", "f(2)(1270) -> pi0 pi0", "a(2)(1320)+ -> eta pi+", "a(0)(980)+ -> K+ K~0",
        "a(0)(980)0 -> K+ K-", "phi(1020) -> K+ K-", "rho(1450)+ -> K+ K~0", "b(1)(1235)+ -> omega(782) pi+",
        "a(1)(1260)+ -> rho(770)0 pi+",
        "K*(892)0 -> K+ pi-", "Delta(1232)++ -> p pi+", "Delta(1232)0 -> p pi-", "N(1535)+ -> p eta", "Lambda(1520) -> p K-",
        "Lambda(1405) -> Sigma0 pi0", "Sigma(1385)+ -> Lambda pi+", "Sigma(1385)0 -> Sigma+ pi-", "psi(2S) -> J/psi eta",
        "J/psi -> omega(782) eta",
        "J/psi -> K*(892)+ K-", "J/psi -> rho(770)0 pi0", "J/psi -> b(1)(1235)0 pi0", "J/psi -> p p~", "J/psi -> N(1440)+ p~",
    ],
)  # fmt: skip
def test_decays_that_conserve_isospin(text):
    assert strong(text)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("omega(782) -> pi+ pi-", "G parity"), ("phi(1020) -> pi+ pi-", "G parity"), ("a(0)(980)0 -> pi+ pi-", "G parity"),
        ("f(0)(980) -> eta pi0", "I = 0 is not in 0 x 1"), ("a(0)(980)0 -> eta eta", "I = 1 is not in 0 x 0"),
        ("a(2)(1320)+ -> pi+ pi0", "G parity"), ("pi(1)(1600)+ -> K+ K~0", "G parity of K K~ in a P wave is +"),
        ("Delta(1232)+ -> p eta", "I = 3/2"), ("Sigma(1385)0 -> Sigma0 pi0", "a Clebsch-Gordan coefficient is zero"),
        ("Lambda(1405) -> Lambda pi0", "I = 0"), ("psi(2S) -> J/psi pi0", "I = 0"), ("J/psi -> rho(770)0 eta", "I = 0"),
        ("J/psi -> omega(782) pi0", "I = 0"), ("J/psi -> a(2)(1320)+ pi-", "G parity"), ("J/psi -> Delta(1232)+ p~", "I = 0"),
    ],
)  # fmt: skip
def test_decays_that_violate_isospin(text, law):
    assert strong(text) == [], law


def test_of_a_pair_of_one_multiplet_the_waves_with_the_right_g_parity_are_left():
    """rho+ -> p n~ has S and D wave with S = 1; an a0+ of the same charge and G = - a P wave with S = 1; neither has S = 0."""
    assert strong("rho(1700)+ -> p n~") == [LS(0, 1), LS(2, 1)]
    assert strong("a(0)(1450)+ -> p n~") == [LS(1, 1)]
    assert strong("b(1)(1235)+ -> p n~") == [LS(1, 0)]
    assert strong("a(1)(1260)+ -> p n~") == [LS(1, 1)]


@pytest.mark.parametrize(("two_I", "L", "G"), [(0, 0, 1), (2, 1, 1), (0, 2, 1), (2, 0, -1), (4, 0, 1)])
def test_g_parity_of_a_pair(two_I, L, G):
    assert pair_g_parity(LS(L, 0), two_I) == G


def test_g_parity_of_two_pions_is_always_even():
    """(-1)^(L+I) = + is Bose symmetry of two pions."""
    pions = [hadron(table.get(name)) for name in ("pi+", "pi-")]
    assert conjugate_pair(*pions)
    for name in ("f(0)(500)", "rho(770)0", "f(2)(1270)", "rho(3)(1690)0"):
        parent = table.get(name)
        (ls,) = isospin_conserving(hadron(parent), *pions, allowed_ls(parent, *(p.particle for p in pions)))
        assert pair_g_parity(ls, hadron(parent).isospin.two_I) == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("K+", "K~0", True), ("K+", "K(S)0", True), ("K+", "K0", False), ("p", "n~", True), ("p", "n", False),
     ("D*(2010)+", "D*(2007)~0", True), ("eta", "eta'", False)],
)  # fmt: skip
def test_conjugate_pairs(first, second, expected):
    assert conjugate_pair(hadron(table.get(first)), hadron(table.get(second))) is expected


def test_a_mixture_couples_through_either_of_its_parts():
    kaon = hadron(table.get("K(S)0"))
    assert isospin_couples(hadron(table.get("K*(892)+")), kaon, hadron(table.get("pi+")))
    assert isospin_couples(hadron(table.get("K*(892)-")), kaon, hadron(table.get("pi-")))


def test_photons_and_leptons_have_no_isospin():
    assert hadron(table.get("gamma")) is None
    assert hadron(table.get("mu+")) is None


def test_the_catalogue_has_every_multiplet_once_with_all_its_states():
    names = [multiplet.name for multiplet in multiplets()]
    assert len(names) == len(set(names)) > 200
    by_name = {multiplet.name: multiplet for multiplet in multiplets()}
    assert [state.name for state in by_name["K*(892)"].states] == ["K*(892)0", "K*(892)+", "K*(892)~0", "K*(892)-"]
    for multiplet in multiplets():
        own = {state.name for state in multiplet.states}
        assert {state.antiparticle for state in multiplet.states} == own, multiplet.name


@pytest.mark.parametrize(
    ("name", "doubt"),
    [
        ("f(2)(1270)", ""),
        ("f(2)(1565)", ""),
        ("K(2)(2250)", "not established"),
        ("K(1460)", ""),
        ("T(bb1)(10610)", ""),
        ("T(cc1)(3900)", ""),
        ("D(1)(2430)", ""),
        ("N(1535)", ""),
        ("Lambda(1600)", ""),
        ("Lambda(1810)", "3 of 4 stars"),
        ("Xi(1820)", ""),  # three stars, as most with two strange quarks
        ("K(0)*(700)", ""),
        ("K(2)*(1980)", ""),
        ("K(1)(1650)", ""),
        ("a(1)(1640)", ""),
        ("a(2)(1700)", ""),
        ("D(0)*(2300)", ""),
        ("N(1710)", ""),
        ("Delta(1600)", ""),
        ("Lambda(1405)", ""),
        ("f(0)(1370)", ""),
        ("phi(2170)", ""),
        ("pi(1)(1600)", ""),
        ("pi(1)(1400)", "one pole with pi(1)(1600)"),
        ("Sigma(c)(2520)", ""),  # three stars, as most with a heavy quark
        ("Lambda(c)(2625)", ""),
    ],
)
def test_what_is_established(name, doubt):
    assert next(multiplet.doubt for multiplet in multiplets() if multiplet.name == name) == doubt


def test_hidden_heavy_quarks():
    by_name = {multiplet.name: multiplet for multiplet in multiplets()}
    assert [by_name[name].heavy for name in ("J/psi(1S)", "Upsilon(1S)", "T(cc1)(3900)", "D", "phi(1020)", "omega(782)")] == [
        "c",
        "b",
        "c",
        "",
        "",
        "",
    ]
    assert has_heavy_quark(table.get("D+"), "c")
    assert has_heavy_quark(table.get("J/psi"), "c")
    assert not has_heavy_quark(table.get("K+"), "c")
    assert not has_heavy_quark(table.get("gamma"), "c")


def test_a_mass_that_the_tables_lack_is_read_from_the_name():
    by_name = {multiplet.name: multiplet for multiplet in multiplets()}
    assert by_name["psi(2)(3823)"].nominal_mass == pytest.approx(3.823)
    assert by_name["phi(1020)"].nominal_mass == pytest.approx(1.01946, abs=1e-4)
